"""Families whose every parameter is boosted by natural gradient (Duan et al., NGBoost, 2020).

    f ← f − η Σ g / Σ h over the rows of a leaf,     g = ∇ risk,     h = the diagonal of the metric

The risk is −log p(y) and h the Fisher information, or the risk is the CRPS and h that of the CRPS: the information
times ½ E|Y − Y'| for a place or a log mean, and a quarter of that for the log of a spread or of a shape. Of a Normal
these are exactly 1 / σ√π and σ / 2√π.

| family | columns of f | |
|---|---|---|
| normal, laplace | μ, log σ | of (y − loc) / scale |
| log_normal | μ, log σ | of (log y − loc) / scale: its CRPS too is that of log y |
| student_t | μ, log σ, log ν | of (y − loc) / scale |
| gamma | log mean, log shape | of y / scale |
| poisson | log λ | of y |
| negative_binomial | log mean, log r | of y |

Columns are kept between `ends`: f beyond one of them means the end, and there g leads back or is 0. A `Family` owes
`ends(f)`, `law(*columns)`, `guess(y, w)`, the slopes of both risks as columns, and `leaps`.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy import special
from scipy.interpolate import RectBivariateSpline

from quorate import dist as laws
from quorate.dist.bandwidth import SHARE, smallest_gap
from quorate.dist.gammas import half_beta_mean, log_less_digamma
from quorate.members.boosted import Voice
from quorate.members.losses import LEAST, Given, quantile, weighted

# Slopes are summed as whole numbers, whose digits must do for rows that are sure and for rows that are not: h of the
# narrowest is 10¹⁰ that of a row as wide as all of y.
NARROW, WIDE = 1e-5, 1e10
# A row is heard as if it lay no further off than this many σ², b or means. Where a whole leaf is further off, its σ is
# there in a few rounds; where one row is, the leaf would not be about the others any more.
HEARD = 1e3
REACH = np.sqrt(HEARD)
HUGE = 1e100  # so that squares are finite
LOG_MEAN = (-20.0, 30.0)
LOG_K = (-7.0, -2 * np.log(NARROW))  # the gamma whose standard deviation is NARROW means has the largest
LOG_R = (-7.0, 18.0)
ALIKE = 1e-6  # μ / r of a negative binomial that is as good as a Poisson
LOG_DF = (np.log(2.1), np.log(1e3))  # there is a variance; and it is as good as a Normal
# What is known of log ν and log r before any row is seen, as information a row: they say nothing of themselves where
# tails are thin or counts are few, and would be led far astray by a handful of rows.
RIDGE = 0.02
LOUD = (
    1.0  # a slope of log ν to which log σ answers in full: rows far off have any, and ν no step to go with it
)
STEPS, HALVINGS, NOUGHT, EPS = 50, 20, 1e-6, 1e-4
PIECE = 3 << 12  # rows whose temporary arrays are so small that memory is used again at once
MANY = 1 << 13  # values that a start is learned from where each takes long
ROOT_PI = np.sqrt(np.pi)


# how long a step is


def as_it_is(step):
    return step


def of_mean(step):
    """A log mean: the mean is multiplied by 1 + step, where that is more than before."""
    return np.where(step > 0, np.log1p(np.maximum(step, 0.0)), step)


def of_spread(step):
    """A log σ: σ² is multiplied by 1 + 2 step, its exact mean square, where that is more than before."""
    return 0.5 * of_mean(2.0 * step)


def of_shape(step):
    """A log shape: e times as much or as little at most, as the risk is no parabola."""
    return np.clip(step, -1.0, 1.0)


# families


@dataclass(frozen=True)
class Family(Given):
    """See above: `score` is "log" or "crps"; `floor` is the least standard deviation (or b), as rounds see y."""

    score: str = "log"
    floor: float = 0.0

    name = ""
    leaps: ClassVar[tuple] = ()

    def __post_init__(self):
        if self.score not in ("log", "crps"):
            raise ValueError(f"score must be 'log' or 'crps', got {self.score!r}")

    # owed

    @abstractmethod
    def ends(self, f) -> Any:
        """(least, greatest) of each column of f, numbers or arrays of one a row."""

    @abstractmethod
    def law(self, *columns) -> Any:
        """The distribution of y as rounds see it."""

    @abstractmethod
    def guess(self, y, w) -> Any:
        """About the best constants, for distinct values y of weight w."""

    @abstractmethod
    def _log_slopes(self, *columns) -> Any:
        """((g of each column), (h of each column)) of −log p(y), y being the last argument."""

    @abstractmethod
    def _crps_slopes(self, *columns) -> Any:
        """The same of the CRPS."""

    # y, as rounds see it

    def check(self, y, rows=None):
        """Complain of the first y that can not be; `rows` are the user's numbers of rows."""

    def inward(self, y, w):
        """(loc, scale), learned from y."""
        return 0.0, 1.0

    def seen(self, y, loc, scale):
        """What rounds see of y."""
        return (y - loc) / scale

    def above(self, seen):
        """The same family, whose σ is not less than that of rounding to the smallest gap of y, as rounds see it."""
        gap = smallest_gap(seen)
        return replace(self, floor=gap / np.sqrt(12) if gap > 0 else SHARE)

    # the loss

    def columns(self, f):
        """The parameters, each between its ends."""
        return [np.clip(f[:, k], *ends) for k, ends in enumerate(self.ends(f))]

    def start(self, y, w):
        y, w = distinct(y, w)
        f = np.array([self.guess(y, w)], dtype=float)
        f = np.array(self.columns(f))[:, 0]
        if self.score == "crps" and len(y) > MANY:
            y, w = condensed(y, w, MANY)
        return f if len(y) == 1 else self._settled(f, y, w / w.sum())

    def _settled(self, f, y, w):
        """f after natural steps, each halved until it is to the good, until none is."""

        def risk(f):
            return w @ self.risk(np.broadcast_to(f, (len(y), len(f))), y)

        now = risk(f)
        for _ in range(STEPS):
            g, h = self.slopes(np.broadcast_to(f, (len(y), len(f))), y)
            step = self.leaf(-(w @ g) / (w @ h))
            tried = (f + step * 0.5**k for k in range(HALVINGS))
            better = next(((new, at) for new in tried if (at := risk(new)) < now), None)
            if better is None or np.all(np.abs(step) < NOUGHT):
                break
            f, now = better
        return f

    def risk(self, f, y):
        law = self.law(*self.columns(f))
        return law.crps(y) if self.score == "crps" else -law.log_prob(y)

    def slopes(self, f, y):
        g, h = np.empty(f.shape), np.empty(f.shape)
        for first in range(0, len(f), PIECE):
            part = slice(first, first + PIECE)
            self._slope(f[part], y[part], g[part], h[part])
        return g, h

    def _slope(self, f, y, g, h):
        find, ends = self._crps_slopes if self.score == "crps" else self._log_slopes, self.ends(f)
        found = find(*(np.clip(f[:, k], *of) for k, of in enumerate(ends)), y)
        for k, (low, high) in enumerate(ends):
            g[:, k], h[:, k] = found[0][k], found[1][k]
            stop(f[:, k], g[:, k], low, high)

    def leaf(self, step):
        return np.stack([leap(step[..., k]) for k, leap in enumerate(self.leaps)], axis=-1)

    def _crps_slope(self, k, columns, y):
        """The slope of the CRPS down column k, from either side."""
        before, after = columns[:k], columns[k + 1 :]
        up, down = (self.law(*before, columns[k] + e, *after).crps(y) for e in (EPS, -EPS))
        return (up - down) / (2 * EPS)

    # what f says of y

    def dist(self, f, loc=0.0, scale=1.0):
        """The distribution of y itself."""
        return self.law(*self.columns(f)).affine(loc, scale)

    def means(self, f, loc=0.0, scale=1.0):
        return self.dist(f, loc, scale).mean


