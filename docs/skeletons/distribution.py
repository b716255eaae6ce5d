"""A distribution to copy: the logistic law, p(y) = exp(−z) / (scale (1 + exp(−z))²) with z = (y − loc) / scale.

A family over the real line owes `log_prob`, `cdf`, `mean`, `variance` and `sample`. Quantiles, intervals, the mode,
the entropy and the CRPS are derived from these; override one only where the family knows better: a closed form, or
a tail without cancellation. Every family has the same sections in the same order.
"""

from dataclasses import dataclass

import numpy as np
from scipy import integrate, special

import quorate as q
from quorate.dist.base import LocationScale, Numbers, check_finite, check_positive, generator


@dataclass(frozen=True, eq=False, repr=False)
class Logistic(LocationScale):
    """The logistic distribution around `loc`; its standard deviation is π/√3 times `scale`.

    >>> Logistic(0.0, 1.0).interval(0.9).round(3)
    array([[-2.944,  2.944]])
    """

    loc: Numbers = 0.0
    scale: Numbers = 1.0

    def __post_init__(self):
        self._set(loc=check_finite("loc", self.loc), scale=check_positive("scale", self.scale))

    # density

    def log_prob(self, y):
        z = np.abs(self._standard(y))  # symmetric: the side on which exp does not overflow
        return -z - 2 * np.log1p(np.exp(-z)) - np.log(self._at(y)[2])

    # probabilities

    def cdf(self, y):
        return special.expit(self._standard(y))

    def sf(self, y):
        return special.expit(-self._standard(y))

    # moments

    @property
    def variance(self):
        return (np.pi * self.scale) ** 2 / 3

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).logistic(size=(len(self), k))
        return self.loc[:, None] + self.scale[:, None] * draws


if __name__ == "__main__":
    dist = Logistic([0.0, 3.0], [1.0, 0.5])

    # The laws that every family is held to in tests/dist/test_laws.py; put yours into its list.
    p = np.array([0.01, 0.3, 0.5, 0.99])
    assert np.allclose(dist.cdf(dist.quantile(p)), p, atol=1e-12)
    assert np.isclose(integrate.quad(lambda y: np.exp(dist[1].log_prob(y))[0], -40, 40)[0], 1.0)
    drawn = dist.sample(100_000, rng=0)
    assert np.allclose(drawn.mean(axis=1), dist.mean, atol=0.03)
    assert np.allclose(drawn.var(axis=1), dist.variance, rtol=0.03)

    # What it did not have to say: quantiles above, and a score; and it is at home in a mixture.
    both = q.Mixture(np.log([0.5, 0.5]), [dist, q.Normal([0.0, 3.0], 1.0)])
    print(
        "CRPS alone:", dist.crps([1.0, 2.0]).round(4), "pooled with a Normal:", both.crps([1.0, 2.0]).round(4)
    )
