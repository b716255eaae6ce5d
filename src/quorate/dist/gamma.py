"""Gamma: a positive number; the waiting time for `a` events."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Numbers, Parametric, Real, beside, check_positive, generator
from quorate.dist.gammas import LOG_SQRT_2PI, half_step, log_less_digamma, log_poisson, stirling_error
from quorate.dist.tails import gamma_above, gamma_below, log_gamma


@dataclass(frozen=True, eq=False, repr=False)
class Gamma(Parametric, Real):
    """The Gamma distribution with shape `a` and `scale`: p(y) ∝ y^(a − 1) exp(−y / scale), mean a · scale.

    The mode is 0 for a < 1, where the density is infinite.

    >>> import quorate as q
    >>> d = q.Gamma([1.0, 4.0], 0.5)
    >>> d.mean, d.mode
    (array([0.5, 2. ]), array([0. , 1.5]))
    """

    a: Numbers
    scale: Numbers = 1.0

    support = (0, np.inf)

    def __post_init__(self):
        self._set(a=check_positive("a", self.a), scale=check_positive("scale", self.scale))

    # density

    def log_prob(self, y):
        x, (y, a, scale) = self._standard(y), self._at(y)
        inside = (y > 0) & (y < np.inf)
        x = np.where(inside, x, 1.0)
        with np.errstate(all="ignore"):
            value = np.log(a) - np.log(np.where(inside, y, 1.0)) + log_poisson(a, x)
            at_zero = np.where(a < 1, np.inf, np.where(a > 1, -np.inf, -np.log(scale)))
            return np.where(np.isnan(y), np.nan, np.where(inside, value, np.where(y == 0, at_zero, -np.inf)))

    # probabilities

    def _standard(self, y):
        """y / scale, 0 for y ≤ 0."""
        y, _, scale = self._at(y)
        with np.errstate(over="ignore"):
            return np.maximum(y, 0.0) / scale

    def cdf(self, y):
        return gamma_below(self._at(y)[1], self._standard(y))

    def sf(self, y):
        return gamma_above(self._at(y)[1], self._standard(y))

    def _log_tails(self, y):
        return log_gamma(self._at(y)[1], self._standard(y))

    def _quantile(self, p):
        with np.errstate(over="ignore"):
            return self.scale[:, None] * special.gammaincinv(self.a[:, None], p)

    # moments

    @property
    def mean(self):
        with np.errstate(over="ignore"):
            return self.a * self.scale

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.a * self.scale**2

    @property
    def std(self):
        return np.sqrt(self.a) * self.scale

    @property
    def mode(self):
        with np.errstate(over="ignore"):
            return np.maximum(self.a - 1, 0.0) * self.scale

    @property
    def entropy(self):
        spread = 0.5 * np.log(self.a) + LOG_SQRT_2PI + stirling_error(self.a)
        return spread + (self.a - 1) * log_less_digamma(self.a) + np.log(self.scale)

    # scores

    def distance(self, y):
        x, (y, a, _) = self._standard(y), self._at(y)
        _, mean = beside(y, len(self), self.mean)
        middle = gamma_below(a, x) - gamma_above(a, x)
        with np.errstate(all="ignore"):
            return (y - mean) * middle + 2 * mean * np.where(x < np.inf, np.exp(log_poisson(a, x)), 0.0)

    def half_distance(self):
        return self.scale * np.exp(half_step(self.a)) / np.sqrt(np.pi)

    # closure

    def _affine(self, shift, factor):
        if np.all(shift == 0) and np.all(factor > 0):
            return Gamma(self.a, factor * self.scale)
        return super()._affine(shift, factor)

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).standard_gamma(self.a[:, None], (len(self), k))
        with np.errstate(over="ignore"):
            return self.scale[:, None] * draws