class Located(Family):
    """A place and the log of a spread."""

    outputs = 2
    leaps: ClassVar[tuple] = (as_it_is, of_spread)

    def ends(self, f):
        return (-HUGE, HUGE), (np.log(max(self.floor, NARROW)), np.log(WIDE))

    def inward(self, y, w):
        y, w = distinct(y, w)
        loc = weighted(y, w)
        return (loc, spread(y, w, loc)) if len(y) > 1 else (float(y[0]), float(abs(y[0])) or 1.0)

    def guess(self, y, w):
        loc = weighted(y, w)
        return loc, log(spread(y, w, loc))


class Heavy(Located):
    """One whose place and spread are found by halves, that a few rows far off do not move."""

    def inward(self, y, w):
        y, w = distinct(y, w)
        loc = quantile(y, 0.5, w)
        return (loc, half_width(y, w, loc)) if len(y) > 1 else super().inward(y, w)


class Normal(Located):
    """N(μ, σ²)."""

    name = "normal"

    def law(self, loc, log_scale):
        return laws.Normal(loc, np.exp(log_scale))

    def _log_slopes(self, loc, log_scale, y):
        """(−z / σ, 1 − z²) and (1 / σ², 2), z = (y − μ) / σ."""
        # in place, as the columns are copies
        np.negative(log_scale, out=log_scale)
        per = np.exp(log_scale, out=log_scale)
        z = np.subtract(loc, y, out=loc)
        z *= per
        np.clip(z, -REACH, REACH, out=z)
        return (z * per, 1.0 - z * z), (per * per, 2.0)

    def _crps_slopes(self, loc, log_scale, y):
        """(1 − 2Φ(z), σ (2φ(z) − 1/√π))."""
        scale = np.exp(log_scale)
        z = (y - loc) / scale
        bump = np.exp(-0.5 * np.square(z)) * np.sqrt(2 / np.pi)
        g = -special.erf(z / np.sqrt(2)), scale * (bump - 1 / ROOT_PI)
        return g, (1 / (scale * ROOT_PI), scale / (2 * ROOT_PI))


