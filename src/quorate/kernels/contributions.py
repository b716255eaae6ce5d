"""Exact contributions of columns to what trees answer (Lundberg, Erion and Lee, 2018), path by path.

A leaf of value v adds v · Π_i o_i to a row's score, over the distinct columns i of its path: o_i is 1 where the row
meets all that the path asks of column i, else 0. Who does not know column i has z_i in its place, the share of the
training rows that go on along the path, multiplied over its splits on i. So column j has the Shapley value (Owen, 1972)

    φ_j = v · (o_j − z_j) · ∫₀¹ Π_{i≠j} (z_i (1 − t) + o_i t) dt

which the ⌈m/2⌉ points of Gauss and Legendre give exactly for m columns. No factor is negative, so no digits are lost.
And Σ_j φ_j + expected = score, for each leaf, and so for all.

`prepared` puts all that a path asks of a column into one condition; then SIDE rows are asked side by side.
"""

from typing import NamedTuple

import numpy as np

from quorate.kernels.jit import U1, U63, inline, kernel, merged
from quorate.kernels.walk import CATEGORY, COLUMN, MISSING_LEFT

# What a path asks of a column: low < x ≤ high, where a low of NaN bounds nothing. Flags of `column` say that missing
# passes, and that x must be in a set, too. `share` is z.
CONDITION = np.dtype([("low", "f8"), ("high", "f8"), ("share", "f8"), ("column", "u4"), ("set", "u4")])
SIDE = np.uint64(64)  # rows side by side
LINE = 8  # numbers in a line of the cache


class Paths(NamedTuple):
    """The leaves of a forest: each has the conditions first[l] … first[l + 1], and values for each output."""

    first: np.ndarray
    conditions: np.ndarray  # whose `column` is a place in `used`
    sets: np.ndarray
    values: np.ndarray
    reached: np.ndarray  # the share of its tree's rows that each leaf holds
    used: np.ndarray  # the columns that some path asks for
    points: np.ndarray  # of Gauss and Legendre in 0 … 1: one, two, three …
    weights: np.ndarray


class Room(NamedTuple):
    """What a thread works in: SIDE numbers for the rows side by side, and as many more for the next thing."""

    x: np.ndarray  # for each used column
    sums: np.ndarray  # for each used column and output
    o: np.ndarray  # for each condition of a leaf
    gains: np.ndarray  # for each condition: (1 − z_j) ∫ Π_{i≠j} …, which is φ_j / v where o_j = 1
    loss: np.ndarray  # ∫ Π … / (1 − t), which is −φ_j / v of every column where o_j = 0
    product: np.ndarray  # w Π … at a point of weight w


