"""Normal: N(loc, scale²)."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import LocationScale, Numbers, check_finite, check_positive, generator

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
FAR = 1e3  # standard deviations from where a log probability is a large number


@dataclass(frozen=True, eq=False, repr=False)
class Normal(LocationScale):
    """The Normal distribution with mean `loc` and standard deviation `scale`.

    >>> import quorate as q
    >>> d = q.Normal([0.0, 10.0], 2.0)
    >>> d.interval(0.9).round(2)
    array([[-3.29,  3.29],
           [ 6.71, 13.29]])
    """

    loc: Numbers = 0.0
    scale: Numbers = 1.0

    def __post_init__(self):
        self._set(loc=check_finite("loc", self.loc), scale=check_positive("scale", self.scale))

    # density

    def log_prob(self, y):
        y, loc, scale = self._at(y)
        with np.errstate(over="ignore"):
            z = (y - loc) / scale
            z *= z
        z *= -0.5
        z -= np.log(scale)
        z -= LOG_SQRT_2PI
        return z

    # probabilities

    def cdf(self, y):
        return special.ndtr(self._standard(y))

    def sf(self, y):
        return special.ndtr(-self._standard(y))

    def _log_tails(self, y):
        z = self._standard(y)
        return special.log_ndtr(z), special.log_ndtr(-z)

    def _quantile(self, p):
        return self.loc[:, None] + self.scale[:, None] * special.ndtri(p)

    # moments

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.scale**2

    @property
    def std(self):
        return self.scale

    @property
    def entropy(self):
        return np.log(self.scale) + LOG_SQRT_2PI + 0.5

    # scores

    def distance(self, y):
        z, (y, loc, scale) = self._standard(y), self._at(y)
        with np.errstate(over="ignore"):
            return (y - loc) * special.erf(z / np.sqrt(2)) + 2 * scale * np.exp(-0.5 * z * z - LOG_SQRT_2PI)

    def half_distance(self):
        return self.scale / np.sqrt(np.pi)

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).standard_normal((len(self), k))
        return self.loc[:, None] + self.scale[:, None] * draws

    # far out

    def _seen_from(self, lo, hi):
        """This law with logs that keep their digits in [lo, hi]."""
        at = np.clip(0.0, (lo - self.loc) / self.scale, (hi - self.loc) / self.scale)
        return FarNormal(self.loc, self.scale, at) if np.any(np.abs(at) > FAR) else self

    # many Normals at once

    @staticmethod
    def _mixture_quantile(mixture, p):
        from quorate.dist.normal_mixture import quantile

        return quantile(mixture, p)


@dataclass(frozen=True, eq=False, repr=False)
class FarNormal(Normal):
    """A Normal whose logs are all less −at² / 2, about what they are at z = `at`: no large numbers cancel there."""

    at: Numbers = 0.0

    def __post_init__(self):
        self._set(loc=self.loc, scale=self.scale, at=self.at)

    def log_prob(self, y):
        z, (_, _, scale, at) = self._standard(y), self._at(y)
        return 0.5 * (at - z) * (at + z) - np.log(scale) - LOG_SQRT_2PI

    def _log_tails(self, y):
        z, (*_, at) = self._standard(y), self._at(y)
        return _log_below(z, at), _log_below(-z, at)


def _log_below(z, at):
    """log Φ(z) + at² / 2."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        tail = np.log(0.5 * special.erfcx(np.maximum(-z, 0.0) / np.sqrt(2))) + 0.5 * (at - z) * (at + z)
    return np.where(z < 0, tail, special.log_ndtr(z) + 0.5 * at**2)
