"""Laplace: two exponentials back to back."""

from dataclasses import dataclass

import numpy as np

from quorate.dist.base import LocationScale, Numbers, check_finite, check_positive, generator


@dataclass(frozen=True, eq=False, repr=False)
class Laplace(LocationScale):
    """The Laplace distribution, p(y) = exp(−|y − loc| / scale) / (2 scale).

    >>> import quorate as q
    >>> q.Laplace(0.0, 1.0).quantile([0.05, 0.5, 0.95]).round(3)
    array([[-2.303,  0.   ,  2.303]])
    """

    loc: Numbers = 0.0
    scale: Numbers = 1.0

    def __post_init__(self):
        self._set(loc=check_finite("loc", self.loc), scale=check_positive("scale", self.scale))

    # density

    def log_prob(self, y):
        return -np.abs(self._standard(y)) - np.log(2 * self._at(y)[2])

    # probabilities

    def cdf(self, y):
        return _below(self._standard(y))

    def sf(self, y):
        return _below(-self._standard(y))

    def _log_tails(self, y):
        z = self._standard(y)
        return _log_below(z), _log_below(-z)

    def _quantile(self, p):
        with np.errstate(divide="ignore"):
            z = np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))
        return self.loc[:, None] + self.scale[:, None] * z

    # moments

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return 2 * self.scale**2

    @property
    def std(self):
        return np.sqrt(2) * self.scale

    @property
    def entropy(self):
        return 1 + np.log(2 * self.scale)

    # scores

    def distance(self, y):
        z, (y, loc, scale) = self._standard(y), self._at(y)
        return np.abs(y - loc) + scale * np.exp(-np.abs(z))

    def half_distance(self):
        return 0.75 * self.scale

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).laplace(size=(len(self), k))
        return self.loc[:, None] + self.scale[:, None] * draws


def _below(z):
    """P(Z ≤ z), from the smaller side."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1 - tail)


def _log_below(z):
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, z - np.log(2), np.log1p(-tail))
