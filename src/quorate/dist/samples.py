"""S weighted samples in one store: what forest leaves and residuals are kept in.

Sample s is `atoms[indptr[s] : indptr[s + 1]]`, sorted and distinct, with positive `weights` of any sum; an integer
weight is that many repetitions. Everything asked of a sample is a difference of sums that run along it, found by
bisection, so an answer costs O(log k). A sample is two laws: its atoms, and the sum of Laplace kernels

    p(x) = Σ_i w_i exp(−|x − a_i| / h) / 2h        (weights that add up to one)

of scale h = `bandwidth[s]`: their tails are heavy enough for one surprise not to sink a log score, and
Σ over a_i ≤ x is one running sum times exp(−(x − a_j) / h).
"""

import numpy as np

from quorate.dist.bandwidth import bandwidths
from quorate.dist.base import Frozen, kept
from quorate.dist.quadrature import adapt, kronrod, nodes, xlogx
from quorate.dist.running import running

EPS = np.finfo(float).eps


class Samples(Frozen):
    """S weighted samples; `bandwidth` is a number, one a sample, or None: what best foretells each left-out value."""

    atoms: np.ndarray
    weights: np.ndarray
    indptr: np.ndarray
    bandwidth: np.ndarray

    def __init__(self, atoms, weights=None, indptr=None, bandwidth=None):
        atoms = np.asarray(atoms, dtype=float)
        weights = np.ones(atoms.shape) if weights is None else np.asarray(weights, dtype=float)
        indptr = np.asarray([0, atoms.size] if indptr is None else indptr)
        owner = _owners(atoms, weights, indptr)
        atoms, weights, indptr = _sorted(atoms, weights, owner, len(indptr) - 1)
        width = (
            bandwidths(atoms, weights, indptr) if bandwidth is None else _checked(bandwidth, len(indptr) - 1)
        )
        self._hold(atoms=atoms, weights=weights, indptr=indptr, bandwidth=width)

    def __len__(self):
        return len(self.indptr) - 1

    def joined(self, others):
        """These samples and, after them, the others."""
        return self._like(
            np.concatenate([self.atoms, others.atoms]),
            np.concatenate([self.weights, others.weights]),
            np.concatenate([self.indptr, others.indptr[1:] + self.indptr[-1]]),
            np.concatenate([self.bandwidth, others.bandwidth]),
        )

    def reflected(self):
        """The samples of −A, in the opposite order."""
        size = self.indptr[-1]
        return self._like(
            -self.atoms[::-1], self.weights[::-1], size - self.indptr[::-1], self.bandwidth[::-1]
        )

    @staticmethod
    def _like(atoms, weights, indptr, bandwidth):
        new = object.__new__(Samples)
        new._hold(atoms=atoms, weights=weights, indptr=indptr, bandwidth=bandwidth)
        return new

    # sums along the samples

    @kept
    def owner(self):
        """The sample of each atom."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @kept
    def cumulative(self):
        """Weights up to and with each atom."""
        return running(self.weights, self.indptr)

    @kept
    def total(self):
        """The weight of each sample."""
        return self.cumulative[self.indptr[1:] - 1]

    @kept
    def mean(self):
        """Σ w a / Σ w, from the sample's middle atom so that a large offset costs no digits."""
        middle = self.atoms[(self.indptr[:-1] + self.indptr[1:]) // 2]
        return middle + self._sum(self.weights * (self.atoms - middle[self.owner])) / self.total

    @kept
    def std(self):
        """√(Σ w (a − mean)² / Σ w), in units of the sample's largest deviation, whose square may be no number."""
        away = np.abs(self.atoms - self.mean[self.owner])
        unit = np.maximum.reduceat(away, self.indptr[:-1])
        unit = np.where(unit > 0, unit, 1.0)
        return unit * np.sqrt(self._sum(self.weights * (away / unit[self.owner]) ** 2) / self.total)

    @kept
    def half_distance(self):
        """½ E|A − A'| = ∫ F (1 − F), a sum over gaps."""
        f = self.cumulative / self.total[self.owner]
        gap = np.diff(self.atoms, append=0.0)
        gap[self.indptr[1:] - 1] = 0.0
        return self._sum(gap * f * (1 - f))

    @kept
    def _moment(self):
        """Σ w (a − mean) up to and with each atom."""
        return running(self.weights * (self.atoms - self.mean[self.owner]), self.indptr)

    def _sum(self, values):
        return np.add.reduceat(values, self.indptr[:-1])

    # places among the atoms

    def count(self, s, y, loc, scale, *, below=False):
        """The index after the last atom with loc + scale · a ≤ y (or < y), for arrays of one shape.

        It is y's side that decides, where an atom is the rounded number that `quantile` answers.
        """

        def past(j, i):
            value = loc[i] + scale[i] * self.atoms[j]
            return value >= y[i] if below else value > y[i]

        lo, hi = self.indptr[s], self.indptr[s + 1]
        if len(self) > 1:
            return _first(past, lo, hi)
        guess = np.searchsorted(self.atoms, (y - loc) / scale, side="left" if below else "right")
        everyone = np.arange(len(y))
        right = np.where(guess < hi, past(np.minimum(guess, len(self.atoms) - 1), everyone), True)
        right &= np.where(guess > 0, ~past(np.maximum(guess - 1, 0), everyone), True)
        wrong = np.flatnonzero(~right)
        guess[wrong] = _first(lambda j, i: past(j, wrong[i]), lo[wrong], hi[wrong])
        return guess

    def at_level(self, s, p):
        """The index of the first atom up to which the probability is p, but for rounding."""
        level = p * (1 - 4 * EPS)
        if len(self) == 1:
            j = np.searchsorted(self.cumulative / self.total[0], level)
        else:
            j = _first(
                lambda j, i: self.cumulative[j] >= level[i] * self.total[s[i]],
                self.indptr[s],
                self.indptr[s + 1],
            )
        last = self.indptr[s + 1] - 1
        return np.where(p < 1, np.minimum(j, last), last)

    def share(self, s, j):
        """The probability of the atoms before index j of sample s."""
        return self._before(self.cumulative, s, j) / self.total[s]

    def distance(self, s, j, x):
        """E|A − x| where j is the index after the last atom ≤ x."""
        total = self.total[s]
        x = x - self.mean[s]
        lower, first = self._before(self.cumulative, s, j), self._before(self._moment, s, j)
        return (x * (2 * lower - total) + self._moment[self.indptr[s + 1] - 1] - 2 * first) / total

    def _before(self, sums, s, j):
        return np.where(j > self.indptr[s], sums[np.maximum(j - 1, 0)], 0.0)

    # kernels

    @kept
    def kernels(self):
        """Σ w_i exp(−|a_j − a_i| / h) over i ≤ j, and over i ≥ j."""
        sums = self.weights, self.indptr, self.atoms, self.bandwidth[self.owner]
        return running(*sums), running(*sums, backwards=True)

    def log_sides(self, s, j, x):
        """log of the kernels' weight on atoms before x and after it, each seen from x; −∞ where there are none."""
        before, after = self.kernels
        h, last = self.bandwidth[s], len(self.atoms) - 1
        left, right = np.maximum(j - 1, 0), np.minimum(j, last)
        with np.errstate(over="ignore", invalid="ignore"):
            down = np.log(before[left]) - np.maximum(x - self.atoms[left], 0.0) / h
            up = np.log(after[right]) - np.maximum(self.atoms[right] - x, 0.0) / h
        none = -np.inf
        log_total = np.log(self.total[s])
        down = np.where(j > self.indptr[s], down, none) - log_total
        return down, np.where(j < self.indptr[s + 1], up, none) - log_total

    @kept
    def mode(self):
        """The atom where the sum of the kernels is highest: between two atoms it is convex."""
        before, after = self.kernels
        height = before + after - self.weights
        order = np.lexsort((-height, self.owner))
        return self.atoms[order[self.indptr[:-1]]]

    @kept
    def entropy(self):
        """−∫ p log p for the sum of the kernels: in closed form beyond the atoms, by quadrature between them."""
        before, after = self.kernels
        h, first, last = self.bandwidth, self.indptr[:-1], self.indptr[1:] - 1
        tails = np.stack([after[first], before[last]]) / (2 * self.total)
        out = np.sum(tails * (1 - np.log(tails / h)), axis=0)
        inner = np.flatnonzero(self.owner[1:] == self.owner[:-1])
        s = self.owner[inner]
        width = (self.atoms[inner + 1] - self.atoms[inner]) / h[s]
        left = np.log(before[inner] / (2 * h[s] * self.total[s]))
        right = np.log(after[inner + 1] / (2 * h[s] * self.total[s]))
        # In units of h from the left atom; the panels' rows are the gaps, so that each gap is exact.
        depth = np.minimum(width, 800.0)

        def rule(gap, a, b):
            u = nodes(a, b)
            log_p = np.logaddexp(left[gap, None] - u, right[gap, None] - (width[gap, None] - u))
            return kronrod(-xlogx(log_p), a, b)

        def towards(start):
            """The half of the gap at the left atom, or at the right one."""
            return (np.arange(len(inner)), start, start + depth / 2, len(inner))

        if len(inner):
            halves = adapt(rule, *towards(np.zeros(len(inner)))) + adapt(rule, *towards(width - depth / 2))
            out = out + np.bincount(s, halves * h[s], len(self))
        return out


def _owners(atoms, weights, indptr):
    """The sample of each atom, after checks."""
    if atoms.ndim != 1 or weights.shape != atoms.shape:
        raise ValueError(f"weights must be one a value; got shapes {weights.shape} and {atoms.shape}")
    if (
        indptr.ndim != 1
        or len(indptr) < 2
        or indptr[0] != 0
        or indptr[-1] != len(atoms)
        or np.any(np.diff(indptr) < 0)
    ):
        raise ValueError(f"indptr must rise from 0 to the number of values, {len(atoms)}")
    owner = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    for name, values, good in (
        ("values", atoms, np.isfinite(atoms)),
        ("weights", weights, np.isfinite(weights) & (weights >= 0)),
    ):
        if not np.all(good):
            at = np.flatnonzero(~good)[0]
            what = "finite" if name == "values" else "finite and not negative"
            raise ValueError(f"{name} must be {what}; row {owner[at]} has {values[at]}")
    return owner


def _sorted(atoms, weights, owner, n):
    """(atoms, weights, indptr) without weightless atoms, sorted in each sample, equal atoms added up."""
    some = weights > 0
    atoms, weights, owner = atoms[some], weights[some], owner[some]
    order = np.lexsort((atoms, owner))
    atoms, weights, owner = atoms[order], weights[order], owner[order]
    new = np.ones(len(atoms), dtype=bool)
    new[1:] = (atoms[1:] != atoms[:-1]) | (owner[1:] != owner[:-1])
    count = np.bincount(owner[new], minlength=n)
    if not np.all(count):
        raise ValueError(
            f"weights must be positive for some value; row {np.flatnonzero(count == 0)[0]} has none"
        )
    weights = np.add.reduceat(weights, np.flatnonzero(new))
    return atoms[new] + 0.0, weights, np.concatenate([[0], np.cumsum(count)])


def _checked(bandwidth, n):
    bandwidth = np.broadcast_to(np.asarray(bandwidth, dtype=float), n).copy()
    good = (bandwidth > 0) & np.isfinite(bandwidth)
    if not np.all(good):
        row = np.flatnonzero(~good)[0]
        raise ValueError(f"bandwidth must be a positive number; row {row} has {bandwidth[row]}")
    return bandwidth


def _first(past, lo, hi):
    """The first index j in [lo, hi) with past(j, i), for each entry i; hi where there is none."""
    lo, hi = lo.copy(), hi.copy()
    live = np.flatnonzero(lo < hi)
    while live.size:
        middle = (lo[live] + hi[live]) // 2
        yes = past(middle, live)
        hi[live[yes]] = middle[yes]
        lo[live[~yes]] = middle[~yes] + 1
        live = live[lo[live] < hi[live]]
    return lo
