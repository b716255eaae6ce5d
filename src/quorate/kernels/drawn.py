"""Splits that are drawn, not searched (Geurts et al., 2006): a node needs no histogram, only to be looked at twice.

First the least and the greatest value of each column; then, for a cut drawn between the two, the sums to its left. For
categories, each is drawn a side, the first and the last of them different ones.
"""

import numpy as np

from quorate.kernels.jit import U1, U2, U6, U63, draw, draw_fraction, inline, merged
from quorate.kernels.split import LAST, MISSING, TABLE, judge, pick_numbers

CHUNK = 256  # rows that are looked at again while they are in the nearest cache
LOW, HIGH, AT = 0, 64, 128  # places in `bins` of what is known of each column


@merged
def ends(cells, at, start, end, column, lo, hi):
    """The least and greatest bin of some rows, and of lo and hi."""
    c = np.uint64(column)
    for i in range(np.uint64(start), np.uint64(end)):
        b = np.int64(cells[np.uint64(at[i]) + c])
        lo, hi = min(lo, b), max(hi, b)
    return lo, hi


@inline
def highest_number(cells, at, node, column):
    """The greatest bin that is not MISSING, or −1."""
    hi = -1
    for i in range(node.start, node.end):
        b = np.int64(cells[np.int64(at[i]) + column])
        hi = b if b != MISSING and b > hi else hi
    return hi


@inline
def draw_cut(edges, column, lo, hi, state):
    """(last bin on the left, threshold): uniform between the values of two bins, and consistent with the bins."""
    t = edges[column, 0, lo]
    t += draw_fraction(state) * (edges[column, 1, hi] - t)
    b, above = lo, hi  # the last bin below hi of which some value is ≤ t
    while above - b > 1:
        middle = (b + above) >> 1
        if edges[column, 0, middle] <= t:
            b = middle
        else:
            above = middle
    t = max(t, edges[column, 1, b])
    return b, t if t < edges[column, 0, hi] else edges[column, 1, b]


@inline
def draw_sides(filled, j, lo, hi, state):
    """A random bit for each category: 1 goes left."""
    for word in range(np.uint64(4)):
        filled[(np.uint64(j) << U2) | word] = draw(state)
    a, b = np.uint64(lo), np.uint64(hi)
    filled[(np.uint64(j) << U2) | (a >> U6)] |= U1 << (a & U63)
    filled[(np.uint64(j) << U2) | (b >> U6)] &= ~(U1 << (b & U63))


@inline
def side(filled, j, b):
    return (filled[(np.uint64(j) << U2) | (b >> U6)] >> (b & U63)) & U1


@merged
def add_left(kind, cells, at, values, start, end, column, cut, j, category, filled, hist, base, missed):
    """Add rows that go left to hist[base:], and those that miss the column after them."""
    c, n = np.uint64(column), np.uint64(kind.size)
    w_sum, s_sum = 0.0, 0.0
    for i in range(np.uint64(start), np.uint64(end)):
        b = np.uint64(cells[np.uint64(at[i]) + c])
        w, y = values[U2 * i], values[U2 * i + U1]
        left = side(filled, j, b) if category else np.uint64(b <= cut)
        goes = w * np.float64(left)
        if kind.size == 2:
            w_sum += goes
            s_sum += goes * y
        else:
            hist[base + np.uint64(y)] += goes
        if missed and b == LAST and not category:
            if kind.size == 2:
                hist[base + n] += w
                hist[base + n + U1] += w * y
            else:
                hist[base + n + np.uint64(y)] += w
    if kind.size == 2:
        hist[base] += w_sum
        hist[base + U1] += s_sum


@merged
def judge_both(kind, rules, sign, node, hist, base, total, left, right, cut, hi, missed):
    """(goodness, whether missing values go left) of a cut: of the two ways to send them, the better."""
    good, missing_left = -np.inf, False
    for c in range(kind.size):
        left[c] = hist[base + c]
    if cut < hi or missed:
        good = judge(kind, rules, sign, node, left, total, right)
    if missed and cut < hi:
        for c in range(kind.size):
            left[c] += hist[base + kind.size + c]
        other = judge(kind, rules, sign, node, left, total, right)
        if other > good:
            good, missing_left = other, True
    return good, missing_left


@inline
def mark_sides(goes_left, filled, j):
    """Who goes left, of all categories: those that are not here were drawn a side as well."""
    for b in range(np.uint64(256)):
        goes_left[b] = side(filled, j, b)


def search_drawn(kind, ways, cells, edges, meaning, at, values, rules, node, order, first, k, room, best):
    """(goodness, column, threshold) of the best of k drawn splits, or (best, −1, nan)."""
    hist, filled, total, left, right, bins, thresholds, goes_left, pick, state = room
    size, chosen, threshold = kind.size, -1, np.nan
    for j in range(k):
        bins[LOW + j], bins[HIGH + j] = 256, -1
    for start in range(node.start, node.end, CHUNK):
        for j in range(k):
            lo, hi, end = bins[LOW + j], bins[HIGH + j], min(start + CHUNK, node.end)
            bins[LOW + j], bins[HIGH + j] = ends(cells, at, start, end, order[first + j], lo, hi)
    for j in range(k):
        column, lo, hi = np.int64(order[first + j]), bins[LOW + j], bins[HIGH + j]
        bins[AT + j], thresholds[j] = -1, np.nan
        for c in range(2 * size):
            hist[2 * size * j + c] = 0.0
        if lo == hi:
            continue
        if meaning[column, 0]:
            bins[AT + j] = 0
            draw_sides(filled, j, lo, hi, state)
            continue
        highest = highest_number(cells, at, node, column) if hi == MISSING else hi
        bins[AT + j], thresholds[j] = highest, np.inf
        if lo < highest:
            bins[AT + j], thresholds[j] = draw_cut(edges, column, lo, highest, state)
    for start in range(node.start, node.end, CHUNK):
        for j in range(k):
            if bins[AT + j] >= 0:
                column, end = np.int64(order[first + j]), min(start + CHUNK, node.end)
                add_left(
                    kind, cells, at, values, start, end, column, bins[AT + j], j, meaning[column, 0] != 0,
                    filled, hist, np.uint64(2 * size * j), bins[HIGH + j] == MISSING,
                )  # fmt: skip
    missing_left, where = False, -1
    for j in range(k):
        if bins[AT + j] < 0:
            continue
        column = np.int64(order[first + j])
        category = meaning[column, 0] != 0
        missed = bins[HIGH + j] == MISSING and not category
        highest = MISSING if category or thresholds[j] < np.inf else bins[AT + j]
        good, m = judge_both(
            kind, rules, meaning[column, 1], node, hist, 2 * size * j, total, left, right,
            bins[AT + j], highest, missed,
        )  # fmt: skip
        if good > best:
            best, chosen, threshold, missing_left, where = good, column, thresholds[j], m, j
    if where >= 0 and meaning[chosen, 0]:
        mark_sides(goes_left, filled, where)
        pick[0] = TABLE
    elif where >= 0:
        pick_numbers(pick, bins[AT + where], bins[HIGH + where] == MISSING, missing_left)
    for j in range(4 * k):
        filled[j] = 0
    for j in range(2 * size * k):
        hist[j] = 0.0
    return best, chosen, threshold
