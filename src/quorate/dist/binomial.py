"""Binomial: successes in n independent tries."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import (
    Lattice,
    Numbers,
    Parametric,
    check_not_negative,
    check_that,
    check_unit,
    generator,
)
from quorate.dist.gammas import half_beta_mean, log_binomial
from quorate.dist.tails import beta_above, beta_below, log_beta


@dataclass(frozen=True, eq=False, repr=False)
class Binomial(Parametric, Lattice):
    """The binomial distribution of successes in `n` tries of probability `p`: P(k) = C(n, k) p^k (1 − p)^(n − k).

    >>> import quorate as q
    >>> q.Binomial(10, [0.1, 0.5]).quantile([0.05, 0.95])
    array([[0., 3.],
           [2., 8.]])
    """

    n: Numbers
    p: Numbers

    def __post_init__(self):
        n = check_not_negative("n", self.n)
        self._set(n=check_that("n", n, n == np.floor(n), "a whole number"), p=check_unit("p", self.p))

    # density

    def log_prob(self, y):
        y, n, p = self._at(y)
        whole = (y >= 0) & (y == np.floor(y)) & (y <= n)
        value = np.where(whole, log_binomial(np.where(whole, y, 0.0), n, p, 1 - p), -np.inf)
        return np.where(np.isnan(y), np.nan, value)

    # probabilities

    def cdf(self, y):
        return self._with_ends(y, beta_above(*self._as_beta(y)), 0.0, 1.0)

    def sf(self, y):
        return self._with_ends(y, beta_below(*self._as_beta(y)), 1.0, 0.0)

    def _log_tails(self, y):
        below, above = log_beta(*self._as_beta(y))
        return self._with_ends(y, above, -np.inf, 0.0), self._with_ends(y, below, 0.0, -np.inf)

    def _as_beta(self, y):
        """(a, b, p): Y ≤ k as often as Beta(a, b) > p, for a = k + 1 and b = n − k."""
        y, n, p = self._at(y)
        inside = (y >= 0) & (y < n)
        k = np.where(inside, np.floor(y), 0.0)
        return k + 1, np.where(inside, n - k, 1.0), p

    def _with_ends(self, y, inside, before, after):
        y, n, _ = self._at(y)
        outside = np.where(np.isnan(y), np.nan, np.where(y < 0, before, after))
        return np.where((y >= 0) & (y < n), inside, outside)

    def bounds(self):
        return np.where(self.p < 1, 0.0, self.n), np.where(self.p > 0, self.n, 0.0)

    # moments

    @property
    def mean(self):
        return self.n * self.p

    @property
    def variance(self):
        return self.n * self.p * (1 - self.p)

    @property
    def mode(self):
        return np.minimum(np.floor((self.n + 1) * self.p), self.n)

    # scores

    def distance(self, y):
        y, n, p = self._at(y)
        middle = self.cdf(y) - self.sf(y)
        k = np.where(np.isfinite(y), np.floor(y), 0.0)
        with np.errstate(invalid="ignore"):
            return (y - n * p) * middle + 2 * np.maximum(n - k, 0.0) * p * np.exp(self.log_prob(np.floor(y)))

    def half_distance(self):
        q = 4 * self.p * (1 - self.p)
        tries = np.maximum(self.n - 1, 0.0)
        return self.variance * half_beta_mean(lambda v: -special.xlog1py(tries, -q * v), tries * q)

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).binomial(self.n[:, None].astype(np.int64), self.p[:, None], (len(self), k))
        return draws.astype(float)
