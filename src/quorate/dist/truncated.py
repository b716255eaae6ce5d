"""Truncated: a distribution given that lo ≤ Y ≤ hi.

All probabilities are differences on the side of the smaller tail, in logs: an interval far out in a tail is as good as
any other. Where even that difference would lose digits, as the interval is narrow, the density is summed instead.
"""

import numpy as np
from scipy import special

from quorate.dist import invert, lattice, quadrature
from quorate.dist.atoms import half_distance, moments, total
from quorate.dist.base import Lattice, Real, as_rows, beside, generator, kept, stretched, summary
from quorate.dist.normal import LOG_SQRT_2PI, Normal
from quorate.dist.student_t import StudentT, log_beyond
from quorate.dist.tails import log_settled

NARROW = 1e-3  # of the smaller tail at its near end
LIGHT = 5.0  # degrees of freedom from where far tails are as light as a Normal's, for differences of moments


class Truncated(Real):
    """The law of `base` given that lo ≤ Y ≤ hi, ends included.

    A mixture truncated is the mixture of its parts truncated.

    >>> import quorate as q
    >>> d = q.Truncated(q.Normal(0.0, 1.0), lo=[0.0, 10.0])
    >>> d.mean.round(4)
    array([ 0.7979, 10.0981])
    """

    base: Real
    lo: np.ndarray
    hi: np.ndarray
    log_mass: np.ndarray

    def __new__(cls, base=None, lo=-np.inf, hi=np.inf):
        if cls is not Truncated or base is None:
            return super().__new__(cls)
        if not isinstance(base, Real):
            raise ValueError(f"base must be a distribution over numbers, got {type(base).__name__}")
        other = base._truncated(*_ends(base, lo, hi))
        if other is not None:
            return other
        return super().__new__(TruncatedLattice if isinstance(base, Lattice) else cls)

    def __init__(self, base, lo=-np.inf, hi=np.inf):
        lo, hi = _ends(base, lo, hi)
        if isinstance(base, Truncated):
            base, lo, hi = base.base, np.maximum(lo, base.lo), np.minimum(hi, base.hi)
        if isinstance(base, Lattice):
            lo, hi = np.ceil(lo), np.floor(hi)
        base = stretched(base, len(lo))
        log_mass = between(base, lo, hi)
        if not np.all(log_mass > -np.inf):
            row = np.flatnonzero(~(log_mass > -np.inf))[0]
            raise ValueError(
                f"base must give some probability to [lo, hi]; row {row} gives none to [{lo[row]}, {hi[row]}]"
            )
        self._hold(base=base, lo=lo, hi=hi, log_mass=log_mass)

    def __len__(self):
        return len(self.lo)

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        new = object.__new__(type(self))
        new._hold(base=self.base[rows], lo=self.lo[rows], hi=self.hi[rows], log_mass=self.log_mass[rows])
        return new

    def __repr__(self):
        return f"Truncated({self.base!r}, lo={summary(self.lo)}, hi={summary(self.hi)})"

    @property
    def atoms(self):
        return self.base.atoms

    @property
    def discrete(self):
        return self.base.discrete

    @kept
    def _smooth(self):
        return None if self.base.smooth is self.base else Truncated(self.base.smooth, self.lo, self.hi)

    @property
    def smooth(self):
        return self if self._smooth is None else self._smooth

    @kept
    def _seen(self):
        """(base, log mass) with the logs that keep their digits in [lo, hi]."""
        base = self.base._seen_from(self.lo, self.hi)
        return base, self.log_mass if base is self.base else between(base, self.lo, self.hi)

    def _ends(self, y):
        """(y, lo, hi, log mass), side by side."""
        return beside(y, len(self), self.lo, self.hi, self._seen[1])

    # density

    def log_prob(self, y):
        if self.smooth is not self:
            return self.smooth.log_prob(y)
        y, lo, hi, log_mass = self._ends(y)
        return np.where((y < lo) | (y > hi), -np.inf, self._seen[0].log_prob(y) - log_mass)

    # probabilities

    def cdf(self, y):
        return np.exp(self._log_below(y))

    def sf(self, y):
        return np.exp(self._log_above(y))

    def cdf_below(self, y):
        return np.exp(self._log_before(y)) if self.atoms else self.cdf(y)

    def _log_tails(self, y):
        below, above = self._log_below(y), self._log_above(y)
        return log_settled(below, above), log_settled(above, below)

    def _log_below(self, y):
        y, lo, hi, log_mass = self._ends(y)
        value = between(self._seen[0], lo, np.clip(y, lo, hi)) - log_mass
        return np.where(y < lo, -np.inf, np.where(y >= hi, 0.0, np.minimum(value, 0.0)))

    def _log_above(self, y):
        y, lo, hi, log_mass = self._ends(y)
        value = between(self._seen[0], np.clip(y, lo, hi), hi, after=True) - log_mass
        return np.where(y < lo, 0.0, np.where(y >= hi, -np.inf, np.minimum(value, 0.0)))

    def _log_before(self, y):
        y, lo, hi, log_mass = self._ends(y)
        value = between(self._seen[0], lo, np.clip(y, lo, hi), before=True) - log_mass
        return np.where(y <= lo, -np.inf, np.where(y > hi, 0.0, np.minimum(value, 0.0)))

    def bounds(self):
        lo, hi = self.base.bounds()
        return np.maximum(lo, self.lo), np.minimum(hi, self.hi)

    def _quantile(self, p):
        """From the base's quantile where the lower tail is the smaller one, and by searching where it is not."""
        p = np.broadcast_to(p, (len(self), p.shape[1]))
        lo, hi = self.lo[:, None], self.hi[:, None]
        below = self.base.cdf_below(self.lo)
        level = np.clip(below[:, None] + p * np.exp(self.log_mass)[:, None], 0.0, 1.0)
        y = np.clip(self.base._quantile(level), *(end[:, None] for end in self.bounds()))
        search = np.full(len(self), self.atoms) | (below > 0.5) | (self.log_mass < np.log(NARROW))
        if np.any(search):
            y[search] = self[search]._searched(p[search], y[search])
        bottom, top = (end[:, None] for end in self.bounds())
        return np.where(p <= 0, bottom, np.where(p >= 1, top, np.clip(y, lo, hi)))

    def _searched(self, p, guess):
        """By searching from the guess, or from `lo` where the lower tail is nearly everything."""
        near = self.base.cdf_below(self.lo)[:, None] <= 0.5
        lo, hi = (end[:, None] for end in self.bounds())
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.where(np.isfinite(self.base.std), self.base.std, 1.0)[:, None]
            step = np.where(np.isfinite(hi), hi - lo, step)
            bracket = np.where(near, np.nextafter(guess, -np.inf), lo), np.where(near, guess, lo + step)
        return invert.invert(self, p, bracket)

    def flat_atoms(self):
        """(row, value, probability) of every value in [lo, hi]."""
        rows, values, p = self.base.flat_atoms()
        inside = (values >= self.lo[rows]) & (values <= self.hi[rows])
        rows, values, p = rows[inside], values[inside], p[inside]
        return rows, values, p / total(rows, p, len(self))[rows]

    # moments

    @property
    def mean(self):
        return self._moments[0]

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.std**2

    @property
    def std(self):
        return self._moments[1]

    @kept
    def _moments(self):
        """(mean, std)."""
        if self.atoms:
            found = moments(self.flat_atoms(), len(self))
        elif isinstance(self.base, Normal):
            found = _normal_moments(self)
        elif isinstance(self.base, StudentT):
            found = _student_moments(self)
        else:
            found = _moments(self)
        return found

    @property
    def mode(self):
        """The mode of the base, if that is inside, or else an end, or else the best place that a search finds."""
        if self.smooth is not self:
            return self.smooth.mode
        lo, hi = self.bounds()
        at = np.clip(self.base.mode, lo, hi)
        ends = np.stack([at, np.where(np.isfinite(lo), lo, at), np.where(np.isfinite(hi), hi, at)], axis=1)
        return invert.highest(self, np.concatenate([ends, self.quantile(invert.SCAN)], axis=1))

    # scores

    @property
    def too_heavy(self):
        return self.base.too_heavy & np.isinf(self.bounds()).any(axis=0)

    def crps(self, y):
        """By the integral, as neither distance is any easier, but for atoms."""
        if self.atoms:
            return super().crps(y)
        index, places, shape = quadrature.at_places(self, *beside(y, len(self)))
        return np.where(self.too_heavy[index], np.inf, self._crps_of(places, index)).reshape(shape)

    def distance(self, y):
        """For atoms E|Y − y| from that of the base, less what lies outside."""
        if not self.atoms:
            return super().distance(y)
        y, lo, hi, log_mass = self._ends(y)
        mean, at = beside(y, len(self), self.mean)[1], np.clip(y, lo, hi)
        above = _excess(self.base, at, hi, 1.0, self.base.sf)
        below = _excess(self.base, at, lo, -1.0, self.base.cdf_below)
        inside = (above + below) * np.exp(-log_mass)
        return np.where((y < lo) | (y > hi), np.abs(y - mean), inside)

    def half_distance(self):
        return half_distance(self.flat_atoms(), len(self)) if self.atoms else super().half_distance()

    # closure

    def _affine(self, shift, factor):
        from quorate.dist.affine import Affine

        moved = self.base._affine(shift, factor)
        if isinstance(moved, Affine) and moved.base is self.base:
            return Affine(self, shift, factor)
        lo, hi = shift + factor * self.lo, shift + factor * self.hi
        return Truncated(moved, np.minimum(lo, hi), np.maximum(lo, hi))

    # draws

    def sample(self, k=1, rng=None):
        return self.quantile(generator(rng).random((len(self), k)))