class LogNormal(Normal):
    """A Normal of log y."""

    name = "log_normal"

    def check(self, y, rows=None):
        check_positive(self, y, rows)

    def inward(self, y, w):
        return super().inward(np.log(y), w)

    def seen(self, y, loc, scale):
        return super().seen(np.log(y), loc, scale)

    def dist(self, f, loc=0.0, scale=1.0):
        law = super().dist(f, loc, scale)
        return laws.LogNormal(law.loc, law.scale)

    def means(self, f, loc=0.0, scale=1.0):
        law = super().dist(f, loc, scale)
        return np.exp(np.minimum(law.loc + 0.5 * law.scale**2, 700.0))  # which is finite


class Laplace(Heavy):
    """Laplace of place μ and scale b."""

    name = "laplace"
    leaps = (as_it_is, of_mean)  # b is the mean of |y − μ|

    def law(self, loc, log_scale):
        return laws.Laplace(loc, np.exp(log_scale))

    def guess(self, y, w):
        loc = quantile(y, 0.5, w)
        return loc, log(weighted(np.abs(y - loc), w))

    def _log_slopes(self, loc, log_scale, y):
        """(−sign(z) / b, 1 − |z|) and (1 / b², 1)."""
        per = np.exp(-log_scale)
        z = (y - loc) * per
        return (-np.sign(z) * per, 1.0 - np.minimum(np.abs(z), HEARD)), (per * per, 1.0)

    def _crps_slopes(self, loc, log_scale, y):
        """(1 − 2F(z), b (e^−|z| (1 + |z|) − ¾)) and 2 ∫ (∂F)²: (1 / 2b, b / 4)."""
        scale = np.exp(log_scale)
        z = (y - loc) / scale
        far = np.abs(z)
        tail = np.exp(-far)
        g = -np.sign(z) * (1 - tail), scale * (tail * (1 + far) - 0.75)
        return g, (0.5 / scale, 0.25 * scale)


