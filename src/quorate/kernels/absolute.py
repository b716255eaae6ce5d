"""The best split by absolute error, whose sums do not add up: deviations from a median are counted anew.

Rows enter a Fenwick tree over the ranks of their y, bin by bin, which tells the median and the sums below it:

    Σ w |y − med| = med · W_below − S_below + (S − S_below) − med · (W − W_below)
"""

import numpy as np

from quorate.kernels.jit import allocating, draw_fraction

MISSING, UNKNOWN, TABLE = 255, 2, -1


@allocating
def enter(tree, rank, w, wy):
    """Add a row to a Fenwick tree of (Σw, Σwy) over ranks."""
    i = rank + 1
    while i < len(tree):
        tree[i, 0] += w
        tree[i, 1] += wy
        i += i & -i


@allocating
def deviation(tree, w, s, values):
    """Σ w |y − median| of the rows that have entered, of weight w and sum s; `values` are the y of ranks."""
    size, i, below_w, below_s = len(tree) - 1, 0, 0.0, 0.0
    step = 1
    while 2 * step <= size:
        step *= 2
    while step:
        j = i + step
        if j <= size and below_w + tree[j, 0] < 0.5 * w:
            i, below_w, below_s = j, below_w + tree[j, 0], below_s + tree[j, 1]
        step >>= 1
    median = values[min(i, size - 1)]
    return median * below_w - below_s + (s - below_s) - median * (w - below_w)


@allocating
def deviation_of(flat, start, end):
    """Σ w |y − median| of a range of rows."""
    values = flat[2 * start : 2 * end].reshape((end - start, 2))
    order = np.argsort(values[:, 1], kind="mergesort")
    tree, ys, w, s = np.zeros((len(order) + 1, 2)), values[order, 1], 0.0, 0.0
    for r in range(len(order)):
        weight = values[order[r], 0]
        enter(tree, r, weight, weight * ys[r])
        w += weight
        s += weight * ys[r]
    return deviation(tree, w, s, ys)


@allocating
def deviations(rows, bounds, values, ranks, ys, first, last, out):
    """out[i] = deviation of bins first … i, in whichever direction first and last are; and the weight of each."""
    tree = np.zeros((len(ys) + 1, 2))
    step = 1 if last >= first else -1
    w, s = 0.0, 0.0
    for i in range(first, last + step, step):
        for k in range(bounds[i], bounds[i + 1]):
            r = rows[k]
            enter(tree, ranks[r], values[r, 0], values[r, 0] * values[r, 1])
            w += values[r, 0]
            s += values[r, 0] * values[r, 1]
        out[i, 0], out[i, 1] = deviation(tree, w, s, ys), w


@allocating
def rows_by_bin(cells, at, start, m, column):
    """(the node's rows in the order of their bins, first row of each bin that is there, those bins)."""
    counts = np.zeros(257, np.int64)
    for k in range(m):
        counts[cells[at[start + k] + column] + 1] += 1
    bins = np.flatnonzero(counts[1:])
    bounds = np.append(np.cumsum(counts[1:])[bins] - counts[1:][bins], m)
    place, rows = np.cumsum(counts), np.empty(m, np.int64)
    for k in range(m):
        b = cells[at[start + k] + column]
        rows[place[b]] = k
        place[b] += 1
    return rows, bounds, bins


@allocating
def by_mean(rows, bounds, bins, values):
    """The same with the bins in the order of their means, for categories."""
    n = len(bins)
    means = np.empty(n)
    for i in range(n):
        own = rows[bounds[i] : bounds[i + 1]]
        means[i] = np.sum(values[own, 0] * values[own, 1]) / np.sum(values[own, 0])
    order = np.argsort(means, kind="mergesort")
    new_rows, new_bounds, k = np.empty_like(rows), np.zeros(n + 1, np.int64), 0
    for i in range(n):
        own = rows[bounds[order[i]] : bounds[order[i] + 1]]
        new_rows[k : k + len(own)] = own
        k += len(own)
        new_bounds[i + 1] = k
    return new_rows, new_bounds, bins[order]