class TruncatedLattice(Truncated, Lattice):
    """A count given that it lies in [lo, hi]."""

    _lossy = 1e-2
    atoms = discrete = True
    smooth = Lattice.smooth
    cdf_below = Lattice.cdf_below
    sf_from = Lattice.sf_from
    _log_tails_before = Lattice._log_tails_before
    flat_atoms = Lattice.flat_atoms
    mode = Lattice.mode
    entropy = Lattice.entropy
    distance = Lattice.distance
    half_distance = Lattice.half_distance

    def _searched(self, p, guess):
        guess = np.where(np.isfinite(guess), guess, self.lo[:, None])
        return lattice.quantile(self, p, (guess - 1, guess + 1))

    @kept
    def _moments(self):
        return lattice.moments(self)


def _ends(base, lo, hi):
    """lo and hi as arrays of one length, after checks."""
    lo, hi = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
    shape = np.broadcast_shapes((len(base),), lo.shape, hi.shape)
    if len(shape) > 1:
        raise ValueError(f"Truncated takes one lo and one hi a row, got shape {shape}")
    lo, hi = np.broadcast_to(lo, shape), np.broadcast_to(hi, shape)
    if not np.all(lo <= hi):
        row = np.flatnonzero(~(lo <= hi))[0]
        raise ValueError(f"lo must not be above hi; row {row} has lo {lo[row]} and hi {hi[row]}")
    return lo, hi


