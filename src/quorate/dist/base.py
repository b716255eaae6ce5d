"""p: a batch of n distributions over y, one a row.

Rows come first everywhere. Parameters broadcast to n rows. `y` is a number (the same for every row), n numbers
(one a row), or an array (n, k) or (1, k) that asks every row at k places; the answer has the same shape. A batch
of one row answers any number of places. `dist[rows]` is a smaller batch, `dist[3]` a batch of one.

A family owes `log_prob` and `sample`; one over the real line (`Real`) also `cdf`, `mean` and `variance`. All else is
derived here, and overridden only where a family knows better: a closed form, or a tail without cancellation.
"""

from abc import ABC, abstractmethod
from functools import cached_property, wraps
from typing import Any

import numpy as np

from quorate.dist import lattice, quadrature
from quorate.dist.invert import SCAN, highest, invert
from quorate.dist.tails import log_shares

Numbers = Any  # a parameter: a number for all rows, or an array of one a row; an array once it is checked


class Frozen:
    """State that is set once; its arrays can not be written to through the object."""

    def _hold(self, **state):
        self.__dict__.update({name: frozen(value) for name, value in state.items()})

    def __setattr__(self, name, value):
        raise AttributeError(f"a {type(self).__name__} does not change; make another")

    def __setstate__(self, state):
        self._hold(**state)


class Predictive(Frozen, ABC):
    """A frozen batch of distributions: it owes `log_prob(y)`, `sample(k, rng)`, a length and rows."""

    __array_ufunc__ = None  # numpy leaves `2.0 * dist` to __rmul__

    @abstractmethod
    def __len__(self):
        """How many rows."""

    @abstractmethod
    def __getitem__(self, rows):
        """A batch of the given rows (a number, a slice, a mask or a list of numbers)."""

    @abstractmethod
    def log_prob(self, y):
        """log p(y): a log density, or a log probability where y is a class or a count."""

    @abstractmethod
    def sample(self, k=1, rng=None):
        """k draws a row, shape (n, k); `rng` is a numpy Generator, a seed or None."""

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class Parametric(Predictive):
    """Rows for a family whose state is a few arrays, one number (or one row of numbers) a distribution.

    A family is a frozen dataclass of its parameters; `__post_init__` checks them and hands them to `_set`.
    """

    __match_args__: tuple[str, ...] = ()

    def _set(self, **parameters):
        """Broadcast the parameters to n rows and freeze them."""
        shape = np.broadcast_shapes((1,), *(np.shape(p) for p in parameters.values()))
        if len(shape) > 1:
            raise ValueError(
                f"{type(self).__name__} takes one number a row for each parameter, got shape {shape}"
            )
        self._hold(**{name: np.broadcast_to(value, shape) for name, value in parameters.items()})

    def _parameters(self):
        return [getattr(self, name) for name in self.__match_args__]

    def __len__(self):
        return len(getattr(self, self.__match_args__[0]))

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        new = object.__new__(type(self))
        new._hold(**{name: getattr(self, name)[rows] for name in self.__match_args__})
        return new

    def __repr__(self):
        inside = ", ".join(f"{name}={summary(getattr(self, name))}" for name in self.__match_args__)
        return f"{type(self).__name__}({inside})"

    def _at(self, y):
        """y as an array, and the parameters shaped to stand beside it."""
        return beside(y, len(self), *self._parameters())


def _of_numbers(operator):
    """An operator between a law and numbers; what two laws make, Python is told, it does not know."""

    @wraps(operator)
    def apply(self, other):
        return NotImplemented if isinstance(other, Predictive) else operator(self, other)

    return apply