@allocating
def missing_first(rows, bounds, bins):
    """The same with the bin of missing values, which is the last, before the others."""
    a = bounds[len(bins) - 1]
    rows = np.concatenate((rows[a:], rows[:a]))
    bounds = np.concatenate((np.zeros(1, np.int64), bounds[:-1] + (len(rows) - a)))
    return rows, bounds, np.concatenate((bins[-1:], bins[:-1]))


@allocating
def cut_deviations(rows, bounds, values, ranks, ys, least, only, best):
    """(−deviation of both children, bins on the left), where better than `best`; else (best, −1)."""
    n = len(bounds) - 1
    left, right, cut = np.empty((n, 2)), np.empty((n, 2)), -1
    deviations(rows, bounds, values, ranks, ys, 0, n - 1, left)
    deviations(rows, bounds, values, ranks, ys, n - 1, 0, right)
    for i in range(n - 1):
        good = -left[i, 0] - right[i + 1, 0]
        enough = left[i, 1] >= least and right[i + 1, 1] >= least
        if good > best and enough and (only < 0 or i == only):
            best, cut = good, i + 1
    return best, cut


@allocating
def drawn_place(bins, edges, column, state):
    """(place of a cut that is uniform between the least and the greatest value, that value)."""
    n = len(bins)
    t = edges[column, 0, bins[0]]
    t += draw_fraction(state) * (edges[column, 1, bins[n - 1]] - t)
    for i in range(n - 1):
        if t < edges[column, 0, bins[i + 1]]:
            return i, max(t, edges[column, 1, bins[i]])
    return n - 2, edges[column, 1, bins[n - 2]]


@allocating
def threshold_at(bins, left, category, edges, column, drawn):
    """Up to where values go left: nan for categories, ±∞ where missing ones are alone on a side."""
    if category:
        return np.nan
    if bins[left] == MISSING:
        return np.inf
    if bins[left - 1] == MISSING:
        return -np.inf
    if drawn == drawn:
        return drawn
    low, high = edges[column, 1, bins[left - 1]], edges[column, 0, bins[left]]
    t = 0.5 * low + 0.5 * high
    return t if low <= t < high else low


def search_absolute(kind, ways, cells, edges, meaning, at, values, rules, node, order, first, k, room, best):
    """(goodness, column, threshold) of the best split by k columns, or (best, −1, nan)."""
    goes_left, pick, state = room[-3], room[-2], room[-1]
    m, start = node.end - node.start, node.start
    own = values[2 * start : 2 * node.end].reshape((m, 2))
    by_y = np.argsort(own[:, 1], kind="mergesort")
    ranks, ys = np.empty(m, np.int64), own[by_y, 1]
    ranks[by_y] = np.arange(m)
    found, chosen, threshold = best, -1, np.nan
    for j in range(k):
        column = np.int64(order[first + j])
        rows, bounds, bins = rows_by_bin(cells, at, start, m, column)
        category = meaning[column, 0] != 0
        if category and len(bins) > 1:
            rows, bounds, bins = by_mean(rows, bounds, bins, own)
        missing = 1 if not category and bins[-1] == MISSING else 0
        only, drawn = -1, np.nan
        if rules.random and not category and len(bins) - missing > 1:
            only, drawn = drawn_place(bins[: len(bins) - missing], edges, column, state)
        for side in range(1 + missing):
            if side:
                rows, bounds, bins = missing_first(rows, bounds, bins)
            place = only + side if only >= 0 else -1
            good, left = cut_deviations(rows, bounds, own, ranks, ys, rules.min_leaf, place, found)
            if left >= 0:
                found, chosen, pick[0] = good, column, TABLE
                goes_left[:] = UNKNOWN
                for i in range(len(bins)):
                    goes_left[bins[i]] = i < left
                threshold = threshold_at(bins, left, category, edges, column, drawn)
    return found, chosen, threshold