class StudentT(Heavy):
    """Student's t, whose degrees of freedom ν are boosted too."""

    name = "student_t"
    outputs = 3
    leaps = (as_it_is, of_spread, of_shape)

    def ends(self, f):
        return (*super().ends(f), LOG_DF)

    def law(self, loc, log_scale, log_df):
        return laws.StudentT(np.exp(log_df), loc, np.exp(log_scale))

    def guess(self, y, w):
        loc = quantile(y, 0.5, w)
        return loc, log(half_width(y, w, loc)), np.log(8.0)

    def _log_slopes(self, loc, log_scale, log_df, y):
        """With q = (ν + 1) / (ν + z²): −q z / σ, 1 − q z², and a difference of digammas; (ν + 1) / (ν + 3) / σ²."""
        per, df = np.exp(-log_scale), np.exp(log_df)
        z = (y - loc) * per
        square = z * z
        q = (df + 1) / (df + square)
        rise = special.psi(0.5 * df + 0.5) - special.psi(0.5 * df) - np.log1p(square / df)
        g_scale, g_df = 1.0 - q * square, -0.5 * (df * rise - 1.0 + q * square)
        heard = np.clip(g_df, -LOUD, LOUD)
        stop(log_df, heard, *LOG_DF)
        (g_scale, g_df), (h_scale, h_df) = natural(g_scale, g_df, df, heard)
        return (-q * z * per, g_scale, g_df), ((df + 1) / (df + 3) * per * per, h_scale, h_df)

    def _crps_slopes(self, loc, log_scale, log_df, y):
        """c(z) − z (2F(z) − 1) = 2 (ν + z²) / (ν − 1) · t(z) − ½ E|Z − Z'|."""
        scale, df, law = np.exp(log_scale), np.exp(log_df), self.law(loc, log_scale, log_df)
        half, z = law.half_distance(), (y - loc) / scale
        bump = np.exp(law.log_prob(y) + 2 * log_scale) * 2 * (df + z * z) / (df - 1)
        g_df = self._crps_slope(2, (loc, log_scale, log_df), y)
        (g_scale, g_df), (h_scale, h_df) = natural(bump - half, g_df, df)
        h_loc = (df + 1) / (df + 3) / scale**2
        return (1.0 - 2.0 * law.cdf(y), g_scale, g_df), (h_loc * half, h_scale * half / 4, h_df * half / 4)


class Gamma(Family):
    """Gamma of mean m and shape k: its standard deviation is m / √k."""

    name = "gamma"
    outputs = 2
    leaps = (of_mean, of_shape)

    def check(self, y, rows=None):
        check_positive(self, y, rows)

    def inward(self, y, w):
        return 0.0, weighted(y, w)

    def ends(self, f):
        if self.floor == 0:
            return LOG_MEAN, LOG_K
        # m / √k ≥ floor, but for means so small that an exponential is as narrow.
        most = 2 * (np.clip(f[:, 0], *LOG_MEAN) - np.log(self.floor))
        return LOG_MEAN, (LOG_K[0], np.clip(most, 0.0, LOG_K[1]))

    def law(self, log_mean, log_k):
        return laws.Gamma(np.exp(log_k), np.exp(log_mean - log_k))

    def guess(self, y, w):
        """Minka's approximation of the solution of log k − ψ(k) = log m − E log y."""
        mean = weighted(y, w)
        s = max(np.log(mean) - weighted(np.log(y), w), NARROW**2)
        return np.log(mean), np.log((3 - s + np.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s))

    def _log_slopes(self, log_mean, log_k, y):
        """With u = y / m: (k (1 − u), k (ψ(k) − log k + u − 1 − log u)) and (k, k² ψ'(k) − k)."""
        k, log_u = np.exp(log_k), np.log(y) - log_mean
        u = np.minimum(np.exp(np.minimum(log_u, REACH)), HEARD)
        g = k * (1.0 - u), k * (u - 1.0 - log_u - log_less_digamma(k))
        return g, (k, k * (k * trigamma(k) - 1.0))

    def _crps_slopes(self, log_mean, log_k, y):
        """The CRPS is m · c(y / m), so that its slope down log m is itself less y (2F(y) − 1)."""
        law, k = self.law(log_mean, log_k), np.exp(log_k)
        half = law.half_distance()
        g_mean = law.crps(y) - y * (law.cdf(y) - law.sf(y))
        g_k = self._crps_slope(1, (log_mean, log_k), y)
        return (g_mean, g_k), (k * half, k * (k * trigamma(k) - 1.0) * half / 4)


class Counts(Family):
    """Whole numbers, which are seen as they are."""

    def check(self, y, rows=None):
        check_support(self, y, (y >= 0) & (y == np.floor(y)), "whole numbers ≥ 0", rows)

    def seen(self, y, loc, scale):
        return y

    def above(self, seen):
        return self

    def dist(self, f, loc=0.0, scale=1.0):
        return self.law(*self.columns(f))