class Real(Predictive):
    """A batch of distributions over the real line: owes `cdf`, `mean` and `variance` too."""

    support: tuple[float, float] = (-np.inf, np.inf)
    _integral: Any = quadrature  # how what is derived is summed

    # what kind of law it is

    @property
    def _lossy(self):
        """How small beside ½ E|Y − Y'| a crps is that would lose its digits as a difference of distances."""
        return 1e-6

    @property
    def too_heavy(self):
        """Whether the crps is infinite, one a row: a tail falls no faster than one over the square root."""
        return np.zeros(len(self), dtype=bool)

    @property
    def atoms(self):
        """Whether single values have positive probability: the cdf jumps there, and `flat_atoms` lists them."""
        return False

    @property
    def discrete(self):
        """Whether `log_prob` is a log probability of single values rather than a log density."""
        return False

    @property
    def smooth(self):
        """The law whose density `log_prob` is: this one, unless its probabilities are those of weighted samples."""
        return self

    # probabilities

    @abstractmethod
    def cdf(self, y):
        """P(Y ≤ y)."""

    def sf(self, y):
        """P(Y > y)."""
        return 1.0 - self.cdf(y)

    def cdf_below(self, y):
        """P(Y < y), which differs from the cdf where single values have positive probability."""
        return self.cdf(y)

    def sf_from(self, y):
        """P(Y ≥ y)."""
        return 1.0 - self.cdf_below(y) if self.atoms else self.sf(y)

    def log_cdf(self, y):
        """log P(Y ≤ y)."""
        return self._log_tails(y)[0]

    def log_sf(self, y):
        """log P(Y > y)."""
        return self._log_tails(y)[1]

    def _log_tails(self, y):
        """(log P(Y ≤ y), log P(Y > y)), each from the other where that is the smaller."""
        return log_shares(self.cdf(y), self.sf(y))

    def _log_tails_before(self, y):
        """(log P(Y < y), log P(Y ≥ y))."""
        return log_shares(self.cdf_below(y), self.sf_from(y)) if self.atoms else self._log_tails(y)

    def bounds(self):
        """(lowest, highest) possible value of each row, two arrays."""
        lo, hi = self.support
        return np.full(len(self), float(lo)), np.full(len(self), float(hi))

    @property
    def ends(self):
        """The bounds of this law and of the laws it is made of, shape (n, k)."""
        return np.stack(self.bounds(), axis=1)

    def quantile(self, p):
        """The smallest y with cdf(y) ≥ p: shape (n,) for a number p, (n, k) for k levels or an (n, k) array."""
        p, shape = levels(p, len(self))
        return np.broadcast_to(self._quantile(p), (len(self), p.shape[1])).reshape(shape)

    def _quantile(self, p):
        """The quantiles for p of shape (n, k) or (1, k)."""
        return invert(self, p)

    @property
    def median(self):
        """The quantile of one half, one a row."""
        return self.quantile(0.5)

    def interval(self, level=0.9):
        """The central interval that holds `level` of the probability: shape (n, 2), lower and upper end."""
        level = fraction(level, "level")
        return self.quantile([0.5 - level / 2, 0.5 + level / 2])

    def flat_atoms(self):
        """(row, value, probability) of every single value with positive probability, three flat arrays."""
        return np.zeros(0, dtype=int), np.zeros(0), np.zeros(0)

    # moments

    @property
    @abstractmethod
    def mean(self):
        """E Y, one a row."""

    @property
    @abstractmethod
    def variance(self):
        """E (Y − E Y)², one a row."""

    @property
    def std(self):
        """The standard deviation, one a row."""
        return np.sqrt(self.variance)

    @property
    def mode(self):
        """The most probable value, one a row."""
        return highest(self.smooth, self.quantile(SCAN))

    @property
    def entropy(self):
        """−E log p(Y), one a row (differential where Y is continuous)."""
        return quadrature.entropy(self.smooth)

    # scores

    def crps(self, y):
        """The continuous ranked probability score ∫ (F(z) − 1{y ≤ z})² dz = E|Y − y| − ½ E|Y − Y'|."""
        index, places, shape = quadrature.at_places(self, *beside(y, len(self)))
        half = self.half_distance()[index]
        with np.errstate(invalid="ignore"):
            score = self.distance(y).reshape(-1) - half
            lost = ~(score >= self._lossy * half) & ~np.isnan(places[:, 0])
        endless = self.too_heavy[index]
        lost = np.flatnonzero(lost & ~endless)
        if lost.size:
            score[lost] = self._crps_of(places[lost], index[lost])
        return np.where(endless, np.inf, np.maximum(score, 0.0)).reshape(shape)

    def _crps_of(self, places, index):
        """The crps by its integral, for places (k, 1) and the row that each is asked of."""
        rows, index = np.unique(index, return_inverse=True)
        return self._integral.crps(self if len(rows) == len(self) else self[rows], places, index)

    def distance(self, y):
        """E|Y − y|."""
        return quadrature.distance(self, *beside(y, len(self)))

    def half_distance(self):
        """½ E|Y − Y'| for two independent draws, one a row: Gini's mean difference, halved."""
        return quadrature.half_distance(self)

    # closure

    def affine(self, shift=0.0, factor=1.0):
        """The distribution of shift + factor · Y (an affine change of variable)."""
        factor = check_finite("factor", factor)
        return self._affine(
            check_finite("shift", shift), check_that("factor", factor, factor != 0, "other than 0")
        )

    def _affine(self, shift, factor):
        from quorate.dist.affine import Affine

        return Affine(self, shift, factor)

    def _seen_from(self, lo, hi):
        """This law for questions about [lo, hi] only: its logs may all be less a number of the row's own."""
        return self

    def _truncated(self, lo, hi):
        """This law given lo ≤ Y ≤ hi where its kind knows how to say it, else None."""
        return None

    @_of_numbers
    def __add__(self, shift):
        return self.affine(shift=shift)

    @_of_numbers
    def __sub__(self, shift):
        return self.affine(shift=-np.asarray(shift, float))

    @_of_numbers
    def __rsub__(self, shift):
        return self.affine(shift=shift, factor=-1.0)

    @_of_numbers
    def __mul__(self, factor):
        return self.affine(factor=factor)

    __radd__, __rmul__ = __add__, __mul__

    @_of_numbers
    def __truediv__(self, divisor):
        with np.errstate(divide="ignore"):
            return self.affine(factor=1.0 / np.asarray(divisor, float))

    def __neg__(self):
        return self.affine(factor=-1.0)


