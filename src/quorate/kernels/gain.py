"""The best split of a node for boosting, from histograms of slopes.

A leaf with the sums G = Σ g and H = Σ h of its rows' first and second derivatives has its best value at
v = −G / (H + λ), which lowers Σ (g v + ½ h v²) + ½ λ v² by half its *goodness*

    G² / (H + λ),      or −(2 G v + (H + λ) v² + 2 μ |v|) with an L1 penalty μ, or where v is bounded,

and so a split gains goodness(left) + goodness(right) − goodness(node). With several outputs, their goodness adds up.

Sums are whole numbers, in units that are powers of two: they are exact, in whatever order rows are added, so the same
bits come from any number of threads, and a node less its child is its other child.

| kind | what a row adds to a bin |
|---|---|
| Packed | one word: g in its upper half, h in its lower |
| Pairs | two words for each output: g, h |

Kernels are told by `need` what a child must have, Σ_k need_k H_k ≥ 1 over the outputs k; then of categories what λ is
more, the least H of one that may go left (and what H is more where they are put in order), and the least H between two
cuts.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from quorate.kernels.jit import BARE, U1, U6, U63, inline
from quorate.kernels.split import Mixed

MISSING, UNKNOWN = 255, 2
LOWER, U4 = np.int64(0xFFFFFFFF), np.uint64(4)


class Packed(NamedTuple):
    """One output, both sums in one word."""

    size: int = 1


class Pairs(NamedTuple):
    """Two words for each of `size` outputs."""

    size: int


class Rules(NamedTuple):
    """How a boosted tree is grown."""

    max_leaves: int
    max_depth: int
    by_level: int  # whether leaves are split level by level, not where it gains most
    max_features: int
    l1: float
    l2: float
    least_gain: float


def size_of(kind):
    """How many outputs."""


@overload(size_of, jit_options=BARE, inline="always")
def _size_of(kind):
    if kind.instance_class is Packed:
        return lambda kind: 1
    return lambda kind: kind.size


def unfold(kind, hist, base, known, bins, g, h):
    """List the bins of a column that are not empty, of its `known` ones and MISSING, and their sums; how many."""


@overload(unfold, jit_options=BARE)
def _unfold(kind, hist, base, known, bins, g, h):
    return unfold_packed if kind.instance_class is Packed else unfold_pairs


def unfold_packed(kind, hist, base, known, bins, g, h):
    n = np.uint64(0)
    for i in range(np.uint64(known + 1)):
        b = i if i < np.uint64(known) else np.uint64(MISSING)
        v = hist[np.uint64(base) + b]
        bins[n] = b
        g[n], h[n] = v >> 32, v & LOWER
        n += np.uint64(v != 0)
    return np.int64(n)


def unfold_pairs(kind, hist, base, known, bins, g, h):
    n, k = np.uint64(0), np.uint64(kind.size)
    for i in range(np.uint64(known + 1)):
        b = i if i < np.uint64(known) else np.uint64(MISSING)
        at, some = (np.uint64(base) + b) * (k << U1), False
        for c in range(k):
            g[n * k + c], h[n * k + c] = hist[at + (c << U1)], hist[at + (c << U1) + U1]
            some |= (g[n * k + c] != 0) | (h[n * k + c] != 0)
        bins[n] = b
        n += np.uint64(some)
    return np.int64(n)


# goodness


@inline
def goodness(g, h, l1, l2, lo, hi):
    """What a leaf of these sums lowers the loss by, twice, at its best value within lo … hi."""
    v = value(g, h, l1, l2, lo, hi)
    return -(2.0 * g * v + (h + l2) * v * v + 2.0 * l1 * abs(v))


@inline
def value(g, h, l1, l2, lo, hi):
    """The best value of a leaf."""
    if h + l2 <= 0.0:
        return min(max(0.0, lo), hi)
    t = max(abs(g) - l1, 0.0)
    return min(max((-t if g > 0.0 else t) / (h + l2), lo), hi)


@inline
def goodness_of(size, sums, unit, rules, lo, hi):
    """The same of a node, its sums in units."""
    total = 0.0
    for c in range(size):
        total += goodness(
            np.float64(sums[2 * c]) * unit[2 * c],
            np.float64(sums[2 * c + 1]) * unit[2 * c + 1],
            rules.l1,
            rules.l2,
            lo,
            hi,
        )
    return total


@inline
def judge(size, left, total, unit, need, rules, l2, sign, lo, hi):
    """goodness(left) + goodness(right), or −∞ for what the rules forbid."""
    good, some, rest = 0.0, 0.0, 0.0
    for c in range(size):
        gl, hl = np.float64(left[2 * c]) * unit[2 * c], np.float64(left[2 * c + 1]) * unit[2 * c + 1]
        gr = np.float64(total[2 * c] - left[2 * c]) * unit[2 * c]
        hr = np.float64(total[2 * c + 1] - left[2 * c + 1]) * unit[2 * c + 1]
        some += need[c] * hl
        rest += need[c] * hr
        good += goodness(gl, hl, rules.l1, l2, lo, hi) + goodness(gr, hr, rules.l1, l2, lo, hi)
        if sign != 0:
            vl, vr = value(gl, hl, rules.l1, l2, lo, hi), value(gr, hr, rules.l1, l2, lo, hi)
            good = good if (vr - vl) * sign >= 0.0 else -np.inf
    return good if some >= 1.0 and rest >= 1.0 else -np.inf


# numbers


@inline
def cut(size, n, bins, g, h, total, unit, need, rules, sign, lo, hi, left, gone, best):
    """(goodness, place of the last bin on the left, whether missing goes left) of the best cut of listed bins."""
    missing = n > 0 and bins[n - 1] == MISSING
    last = n - 1 if missing else n
    chosen, missing_left = -1, False
    if size == 1 and not missing and sign == 0 and rules.l1 == 0.0 and lo == -np.inf and hi == np.inf:
        return cut_plainly(n, g, h, total, unit, need, rules, best)
    for c in range(2 * size):
        left[c] = 0
    for i in range(last if missing else last - 1):
        for c in range(size):
            left[2 * c] += g[i * size + c]
            left[2 * c + 1] += h[i * size + c]
        good = judge(size, left, total, unit, need, rules, rules.l2, sign, lo, hi)
        if good > best:
            best, chosen, missing_left = good, i, False
        if missing and i < last - 1:
            for c in range(size):
                gone[2 * c] = left[2 * c] + g[last * size + c]
                gone[2 * c + 1] = left[2 * c + 1] + h[last * size + c]
            good = judge(size, gone, total, unit, need, rules, rules.l2, sign, lo, hi)
            if good > best:
                best, chosen, missing_left = good, i, True
    return best, chosen, missing_left


@inline
def cut_plainly(n, g, h, total, unit, need, rules, best):
    """The same of one output, with nothing missing, no bounds and no L1."""
    chosen, gl, hl = -1, 0.0, 0.0
    g_all, h_all = np.float64(total[0]) * unit[0], np.float64(total[1]) * unit[1]
    least, most, l2 = 1.0 / need[0], h_all - 1.0 / need[0], rules.l2
    for i in range(n - 1):
        gl += np.float64(g[i]) * unit[0]
        hl += np.float64(h[i]) * unit[1]
        gr, hr = g_all - gl, h_all - hl
        if hl >= least and hl <= most:
            a, b = hl + l2, hr + l2
            good = (gl * gl * b + gr * gr * a) / (a * b)
            if good > best:
                best, chosen = good, i
    return best, chosen, False


# categories: missing is one of them


@inline
def sort_bins(size, c, n, bins, g, h, unit, smooth):
    """Put the listed bins in order of G / (H + smooth) of output c, by insertion; equals keep their order."""
    for i in range(1, n):
        j = i
        while j > 0 and _slope(size, c, j, g, h, unit, smooth) < _slope(size, c, j - 1, g, h, unit, smooth):
            swap(size, j, j - 1, bins, g, h)
            j -= 1


@inline
def _slope(size, c, i, g, h, unit, smooth):
    below = np.float64(h[i * size + c]) * unit[2 * c + 1] + smooth
    return np.float64(g[i * size + c]) * unit[2 * c] / below if below > 0.0 else 0.0


@inline
def often(size, n, bins, g, h, unit, least):
    """Put the listed bins first that have rows enough, in their order; how many they are."""
    k = 0
    for i in range(n):
        enough = 0.0
        for c in range(size):
            enough += np.float64(h[i * size + c]) * unit[2 * c + 1]
        if enough >= least * size:
            for j in range(i, k, -1):
                swap(size, j, j - 1, bins, g, h)
            k += 1
    return k


@inline
def swap(size, i, j, bins, g, h):
    """Change two listed bins."""
    bins[i], bins[j] = bins[j], bins[i]
    for k in range(size):
        a, b = i * size + k, j * size + k
        g[a], g[b] = g[b], g[a]
        h[a], h[b] = h[b], h[a]


def part(ways, size, n, bins, g, h, total, unit, need, rules, lo, hi, left, kept, bits, best):
    """(goodness, whether a split of categories is better than the best); `bits` say who goes left and who is there.

    Rare categories stay on the right, and so many rows must lie between two cuts that are tried, as many orders are.
    """
    better, l2, rare, apart = False, rules.l2 + need[size], need[size + 1], need[size + 2]
    some = often(size, n, bins, g, h, unit, rare)
    for c in range(size):
        sort_bins(size, c, some, bins, g, h, unit, rare)
        for k in range(2 * size):
            left[k] = 0
        since = 0.0
        for i in range(some if some < n else some - 1):
            for k in range(size):
                left[2 * k] += g[i * size + k]
                left[2 * k + 1] += h[i * size + k]
                since += np.float64(h[i * size + k]) * unit[2 * k + 1]
            if since < apart * size:
                continue
            since = 0.0
            good = judge(size, left, total, unit, need, rules, l2, 0, lo, hi)
            if good > best:
                best, better = good, True
                for k in range(2 * size):
                    kept[k] = left[k]
                for word in range(8):
                    bits[word] = np.uint64(0)
                for k in range(n):
                    b = np.uint64(bins[k])
                    bits[(b >> U6) + U4] |= U1 << (b & U63)
                    if k <= i:
                        bits[b >> U6] |= U1 << (b & U63)
    return best, better


@inline
def bit(bits, b):
    """Whether bit b is set."""
    return (bits[np.uint64(b) >> U6] >> (np.uint64(b) & U63)) & U1


def part_of(ways, size, n, bins, g, h, total, unit, need, rules, lo, hi, left, kept, bits, best):
    """The same, where there are categories."""


@overload(part_of, jit_options=BARE)
def _part_of(ways, size, n, bins, g, h, total, unit, need, rules, lo, hi, left, kept, bits, best):
    if ways.instance_class is Mixed:
        return part

    def none(ways, size, n, bins, g, h, total, unit, need, rules, lo, hi, left, kept, bits, best):
        return best, False

    return none


@inline
def search(
    kind,
    ways,
    hist,
    slot,
    column,
    category,
    sign,
    known,
    total,
    unit,
    need,
    rules,
    lo,
    hi,
    room,
    best,
    found,
    sums,
    bits,
):
    """The goodness of the best split by a column that is better than the best, or the best.

    What is better is written down: found = (column, last bin left, first right, missing left), `sums` of the left.
    """
    bins, g, h, left, gone, kept, own = room
    size = size_of(kind)
    n = unfold(kind, hist, slot + (np.int64(column) << 8), known, bins, g, h)
    if n < 2:
        return best
    if category:
        good, better = part_of(
            ways, size, n, bins, g, h, total, unit, need, rules, lo, hi, left, kept, own, best
        )
        if better:
            there = (own[np.uint64(7)] >> U63) & U1  # whether some rows miss the column
            found[0], found[1], found[2] = column, -1, -1
            found[3] = bit(own, np.int64(MISSING)) if there else UNKNOWN
            for c in range(2 * size):
                sums[c] = kept[c]
            for word in range(8):
                bits[word] = own[word]
        return good
    good, i, missing_left = cut(size, n, bins, g, h, total, unit, need, rules, sign, lo, hi, left, gone, best)
    if i >= 0:
        missing = bins[n - 1] == MISSING
        found[0], found[1], found[2], found[3] = column, bins[i], bins[i + 1], UNKNOWN
        if missing:
            found[3] = missing_left
        for c in range(2 * size):
            sums[c] = 0
        for k in range(i + 1):
            for c in range(size):
                sums[2 * c] += g[k * size + c]
                sums[2 * c + 1] += h[k * size + c]
        if missing_left:
            for c in range(size):
                sums[2 * c] += g[(n - 1) * size + c]
                sums[2 * c + 1] += h[(n - 1) * size + c]
    return good


def room_for(kind):
    """What a search needs of memory."""
    size = kind.size
    return (
        np.empty(257, np.int64),
        np.empty(257 * size, np.int64),
        np.empty(257 * size, np.int64),
        *(np.empty(2 * size, np.int64) for _ in range(3)),
        np.empty(8, np.uint64),
    )
