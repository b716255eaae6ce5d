"""NegativeBinomial: failures before the r-th success; a Poisson count whose rate is Gamma."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Lattice, Numbers, Parametric, check_positive, check_unit, generator
from quorate.dist.gammas import half_beta_mean, log_binomial, power


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
        y, r, p = self._at(y)
        return np.where(y < 0, 0.0, special.betainc(r, np.maximum(np.floor(y), 0.0) + 1, p))

    def sf(self, y):
        y, r, p = self._at(y)
        return np.where(y < 0, 1.0, special.betaincc(r, np.maximum(np.floor(y), 0.0) + 1, p))

    def bounds(self):
        return np.zeros(len(self)), np.where(self.p < 1, np.inf, 0.0)

    # moments

    @property
    def _odds(self):
        return (1 - self.p) / self.p

    @property
    def mean(self):
        return self.r * self._odds

    @property
    def variance(self):
        return self.mean / self.p

    @property
    def std(self):
        return np.sqrt(self.mean) / np.sqrt(self.p)

    @property
    def mode(self):
        return np.floor(np.maximum(self.r - 1, 0.0) * self._odds)

    # scores

    def distance(self, y):
        y, r, p = self._at(y)
        middle = self.cdf(y) - self.sf(y)
        k = np.where(np.isfinite(y), np.maximum(np.floor(y), 0.0), 0.0)
        odds = (1 - p) / p
        with np.errstate(invalid="ignore"):
            return (y - r * odds) * middle + 2 * (r + k) * odds * np.exp(self.log_prob(np.floor(y)))

    def half_distance(self):
        q = 4 * self._odds / self.p
        return self.variance * half_beta_mean(lambda v: (self.r + 1) * np.log1p(q * v), (self.r + 1) * q)

    # draws

    def sample(self, k=1, rng=None):
        rng = generator(rng)
        rate = rng.standard_gamma(self.r[:, None], (len(self), k)) * self._odds[:, None]
        return rng.poisson(np.minimum(rate, 9e18)).astype(float)
