"""The formula: p(y | x) = Σ_m w_m(x) · p_m(y | x), in log space.

`Mixture(log_w, parts)` is what every committee answers with. It is one of three, by what its parts are about:
`RealMixture` (y is a number), `LatticeMixture` (a count) or `CategoricalMixture` (a class); `Mixture(...)` picks the
right one. Mixtures are distributions, so a mixture may be a part of a mixture.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist import atoms, invert, lattice, quadrature
from quorate.dist.affine import Affine
from quorate.dist.base import Lattice, Predictive, Real, as_rows, beside, generator, stretched
from quorate.dist.categorical import Categorical, Classes
from quorate.dist.invert import SCAN
from quorate.dist.tails import log_settled
from quorate.dist.truncated import Truncated, between

LARGE = 8.0  # a log vote from where differences lose digits
BLOCK = 1 << 21  # numbers in a working array: 16 MB


@dataclass(frozen=True)
class Uncertainty:
    """What a mixture does not know: total = within + between, one number a row.

    `within` is what the members themselves are unsure of (averaged with the votes), `between` what they disagree on.
    `levels` splits the same total further down a nested committee: the disagreement at the top, that inside its
    members, …, and last what the innermost members are unsure of.
    """

    kind: str
    within: np.ndarray
    between: np.ndarray
    total: np.ndarray
    levels: tuple


class Mixture(Predictive):
    """Σ_m w_m p_m for M batches of n rows; `log_w` has shape (M,), or (n, M) where the votes depend on the row.

    >>> import numpy as np, quorate as q
    >>> two_minds = q.Mixture(np.log([0.5, 0.5]), [q.Normal(-2.0, 1.0), q.Normal(2.0, 1.0)])
    >>> two_minds.uncertainty().between
    array([4.])
    """

    default_uncertainty = "variance"
    log_w: np.ndarray
    parts: tuple
    _n: int

    def __new__(cls, log_w=None, parts=None):
        return super().__new__(cls if cls is not Mixture else _kind(() if parts is None else parts))

    def __init__(self, log_w, parts):
        parts = tuple(parts)
        n = max(len(p) for p in parts)
        if any(len(p) not in (1, n) for p in parts):
            raise ValueError(f"parts have different numbers of rows: {sorted({len(p) for p in parts})}")
        log_w = log_votes(np.asarray(log_w, dtype=float), len(parts), n)
        self._hold(parts=parts, log_w=log_w, _n=len(log_w) if n == 1 else n)

    def __len__(self):
        return self._n

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        log_w = self.log_w[rows] if self._row_votes else self.log_w
        return type(self)(log_w, [_rows_of(part, rows, len(self)) for part in self.parts])

    def __repr__(self):
        families = ", ".join(sorted({type(p).__name__ for p in self.parts}))
        return f"{type(self).__name__}({len(self.parts)} parts: {families}; {len(self)} rows)"

    @property
    def _row_votes(self):
        return len(self.log_w) != 1

    @property
    def weights(self):
        """w_m(x), shape (n, M); every row sums to one."""
        return np.broadcast_to(np.exp(self.log_w), (len(self), len(self.parts)))

    def log_prob(self, y):
        """log Σ_m w_m p_m(y)."""
        y = self._places(y)
        out = np.empty(np.broadcast_shapes(y.shape, (len(self),) + (1,) * max(y.ndim - 1, 0)))
        step = max(1, BLOCK // (len(self.parts) * max(1, out[:1].size)))
        for s in range(0, len(out), step):
            rows = slice(s, s + step)
            here = self if len(out) <= step or len(self) == 1 else self[rows]
            out[rows] = _log_sum_exp(here.log_joint(_some(y, rows, len(out))))
        return out

    def log_joint(self, y):
        """log w_m + log p_m(y) for every member, shape (M, …): y's joint law with the member who said it."""
        y = self._places(y)
        first = self.parts[0].log_prob(y)
        column = (-1,) + (1,) * (first.ndim - 1)
        out = np.empty((len(self.parts), *np.broadcast_shapes((len(self), *column[1:]), first.shape)))
        silent = np.isneginf(self.log_w).any()
        for m, part in enumerate(self.parts):
            log_p, log_w = part.log_prob(y) if m else first, self.log_w[:, m].reshape(column)
            # A density may be infinite at a place; without a vote that counts for nothing.
            np.add(log_w, np.where(log_w > -np.inf, log_p, 0.0) if silent else log_p, out=out[m])
        return out

    def _places(self, y):
        return beside(y, len(self))[0]

    def sample(self, k=1, rng=None):
        """Draw a member by its vote, then y from that member."""
        rng = generator(rng)
        cumulative = np.cumsum(np.exp(self.log_w), axis=1)
        chosen = np.empty((len(self), k), dtype=int)
        u = rng.random((len(self), k)) * cumulative[:, -1:]
        for column in range(k):
            chosen[:, column] = (u[:, column, None] >= cumulative).sum(axis=1).clip(max=len(self.parts) - 1)
        none = [part[:0].sample(k, rng) for part in self.parts]
        out = np.empty((len(self), *none[0].shape[1:]), np.result_type(*none))
        for m, part in enumerate(self.parts):
            rows, columns = np.nonzero(chosen == m)
            if rows.size:
                out[rows, columns] = _rows_of(part, rows, len(self)).sample(1, rng)[:, 0]
        return out

    def flatten(self):
        """The same distribution without nesting: the parts of the parts, their votes multiplied."""
        if not any(isinstance(p, Mixture) for p in self.parts):
            return self
        columns: list = []
        parts: list = []
        for m, part in enumerate(self.parts):
            own = self.log_w[:, m : m + 1]
            inner = part.flatten() if isinstance(part, Mixture) else None
            columns.append(own if inner is None else own + inner.log_w)
            parts += [part] if inner is None else inner.parts
        rows = max(len(c) for c in columns)
        return Mixture(
            np.concatenate([np.broadcast_to(c, (rows, c.shape[1])) for c in columns], axis=1), parts
        )

    def uncertainty(self, kind=None):
        """The uncertainty within and between members; kind is "variance" or "entropy"."""
        kind = kind or self.default_uncertainty
        if kind not in ("variance", "entropy"):
            raise ValueError(f'kind must be "variance" or "entropy", got {kind!r}')
        deeper = [
            p.uncertainty(kind).levels if isinstance(p, Mixture) else (_spread(p, kind),) for p in self.parts
        ]
        depth, none = max(map(len, deeper)), np.zeros(1)
        padded = [d[:-1] + (none,) * (depth - len(d)) + d[-1:] for d in deeper]
        levels = tuple(map(self._average, zip(*padded, strict=True)))
        within = self._average([sum(d) for d in deeper])
        between = self._between(kind, within)
        return Uncertainty(kind, within, between, within + between, (between, *levels))

    def _between(self, kind, within):
        """What the members disagree on: total less within, never below 0."""
        return np.maximum(_spread(self, kind) - within, 0.0)

    def _average(self, values):
        """Σ_m w_m v_m over the parts that have a vote, for v_m of shape (n,) or (n, …), or one row of these."""
        out = np.zeros(1)
        with np.errstate(over="ignore", invalid="ignore"):
            for log_w, value in zip(self.log_w.T, values, strict=True):
                w = np.exp(log_w).reshape((-1,) + (1,) * (np.ndim(value) - 1))
                out = out + np.where(w > 0, w * value, 0.0)
        return np.broadcast_to(out, (len(self), *out.shape[1:]))