class LocationScale(Parametric, Real):
    """A family loc + scale · Z with Z symmetric about 0; `loc` and `scale` are among its parameters."""

    loc: Numbers
    scale: Numbers

    def _standard(self, y):
        """(y − loc) / scale."""
        y, loc, scale = beside(y, len(self), self.loc, self.scale)
        with np.errstate(over="ignore"):
            return (y - loc) / scale

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    def _affine(self, shift, factor):
        parameters = {name: getattr(self, name) for name in self.__match_args__}
        with np.errstate(over="ignore"):
            parameters |= {"loc": shift + factor * self.loc, "scale": np.abs(factor) * self.scale}
        return type(self)(**parameters)


class Lattice(Real):
    """A batch of distributions over whole numbers: `log_prob` is a log probability, −∞ between them."""

    support = (0, np.inf)
    atoms = True
    discrete = True
    _integral = lattice

    def cdf_below(self, y):
        return self.cdf(np.ceil(np.asarray(y, float)) - 1.0)

    def sf_from(self, y):
        return self.sf(np.ceil(np.asarray(y, float)) - 1.0)

    def _log_tails_before(self, y):
        return self._log_tails(np.ceil(np.asarray(y, float)) - 1.0)

    def flat_atoms(self):
        """(row, value, probability) of the whole numbers that hold all but 1e-16 of each row."""
        return lattice.flat_atoms(self)

    def _quantile(self, p):
        return lattice.quantile(self, p)

    @property
    def mode(self):
        return lattice.highest(self, self.quantile(SCAN))

    @property
    def entropy(self):
        return lattice.entropy(self)

    def distance(self, y):
        return lattice.distance(self, *beside(y, len(self)))

    def half_distance(self):
        return lattice.half_distance(self)


def as_rows(rows, n=None):
    """An index that keeps the row axis: 3 becomes a slice of one row."""
    if isinstance(rows, (int, np.integer)):
        if n is not None and not -n <= rows < n:
            raise IndexError(f"row {rows} of {n}")
        return slice(rows, rows + 1 or None)
    if isinstance(rows, slice):
        return rows
    rows = np.asarray(rows)
    return rows if rows.size else rows.astype(int)