def prepared(nodes, subsets, roots, values, cover):
    """The paths of the trees that begin at `roots`; `cover` is what the training rows of each node weigh, not 0."""
    parent, leaves = np.empty((2, len(nodes)), np.uint32)
    n, most = descend(nodes, roots, np.empty((len(nodes) + 1, 2), np.uint64), parent, leaves)
    leaves, first, reached = leaves[:n], np.zeros(n + 1, np.uint64), np.empty(n)
    conditions = np.empty(most, CONDITION)
    sets = np.empty((most if len(subsets) else 0, 4), np.uint64)
    cover = np.asarray(cover, dtype=float)
    made = ascend(nodes, subsets, parent, leaves, cover, first, conditions, sets, reached)
    conditions, sets = conditions[: made[0]].copy(), sets[: made[1]].copy()
    used, values = _number_columns(conditions), np.ascontiguousarray(values[leaves], dtype=float)
    return Paths(first, conditions, sets, values, reached, used, *_rules((_longest(first) + 1) // 2))


def expected(paths):
    """What the trees answer where nothing is known, for each output."""
    return paths.reached @ paths.values


def room(paths):
    """Room for a thread; it begins where a line of the cache does, for vectors across two lines take twice as long."""
    n, k, m = len(paths.used), paths.values.shape[1], _longest(paths.first)
    sizes = np.array([n, n * k, m, m, 1, 1]) * int(SIDE)
    memory = np.empty(sizes.sum() + LINE)
    memory = memory[-(memory.ctypes.data // 8) % LINE :][: sizes.sum()]
    return Room(*np.split(memory, np.cumsum(sizes)[:-1]))


def _longest(first):
    """The most columns that a path asks for."""
    return int(np.diff(first).max(initial=0))


def _number_columns(conditions):
    """The columns that are used, by whose places conditions are to know them."""
    columns = (conditions["column"] & COLUMN).astype(np.int64)
    used = np.flatnonzero(np.bincount(columns)).astype(np.uint64)
    places = np.searchsorted(used, columns.astype(np.uint64)).astype(np.uint32)
    conditions["column"] = places | (conditions["column"] & ~COLUMN)
    return used


def _rules(most):
    """Gauss and Legendre's points in 0 … 1, and their weights: for one point, for two, … for `most`."""
    rules = [np.polynomial.legendre.leggauss(n) for n in range(1, most + 1)]
    points, weights = (np.concatenate([r[i] for r in rules] + [np.zeros(0)]) for i in (0, 1))
    return 0.5 + 0.5 * points, 0.5 * weights


@kernel
def descend(nodes, roots, stack, parent, leaves):
    """List the leaves of all trees, and the parents of nodes, a root's being itself; (leaves, sum of their depths)."""
    n, depths = np.uint64(0), np.uint64(0)
    for root in roots:
        parent[root] = root
        stack[0, 0], stack[0, 1], open_ = root, 0, np.uint64(1)
        while open_ > 0:
            open_ -= U1
            i, depth = stack[open_, 0], stack[open_, 1]
            right = np.uint64(nodes[i].right)
            if right == i:
                leaves[n] = i
                n, depths = n + U1, depths + depth
            else:
                parent[i + U1] = parent[right] = i
                stack[open_, 0], stack[open_, 1] = right, depth + U1
                stack[open_ + U1, 0], stack[open_ + U1, 1] = i + U1, depth + U1
                open_ += np.uint64(2)
    return np.int64(n), np.int64(depths)


@kernel
def ascend(nodes, subsets, parent, leaves, cover, first, conditions, sets, reached):
    """Write down the conditions of leaves, each from the leaf to its root; (how many, how many sets)."""
    n, s = np.uint64(0), np.uint64(0)
    for l in range(np.uint64(len(leaves))):
        i, reached[l] = np.uint64(leaves[l]), 1.0
        while parent[i] != i:
            up = np.uint64(parent[i])
            column, left = nodes[up].column, i == up + U1
            c = place_of(conditions, first[l], n, column & COLUMN)
            n = open_condition(conditions, c, n, column & COLUMN)
            if (column & CATEGORY) != 0:
                s = narrow_set(conditions, sets, c, s, subsets, np.uint64(nodes[up].threshold), left)
            else:
                narrow_interval(conditions, c, nodes[up].threshold, left)
            if ((column & MISSING_LEFT) != 0) != left:
                conditions[c].column &= ~MISSING_LEFT
            share = cover[i] / (cover[up + U1] + cover[nodes[up].right])
            conditions[c].share *= share
            reached[l] *= share
            i = up
        first[l + U1] = n
    return np.int64(n), np.int64(s)


@inline
def place_of(conditions, first, n, column):
    """The place of the condition for a column, n where there is none yet."""
    c = first
    while c < n and (conditions[c].column & COLUMN) != column:
        c += U1
    return c


@inline
def open_condition(conditions, c, n, column):
    """How many conditions there are with this one, which passes all where it is new."""
    if c < n:
        return n
    conditions[c].low, conditions[c].high, conditions[c].share = np.nan, np.inf, 1.0
    conditions[c].column, conditions[c].set = column | MISSING_LEFT, 0
    return n + U1


@inline
def narrow_interval(conditions, c, threshold, left):
    """Let pass only what goes this way at a threshold."""
    if left:
        conditions[c].high = min(conditions[c].high, threshold)
    elif not (threshold <= conditions[c].low):
        conditions[c].low = threshold


@inline
def narrow_set(conditions, sets, c, s, subsets, subset, left):
    """Let pass only the categories that go this way; how many sets there are now."""
    if (conditions[c].column & CATEGORY) == 0:
        conditions[c].column |= CATEGORY
        conditions[c].set = s
        for word in range(np.uint64(4)):
            sets[s, word] = ~np.uint64(0)
        s += U1
    for word in range(np.uint64(4)):
        these = subsets[subset, word]
        sets[conditions[c].set, word] &= these if left else ~these
    return s


@kernel
def add_contributions(cells, d, paths, first, last, room, out):
    """out[row, column, output] += φ, for rows first … last of d cells each."""
    last, d, wide = np.uint64(last), np.uint64(d), np.uint64(paths.values.shape[1])
    for start in range(np.uint64(first), last, SIDE):
        n = min(SIDE, last - start)
        take_rows(cells, d, paths.used, start, n, room)
        for l in range(np.uint64(len(paths.values))):
            add_leaf(paths, l, wide, room)
        give_rows(paths.used, wide, start, n, room, out)


# A room of many arrays is long to hand over, so what is done in it is merged.


@merged
def take_rows(cells, d, used, start, n, room):
    """Lay rows side by side, zeros where there are none, and begin their sums."""
    for j in range(np.uint64(len(used))):
        for k in range(SIDE):
            room.x[j * SIDE + k] = np.float64(cells[(start + k) * d + used[j]]) if k < n else 0.0
    for k in range(np.uint64(len(room.sums))):
        room.sums[k] = 0.0


@merged
def give_rows(used, wide, start, n, room, out):
    """Add the sums to the rows they are of."""
    for j in range(np.uint64(len(used))):
        for c in range(wide):
            for k in range(n):
                out[start + k, used[j], c] += room.sums[(j * wide + c) * SIDE + k]


@merged
def add_leaf(paths, l, wide, room):
    """Add the contributions of one leaf."""
    first = paths.first[l]
    m = paths.first[l + U1] - first
    for i in range(m):
        follow(paths.conditions[first + i], paths.sets, i, room)
    for k in range(SIDE):
        room.loss[k] = 0.0
    n = (m + U1) >> U1
    rule = (n * n - n) >> U1  # after those of 1, 2, …, n − 1 points
    for p in range(rule, rule + n):
        integrate(paths.conditions, first, m, paths.points[p], paths.weights[p], room)
    for i in range(m):
        j = np.uint64(paths.conditions[first + i].column & COLUMN)
        for c in range(wide):
            add_value(paths.values[l, c], i, j * wide + c, room)


@merged
def follow(condition, sets, i, room):
    """o of the i-th condition, and its gains from 0."""
    low, high, missing = condition.low, condition.high, (condition.column & MISSING_LEFT) != 0
    x, at = np.uint64(condition.column & COLUMN) * SIDE, i * SIDE
    for k in range(SIDE):
        v = room.x[x + k]
        meets = ((v <= high) & (not v <= low)) | (missing & (v != v))
        room.o[at + k] = 1.0 if meets else 0.0
        room.gains[at + k] = 0.0
    if (condition.column & CATEGORY) != 0:
        keep_members(sets, np.uint64(condition.set), x, at, room)


@merged
def keep_members(sets, s, x, at, room):
    """o = 0 also for categories that are not in a set."""
    a, b, c, d = sets[s, 0], sets[s, 1], sets[s, 2], sets[s, 3]
    for k in range(SIDE):
        v = room.x[x + k]
        bit = np.uint64(v if v == v else 0.0)
        word = (a if bit < 64 else b) if bit < 128 else (c if bit < 192 else d)
        member = ((word >> (bit & U63)) & U1) != 0
        room.o[at + k] = room.o[at + k] if member | (v != v) else 0.0


@merged
def integrate(conditions, first, m, t, weight, room):
    """What the point t adds to the integrals."""
    for k in range(SIDE):
        room.product[k] = weight
    for i in range(m):
        at, z = i * SIDE, conditions[first + i].share * (1.0 - t)
        for k in range(SIDE):
            room.product[k] *= z + room.o[at + k] * t
    for i in range(m):
        at, z = i * SIDE, conditions[first + i].share
        factor = (1.0 - z) / (z * (1.0 - t) + t)
        for k in range(SIDE):
            room.gains[at + k] += factor * room.product[k]
    factor = 1.0 / (1.0 - t)
    for k in range(SIDE):
        room.loss[k] += factor * room.product[k]


@merged
def add_value(v, i, to, room):
    """Add φ of the i-th condition to a row of sums."""
    if v != 0.0:
        for k in range(SIDE):
            gain = room.gains[i * SIDE + k] if room.o[i * SIDE + k] != 0.0 else -room.loss[k]
            room.sums[to * SIDE + k] += v * gain
