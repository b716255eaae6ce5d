"""A tree of one question, for two classes: one pass over the bins, eight columns at a time, and no row is moved."""

import numpy as np

from quorate.kernels.jit import U8, inline, kernel
from quorate.kernels.split import BYTES, Moments, Node, between, cut_moments

_cut = inline(cut_moments)
_between = between.py_func  # called for two numbers a tree, which is not worth compiling it for


@kernel
def count_words(words, wide, block, weight, y, hist):
    """hist[class, column of the block, bin] += w, for eight bins in a word."""
    hist[:] = 0.0
    for i in range(np.uint64(len(y))):
        word, w = words[i * np.uint64(wide) + np.uint64(block)], weight[i]
        to = np.uint64(y[i]) << np.uint64(11)
        for _ in range(8):
            hist[to | (word & BYTES)] += w
            word >>= U8
            to += np.uint64(256)


@kernel
def best_cut(hist, block, meaning, rules, total, sums, filled, best, found):
    """Write (column, last bin left, first bin right, missing left) of the best cut to `found`; its goodness."""
    node = Node(0, 0, -np.inf, np.inf)
    for j in range(8):
        column = 8 * block + j
        if column >= len(meaning):
            break
        for b in range(256):
            zero, one = hist[j * 256 + b], hist[2048 + j * 256 + b]
            sums[2 * b], sums[2 * b + 1] = zero + one, one
        filled[:] = ~np.uint64(0)
        good, low, high, missing_left = _cut(
            Moments(2), sums, filled, 0, total, total, total, rules, meaning[column, 1], node, best
        )
        if low >= 0:
            best = good
            found[0], found[1], found[2], found[3] = column, low, high, missing_left
    return best


def stump(X, cells, stride, edges, meaning, rules, weight, y):
    """(ints, floats, sums, subsets) as `grow` makes them, or None where no column can split the rows.

    Of the two bins at the cut the values themselves are looked at: rounds of boosting ask often for what is in a tail.
    """
    words, found, best = cells.view(np.uint64), np.full(4, -1), -np.inf
    hist, sums, filled = np.empty(4096), np.empty(512), np.empty(4, np.uint64)
    by_class, left, total, missed = hist.reshape(2, 8, 256), np.zeros(2), np.zeros(2), False
    for block in range(-(-len(meaning) // 8)):
        count_words(words, stride // 8, block, weight, y, hist)
        total[0], total[1] = by_class[:, 0].sum(), by_class[1, 0].sum()
        if total[0] < rules.min_split or not 0.0 < total[1] < total[0]:
            return None
        before, best = best, best_cut(hist, block, meaning, rules, total, sums, filled, best, found)
        if best > before:
            j, missing = found[0] % 8, by_class[:, found[0] % 8, 255].copy()
            two = by_class[:, j, : found[1] + 1].sum(axis=1) + (missing if found[3] else 0.0)
            left, missed = np.array([two.sum(), two[1]]), missing.sum() > 0
    if found[0] < 0:
        return None
    column, low, high, missing_left = found
    t = np.inf if high == 255 else _between(edges[column, 1, low], edges[column, 0, high])
    wide = edges[column, 1, low] > edges[column, 0, low] or edges[column, 1, high] > edges[column, 0, high]
    if high != 255 and wide and not meaning[column, 1]:
        t, left, best = _refined(X, cells[column::stride], found, rules, weight, y, total, left, t, best)
    missing_left = missing_left if missed else 2 * left[0] >= total[0]
    return _three_nodes(column, t, missing_left, total, left, best, len(y))


def _refined(X, bins, found, rules, weight, y, total, left, t, best):
    """(threshold, sums to its left, goodness) of the best cut of the values in the two bins beside the cut."""
    column, low, high, _ = found
    rows = np.flatnonzero((bins == low) | (bins == high))
    x = X[rows, column].astype(float)
    order = np.argsort(x, kind="stable")
    x, w = x[order], weight[rows][order]
    wy, below = w * y[rows][order], bins[rows] == low
    start = left - np.array([w[below[order]].sum(), wy[below[order]].sum()])
    wl, sl = start[0] + np.cumsum(w), start[1] + np.cumsum(wy)
    wr, sr = total[0] - wl, total[1] - sl
    ends = (
        np.append(x[1:] > x[:-1], False)
        & (wl >= rules.min_leaf)
        & (wr >= rules.min_leaf)
        & (wl > 0)
        & (wr > 0)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        good = np.where(ends, (sl**2 * wr + sr**2 * wl) / (wl * wr), -np.inf)
    k = int(np.argmax(good))
    if not good[k] > best:
        return t, left, best
    return _between(x[k], x[k + 1]), np.array([wl[k], sl[k]]), good[k]


def _three_nodes(column, t, missing_left, total, left, best, n):
    sums, own = np.stack([total, left, total - left]), total[1] ** 2 / total[0]
    ints = np.array(
        [[column, missing_left, 2, 0, n, -1], [-1, 0, -1, 0, n, -1], [-1, 0, -1, 0, n, -1]], np.int32
    )
    floats = np.array([[t, max(best - own, 0.0)], [np.nan, 0.0], [np.nan, 0.0]])
    return ints, floats, sums, np.empty((0, 4), np.uint64)
