"""Poisson: a count of independent events."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Lattice, Numbers, Parametric, beside, check_not_negative, generator
from quorate.dist.gammas import log_poisson
from quorate.dist.tails import gamma_above, gamma_below, log_gamma


@dataclass(frozen=True, eq=False, repr=False)
class Poisson(Parametric, Lattice):
    """The Poisson distribution with mean `rate`: P(k) = rate^k exp(−rate) / k!.

    >>> import numpy as np, quorate as q
    >>> np.exp(q.Poisson(2.0).log_prob([0, 1, 2])).round(4)
    array([0.1353, 0.2707, 0.2707])
    """

    rate: Numbers

    def __post_init__(self):
        self._set(rate=check_not_negative("rate", self.rate))

    # density

    def log_prob(self, y):
        y, rate = self._at(y)
        whole = (y >= 0) & (y == np.floor(y)) & (y < np.inf)
        value = np.where(whole, log_poisson(np.where(whole, y, 0.0), rate), -np.inf)
        return np.where(np.isnan(y), np.nan, value)

    # probabilities

    def cdf(self, y):
        return np.where(np.less(y, 0), 0.0, gamma_above(*self._as_gamma(y)))

    def sf(self, y):
        return np.where(np.less(y, 0), 1.0, gamma_below(*self._as_gamma(y)))

    def _log_tails(self, y):
        below, above = log_gamma(*self._as_gamma(y))
        return np.where(np.less(y, 0), -np.inf, above), np.where(np.less(y, 0), 0.0, below)

    def _as_gamma(self, y):
        """(a, rate): Y ≤ k as often as Gamma(a) > rate, for a = k + 1."""
        y, rate = self._at(y)
        return np.maximum(np.floor(y), 0.0) + 1, rate

    def bounds(self):
        return np.zeros(len(self)), np.where(self.rate > 0, np.inf, 0.0)

    # moments

    @property
    def mean(self):
        return self.rate

    @property
    def variance(self):
        return self.rate

    @property
    def mode(self):
        return np.floor(self.rate)

    # scores

    def distance(self, y):
        y, mean = beside(y, len(self), self.mean)
        middle = self.cdf(y) - self.sf(y)
        with np.errstate(invalid="ignore"):
            return (y - mean) * middle + 2 * mean * np.exp(self.log_prob(np.floor(y)))

    def half_distance(self):
        return self.rate * (special.i0e(2 * self.rate) + special.i1e(2 * self.rate))

    # draws

    def sample(self, k=1, rng=None):
        return generator(rng).poisson(self.rate[:, None], (len(self), k)).astype(float)
