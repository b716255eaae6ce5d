"""LogNormal: a positive number whose logarithm is Normal."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Numbers, Parametric, Real, beside, check_finite, check_positive, generator
from quorate.dist.normal import LOG_SQRT_2PI


@dataclass(frozen=True, eq=False, repr=False)
class LogNormal(Parametric, Real):
    """The law of exp(X) for X Normal with mean `loc` and standard deviation `scale` (both of log y).

    >>> import quorate as q
    >>> q.LogNormal([0.0, 1.0], 0.5).mean.round(4)
    array([1.1331, 3.0802])
    """

    loc: Numbers = 0.0
    scale: Numbers = 1.0

    support = (0, np.inf)

    def __post_init__(self):
        self._set(loc=check_finite("loc", self.loc), scale=check_positive("scale", self.scale))

    # density

    def log_prob(self, y):
        z, (y, _, scale) = self._standard(y), self._at(y)
        with np.errstate(all="ignore"):
            inside = -0.5 * z * z - np.log(scale) - LOG_SQRT_2PI - np.log(y)
            return np.where(np.isnan(y), np.nan, np.where((y > 0) & (y < np.inf), inside, -np.inf))

    # probabilities

    def _standard(self, y):
        """(log y − loc) / scale, −∞ for y ≤ 0."""
        y, loc, scale = self._at(y)
        with np.errstate(divide="ignore", over="ignore"):
            return (np.log(np.maximum(y, 0.0)) - loc) / scale

    def cdf(self, y):
        return special.ndtr(self._standard(y))

    def sf(self, y):
        return special.ndtr(-self._standard(y))

    def _log_tails(self, y):
        z = self._standard(y)
        return special.log_ndtr(z), special.log_ndtr(-z)

    def _quantile(self, p):
        with np.errstate(over="ignore"):
            return np.exp(self.loc[:, None] + self.scale[:, None] * special.ndtri(p))

    # moments

    @property
    def _square(self):
        with np.errstate(over="ignore"):
            return self.scale**2

    @property
    def _log_mean(self):
        return self.loc + 0.5 * self._square

    @property
    def mean(self):
        with np.errstate(over="ignore"):
            return np.exp(self._log_mean)

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.std**2

    @property
    def std(self):
        s2 = self._square
        with np.errstate(over="ignore", divide="ignore"):
            # log √(e^s² − 1), which must not overflow before the mean it belongs to
            half = 0.5 * np.where(s2 < 30, np.log(np.expm1(np.minimum(s2, 30))), s2)
            return np.exp(self._log_mean + half)

    @property
    def mode(self):
        with np.errstate(over="ignore"):
            return np.exp(self.loc - self._square)

    @property
    def entropy(self):
        return self.loc + np.log(self.scale) + LOG_SQRT_2PI + 0.5

    # scores

    def crps(self, y):
        """y (2F − 1) + 2 e^(loc + s²/2) (Φ(−s/√2) − Φ(z − s)), each Φ taken with the exponential that goes with it."""
        z, (y, _, scale) = self._standard(y), self._at(y)
        _, log_mean = beside(y, len(self), self._log_mean)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.exp(log_mean + special.log_ndtr(-scale / np.sqrt(2)))
            below = np.exp(log_mean + special.log_ndtr(z - scale))
            above = np.exp(log_mean + special.log_ndtr(scale - z))
            # Where z is large, the mean is less than y, and what is above y is small.
            low = y * (1 - 2 * special.ndtr(-z)) + 2 * (spread - below)
            high = (
                (y - np.exp(log_mean)) - y * (2 * special.ndtr(-z)) + 2 * (spread + above) - np.exp(log_mean)
            )
            score = np.maximum(np.where(z < scale, low, high), 0.0)
            return np.where(np.isinf(y) | np.isinf(log_mean), np.inf, score)

    def distance(self, y):
        z, (y, _, scale) = self._standard(y), self._at(y)
        _, mean = beside(y, len(self), self.mean)
        with np.errstate(invalid="ignore"):
            value = y * special.erf(z / np.sqrt(2)) - mean * special.erf((z - scale) / np.sqrt(2))
        return np.where(np.isinf(mean), np.inf, value)

    def half_distance(self):
        with np.errstate(over="ignore"):
            return self.mean * special.erf(self.scale / 2)

    # closure

    def _affine(self, shift, factor):
        if np.all(shift == 0) and np.all(factor > 0):
            return LogNormal(self.loc + np.log(factor), self.scale)
        return super()._affine(shift, factor)

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).standard_normal((len(self), k))
        with np.errstate(over="ignore"):
            return np.exp(self.loc[:, None] + self.scale[:, None] * draws)
