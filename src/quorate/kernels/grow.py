"""Trees: from rows in bins to nodes, depth first, or best gain first where leaves are counted.

Rows are held in the order of the tree: a node is a range of them, which a split partitions in place. The rows of a
small subtree are copied next to each other, so that all its levels are read from the nearest cache.

| array | of node i, in preorder: the left child is i + 1 |
|---|---|
| `ints[i]` | COLUMN (−1: a leaf), MISSING_LEFT, RIGHT (child), FIRST … LAST (rows), SUBSET (its place, or −1) |
| `floats[i]` | THRESHOLD (x ≤ it goes left; nan where a set of categories does) and GAIN |
| `sums[i]` | the sums of its rows |
| `subsets[k]` | 256 bits: which categories go left |
"""

import numpy as np

from quorate.kernels.jit import U0, U1, U2, inline, kernel, merged
from quorate.kernels.split import MISSING, TABLE, UNKNOWN, Node, goodness, search

COLUMN, MISSING_LEFT, RIGHT, FIRST, LAST, SUBSET = range(6)
THRESHOLD, GAIN = range(2)
SMALL = 1024  # rows of a subtree that are copied next to each other
BLOCK = 8192  # sums that fit beside each other in the nearest cache


# memory


def columns_at_once(size, rules, d):
    """How many columns are counted at once."""
    return max(1, min(rules.max_features, d, BLOCK // (256 * size)))


def _room(size, wide, seed):
    """What searches share: (hist, filled, total, left, right, bins, sums, goes_left, pick, state)."""
    return (
        np.zeros(wide * 256 * size),
        np.zeros(wide * 4, np.uint64),
        *(np.empty(size) for _ in range(3)),
        np.empty(256, np.int64),
        np.empty(256 * size),
        np.empty(256, np.uint8),
        np.zeros(2, np.int64),
        np.array([seed], np.uint64),
    )


def _empty_tree(size, n, n_subsets):
    return (
        np.empty((n, 6), np.int32),
        np.empty((n, 2)),
        np.empty((n, size)),
        np.empty((n_subsets, 4), np.uint64),
    )


# steps


@inline
def add_up(kind, values, start, end, total):
    """The sums of a range of rows; whether they all say the same."""
    same, y, w_sum, s_sum = True, values[U2 * np.uint64(start) + U1], 0.0, 0.0
    if kind.size == 2:
        for k in range(np.uint64(start), np.uint64(end)):
            w, here = values[U2 * k], values[U2 * k + U1]
            w_sum += w
            s_sum += w * here
            same &= here == y
        total[0], total[1] = w_sum, s_sum
        return same
    for c in range(kind.size):
        total[c] = 0.0
    for k in range(np.uint64(start), np.uint64(end)):
        here = values[U2 * k + U1]
        total[np.uint64(here)] += values[U2 * k]
        same &= here == y
    return same


@inline
def weigh(kind, sums):
    if kind.size == 2:
        return sums[0]
    return sums.sum()


@inline
def write_leaf(ints, floats, i, start, end):
    ints[i, COLUMN], ints[i, MISSING_LEFT], ints[i, RIGHT] = -1, 0, -1
    ints[i, FIRST], ints[i, LAST], ints[i, SUBSET] = start, end, -1
    floats[i, THRESHOLD], floats[i, GAIN] = np.nan, 0.0


@merged
def look(kind, ways, cells, edges, meaning, at, values, rules, node, depth, same, order, room):
    """(gain, column, threshold) of a node's best split; column −1 where it is a leaf."""
    total = room[2]
    if same or depth >= rules.max_depth or weigh(kind, total) < rules.min_split:
        return 0.0, -1, np.nan
    good, column, threshold = search(kind, ways, cells, edges, meaning, at, values, rules, node, order, room)
    gain = good - goodness(kind, rules, total, values, node) if column >= 0 else 0.0
    return max(gain, 0.0), column, threshold


@inline
def put(at, rows, values, spare, spare_values, k, l, r, left):
    """Write row k to both sides, of which one will be written over; the next places on the left and on the right."""
    o, w, y = at[k], values[U2 * k], values[U2 * k + U1]
    at[l], values[U2 * l], values[U2 * l + U1] = o, w, y
    spare[U2 * r], spare_values[U2 * r], spare_values[U2 * r + U1] = o, w, y
    if len(rows):
        row = rows[k]
        rows[l], spare[U2 * r + U1] = row, row
    return l + left, r + (U1 - left)


@inline
def partition(cells, at, rows, values, node, column, goes_left, pick, spare, spare_values):
    """Put the rows that go left before the others, in the order they had; where the right ones begin."""
    l, r, column, start, end = (
        np.uint64(node.start),
        U0,
        np.uint64(column),
        np.uint64(node.start),
        np.uint64(node.end),
    )
    if pick[0] == TABLE:
        for k in range(start, end):
            left = np.uint64(goes_left[cells[np.uint64(at[k]) + column]] == 1)
            l, r = put(at, rows, values, spare, spare_values, k, l, r, left)
    else:
        # MISSING is the last bin, and goes right by itself; to go left it becomes the first.
        shift = np.uint8(1 if pick[1] == 1 else 0)
        low = np.uint8(np.uint8(pick[0]) + shift)
        for k in range(start, end):
            left = np.uint64(np.uint8(cells[np.uint64(at[k]) + column] + shift) <= low)
            l, r = put(at, rows, values, spare, spare_values, k, l, r, left)
    for k in range(r):
        at[l + k] = spare[U2 * k]
        values[U2 * (l + k)], values[U2 * (l + k) + U1] = spare_values[U2 * k], spare_values[U2 * k + U1]
    if len(rows):
        for k in range(r):
            rows[l + k] = spare[U2 * k + U1]
    return np.int64(l)


@inline
def settle(goes_left, pick, values, middle, node):
    """Categories that were not there go where most rows go, by weight; of numbers see `_most`."""
    if pick[0] != TABLE:
        return
    balance = 0.0
    for k in range(np.uint64(node.start), np.uint64(node.end)):
        balance += values[U2 * k] if k < np.uint64(middle) else -values[U2 * k]
    for b in range(np.uint64(256)):
        goes_left[b] = np.uint8(balance >= 0.0) if goes_left[b] == UNKNOWN else goes_left[b]
    pick[1] = goes_left[MISSING]


@inline
def write_split(meaning, ints, floats, i, column, threshold, gain, goes_left, pick, subsets, n_subsets):
    """Write a split to a node; how many subsets there are."""
    ints[i, COLUMN], ints[i, MISSING_LEFT] = column, pick[1]
    floats[i, THRESHOLD], floats[i, GAIN] = threshold, gain
    if not meaning[column, 0]:
        return n_subsets
    for word in range(4):
        subsets[n_subsets, word] = U0
    for b in range(np.uint64(256)):
        subsets[n_subsets, b >> np.uint64(6)] |= np.uint64(goes_left[b]) << (b & np.uint64(63))
    ints[i, SUBSET] = n_subsets
    return n_subsets + 1


@inline
def mean_of(values, start, end):
    w, s = 0.0, 0.0
    for k in range(np.uint64(start), np.uint64(end)):
        w += values[U2 * k]
        s += values[U2 * k] * values[U2 * k + U1]
    return s / w


@inline
def bounds_below(kind, sign, node, values, middle):
    """(lo, hi) of the left child and of the right one: a monotone split keeps them apart at their middle."""
    if sign == 0 or kind.size != 2:
        return node.lo, node.hi, node.lo, node.hi
    m = 0.5 * (mean_of(values, node.start, middle) + mean_of(values, middle, node.end))
    if sign > 0:
        return node.lo, m, m, node.hi
    return m, node.hi, node.lo, m


@inline
def copy_near(cells, stride, at, start, end, near):
    """Copy the cells of some rows next to each other."""
    for k in range(np.uint64(end - start)):
        o, to = np.uint64(at[np.uint64(start) + k]), k * np.uint64(stride)
        for c in range(np.uint64(stride)):
            near[to + c] = cells[o + c]
        at[np.uint64(start) + k] = to


def weights(sums):
    """The weight of each node."""
    return sums[:, 0] if sums.shape[1] == 2 else sums.sum(axis=1)


def _most(ints, sums):
    """Missing values that a node did not have go where most of its rows go, by weight."""
    weight = weights(sums)
    i = np.flatnonzero(ints[:, MISSING_LEFT] == UNKNOWN)
    ints[i, MISSING_LEFT] = 2.0 * weight[i + 1] >= weight[i]


# depth first


def depth_first(kind, ways, cells, stride, edges, meaning, rules, seed, rows, values, keep):
    """(ints, floats, sums, subsets) of the tree of some rows; their values are put in its order, and they if `keep`."""
    n, kept = len(rows), rows if keep else rows[:0]
    ints, floats, sums, subsets = _empty_tree(kind.size, 2 * n, n if meaning[:, 0].any() else 0)
    memory = (
        rows * np.uint32(stride),
        np.empty(2 * n, np.uint32),
        np.empty(2 * n),
        np.empty(SMALL * stride, np.uint8),
        np.empty((n + 2, 4), np.int64),
        np.empty((n + 2, 2)),
    )
    order, room = np.arange(len(meaning), dtype=np.uint32), _room(kind.size, ways.wide, seed)
    count, n_subsets = grow_depth_first(
        kind,
        ways,
        cells,
        stride,
        edges,
        meaning,
        rules,
        kept,
        values,
        order,
        room,
        memory,
        ints,
        floats,
        sums,
        subsets,
    )
    _most(ints[:count], sums[:count])
    return ints[:count].copy(), floats[:count].copy(), sums[:count].copy(), subsets[:n_subsets].copy()


@merged
def push(stack, bounds, top, start, end, parent, depth, lo, hi):
    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = start, end, parent, depth
    bounds[top, 0], bounds[top, 1] = lo, hi
    return top + 1


@kernel
def grow_depth_first(
    kind,
    ways,
    cells,
    stride,
    edges,
    meaning,
    rules,
    rows,
    values,
    order,
    room,
    memory,
    ints,
    floats,
    sums,
    subsets,
):
    """(number of nodes, number of subsets)."""
    at, spare, spare_values, near, stack, bounds = memory
    total, goes_left, pick = room[2], room[7], room[8]
    near_start, near_end, count, n_subsets = 0, 0, 0, 0
    top = push(stack, bounds, 0, 0, len(at), -1, 0, -np.inf, np.inf)
    while top:
        top -= 1
        start, end, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node, i = Node(start, end, bounds[top, 0], bounds[top, 1]), count
        count += 1
        if parent >= 0:
            ints[parent, RIGHT] = i
        same = add_up(kind, values, start, end, total)
        for c in range(kind.size):
            sums[i, c] = total[c]
        write_leaf(ints, floats, i, start, end)
        is_near = near_start <= start and end <= near_end
        if not (is_near or same) and end - start <= SMALL:
            is_near, near_start, near_end = True, start, end
            copy_near(cells, stride, at, start, end, near)
        here = near if is_near else cells
        gain, column, threshold = look(
            kind, ways, here, edges, meaning, at, values, rules, node, depth, same, order, room
        )
        if column < 0:
            continue
        middle = partition(here, at, rows, values, node, column, goes_left, pick, spare, spare_values)
        settle(goes_left, pick, values, middle, node)
        n_subsets = write_split(
            meaning, ints, floats, i, column, threshold, gain, goes_left, pick, subsets, n_subsets
        )
        lo_l, hi_l, lo_r, hi_r = bounds_below(kind, meaning[column, 1], node, values, middle)
        top = push(stack, bounds, top, middle, end, i, depth + 1, lo_r, hi_r)
        top = push(stack, bounds, top, start, middle, -1, depth + 1, lo_l, hi_l)
    return count, n_subsets


# best gain first


def best_first(kind, ways, cells, stride, edges, meaning, rules, seed, rows, values, keep):
    """The same, splitting the leaf that gains most until there are `max_leaves`."""
    n, most, kept = len(rows), 2 * min(rules.max_leaves, len(rows)), rows if keep else rows[:0]
    ints, floats, sums, subsets = _empty_tree(kind.size, most, most)
    memory = (
        rows * np.uint32(stride),
        np.empty(2 * n, np.uint32),
        np.empty(2 * n),
        # Of a leaf that is open: depth, column and left child; lo, hi, gain (−1: none) and threshold of its split.
        np.zeros((most, 3), np.int64),
        np.full((most, 4), -1.0),
        np.empty((most, 256), np.uint8),
        np.zeros((most, 2), np.int64),
    )
    order, room = np.arange(len(meaning), dtype=np.uint32), _room(kind.size, ways.wide, seed)
    count, n_subsets = grow_best_first(
        kind,
        ways,
        cells,
        edges,
        meaning,
        rules,
        kept,
        values,
        order,
        room,
        memory,
        ints,
        floats,
        sums,
        subsets,
    )
    out = np.empty_like(ints[:count]), np.empty_like(floats[:count]), np.empty_like(sums[:count])
    in_preorder(ints, floats, sums, memory[3], np.zeros((count + 1, 2), np.int64), *out)
    _most(out[0], out[2])
    return *out, subsets[:n_subsets].copy()


@inline
def open_leaf(
    kind, ways, cells, edges, meaning, rules, values, order, room, at, leaves, splits, goes, picks, ints, floats, sums,
    i, start, end,
):  # fmt: skip
    """Write a new leaf and the split that gains most."""
    node, total, goes_left, pick = Node(start, end, splits[i, 0], splits[i, 1]), room[2], room[7], room[8]
    same = add_up(kind, values, start, end, total)
    for c in range(kind.size):
        sums[i, c] = total[c]
    write_leaf(ints, floats, i, start, end)
    gain, column, threshold = look(
        kind, ways, cells, edges, meaning, at, values, rules, node, leaves[i, 0], same, order, room
    )
    splits[i, 2], splits[i, 3], leaves[i, 1] = gain if column >= 0 else -1.0, threshold, column
    for b in range(256):
        goes[i, b] = goes_left[b]
    picks[i, 0], picks[i, 1] = pick[0], pick[1]


@kernel
def grow_best_first(
    kind, ways, cells, edges, meaning, rules, rows, values, order, room, memory, ints, floats, sums, subsets
):
    """(number of nodes, number of subsets); nodes are numbered as they come."""
    at, spare, spare_values, leaves, splits, goes, picks = memory
    goes_left, pick, count, n_subsets = room[7], room[8], 1, 0
    splits[0, 0], splits[0, 1] = -np.inf, np.inf
    open_leaf(
        kind, ways, cells, edges, meaning, rules, values, order, room, at, leaves, splits, goes, picks,
        ints, floats, sums, 0, 0, len(at),
    )  # fmt: skip
    while count < 2 * rules.max_leaves - 1:
        i = np.int64(0)
        for k in range(count):
            i = k if splits[k, 2] > splits[i, 2] else i
        if splits[i, 2] < 0.0:
            break
        column, gain, threshold = leaves[i, 1], splits[i, 2], splits[i, 3]
        node = Node(ints[i, FIRST], ints[i, LAST], splits[i, 0], splits[i, 1])
        for b in range(256):
            goes_left[b] = goes[i, b]
        pick[0], pick[1] = picks[i, 0], picks[i, 1]
        middle = partition(cells, at, rows, values, node, column, goes_left, pick, spare, spare_values)
        settle(goes_left, pick, values, middle, node)
        n_subsets = write_split(
            meaning, ints, floats, i, column, threshold, gain, goes_left, pick, subsets, n_subsets
        )
        lo_l, hi_l, lo_r, hi_r = bounds_below(kind, meaning[column, 1], node, values, middle)
        splits[i, 2], leaves[i, 2], ints[i, RIGHT] = -1.0, count, count + 1
        for child in range(2):
            new = count + child
            splits[new, 0], splits[new, 1] = (lo_r, hi_r) if child else (lo_l, hi_l)
            leaves[new, 0] = leaves[i, 0] + 1
            start, end = (middle, node.end) if child else (node.start, middle)
            open_leaf(
                kind, ways, cells, edges, meaning, rules, values, order, room, at, leaves, splits, goes, picks,
                ints, floats, sums, new, start, end,
            )  # fmt: skip
        count += 2
    return count, n_subsets


@kernel
def in_preorder(ints, floats, sums, leaves, room, out_ints, out_floats, out_sums):
    """Nodes that were numbered as they came, renumbered; leaves[i, 2] is the left child, `room` a stack and parents."""
    top, room[0, 0] = 1, 0
    for i in range(len(out_ints)):
        top -= 1
        old = room[top, 0]
        parent = room[old, 1] - 1  # of a right child
        for k in range(6):
            out_ints[i, k] = ints[old, k]
        for k in range(2):
            out_floats[i, k] = floats[old, k]
        for k in range(sums.shape[1]):
            out_sums[i, k] = sums[old, k]
        if parent >= 0:
            out_ints[parent, RIGHT] = i
        if ints[old, COLUMN] >= 0:
            room[ints[old, RIGHT], 1] = i + 1
            room[top, 0], room[top + 1, 0] = ints[old, RIGHT], leaves[old, 2]
            top += 2