class RealMixture(Mixture, Real):
    """A mixture whose y is a number: density, cdf, quantiles, intervals and scores of the sum itself."""

    # what kind of law it is

    @property
    def _lossy(self):
        return 1e-4 if self.atoms else 1e-2

    @property
    def atoms(self):
        return any(p.atoms for p in self.parts)

    @property
    def discrete(self):
        return all(p.discrete for p in self.parts)

    @property
    def too_heavy(self):
        heavy = np.zeros(len(self), dtype=bool)
        for log_w, part in zip(self.log_w.T, self.parts, strict=True):
            heavy = heavy | (part.too_heavy & (log_w > -np.inf))
        return heavy

    @property
    def smooth(self):
        parts = [p.smooth for p in self.parts]
        same = all(a is b for a, b in zip(parts, self.parts, strict=True))
        return self if same else Mixture(self.log_w, parts)

    # probabilities

    def cdf(self, y):
        return self._share("cdf", y)

    def sf(self, y):
        return self._share("sf", y)

    def cdf_below(self, y):
        return self._share("cdf_below", y)

    def sf_from(self, y):
        return self._share("sf_from", y)

    def _log_tails(self, y):
        return self._log_sums("_log_tails", y)

    def _log_tails_before(self, y):
        return self._log_sums("_log_tails_before", y)

    def _log_sums(self, method, y):
        """log Σ_m w_m exp of the two tails that the parts answer."""
        y, below, above = np.asarray(y, dtype=float), np.full((), -np.inf), np.full((), -np.inf)
        for m, part in enumerate(self.parts):
            _, log_w = beside(y, len(self), self.log_w[:, m])
            log_p, log_rest = (np.where(log_w > -np.inf, v, 0.0) for v in getattr(part, method)(y))
            below, above = np.logaddexp(below, log_w + log_p), np.logaddexp(above, log_w + log_rest)
        return log_settled(below, above), log_settled(above, below)

    def _share(self, method, y):
        return np.minimum(self._sum(method, y), 1.0)

    def _sum(self, method, y):
        """Σ_m w_m of what the parts answer."""
        y, out = np.asarray(y, dtype=float), np.zeros(())
        for m, part in enumerate(self.parts):
            _, w = beside(y, len(self), np.exp(self.log_w[:, m]))
            value = getattr(part, method)(y)
            out = out + (
                w * value if np.all(w > 0) else np.where(w > 0, w * np.where(w > 0, value, 0.0), 0.0)
            )
        return out

    def bounds(self):
        ends = [[np.broadcast_to(end, len(self)) for end in p.bounds()] for p in self.parts]
        lo, hi = np.moveaxis(np.array(ends), 1, 0)
        votes = np.isfinite(self.log_w.T)
        return np.min(np.where(votes, lo, np.inf), axis=0), np.max(np.where(votes, hi, -np.inf), axis=0)

    @property
    def ends(self):
        parts = [np.broadcast_to(part.ends, (len(self), part.ends.shape[1])) for part in self.parts]
        return np.concatenate(parts, axis=1)

    def flat_atoms(self):
        """(row, value, probability) of every single value with positive probability."""
        found = []
        for m, part in enumerate(self.parts):
            rows, values, p = stretched(part, len(self)).flat_atoms()
            p = p * np.exp(self.log_w[rows if self._row_votes else 0, m])
            found.append((rows[p > 0], values[p > 0], p[p > 0]))
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))

    def _kinds(self):
        """The parts that are summed in one way, as lists of their numbers: samples, each grid of counts, densities."""
        kinds: dict = {}
        for m, part in enumerate(self.parts):
            kinds.setdefault(_kind_of_sum(part, len(self)), []).append(m)
        return [kinds[kind] for kind in sorted(kinds)]

    def _only(self, chosen):
        """(probability of the chosen parts, their law), by row."""
        log_w = np.broadcast_to(self.log_w, (len(self), len(self.parts)))[:, chosen]
        share = np.exp(log_w).sum(axis=1)
        parts = [stretched(self.parts[m], len(self)) for m in chosen]
        return share, _together(np.where(share[:, None] > 0, log_w, 0.0), parts)

    # quantiles

    def _quantile(self, p):
        """By what the parts' family knows of mixtures of itself, or else by searching."""
        flat = self.flatten()
        fused = _shared(flat.parts, "_mixture_quantile")
        return flat.search(p) if fused is None else fused(flat, p)

    def search(self, p):
        """By bracketing, between the least and the greatest quantile of the parts, where the sum's own must lie."""
        p = np.broadcast_to(p, (len(self), p.shape[1]))
        out = np.empty(p.shape)
        step = max(1, BLOCK // (len(self.parts) * max(1, p.shape[1])))
        # A part that has to search itself is no help.
        quick = all(type(part)._quantile is not Real._quantile for part in self.parts)
        for s in range(0, len(self), step):
            rows = slice(s, s + step)
            here = self if len(self) <= step else self[rows]
            out[rows] = invert.invert(here, p[rows], here._quantile_bracket(p[rows]) if quick else None)
        return out

    def _quantile_bracket(self, p):
        lo, hi = np.full(p.shape, np.inf), np.full(p.shape, -np.inf)
        for m, part in enumerate(self.parts):
            q, counts = stretched(part, len(self))._quantile(p), self.log_w[:, m, None] > -np.inf
            lo, hi = np.minimum(lo, np.where(counts, q, np.inf)), np.maximum(hi, np.where(counts, q, -np.inf))
        # A number below the least, where the sum has not reached p yet.
        return np.nextafter(lo, -np.inf), hi

    # moments

    @property
    def mean(self):
        return self._average([p.mean for p in self.parts])

    @property
    def variance(self):
        mean = self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            return self._average([p.variance + (p.mean - mean) ** 2 for p in self.parts])

    @property
    def std(self):
        """√ Σ_m w_m (s_m² + (EY_m − EY)²), in units of the row's largest term, whose square may be no number."""
        mean = self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            unit = np.zeros(len(self))
            for log_w, part in zip(self.log_w.T, self.parts, strict=True):
                unit = np.fmax(unit, np.where(log_w > -np.inf, np.hypot(part.std, part.mean - mean), 0.0))
            unit = np.where((unit > 0) & np.isfinite(unit), unit, 1.0)
            terms = ((part.std / unit) ** 2 + ((part.mean - mean) / unit) ** 2 for part in self.parts)
            return unit * np.sqrt(self._average(terms))

    def _between(self, kind, within):
        if kind == "entropy":
            return super()._between(kind, within)
        mean = self.mean
        with np.errstate(over="ignore", invalid="ignore"):
            return self._average([(p.mean - mean) ** 2 for p in self.parts])

    @property
    def mode(self):
        """The best of the parts' modes and some quantiles, and then the top of the hill it is on."""
        flat = self.flatten()
        places = np.stack([np.broadcast_to(p.mode, len(self)) for p in flat.parts], axis=1)
        return invert.highest(flat.smooth, np.concatenate([places, flat.quantile(SCAN)], axis=1))

    @property
    def entropy(self):
        """−E log p(Y); counts and densities, where both are parts, are kept apart as what they can not be taken for."""
        flat = self.flatten()
        counts = [m for m, part in enumerate(flat.parts) if part.discrete]
        others = [m for m, part in enumerate(flat.parts) if not part.discrete]
        if not counts:
            return super(Mixture, flat).entropy
        if not others:
            return atoms.entropy(flat) if len(flat._kinds()) > 1 else flat._only(counts)[1].entropy
        out = np.zeros(len(self))
        for chosen in (counts, others):
            share, law = flat._only(chosen)
            out = out + np.where(share > 0, share * law.entropy, 0.0) - special.xlogy(share, share)
        return out

    # scores

    def distance(self, y):
        return self._sum("distance", y)

    def half_distance(self):
        """Σ_g w_g² ½E|G − G'| + Σ_{g<h} w_g w_h E|G − H|, for the laws G, H of what is summed in one way."""
        flat = self.flatten()
        kinds = [flat._only(chosen) for chosen in flat._kinds()]
        if len(kinds) == 1:
            return _half_distance(kinds[0][1])
        out, halves = np.zeros(len(self)), [_half_distance(law) for _, law in kinds]
        for i, ((share, law), half) in enumerate(zip(kinds, halves, strict=True)):
            out += share**2 * np.where(share > 0, half, 0.0)
            for (w, other), its in zip(kinds[i + 1 :], halves[i + 1 :], strict=True):
                rows = np.flatnonzero((share * w > 0) & np.isfinite(half + its))
                out[rows] += (share * w)[rows] * _across(law[rows], other[rows])
        return out

    # closure

    def _affine(self, shift, factor):
        return Mixture(self.log_w, [p._affine(shift, factor) for p in self.parts])

    def _truncated(self, lo, hi):
        """Σ_m w_m P_m(lo ≤ Y ≤ hi) p_m(y | lo ≤ y ≤ hi), normalised; a part with nothing inside loses its vote."""
        flat = self.flatten()
        parts = [stretched(part, len(lo)) for part in flat.parts]
        inside = np.stack([between(part, lo, hi) for part in parts], axis=1)
        log_w = flat.log_w + inside
        none = np.all(log_w == -np.inf, axis=1)
        if none.any():
            row = np.flatnonzero(none)[0]
            raise ValueError(
                f"base must give some probability to [lo, hi]; row {row} gives none to [{lo[row]}, {hi[row]}]"
            )
        some = np.isfinite(inside.T)
        ends = [(np.where(s, lo, -np.inf), np.where(s, hi, np.inf)) for s in some]
        return Mixture(log_w, [Truncated(part, *pair) for part, pair in zip(parts, ends, strict=True)])


class LatticeMixture(RealMixture, Lattice):
    """A mixture of counts."""

    _lossy = 1e-2
    atoms = discrete = True
    smooth = Lattice.smooth
    entropy = Lattice.entropy
    half_distance = Lattice.half_distance
    cdf_below = Lattice.cdf_below
    sf_from = Lattice.sf_from
    _log_tails_before = Lattice._log_tails_before
    flat_atoms = Lattice.flat_atoms

    def _quantile(self, p):
        lo, hi = self._quantile_bracket(p)
        return lattice.quantile(self, p, (lo - 1, hi))

    @property
    def mode(self):
        places = np.stack([np.broadcast_to(p.mode, len(self)) for p in self.flatten().parts], axis=1)
        return lattice.highest(self, np.concatenate([places, self.quantile(SCAN)], axis=1))


class CategoricalMixture(Mixture, Classes):
    """A mixture whose y is a class; its `probs` are Σ_m w_m probs_m."""

    default_uncertainty = "entropy"

    def __init__(self, log_w, parts):
        super().__init__(log_w, parts)
        self._hold(classes=self.parts[0].classes)
        for part in self.parts[1:]:
            if not np.array_equal(part.classes, self.classes):
                raise ValueError(
                    f"parts are about different classes: {self.classes.tolist()} and {part.classes.tolist()}"
                )

    @property
    def probs(self):
        return np.broadcast_to(self._average([p.probs for p in self.parts]), (len(self), len(self.classes)))

    @property
    def log_p(self):
        """log probs, shape (n, K), summed in log space."""
        stacked = np.stack([np.broadcast_to(p.log_p, (len(self), len(self.classes))) for p in self.parts])
        return _log_sum_exp(stacked + self.log_w.T[:, :, None])

    def log_prob(self, y):
        return Categorical.from_log(self.log_p, self.classes).log_prob(y)

    def recode(self, classes):
        """Every part over more classes, of which this batch's classes are the positions."""
        return CategoricalMixture(self.log_w, [part.recode(classes) for part in self.parts])

    def _places(self, y):
        return np.asarray(y)


class PlainMixture(Mixture):
    """A mixture of anything else (Dirichlet): density, draws and moments; its variances add up over coordinates."""

    def __init__(self, log_w, parts):
        super().__init__(log_w, parts)
        sizes = sorted({part.mean.shape[1] for part in self.parts})
        if len(sizes) > 1:
            raise ValueError(f"parts are about different numbers of shares: {sizes}")

    def _places(self, y):
        return y

    def log_prob(self, y):
        return _log_sum_exp(self.log_joint(y))

    @property
    def mean(self):
        return self._average([p.mean for p in self.parts])

    @property
    def variance(self):
        mean = self.mean
        return self._average([p.variance + (p.mean - mean) ** 2 for p in self.parts])


def _kind(parts):
    """The Mixture that suits the parts."""
    parts = tuple(parts)
    if not parts:
        raise ValueError("a mixture needs at least one part")
    for kind, mixture in ((Lattice, LatticeMixture), (Real, RealMixture), (Classes, CategoricalMixture)):
        if all(isinstance(p, kind) for p in parts):
            return mixture
    families = set().union(*map(_families, parts))
    if len(families) == 1 and not issubclass(next(iter(families)), (Real, Classes)):
        return PlainMixture
    names = sorted(family.__name__ for family in families)
    raise ValueError(f"parts must all be about numbers or all about classes; got {', '.join(names)}")


def _kind_of_sum(part, n):
    """What tells apart samples, then each grid shift + factor · k of counts, then densities."""
    if not part.discrete:
        return (0,) if part.atoms else (2,)
    grid = (part.shift, part.factor) if isinstance(part, Affine) else ()
    return 1, *(np.broadcast_to(v + 0.0, n).tobytes() for v in grid)


def _together(log_w, parts):
    """The mixture of parts; a part by itself, and what lies on one grid as one affine law, as these are easier."""
    if len(parts) == 1:
        return parts[0]
    grid, kinds = parts[0], {_kind_of_sum(part, len(parts[0])) for part in parts}
    if len(kinds) == 1 and grid.discrete and isinstance(grid, Affine):
        return Affine(Mixture(log_w, [part.base for part in parts]), grid.shift, grid.factor)
    return Mixture(log_w, parts)


def _half_distance(law):
    """½ E|G − G'| of a law that is summed in one way."""
    if not isinstance(law, RealMixture) or law.discrete:
        return law.half_distance()
    return atoms.mixture_half_distance(law) if law.atoms else quadrature.half_distance(law)


def _across(law, other):
    """E|G − H|, summed over the single values of the first law, or over its numbers where it is one of counts."""
    if not law.discrete:
        return atoms.across(law, other)
    base, shift, factor = (law.base, law.shift, law.factor) if isinstance(law, Affine) else (law, 0.0, 1.0)
    return lattice.across(base, other, *(np.broadcast_to(v, len(law)) for v in (shift, factor)))


def _families(part):
    """The types of a part, or of the parts it is made of."""
    return set().union(*map(_families, part.parts)) if isinstance(part, Mixture) else {type(part)}


def _spread(dist, kind):
    if kind == "entropy" and not hasattr(type(dist), "entropy"):
        raise ValueError(f'a {type(dist).__name__} has no entropy; ask for kind="variance"')
    value = dist.variance if kind == "variance" else dist.entropy
    return value.sum(axis=1) if value.ndim > 1 else value


def log_votes(log_w, n_parts, n):
    """Logarithms of weights that sum to one, shape (1, M) or (n, M), from those of any sum."""
    if log_w.ndim == 1:
        log_w = log_w[None, :]
    if log_w.ndim != 2 or log_w.shape[1] != n_parts or (n != 1 and len(log_w) not in (1, n)):
        raise ValueError(f"log_w must have shape ({n_parts},) or ({n}, {n_parts}), got {log_w.shape}")
    top = log_w.max(axis=1)
    if not np.all(np.isfinite(top)):
        row = np.flatnonzero(~np.isfinite(top))[0]
        raise ValueError(
            f"log_w needs a finite vote for at least one part, and none of +inf or nan; row {row} has {log_w[row]}"
        )
    with np.errstate(over="ignore"):
        rest = _log_sum_exp((log_w - top[:, None]).T)
        total = np.where(np.abs(top + rest) > 1e-15, top + rest, 0.0)
        # The sum of the two would round away what large votes differ by.
        far = np.abs(top) > LARGE
        return log_w - np.where(far, top, total)[:, None] - np.where(far, rest, 0.0)[:, None]


def _log_sum_exp(values):
    """log Σ exp over the first axis, −∞ where all are."""
    top = np.max(values, axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    values = values - top
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(values, out=values), axis=0)) + top


def _rows_of(part, rows, n):
    """part[rows], for a part that may be one row standing for all n."""
    if len(part) == 1 and n > 1 and isinstance(rows, slice) and len(range(*rows.indices(n))):
        return part
    return stretched(part, n)[rows]


def _some(y, rows, n):
    return y[rows] if y.ndim and len(y) == n and n > 1 else y


def _shared(parts, hook):
    """A family's own routine for a mixture of itself, when all parts are of one family that has one."""
    family = type(parts[0])
    return getattr(family, hook, None) if len(parts) > 1 and all(type(p) is family for p in parts) else None