class Poisson(Counts):
    """Poisson of mean λ."""

    name = "poisson"
    leaps = (of_mean,)

    def ends(self, f):
        return (LOG_MEAN,)

    def law(self, log_rate):
        return laws.Poisson(np.exp(log_rate))

    def guess(self, y, w):
        return (log_count(y, w),)

    def _log_slopes(self, log_rate, y):
        rate = np.exp(log_rate)
        return (rate - y,), (rate,)

    def _crps_slopes(self, log_rate, y):
        """∂F(k) = −p(k), so that the slope down λ is 2 P(Y ≥ y) − 1 − Σ p², and half the curvature Σ p²."""
        rate = np.exp(log_rate)
        alike = special.i0e(2 * rate)
        return (rate * (2 * self.law(log_rate).sf_from(y) - 1 - alike),), (2 * rate**2 * alike,)


class NegativeBinomial(Counts):
    """Negative binomial of mean μ and variance μ + μ² / r."""

    name = "negative_binomial"
    outputs = 2
    leaps = (of_mean, of_shape)

    def ends(self, f):
        most = np.clip(f[:, 0], *LOG_MEAN) - np.log(ALIKE)
        return LOG_MEAN, (LOG_R[0], np.clip(most, *LOG_R))

    def law(self, log_mean, log_r):
        return laws.NegativeBinomial(np.exp(log_r), special.expit(log_r - log_mean))

    def guess(self, y, w):
        log_mean = log_count(y, w)
        mean = np.exp(log_mean)
        more = weighted(np.square(y - mean), w) - mean
        return log_mean, np.log(mean**2 / max(more, 1e-3 * mean * (1 + mean)))

    def _log_slopes(self, log_mean, log_r, y):
        """(p (μ − y), …) and (p μ, see `information`), p = r / (r + μ)."""
        mean, r, p = np.exp(log_mean), np.exp(log_r), special.expit(log_r - log_mean)
        miss = mean - y
        g_r = -r * (special.psi(y + r) - special.psi(r) - np.log1p(mean / r) + miss / (r + mean))
        return (p * miss, g_r), (p * mean, RIDGE + np.exp(surface(information).ev(log_mean, log_r)))

    def _crps_slopes(self, log_mean, log_r, y):
        """Of E|Y − y| and ½ E|Y − Y'| apart: down μ the first has 1 − 2 P(Y* < y), Y* having r + 1 for r."""
        mean, p, of = np.exp(log_mean), special.expit(log_r - log_mean), surface(half_distance)
        half = mean * np.exp(of.ev(log_mean, log_r))
        up, down = (self._distance(log_mean, log_r + e, y) for e in (EPS, -EPS))
        short = laws.NegativeBinomial(np.exp(log_r) + 1, p).cdf_below(y)
        g_mean = mean * (1 - 2 * short) - half * (1 + of.ev(log_mean, log_r, dx=1))
        g_r = (up - down) / (2 * EPS) - half * of.ev(log_mean, log_r, dy=1)
        h_r = RIDGE + np.exp(surface(information).ev(log_mean, log_r))
        return (g_mean, g_r), (p * mean * half, h_r * half / 4)

    def _distance(self, log_mean, log_r, y):
        """E|Y − y| of a count y by the cdf alone, whose other side takes ten times as long and is of use in tails."""
        mean, law = np.exp(log_mean), self.law(log_mean, log_r)
        bump = (mean + y * np.exp(log_mean - log_r)) * np.exp(law.log_prob(y))
        return (y - mean) * (2 * law.cdf(y) - 1) + 2 * bump


FAMILIES = {
    family.name: family for family in (Normal, StudentT, Laplace, LogNormal, Poisson, NegativeBinomial, Gamma)
}


# of y


def distinct(y, w):
    """(the values of y, the weight of each), those of no weight left out."""
    values, at = np.unique(y, return_inverse=True)
    total = np.bincount(at, w)
    return values[total > 0], total[total > 0].astype(float)


def condensed(y, w, parts):
    """(mean, weight) of parts of about equal weight of values in order."""
    part = ((np.cumsum(w) - 0.5 * w) / w.sum() * parts).astype(int)
    total = np.bincount(part, w)
    return np.bincount(part, w * y)[total > 0] / total[total > 0], total[total > 0]


def spread(y, w, loc):
    """The standard deviation, of which no square overflows."""
    far = np.abs(y - loc)
    most = far.max() or 1.0
    return float(most * np.sqrt(weighted(np.square(far / most), w)))


def half_width(y, w, loc):
    """The σ of a Normal as wide as the middle half, or the standard deviation where the middle half is one value."""
    far = np.abs(y - loc)
    order = np.argsort(far, kind="stable")
    return quantile(far[order], 0.5, w[order]) / special.ndtri(0.75) or spread(y, w, loc)


