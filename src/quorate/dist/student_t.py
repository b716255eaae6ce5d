"""Student's t: a Normal whose scale is not known for sure."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import LocationScale, Numbers, check_finite, check_positive, generator
from quorate.dist.gammas import half_step, log_less_digamma
from quorate.dist.tails import FADED, instead, log_beta_far, log_shares

FAR = 1e8  # |z| / √df from where a tail is its own first term


@dataclass(frozen=True, eq=False, repr=False)
class StudentT(LocationScale):
    """Student's t with `df` degrees of freedom: p(y) ∝ (1 + z² / df)^(−(df + 1) / 2), z = (y − loc) / scale.

    The mean is nan for df ≤ 1; the variance is infinite for df ≤ 2, and nan for df ≤ 1. The CRPS is finite for
    df > ½ all the same.

    >>> import quorate as q
    >>> d = q.StudentT([1.0, 5.0])
    >>> d.crps(3.0).round(4)
    array([2.0938, 2.3388])
    """

    df: Numbers
    loc: Numbers = 0.0
    scale: Numbers = 1.0

    def __post_init__(self):
        self._set(
            df=check_positive("df", self.df),
            loc=check_finite("loc", self.loc),
            scale=check_positive("scale", self.scale),
        )

    # density

    def log_prob(self, y):
        z, (_, df, _, scale) = self._standard(y), self._at(y)
        return _log_norm(df) - 0.5 * (df + 1) * _log_rise(z, df) - np.log(scale)

    # probabilities

    def cdf(self, y):
        return _below(self._standard(y), self._at(y)[1])

    def sf(self, y):
        return _below(-self._standard(y), self._at(y)[1])

    def _log_tails(self, y):
        z, df = self._standard(y), self._at(y)[1]
        p, rest = _below(z, df), _below(-z, df)
        log_p, log_rest = log_shares(p, rest)
        return (
            instead(log_p, (p < FADED) & np.isfinite(z), _log_far, z, df),
            instead(log_rest, (rest < FADED) & np.isfinite(z), _log_far, z, df),
        )

    def _quantile(self, p):
        df = self.df[:, None]
        tail = np.minimum(p, 1 - p)
        with np.errstate(all="ignore"):
            z = np.abs(special.stdtrit(df, tail))
            far = np.sqrt(df) * np.exp(-(np.log(tail) - _log_first(df)) / df)
            z = np.where(far > FAR * np.sqrt(df), far, z)
            z = np.where(tail > 0, z, np.inf)
        return self.loc[:, None] + self.scale[:, None] * np.where(p < 0.5, -z, z)

    # moments

    @property
    def mean(self):
        return np.where(self.df > 1, self.loc, np.nan)

    @property
    def variance(self):
        with np.errstate(all="ignore"):
            finite = self.df / (self.df - 2) * self.scale**2
        return np.where(self.df > 2, finite, np.where(self.df > 1, np.inf, np.nan))

    @property
    def std(self):
        with np.errstate(all="ignore"):
            finite = self.scale * np.sqrt(self.df / (self.df - 2))
        return np.where(self.df > 2, finite, np.where(self.df > 1, np.inf, np.nan))

    @property
    def entropy(self):
        rise = np.log1p(1 / self.df) - log_less_digamma((self.df + 1) / 2) + log_less_digamma(self.df / 2)
        return 0.5 * (self.df + 1) * rise - _log_norm(self.df) + np.log(self.scale)

    # scores

    @property
    def too_heavy(self):
        return self.df <= 0.5

    def crps(self, y):
        """Gneiting's closed form, whose E|Y − y| and ½ E|Y − Y'| are taken together: their poles at df = 1 cancel."""
        z, (y, df, loc, scale) = self._standard(y), self._at(y)
        with np.errstate(all="ignore"):
            middle = (y - loc) * (1 - 2 * _below(-z, df))
            score = middle + 2 * scale * df * np.exp(_log_norm(df)) * _gap(_log_rise(z, df), df)
        return np.where((df > 0.5) & ~np.isinf(y), score, np.inf)

    def distance(self, y):
        z, (y, df, loc, scale) = self._standard(y), self._at(y)
        with np.errstate(all="ignore"):
            rest = np.exp(log_beyond(z, df))
            return np.where(df > 1, (y - loc) * (1 - 2 * _below(-z, df)) + 2 * scale * rest, np.inf)

    def half_distance(self):
        with np.errstate(all="ignore"):
            finite = 2 * self.df / (self.df - 1) * np.exp(_log_norm(self.df) + _log_ratio(self.df))
        return np.where(self.df > 1, self.scale * finite, np.inf)

    # draws

    def sample(self, k=1, rng=None):
        draws = generator(rng).standard_t(self.df[:, None], (len(self), k))
        return self.loc[:, None] + self.scale[:, None] * draws


def log_beyond(z, df):
    """log E[Z; Z > z] = log of df / (df − 1) · (1 + z² / df) p(z), for df > 1."""
    return np.log(df / (df - 1)) + _log_norm(df) + 0.5 * (1 - df) * _log_rise(z, df)


def _log_norm(df):
    """log of the density of z at 0."""
    return half_step(df / 2) - 0.5 * np.log(np.pi * df)


def _log_rise(z, df):
    """log(1 + z² / df)."""
    with np.errstate(divide="ignore", over="ignore"):
        t = np.abs(z) / np.sqrt(df)
        return np.where(t < 1e8, np.log1p(np.minimum(t, 1e8) ** 2), 2 * np.log(t))


def _below(z, df):
    """P(Z ≤ z)."""
    with np.errstate(all="ignore"):
        t = -z / np.sqrt(df)
        return np.where(t > FAR, np.exp(_log_first(df) - df * np.log(t)), special.stdtr(df, z))


def _log_far(z, df):
    """log of ½ I_x(df / 2, ½) at x = 1 / (1 + z² / df), and from FAR on of its first term."""
    t = np.abs(z) / np.sqrt(df)
    x = 1 / (1 + t * t)
    near = log_beta_far(df / 2, 0.5, x, t * t * x) - np.log(2)
    return np.where(t > FAR, _log_first(df) - df * np.log(t), near)


def _log_first(df):
    """log of c in P(Z < −t √df) = c t^−df, exact for large t."""
    return half_step(df / 2) - 0.5 * np.log(np.pi) - np.log(df)


def _log_ratio(df):
    """log of B(½, df − ½) / B(½, df / 2): 0 at df = 1."""
    with np.errstate(all="ignore"):
        return half_step(df / 2) - half_step(df - 0.5)


def _gap(log_rise, df):
    """(e^(−(df − 1)/2 · log_rise) − e^_log_ratio) / (df − 1), by its limit near df = 1."""
    d = df - 1
    near = np.abs(d) < 1e-4
    d_ = np.where(near, 1.0, d)
    # Powers of d in log_ratio / d: −log 2, π²/8, −7/4 ζ(3), from the derivatives of log Γ at 1 and ½.
    slope = np.where(
        near, -np.log(2) + d * (np.pi**2 / 8 - d * 1.75 * special.zeta(3.0)), _log_ratio(df) / d_
    )
    return _expm1_over(-0.5 * log_rise, d) - _expm1_over(slope, d)


def _expm1_over(a, d):
    """(e^(a d) − 1) / d, and a at d = 0."""
    x = a * d
    return a * np.where(np.abs(x) < 1e-8, 1 + x / 2, np.expm1(x) / np.where(x == 0, 1.0, x))