def between(dist, a, b, *, after=False, before=False):
    """log P(a ≤ Y ≤ b), or with a < Y (after) or Y < b (before), for a and b that stand beside the rows."""
    f_a, s_a = _at_or_after(dist, a) if after or not dist.atoms else _before(dist, a)
    f_b, s_b = _before(dist, b) if before and dist.atoms else _at_or_after(dist, b)
    lower = f_b <= s_a
    most, less = np.where(lower, f_b, s_a), np.where(lower, f_a, s_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = most + np.log(-np.expm1(less - most))
        narrow = (most - less < NARROW) & (a < b)
    value = np.where(np.isnan(value) & ~(np.isnan(a) | np.isnan(b)), -np.inf, value)
    if not dist.atoms and np.any(narrow):
        rows = np.arange(len(dist)).reshape((-1,) + (1,) * (value.ndim - 1))
        rows, a, b = (np.broadcast_to(v, value.shape)[narrow] for v in (rows, a, b))
        value[narrow] = _density_sum(dist[rows], a, b)
    return value


def _at_or_after(dist, y):
    """log of (P(Y ≤ y), P(Y > y))."""
    return dist._log_tails(y)


def _before(dist, y):
    """log of (P(Y < y), P(Y ≥ y))."""
    return dist._log_tails_before(y)


def _density_sum(dist, a, b):
    """log ∫_a^b p, one a row, where p hardly changes."""
    log_p = dist.log_prob(quadrature.nodes(a, b))
    return special.logsumexp(log_p, axis=1, b=quadrature.WEIGHTS) + np.log(0.5 * (b - a))


def _moments(dist):
    """(mean, std) from integrals of the tails, nan or infinite where the base's are and the end is open."""
    middle, (low, high) = dist.quantile(0.5), dist.quantile([0.25, 0.75]).T
    unit = np.where(high > low, high - low, 1.0)
    tails = quadrature.integrate_line(
        lambda d, z, rows: np.where(z > middle[rows, None], d.sf(z), -d.cdf(z)), dist
    )
    lo, hi = dist.bounds()
    open_lo, open_hi = np.isinf(lo), np.isinf(hi)
    lost = ~np.isfinite(dist.base.mean) & (open_lo | open_hi)
    mean = np.where(
        lost, np.where(open_lo & open_hi, np.nan, np.where(open_lo, -np.inf, np.inf)), middle + tails
    )
    centre = np.where(lost, middle, mean)

    def moment(d, z, rows):
        away, u = z - centre[rows, None], unit[rows, None]
        return 2 * np.abs(away / u) * (np.where(away > 0, d.sf(z), d.cdf(z)) / u)

    std = unit * np.sqrt(quadrature.integrate_line(moment, dist, centre[:, None]))
    wide = ~np.isfinite(dist.base.std) & (open_lo | open_hi)
    return mean, np.where(lost, np.nan, np.where(wide, np.inf, std))


def _normal_moments(dist):
    """In closed form where the interval holds a good share of the Normal, and no digits are lost."""
    loc, scale = dist.base.loc, dist.base.scale
    good = dist.log_mass > np.log(1e-2)
    with np.errstate(all="ignore"):
        a, b = (dist.lo - loc) / scale, (dist.hi - loc) / scale
        p_a, p_b = (np.exp(-0.5 * z * z - LOG_SQRT_2PI - dist.log_mass) for z in (a, b))
        shift = p_a - p_b
        rest = _times(a, p_a) - _times(b, p_b)
        mean, std = loc + scale * shift, scale * np.sqrt(1 + rest - shift**2)
    return _where(good, (mean, std), dist)


def _student_moments(dist):
    """In closed form for an open end, whose heavy tail no integral up to the largest number sees whole.

    −E[Z; Z > z] is the integral of z p, and by parts E[Z²; Z > z] = z E[Z; Z > z] + df / (df − 2) P(Z' > z'), where
    Z' has df − 2 degrees of freedom and z' = z √((df − 2) / df).
    """
    loc, scale, df = dist.base.loc, dist.base.scale, dist.base.df
    good = (dist.log_mass > np.log(1e-2)) | (df < LIGHT)
    good &= (df > 1) & (np.isinf(dist.lo) | np.isinf(dist.hi))
    with np.errstate(all="ignore"):
        a, b = (dist.lo - loc) / scale, (dist.hi - loc) / scale
        past_a, past_b = (np.exp(log_beyond(z, df) - dist.log_mass) for z in (a, b))
        less = StudentT(np.where(df > 2, df - 2, 1.0))
        below, above = less.log_cdf(b * np.sqrt((df - 2) / df)), less.log_sf(a * np.sqrt((df - 2) / df))
        log_share = np.where(np.isinf(b), above, below)
        shift = past_a - past_b
        rest = _times(a, past_a) - _times(b, past_b)
        square = df / (df - 2) * np.exp(log_share - dist.log_mass) + rest
        mean, std = loc + scale * shift, scale * np.sqrt(square - shift**2)
    return _where(good, (mean, np.where(df > 2, std, np.inf)), dist)


def _times(z, p):
    """z p, 0 where z is infinite."""
    return np.where(np.isinf(z), 0.0, z * p)


def _where(good, closed, dist):
    """The moments in closed form where they are good, else from integrals."""
    mean, std = closed
    rows = np.flatnonzero(~good)
    if rows.size:
        mean[rows], std[rows] = _moments(dist[rows])
    return mean, std


def _excess(base, y, end, side, beyond):
    """E of (Y − y)⁺ over Y up to the end (side 1), or of (y − Y)⁺ from the end on (side −1).

    All that is on that side of y, ½ (E|Y − y| ± (EY − y)), less what is beyond the end: the same seen from there, and
    the way there times its probability.
    """
    _, mean = beside(y, len(base), base.mean)
    last = np.where(np.isfinite(end), end, y)
    all_, over = (0.5 * (base.distance(t) + side * (mean - t)) for t in (y, last))
    return np.where(np.isfinite(end), all_ - over - np.abs(last - y) * beyond(last), all_)
