"""The best split of a node: histograms of what its rows say, and the best cut of each histogram.

Rows of a node add up in bins, and bins in children, so a criterion needs only the sums of a child, of one of two kinds:

| kind | the sums of some rows | for |
|---|---|---|
| Moments | Σw and Σwy | numbers, and two classes as 0 and 1 |
| Counts | Σw of each class | three classes and more |

A criterion is written as a *goodness* G(sums) that adds up: the gain of a split is G(left) + G(right) − G(node).

| criterion | G of Moments (w, s) | G of Counts (n_c), n = Σ n_c |
|---|---|---|
| squared error, Gini | s² / w | Σ n_c² / n |
| entropy | s log(s/w) + (w − s) log(1 − s/w) | Σ n_c log(n_c/n) |
| Poisson deviance | s log(s/w) | |
| absolute error | see absolute.py | |

In a small node most bins are empty. A bit for each bin that is not lists them in order without a look at the others,
which is a sort of the node's rows by bucket.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from quorate.kernels.jit import (
    AHEAD,
    BARE,
    U0,
    U1,
    U2,
    U6,
    U8,
    U63,
    draw_below,
    inline,
    lowest_bit,
    merged,
    prefetch,
)

MISSING, UNKNOWN = 255, 2
TABLE = -1  # who goes left is told by a table
LAST = np.uint64(MISSING)
BYTES = np.uint64(255)
SQUARED, ENTROPY, POISSON = range(3)
SPARSE = 256  # nodes of fewer rows mark the bins they fill
FEW = 8  # categories of which all subsets are tried


class Moments(NamedTuple):
    """The kind of sums Σw, Σwy."""

    size: int = 2


class Deviations(NamedTuple):
    """The same sums, where splits are judged by absolute error (absolute.py)."""

    size: int = 2


class Counts(NamedTuple):
    """The kind of sums Σw of each of `size` classes."""

    size: int


class Numbers(NamedTuple):
    """All columns are numbers, and all cuts are tried."""

    wide: int  # columns that are counted at once


class Mixed(NamedTuple):
    """Some columns are categories."""

    wide: int


class Drawn(NamedTuple):
    """Cuts are drawn, one a column (drawn.py)."""

    wide: int


class Rules(NamedTuple):
    """How trees are grown; `min_leaf` and `min_split` are weights of rows."""

    criterion: int
    max_features: int
    max_depth: int
    max_leaves: int
    min_split: float
    min_leaf: float


class Node(NamedTuple):
    """A range of rows in the order of the tree, and the bounds that monotone columns put on its mean."""

    start: int
    end: int
    lo: float
    hi: float


# counting: `hist` is (column of the block, bin, sum), flat; `filled` four words of bits for each column


def count_moments(kind, cells, at, values, node, order, first, k, hist, filled, sparse):
    """Add w and wy of each row to its bins in k columns."""
    last = np.uint64(len(at) - 1)
    for i in range(np.uint64(node.start), np.uint64(node.end)):
        o, w = np.uint64(at[i]), values[U2 * i]
        wy = w * values[U2 * i + U1]
        if not sparse:
            prefetch(cells, np.uint64(at[min(i + AHEAD, last)]))
        for j in range(np.uint64(k)):
            b = np.uint64(cells[o + np.uint64(order[np.uint64(first) + j])])
            to = ((j << U8) | b) << U1
            hist[to] += w
            hist[to + U1] += wy
            if sparse:
                filled[(j << U2) | (b >> U6)] |= U1 << (b & U63)


def count_classes(kind, cells, at, values, node, order, first, k, hist, filled, sparse):
    """Add w of each row to its class in its bins in k columns."""
    last = np.uint64(len(at) - 1)
    for i in range(np.uint64(node.start), np.uint64(node.end)):
        o, w, label = np.uint64(at[i]), values[U2 * i], np.uint64(values[U2 * i + U1])
        if not sparse:
            prefetch(cells, np.uint64(at[min(i + AHEAD, last)]))
        for j in range(np.uint64(k)):
            b = np.uint64(cells[o + np.uint64(order[np.uint64(first) + j])])
            hist[((j << U8) | b) * np.uint64(kind.size) + label] += w
            if sparse:
                filled[(j << U2) | (b >> U6)] |= U1 << (b & U63)


@inline
def fill(filled, j, sparse):
    """Where bins were not marked, all are looked at."""
    if not sparse:
        for word in range(np.uint64(4)):
            filled[(np.uint64(j) << U2) | word] = ~U0


# goodness


@inline
def x_log_x(x):
    return x * np.log(x) if x > 0.0 else 0.0


@inline
def good_moments(criterion, w, s):
    """G of Moments."""
    if criterion == SQUARED:
        return s * s / w
    if criterion == ENTROPY:
        return x_log_x(s) + x_log_x(w - s) - x_log_x(w)
    return s * np.log(s / w) if s > 0.0 else 0.0


@inline
def good_classes(criterion, sums, first, size):
    """(G of Counts, their weight)."""
    w, g = 0.0, 0.0
    for c in range(first, first + size):
        w += sums[c]
        g += sums[c] * sums[c] if criterion == SQUARED else x_log_x(sums[c])
    return (g / w if criterion == SQUARED else g - x_log_x(w)), w


@inline
def judge_moments(rules, sign, node, wl, sl, wr, sr):
    """G(left) + G(right), or −∞ for what the rules forbid."""
    if wl < rules.min_leaf or wr < rules.min_leaf or wl <= 0.0 or wr <= 0.0:
        return -np.inf
    if sign != 0:
        left, right = sl / wl, sr / wr
        inside = node.lo <= left <= node.hi and node.lo <= right <= node.hi
        if not (inside and (right - left) * sign >= 0.0):
            return -np.inf
    if rules.criterion == SQUARED:
        return (sl * sl * wr + sr * sr * wl) / (wl * wr)
    return good_moments(rules.criterion, wl, sl) + good_moments(rules.criterion, wr, sr)


# the best cut of a column of numbers: (goodness, last bin on the left, first on the right, whether missing goes left)


def cut_moments(kind, hist, filled, j, total, left, gone, rules, sign, node, best):
    """The bins are emptied on the way."""
    base = np.uint64(j) << np.uint64(9)
    w_all, s_all = total[0], total[1]
    wm, sm = hist[base + U2 * LAST], hist[base + U2 * LAST + U1]
    plain = rules.criterion == SQUARED and sign == 0 and rules.min_leaf <= 0.0
    low, high, missing_left, before, wl, sl = -1, -1, False, -1, 0.0, 0.0
    for word in range(np.uint64(4)):
        bits = filled[(np.uint64(j) << U2) | word]
        filled[(np.uint64(j) << U2) | word] = U0
        while bits != U0:
            b = (word << U6) | lowest_bit(bits)
            bits &= bits - U1
            i = base + U2 * b
            w, s = hist[i], hist[i + U1]
            if w == 0.0:
                continue
            hist[i] = 0.0
            hist[i + U1] = 0.0
            if before >= 0:
                wr, sr = w_all - wl, s_all - sl
                if plain:
                    good = (sl * sl * wr + sr * sr * wl) / (wl * wr)
                else:
                    good = judge_moments(rules, sign, node, wl, sl, wr, sr)
                if good > best:
                    best, low, high, missing_left = good, before, np.int64(b), False
                if wm > 0.0 and b != LAST:
                    good = judge_moments(
                        rules, sign, node, wl + wm, sl + sm, w_all - wl - wm, s_all - sl - sm
                    )
                    if good > best:
                        best, low, high, missing_left = good, before, np.int64(b), True
            wl += w
            sl += s
            before = np.int64(b)
    return best, low, high, missing_left


def cut_classes(kind, hist, filled, j, total, left, gone, rules, sign, node, best):
    """The same for Counts; `left` and `gone` (left with the missing ones) are kept up to date class by class."""
    n = np.uint64(kind.size)
    base, squared, least = (np.uint64(j) << U8) * n, rules.criterion == SQUARED, rules.min_leaf
    w_all, wm, wl = 0.0, 0.0, 0.0
    for c in range(n):
        w_all += total[c]
        wm += hist[base + LAST * n + c]
        left[c], gone[c] = 0.0, hist[base + LAST * n + c]
    low, high, missing_left, before = -1, -1, False, -1
    for word in range(np.uint64(4)):
        bits = filled[(np.uint64(j) << U2) | word]
        filled[(np.uint64(j) << U2) | word] = U0
        while bits != U0:
            b = (word << U6) | lowest_bit(bits)
            bits &= bits - U1
            i = base + b * n
            w = 0.0
            for c in range(n):
                w += hist[i + c]
            if w == 0.0:
                continue
            for side in range(2 if before >= 0 and wm > 0.0 and b != LAST else 1 if before >= 0 else 0):
                w_here = wl + wm if side else wl
                if w_here < least or w_all - w_here < least:
                    continue
                gl, gr = 0.0, 0.0
                for c in range(n):
                    l = gone[c] if side else left[c]
                    r = total[c] - l
                    gl += l * l if squared else x_log_x(l)
                    gr += r * r if squared else x_log_x(r)
                wr = w_all - w_here
                good = gl / w_here + gr / wr if squared else gl - x_log_x(w_here) + gr - x_log_x(wr)
                if good > best:
                    best, low, high, missing_left = good, before, np.int64(b), side == 1
            for c in range(n):
                left[c] += hist[i + c]
                gone[c] += hist[i + c]
                hist[i + c] = 0.0
            wl += w
            before = np.int64(b)
    return best, low, high, missing_left


# lists of bins, for categories


@inline
def list_bins(hist, filled, j, size, bins, sums):
    """Move the bins of a column that are not empty to a list, in order; how many."""
    base, n, k = (np.uint64(j) << U8) * np.uint64(size), 0, np.uint64(size)
    for word in range(np.uint64(4)):
        bits = filled[(np.uint64(j) << U2) | word]
        filled[(np.uint64(j) << U2) | word] = U0
        while bits != U0:
            b = (word << U6) | lowest_bit(bits)
            bits &= bits - U1
            i, some = base + b * k, False
            for c in range(k):
                v = hist[i + c]
                sums[np.uint64(n) * k + c] = v
                some |= v != 0.0
                hist[i + c] = 0.0
            if some:
                bins[n] = b
                n += 1
    return n


@inline
def add(sums, i, size, left):
    for c in range(size):
        left[c] += sums[i * size + c]


def judge(kind, rules, sign, node, left, total, right):
    """G(left) + G(right), or −∞ for what the rules forbid; `right` is room for the other sums."""


@overload(judge, jit_options=BARE)
def _judge(kind, rules, sign, node, left, total, right):
    return judge_counts if kind.instance_class is Counts else judge_sums


def judge_sums(kind, rules, sign, node, left, total, right):
    return judge_moments(rules, sign, node, left[0], left[1], total[0] - left[0], total[1] - left[1])


def judge_counts(kind, rules, sign, node, left, total, right):
    for c in range(kind.size):
        right[c] = total[c] - left[c]
    gl, wl = good_classes(rules.criterion, left, 0, kind.size)
    gr, wr = good_classes(rules.criterion, right, 0, kind.size)
    return -np.inf if wl < rules.min_leaf or wr < rules.min_leaf else gl + gr


# categories: missing is one of them


@inline
def share(sums, i, size, c):
    """What bins are put in order by: the mean of y (size 2), or the share of class c."""
    if size == 2:
        return sums[2 * i + 1] / sums[2 * i]
    w = 0.0
    for k in range(size):
        w += sums[i * size + k]
    return sums[i * size + c] / w


@inline
def sort_bins(bins, sums, n, size, c):
    """Put the listed bins in order of their share, by insertion; equals keep their order."""
    for i in range(1, n):
        j = i
        while j > 0 and share(sums, j, size, c) < share(sums, j - 1, size, c):
            bins[j], bins[j - 1] = bins[j - 1], bins[j]
            for k in range(size):
                a, b = j * size + k, (j - 1) * size + k
                sums[a], sums[b] = sums[b], sums[a]
            j -= 1


@inline
def mark(goes_left, bins, left, n):
    """The first `left` of n listed bins go left; who is not listed is UNKNOWN."""
    goes_left[:] = UNKNOWN
    for i in range(n):
        goes_left[bins[i]] = i < left


@inline
def try_orders(kind, rules, node, bins, sums, n, total, left, right, goes_left, best):
    """The best split of categories in the order of their means (Fisher, 1958), or of the shares of each class."""
    for c in range(1 if kind.size == 2 else kind.size):
        sort_bins(bins, sums, n, kind.size, c)
        left[: kind.size] = 0.0
        for i in range(n - 1):
            add(sums, i, kind.size, left)
            good = judge(kind, rules, 0, node, left, total, right)
            if good > best:
                best = good
                mark(goes_left, bins, i + 1, n)
    return best


@inline
def try_subsets(kind, rules, node, bins, sums, n, total, left, right, goes_left, best):
    """The best of all ways to send some categories left; the last one stays on the right."""
    for subset in range(1, 1 << (n - 1)):
        left[: kind.size] = 0.0
        for i in range(n):
            if (subset >> i) & 1:
                add(sums, i, kind.size, left)
        good = judge(kind, rules, 0, node, left, total, right)
        if good > best:
            best = good
            goes_left[:] = UNKNOWN
            for i in range(n):
                goes_left[bins[i]] = (subset >> i) & 1
    return best


# a column


def cut(kind, hist, filled, j, total, left, gone, rules, sign, node, best):
    """The best cut of a column of numbers."""


@overload(cut, jit_options=BARE)
def _cut(kind, hist, filled, j, total, left, gone, rules, sign, node, best):
    return cut_moments if kind.instance_class is Moments else cut_classes


def count(kind, cells, at, values, node, order, first, k, hist, filled, sparse):
    """Add the rows of a node to the histograms of k columns."""


@overload(count, jit_options=BARE)
def _count(kind, cells, at, values, node, order, first, k, hist, filled, sparse):
    return count_moments if kind.instance_class is Moments else count_classes


@inline
def between(low, high):
    """A number t with low ≤ t < high, in the middle where there is one."""
    t = 0.5 * low + 0.5 * high
    return t if low <= t < high else low


@inline
def pick_numbers(pick, low, missed, missing_left):
    """Bins up to `low` go left; missing values where told, where some are missed."""
    pick[0], pick[1] = low, UNKNOWN
    if missed:
        pick[1] = missing_left


@inline
def missing_in(hist, j, size):
    """Whether some rows of the node miss the column."""
    base, some = ((np.uint64(j) << U8) | LAST) * np.uint64(size), False
    for c in range(np.uint64(size)):
        some |= hist[base + c] != 0.0
    return some


def try_numbers(kind, ways, edges, meaning, rules, node, column, j, room, best):
    """(goodness, threshold) of the best cut of a column of numbers, which is then picked, or (best, nan)."""
    hist, filled, total, left, gone, _, _, _, pick, _ = room
    missed = missing_in(hist, j, kind.size)
    found, low, high, missing_left = cut(
        kind, hist, filled, j, total, left, gone, rules, meaning[column, 1], node, best
    )
    if low < 0:
        return best, np.nan
    pick_numbers(pick, low, missed, missing_left)
    return found, np.inf if high == MISSING else between(edges[column, 1, low], edges[column, 0, high])


_try_numbers = inline(try_numbers)


def try_either(kind, ways, edges, meaning, rules, node, column, j, room, best):
    """The same of a column of numbers or categories."""
    if not meaning[column, 0]:
        return _try_numbers(kind, ways, edges, meaning, rules, node, column, j, room, best)
    hist, filled, total, left, right, bins, sums, goes_left, pick, _ = room
    n = list_bins(hist, filled, j, kind.size, bins, sums)
    if n < 2:
        return best, np.nan
    if kind.size > 2 and n <= FEW:
        good = try_subsets(kind, rules, node, bins, sums, n, total, left, right, goes_left, best)
    else:
        good = try_orders(kind, rules, node, bins, sums, n, total, left, right, goes_left, best)
    if good > best:
        pick[0] = TABLE
    return good, np.nan


def try_column(kind, ways, edges, meaning, rules, node, column, j, room, best):
    """(goodness, threshold) of the best split by a column, which is then picked, or (best, nan)."""


@overload(try_column, jit_options=BARE, inline="always")
def _try_column(kind, ways, edges, meaning, rules, node, column, j, room, best):
    return try_numbers if ways.instance_class is Numbers else try_either


def search_sums(kind, ways, cells, edges, meaning, at, values, rules, node, order, first, k, room, best):
    """(goodness, column, threshold) of the best split by k columns, or (best, −1, nan), by histograms."""
    sparse, chosen, threshold = node.end - node.start < SPARSE, -1, np.nan
    count(kind, cells, at, values, node, order, first, k, room[0], room[1], sparse)
    for j in range(k):
        fill(room[1], j, sparse)
        column = np.int64(order[first + j])
        good, t = try_column(kind, ways, edges, meaning, rules, node, column, j, room, best)
        if good > best:
            best, chosen, threshold = good, column, t
    return best, chosen, threshold


def search_some(kind, ways, cells, edges, meaning, at, values, rules, node, order, first, k, room, best):
    """(goodness, column, threshold) of the best split by k columns, which is then picked, or (best, −1, nan)."""


@overload(search_some, jit_options=BARE, inline="always")
def _search_some(kind, ways, cells, edges, meaning, at, values, rules, node, order, first, k, room, best):
    if kind.instance_class is Deviations:
        from quorate.kernels.absolute import search_absolute

        return search_absolute
    if ways.instance_class is Drawn:
        from quorate.kernels.drawn import search_drawn

        return search_drawn
    return search_sums


# a node


@inline
def draw_columns(order, first, last, state):
    """Put random columns in places first … last, of those that come after them."""
    d = np.uint64(len(order))
    for j in range(np.uint64(first), np.uint64(last)):
        k = j + draw_below(state, d - j)
        order[j], order[k] = order[k], order[j]


@merged
def search(kind, ways, cells, edges, meaning, at, values, rules, node, order, room):
    """The best split of a node, by `max_features` random columns, and more only where none of those can split it."""
    d, done = len(order), 0
    found, chosen, threshold = -np.inf, -1, np.nan
    while done < d and (done < rules.max_features or chosen < 0):
        last = min(rules.max_features if done < rules.max_features else d, done + ways.wide)
        if rules.max_features < d:
            draw_columns(order, done, last, room[-1])
        good, column, t = search_some(
            kind, ways, cells, edges, meaning, at, values, rules, node, order, done, last - done, room, found
        )
        if column >= 0:
            found, chosen, threshold = good, column, t
        done = last
    return found, chosen, threshold


def goodness(kind, rules, total, values, node):
    """G of a whole node."""


@overload(goodness, jit_options=BARE)
def _goodness(kind, rules, total, values, node):
    if kind.instance_class is Deviations:
        from quorate.kernels.absolute import deviation_of

        return lambda kind, rules, total, values, node: -deviation_of(values, node.start, node.end)
    if kind.instance_class is Moments:
        return lambda kind, rules, total, values, node: good_moments(rules.criterion, total[0], total[1])
    return lambda kind, rules, total, values, node: good_classes(rules.criterion, total, 0, kind.size)[0]