def log(number):
    """log, of 0 too: an end stops it."""
    return np.log(max(number, np.finfo(float).tiny))


def log_count(y, w):
    """log of the mean count, of all zeros as if there were half of one."""
    return np.log(max(weighted(y, w), LEAST / w.sum()))


def check_positive(family, y, rows):
    check_support(family, y, y > 0, "positive numbers", rows)


def check_support(family, y, good, what, rows):
    """Name the first row that is not good."""
    if np.all(good):
        return
    at = int(np.argmin(good))
    raise ValueError(
        f"family={family.name!r} is a law of {what}, but y has {y[at]:g} in row {at if rows is None else rows[at]}; "
        "take that row out, or choose a family over all numbers, such as 'normal' or 'student_t'"
    )


# slopes


def stop(f, g, low, high):
    """Where f is at an end or beyond, what would lead further is 0."""
    if np.any(under := f <= low):
        g[under & (g > 0)] = 0.0
    if np.any(over := f >= high):
        g[over & (g < 0)] = 0.0


def natural(g_scale, g_df, df, heard=None):
    """(g, h) of log σ and log ν, such that −g / h is −(F + ridge)⁻¹ g, F their information.

    h is 1 / diagonal of the inverse, which is what is known of each where the other is not. `heard` is as much of g_df
    as log σ is to answer.
    """
    heard = g_df if heard is None else heard
    a, c = 2 * df / (df + 3), -2 * df / ((df + 1) * (df + 3))
    d = trigamma(0.5 * df) - trigamma(0.5 * df + 0.5)
    d = RIDGE + df * (0.25 * df * d - 0.5 * (df + 5) / ((df + 1) * (df + 3)))
    return (g_scale - c / d * heard, g_df - c / a * g_scale), (a - c * c / d, d - c * c / a)


def trigamma(x):
    """ψ'(x), to eleven digits: ψ'(x) = 1/x² + ψ'(x + 1) eight times, and Stirling's series."""
    out, far = np.zeros_like(x), x + 8.0
    for k in range(8):
        out += 1 / np.square(x + k)
    t = 1 / np.square(far)
    return out + (1 + t * (1 / 6 - t * (1 / 30 - t * (1 / 42 - t / 30)))) / far + 0.5 * t


def information(mean, r):
    """What a count says of log r: r² Σ_j≥2 q^j B(r, j) / j = r ∫ e^−v φ(1 − e^(−v/r)) dv, q = μ / (r + μ).

    φ(t) = (−log(1 − qt) − qt) / t, and v = e^a on a grid of a.
    """
    a = np.arange(-40.0, 4.0, 0.5)[:, None]
    v = np.exp(a)
    t = -np.expm1(-v / r)
    qt = np.minimum(mean / (r + mean) * t, 1 - 1e-16)
    phi = np.where(qt < 1e-4, qt * qt * (0.5 + qt / 3), -np.log1p(-qt) - qt) / t
    return 0.5 * r * np.sum(np.exp(-v) * v * phi, axis=0)


def half_distance(mean, r):
    """½ E|Y − Y'| / μ of a negative binomial, whose r / (r + μ) may round to 1."""
    odds = mean / r
    slope = 4 * odds * (1 + odds)
    return (1 + odds) * half_beta_mean(lambda v: (r + 1) * np.log1p(slope * v), (r + 1) * slope)


@cache
def surface(of):
    """log of(mean, r), by splines through its values on a grid of log mean and log r."""
    m, s = np.arange(LOG_MEAN[0], LOG_MEAN[1] + 0.5, 0.5), np.arange(LOG_R[0], LOG_R[1] + 0.5, 0.5)
    values = of(*np.exp(np.meshgrid(m, s, indexing="ij")).reshape(2, -1))
    return RectBivariateSpline(m, s, np.log(values).reshape(len(m), -1))


# what scores say


@dataclass(frozen=True)
class OfFamily(Voice):
    """Scores are a family's parameters, of y in units `scale` from `loc` on."""

    family: Family
    loc: float = 0.0
    scale: float = 1.0

    @property
    def outputs(self):
        """How many parameters there are."""
        return self.family.outputs

    def dist(self, f):
        return self.family.dist(f, self.loc, self.scale)
