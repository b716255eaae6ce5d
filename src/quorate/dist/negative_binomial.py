"""NegativeBinomial: failures before the r-th success; a Poisson count whose rate is Gamma."""

from dataclasses import dataclass

import numpy as np

from quorate.dist.base import Lattice, Numbers, Parametric, check_positive, check_unit, generator
from quorate.dist.gammas import half_beta_mean, half_step, log_binomial, power
from quorate.dist.tails import beta_above, beta_below, log_beta

WIDE = 1e30  # 4 (1 − p) / p² from where the counts are as good as a density


@dataclass(frozen=True, eq=False, repr=False)
class NegativeBinomial(Parametric, Lattice):
    """The negative binomial distribution: P(k) = Γ(k + r) / (k! Γ(r)) · p^r (1 − p)^k, mean r (1 − p) / p.

    `r` is any positive number; a Poisson count with a Gamma(r, scale=(1 − p)/p) rate has this law.

    >>> import quorate as q
    >>> d = q.NegativeBinomial(2.0, 0.25)
    >>> d.mean, d.variance
    (array([6.]), array([24.]))
    """

    r: Numbers
    p: Numbers

    def __post_init__(self):
        self._set(r=check_positive("r", self.r), p=check_unit("p", self.p, open_low=True))

    # density

    def log_prob(self, y):
        y, r, p = self._at(y)
        whole = (y >= 0) & (y == np.floor(y)) & (y < np.inf)
        k = np.where(whole, y, 0.0)
        some = np.log(r / (r + k)) + log_binomial(r, r + k, p, 1 - p)
        value = np.where(k > 0, some, power(r, p, 1 - p))
        return np.where(np.isnan(y), np.nan, np.where(whole, value, -np.inf))

    # probabilities

    def cdf(self, y):
        return np.where(np.less(y, 0), 0.0, beta_below(*self._as_beta(y)))

    def sf(self, y):
        return np.where(np.less(y, 0), 1.0, beta_above(*self._as_beta(y)))

    def _log_tails(self, y):
        below, above = log_beta(*self._as_beta(y))
        return np.where(np.less(y, 0), -np.inf, below), np.where(np.less(y, 0), 0.0, above)

    def _as_beta(self, y):
        """(a, b, p): Y ≤ k as often as Beta(a, b) ≤ p, for a = r and b = k + 1."""
        y, r, p = self._at(y)
        return r, np.maximum(np.floor(y), 0.0) + 1, p

    def bounds(self):
        return np.zeros(len(self)), np.where(self.p < 1, np.inf, 0.0)

    # moments

    @property
    def _odds(self):
        with np.errstate(over="ignore"):
            return (1 - self.p) / self.p

    @property
    def mean(self):
        with np.errstate(over="ignore"):
            return self.r * self._odds

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.mean / self.p

    @property
    def std(self):
        with np.errstate(over="ignore"):
            return np.sqrt(self.r) * np.sqrt(1 - self.p) / self.p

    @property
    def mode(self):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.r > 1, np.floor((self.r - 1) * self._odds), 0.0)

    # scores

    def distance(self, y):
        y, r, p = self._at(y)
        middle = self.cdf(y) - self.sf(y)
        k = np.where(np.isfinite(y), np.maximum(np.floor(y), 0.0), 0.0)
        with np.errstate(all="ignore"):
            odds = (1 - p) / p
            # in logs, as the one factor may overflow where the other is 0
            bump = np.exp(np.log(r + k) + np.log(odds) + self.log_prob(np.floor(y)))
            return (y - r * odds) * middle + 2 * bump

    def half_distance(self):
        """As for all counts (see half_beta_mean), or that of Gamma where p is so small that nobody counts."""
        with np.errstate(all="ignore"):
            q = 4 * self._odds / self.p
            q_, r = np.minimum(q, WIDE), np.minimum(self.r, np.where(q > WIDE, 1.0, np.inf))
            counted = self.variance * half_beta_mean(lambda v: (r + 1) * np.log1p(q_ * v), (r + 1) * q_)
            return np.where(q > WIDE, self._odds * np.exp(half_step(self.r)) / np.sqrt(np.pi), counted)

    # draws

    def sample(self, k=1, rng=None):
        rng = generator(rng)
        rate = rng.standard_gamma(self.r[:, None], (len(self), k)) * self._odds[:, None]
        return rng.poisson(np.minimum(rate, 9e18)).astype(float)