def beside(y, n, *parameters):
    """y as a float array, and parameters (n, …) shaped to broadcast with it, rows first."""
    y = check_places(np.asarray(y, dtype=float), n)
    if y.ndim <= 1:
        return y, *parameters
    return y, *(p.reshape(p.shape[:1] + (1,) * (y.ndim - 1) + p.shape[1:]) for p in parameters)


def check_places(y, n):
    """An array y that can be asked of n rows, as it is."""
    if y.ndim >= 1 and n != 1 and len(y) not in (1, n):
        raise ValueError(
            f"y has {len(y)} values for {n} rows; give one a row, or shape (1, k) to ask every row at k places"
        )
    return y


def levels(p, n):
    """Probabilities as (1, k) or (n, k), and the shape the answer should have."""
    p = np.asarray(p, dtype=float)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"a probability must lie in [0, 1], got {p[~((p >= 0) & (p <= 1))].flat[0]}")
    if p.ndim == 0:
        return p.reshape(1, 1), (n,)
    if p.ndim == 1:
        return p[None, :], (n, len(p))
    if p.ndim == 2 and p.shape[0] in (1, n):
        return p, (n, p.shape[1])
    raise ValueError(
        f"levels must be a number, a list, or one row for each of the {n} rows; got shape {p.shape}"
    )


def fraction(value, name):
    """A single number strictly between 0 and 1."""
    number = np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"
    if not (number and 0 < value < 1):
        raise ValueError(f"{name} must be one number between 0 and 1, got {value!r}")
    return float(value)


def generator(rng):
    """A numpy Generator from a Generator, a seed or None."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)


def frozen(value):
    """An array that can not be written to, without a copy, or a tuple of these; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(frozen, value))
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def kept(method):
    """A property that is computed once, and then held frozen."""
    return cached_property(wraps(method)(lambda self: frozen(method(self))))


def stretched(dist, n):
    """A batch of n rows from one of n, or of one row that stands for all of them."""
    return dist if len(dist) == n else dist[np.zeros(n, dtype=int)]


def summary(values):
    """A short text for an array: its value where it is constant, else its first few."""
    values = np.asarray(values)
    if values.size and np.all(values == values.flat[0]):
        return f"{values.flat[0]:.6g}" if values.size == 1 else f"{values.flat[0]:.6g} ×{values.shape[0]}"
    return np.array2string(values, threshold=4, edgeitems=2, precision=4)


def _floats(name, values):
    """The parameter as floats, which a distribution is not."""
    if isinstance(values, Predictive):
        raise TypeError(f"{name} takes numbers, got {type(values).__name__}")
    return np.asarray(values, dtype=float)


def check_finite(name, values):
    """The parameter as floats; an error names the first row that is not finite."""
    values = _floats(name, values)
    return check_that(name, values, np.isfinite(values), "finite")


def check_positive(name, values):
    """The parameter as floats; an error names the first row that is not a positive number."""
    values = _floats(name, values)
    return check_that(name, values, (values > 0) & np.isfinite(values), "a positive number")


def check_not_negative(name, values):
    """The parameter as floats; an error names the first row that is negative or not finite."""
    values = _floats(name, values)
    return check_that(name, values, (values >= 0) & np.isfinite(values), "a finite number ≥ 0")


def check_unit(name, values, *, open_low=False, open_high=False):
    """The parameter as floats in [0, 1], either end left out where told."""
    values = _floats(name, values)
    low = values > 0 if open_low else values >= 0
    high = values < 1 if open_high else values <= 1
    inside = ("(" if open_low else "[") + "0, 1" + (")" if open_high else "]")
    return check_that(name, values, low & high, "in " + inside)


def check_that(name, values, good, what):
    """The parameter as it is; an error names the first row that is not good."""
    if not np.all(good):
        row = np.argwhere(~np.atleast_1d(good))[0][0]
        raise ValueError(f"{name} must be {what}; row {row} has {np.atleast_1d(values)[row]}")
    return values
