"""Affine: shift + factor · Y, for families that are not closed under it."""

import numpy as np

from quorate.dist.base import Real, as_rows, beside, stretched, summary
from quorate.dist.invert import EPS, invert


class Affine(Real):
    """The law of shift + factor · Y, for Y of law `base` and a factor other than 0, as `base.affine` makes it.

    >>> import quorate as q
    >>> d = 20.0 - 2.0 * q.Gamma(3.0)
    >>> d.mean, d.cdf(20.0)
    (array([14.]), array([1.]))
    """

    base: Real
    shift: np.ndarray
    factor: np.ndarray

    def __init__(self, base, shift, factor):
        n = np.broadcast_shapes((len(base),), np.shape(shift), np.shape(factor))[0]
        shift, factor = np.broadcast_to(shift, n), np.broadcast_to(factor, n)
        self._hold(base=stretched(base, n), shift=shift, factor=factor)

    def __len__(self):
        return len(self.factor)

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        return Affine(self.base[rows], self.shift[rows], self.factor[rows])

    def __repr__(self):
        return f"{summary(self.shift)} + {summary(self.factor)} · {self.base!r}"

    @property
    def atoms(self):
        return self.base.atoms

    @property
    def discrete(self):
        return self.base.discrete

    @property
    def too_heavy(self):
        return self.base.too_heavy

    @property
    def smooth(self):
        smooth = self.base.smooth
        return self if smooth is self.base else Affine(smooth, self.shift, self.factor)

    def _at(self, y):
        """(the base's place of y, factor); a place that is a whole number but for rounding is that number."""
        y, shift, factor = beside(y, len(self), self.shift, self.factor)
        with np.errstate(over="ignore", invalid="ignore"):
            x = (y - shift) / factor
            if self.discrete:
                whole = np.rint(x)
                near = 4 * EPS * np.maximum(np.abs(y), np.abs(shift))
                x = np.where(np.abs(shift + factor * whole - y) <= near, whole, x)
        return x, factor

    # density

    def log_prob(self, y):
        x, factor = self._at(y)
        return self.base.log_prob(x) - (0.0 if self.discrete else np.log(np.abs(factor)))

    # probabilities

    def cdf(self, y):
        return self._either(y, self.base.cdf, self.base.sf_from)

    def sf(self, y):
        return self._either(y, self.base.sf, self.base.cdf_below)

    def cdf_below(self, y):
        return self._either(y, self.base.cdf_below, self.base.sf)

    def sf_from(self, y):
        return self._either(y, self.base.sf_from, self.base.cdf)

    def _log_tails(self, y):
        return self._either(y, self.base._log_tails, lambda x: self.base._log_tails_before(x)[::-1])

    def _log_tails_before(self, y):
        return self._either(y, self.base._log_tails_before, lambda x: self.base._log_tails(x)[::-1])

    def _either(self, y, upright, reflected):
        x, factor = self._at(y)
        if np.all(self.factor > 0):
            return upright(x)
        return np.where(factor > 0, upright(x), reflected(x))

    def bounds(self):
        lo, hi = (self.shift + self.factor * end for end in self.base.bounds())
        return np.minimum(lo, hi), np.maximum(lo, hi)

    def _quantile(self, p):
        p = np.broadcast_to(p, (len(self), p.shape[1]))
        turned = self.factor < 0
        level = np.where(turned[:, None], 1 - p, p)
        y = self.shift[:, None] + self.factor[:, None] * self.base._quantile(level)
        if np.any(turned):
            # 1 − p was rounded, and of a jump the other end is wanted: the search settles both.
            y[turned] = self[turned]._settled(p[turned], y[turned])
        return y

    def _settled(self, p, y):
        step = np.where(self.discrete, np.abs(self.factor), 4 * EPS * np.abs(self.shift))[:, None]
        y = invert(self, p, (y - step, y + step))
        x, factor = self._at(y)
        return self.shift[:, None] + factor * x if self.discrete else y

    def flat_atoms(self):
        """(row, value, probability) of every single value with positive probability."""
        rows, values, p = self.base.flat_atoms()
        return rows, self.shift[rows] + self.factor[rows] * values, p

    # moments

    @property
    def mean(self):
        return self.shift + self.factor * self.base.mean

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.std**2

    @property
    def std(self):
        return np.abs(self.factor) * self.base.std

    @property
    def mode(self):
        return self.shift + self.factor * self.base.mode

    @property
    def entropy(self):
        return self.base.entropy + (0.0 if self.discrete else np.log(np.abs(self.factor)))

    # scores

    def crps(self, y):
        x, factor = self._at(y)
        return np.abs(factor) * self.base.crps(x)

    def distance(self, y):
        x, factor = self._at(y)
        return np.abs(factor) * self.base.distance(x)

    def half_distance(self):
        return np.abs(self.factor) * self.base.half_distance()

    # closure

    def _affine(self, shift, factor):
        return self.base._affine(shift + factor * self.shift, factor * self.factor)

    def _truncated(self, lo, hi):
        from quorate.dist.truncated import Truncated

        here = Affine(self.base, *(np.broadcast_to(v, len(lo)) for v in (self.shift, self.factor)))
        lo, hi = here._at(lo)[0], here._at(hi)[0]
        turned = here.factor < 0
        base = Truncated(self.base, np.where(turned, hi, lo), np.where(turned, lo, hi))
        return Affine(base, here.shift, here.factor)

    # draws

    def sample(self, k=1, rng=None):
        return self.shift[:, None] + self.factor[:, None] * self.base.sample(k, rng)
