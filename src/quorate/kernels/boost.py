"""Trees of boosting, grown by a crew: from slopes in rows to nodes.

Rows are held in the order of the tree, as in grow.py, but only their numbers: slopes stay where they are, and bins are
there twice, row by row to be counted, and column by column to part rows. A split is some phases of the crew:

| phase | tasks |
|---|---|
| PART | pieces of the node's rows: who goes left, who goes right |
| GATHER | the same pieces: put together what they parted |
| COUNT | pieces of the smaller child's rows: each thread its own histogram |
| SEARCH | blocks of columns: the smaller child's histogram, the larger one's by subtraction, the best split of both |

Of small nodes the leader parts the rows itself, and SEARCH counts. Nodes are numbered as they come, `ints`, `floats`
and `sums` are as in grow.py.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from quorate.kernels import crew as crews
from quorate.kernels.gain import MISSING, Packed, bit, goodness_of, search, value
from quorate.kernels.grow import (
    COLUMN,
    FIRST,
    GAIN,
    LAST,
    MISSING_LEFT,
    RIGHT,
    SUBSET,
    THRESHOLD,
)
from quorate.kernels.jit import BARE, U1, U8, draw_below, inline, kernel, merged, prefetch
from quorate.kernels.split import UNKNOWN, between

ZERO, ONE = np.int64(0), np.int64(1)  # typed: numba compiles a function anew for each literal
AHEAD = np.uint64(24)
PIECE = 4096  # rows of a task
ALONE = 4096  # rows of a node that the leader parts itself
TOGETHER = 16384  # rows of a node that are counted piece by piece
WIDE = 8  # words of columns whose histograms are counted at once
START, PART, GATHER, COUNT, SEARCH = range(5)

# what `plan` says
STEP, LEAF, BEGIN, END, SPLIT_COLUMN, LOW, PIECES, SMALL, LARGE, SMALL_SLOT, LARGE_SLOT = range(11)
COUNTED, BLOCK, LEAVES, NODES, SUBSETS, FREE, TURN = range(11, 18)
PLAN = 18
# what `leaves.ints` says of an open leaf
SLOT, DEPTH, LEFT, BY, LAST_LEFT, FIRST_RIGHT, GONE = range(7)
# what `leaves.floats` says
LO, HI, BEST, WHERE = range(4)


class Table(NamedTuple):
    """Bins row by row in words of eight, and column by column; their edges, and what columns mean.

    `meaning` is whether a column is of categories, its sign where it is monotone, and how many bins it has.
    """

    cells: np.ndarray
    columns: np.ndarray
    wide: int  # words a row
    edges: np.ndarray
    meaning: np.ndarray


class Scale(NamedTuple):
    """What 1 is, of each sum; and what a child needs (gain.py)."""

    unit: np.ndarray
    need: np.ndarray


class Rows(NamedTuple):
    """Rows in the order of the tree; room to part them, and how the pieces were parted."""

    at: np.ndarray
    spare: np.ndarray
    counts: np.ndarray
    goes: np.ndarray


class Tree(NamedTuple):
    """Nodes, numbered as they come."""

    ints: np.ndarray
    floats: np.ndarray
    sums: np.ndarray
    subsets: np.ndarray


class Leaves(NamedTuple):
    """Of each leaf its best split: numbers, sums of its left side, who goes left and who is there; free histograms."""

    ints: np.ndarray
    floats: np.ndarray
    sums: np.ndarray
    bits: np.ndarray
    free: np.ndarray


class Histograms(NamedTuple):
    """All of them, where each thread has its own, and in which turn it was last used."""

    words: np.ndarray
    own: np.ndarray
    used: np.ndarray


class Found(NamedTuple):
    """The best split of both children in each block of columns."""

    ints: np.ndarray
    sums: np.ndarray
    bits: np.ndarray
    goods: np.ndarray


class Draws(NamedTuple):
    """Which columns both children may be split by; their order, and the state of what draws them."""

    allowed: np.ndarray
    order: np.ndarray
    state: np.ndarray


# counting


def words_of(kind):
    """How many words a bin has."""


@overload(words_of, jit_options=BARE, inline="always")
def _words_of(kind):
    return (lambda kind: 1) if kind.instance_class is Packed else (lambda kind: 2 * kind.size)


def put(kind, hist, place, values, row):
    """Add a row to a bin."""


@overload(put, jit_options=BARE, inline="always")
def _put(kind, hist, place, values, row):
    return put_packed if kind.instance_class is Packed else put_pairs


def put_packed(kind, hist, place, values, row):
    hist[place] += values[row]


def put_pairs(kind, hist, place, values, row):
    k = np.uint64(2 * kind.size)
    for c in range(k):
        hist[place * k + c] += values[row * k + c]


@inline
def count(kind, cells, wide, d, first, last, at, start, end, values, hist, base):
    """Add the rows of a node to the histograms of the columns of words first … last."""
    final = np.uint64(len(at) - 1)
    wide, base = np.uint64(wide), np.uint64(base)
    rest = np.uint64(d & 7 if 8 * last > d else 0)  # columns of a last word that is not full
    whole = np.uint64(last - 1 if rest else last)
    for i in range(np.uint64(start), np.uint64(end)):
        row, later = np.uint64(at[i]), np.uint64(at[i + AHEAD if i + AHEAD < final else final])
        prefetch(cells, later * wide + np.uint64(first))
        prefetch(values, later * np.uint64(words_of(kind)))
        for word in range(np.uint64(first), whole):
            x, to = cells[row * wide + word], base + (word << np.uint64(11))
            for _ in range(8):
                put(kind, hist, to | (x & np.uint64(255)), values, row)
                x >>= U8
                to += np.uint64(256)
        if rest:
            x, to = cells[row * wide + whole], base + (whole << np.uint64(11))
            for _ in range(rest):
                put(kind, hist, to | (x & np.uint64(255)), values, row)
                x >>= U8
                to += np.uint64(256)


@inline
def clear(kind, hist, base, first, last):
    """Empty the histograms of the columns of words first … last."""
    k = np.uint64(words_of(kind))
    start = (np.uint64(base) + (np.uint64(first) << np.uint64(11))) * k
    for i in range(start, start + (np.uint64(last - first) << np.uint64(11)) * k):
        hist[i] = 0


@inline
def add_up(kind, hist, to, of, sign, first, last):
    """hist[to] += or −= hist[of], for the columns of words first … last."""
    k = np.uint64(words_of(kind))
    n = (np.uint64(last - first) << np.uint64(11)) * k
    to = (np.uint64(to) + (np.uint64(first) << np.uint64(11))) * k
    of = (np.uint64(of) + (np.uint64(first) << np.uint64(11))) * k
    if sign > 0:
        for i in range(n):
            hist[to + i] += hist[of + i]
    else:
        for i in range(n):
            hist[to + i] -= hist[of + i]


# tasks


@inline
def piece_of(plan, task):
    """(first row, end) of a piece of the node that is parted."""
    start = plan[BEGIN] + task * PIECE
    return start, min(start + PIECE, plan[END])


@inline
def part(table, rows, plan, start, end, l, r, left_to, right_to):
    """Write the rows of a node that go left to `left_to` from l on, the others to `right_to` from r on; the next l."""
    at, goes, column, low = rows.at, rows.goes, table.columns[plan[SPLIT_COLUMN]], plan[LOW]
    l, r, final = np.uint64(l), np.uint64(r), np.uint64(len(rows.at) - 1)
    if low < 0:
        for i in range(np.uint64(start), np.uint64(end)):
            row = at[i]
            left = np.uint64(goes[np.uint64(column[np.uint64(row)])])
            left_to[l] = row
            right_to[r] = row
            l += left
            r += U1 - left
        return np.int64(l)
    # MISSING is the last bin, and goes right by itself; to go left it becomes the first.
    shift = goes[256]
    limit = np.uint8(np.uint8(low) + shift)
    for i in range(np.uint64(start), np.uint64(end)):
        row = at[i]
        prefetch(column, np.uint64(at[i + AHEAD if i + AHEAD < final else final]))
        left = np.uint64(np.uint8(column[np.uint64(row)] + shift) <= limit)
        left_to[l] = row
        right_to[r] = row
        l += left
        r += U1 - left
    return np.int64(l)


@merged
def part_piece(table, rows, plan, task):
    """Part a piece: who goes left to the first half of `spare`, who goes right to the second."""
    start, end = piece_of(plan, task)
    l = part(table, rows, plan, start, end, start, len(rows.at) + start, rows.spare, rows.spare)
    rows.counts[task, 0] = l - start


@merged
def part_alone(table, rows, plan):
    """Part a node; where the right ones begin."""
    middle = part(table, rows, plan, plan[BEGIN], plan[END], plan[BEGIN], ZERO, rows.at, rows.spare)
    for k in range(np.uint64(plan[END] - middle)):
        rows.at[np.uint64(middle) + k] = rows.spare[k]
    return middle


@merged
def gather(rows, plan, task):
    """Put the parts of a piece where they belong."""
    at, spare, counts = rows.at, rows.spare, rows.counts
    start, end = piece_of(plan, task)
    left = counts[task, 0]
    to, of = np.uint64(counts[task, 1]), np.uint64(start)
    for k in range(np.uint64(left)):
        at[to + k] = spare[of + k]
    to, of = np.uint64(counts[task, 2]), np.uint64(len(at) + start)
    for k in range(np.uint64(end - start - left)):
        at[to + k] = spare[of + k]


@merged
def count_piece(kind, table, rows, plan, hists, values, tree, thread, task):
    """Count a piece of the smaller child in the thread's own histogram."""
    own, d = hists.own[thread], len(table.meaning)
    if hists.used[thread] != plan[TURN]:
        hists.used[thread] = plan[TURN]
        clear(kind, hists.words, own, ZERO, table.wide)
    start = tree.ints[plan[SMALL], FIRST] + task * PIECE
    end = min(start + PIECE, tree.ints[plan[SMALL], LAST])
    for block in range(0, table.wide, WIDE):
        last = min(block + WIDE, table.wide)
        count(kind, table.cells, table.wide, d, block, last, rows.at, start, end, values, hists.words, own)


@merged
def search_block(
    kind, ways, table, rules, scale, plan, hists, rows, values, tree, leaves, found, draws, room, task
):
    """Count or add up, subtract, and search both children, in a block of columns."""
    small, large, to, of = plan[SMALL], plan[LARGE], plan[SMALL_SLOT], plan[LARGE_SLOT]
    first, d = task * plan[BLOCK], len(table.meaning)
    last = min(first + plan[BLOCK], table.wide)
    clear(kind, hists.words, to, first, last)
    if plan[COUNTED]:
        for t in range(len(hists.used)):
            if hists.used[t] == plan[TURN]:
                add_up(kind, hists.words, to, hists.own[t], ONE, first, last)
    else:
        start, end = tree.ints[small, FIRST], tree.ints[small, LAST]
        count(kind, table.cells, table.wide, d, first, last, rows.at, start, end, values, hists.words, to)
    if large >= 0:
        add_up(kind, hists.words, of, to, -ONE, first, last)
    for which in range(2):
        node, slot, good = (large, of, -np.inf) if which else (small, to, -np.inf)
        if node >= 0 and draws.allowed[which, d]:
            for column in range(8 * first, min(8 * last, d)):
                if draws.allowed[which, column]:
                    good = search(
                        kind, ways, hists.words, slot, column, table.meaning[column, 0], table.meaning[column, 1],
                        table.meaning[column, 2],
                        tree.sums[node], scale.unit, scale.need, rules, leaves.floats[node, LO],
                        leaves.floats[node, HI], room, good, found.ints[task, which], found.sums[task, which],
                        found.bits[task, which],
                    )  # fmt: skip
        found.goods[task, which] = good


# what the leader does alone


@inline
def open_node(tree, leaves, i, start, end, depth, lo, hi):
    """A new leaf."""
    leaves.ints[i, SLOT], leaves.ints[i, DEPTH], leaves.ints[i, LEFT], leaves.ints[i, BY] = -1, depth, -1, -1
    leaves.floats[i, LO], leaves.floats[i, HI], leaves.floats[i, BEST], leaves.floats[i, WHERE] = (
        lo,
        hi,
        -1.0,
        np.nan,
    )
    tree.ints[i, COLUMN], tree.ints[i, MISSING_LEFT], tree.ints[i, RIGHT] = -1, 0, -1
    tree.ints[i, FIRST], tree.ints[i, LAST], tree.ints[i, SUBSET] = start, end, -1
    tree.floats[i, THRESHOLD], tree.floats[i, GAIN] = np.nan, 0.0


@merged
def draw(kind, rules, scale, plan, tree, draws):
    """Which columns each of two nodes may be split by; none where there is too little to part."""
    allowed, order, d = draws.allowed, draws.order, np.uint64(len(draws.order))
    left = 0 if plan[LARGE] < 0 or plan[SMALL] < plan[LARGE] else 1  # which is drawn for first
    for turn in range(2):
        which = left if turn == 0 else 1 - left
        node, enough = (plan[LARGE] if which else plan[SMALL]), 0.0
        if node >= 0:
            for c in range(kind.size):
                enough += scale.need[c] * scale.unit[2 * c + 1] * np.float64(tree.sums[node, 2 * c + 1])
        allowed[which, d] = enough >= 2.0
        for j in range(d):
            allowed[which, j] = rules.max_features >= len(order)
        if rules.max_features < len(order):
            for j in range(np.uint64(rules.max_features)):
                k = j + draw_below(draws.state, d - j)
                order[j], order[k] = order[k], order[j]
                allowed[which, order[j]] = 1


@inline
def begin_search(kind, table, rules, scale, plan, tree, draws, crew, threads):
    """Begin COUNT, or SEARCH where the smaller child is so small that it is counted there."""
    draw(kind, rules, scale, plan, tree, draws)
    n = tree.ints[plan[SMALL], LAST] - tree.ints[plan[SMALL], FIRST]
    if threads > 1 and n >= TOGETHER:
        plan[STEP], plan[TURN] = COUNT, plan[TURN] + 1
        crews.begin(crew, -(-n // PIECE))
        return
    plan[STEP], plan[COUNTED] = SEARCH, 0
    plan[BLOCK] = max(1, min(WIDE, -(-table.wide // threads)))
    crews.begin(crew, -(-table.wide // plan[BLOCK]))


@inline
def between_bins(edges, column, low, high):
    """(last bin on the left, threshold): in the middle of the two, and between bins, as others may have rows there."""
    if high == MISSING:
        return np.int64(MISSING - 1), np.inf  # all that is not missing goes left
    middle = between(edges[column, 1, low], edges[column, 0, high])
    while low + 1 < high and edges[column, 1, low + 1] <= middle:
        low += 1
    return low, between(edges[column, 1, low], edges[column, 0, low + 1])


@merged
def take_best(kind, table, rules, scale, plan, tree, leaves, found):
    """Write the best split of both children that the blocks have found."""
    for which in range(2):
        node = plan[LARGE] if which else plan[SMALL]
        best, task = -np.inf, -1
        for t in range(-(-table.wide // plan[BLOCK]) if node >= 0 else 0):
            if found.goods[t, which] > best:
                best, task = found.goods[t, which], t
        if task < 0:
            continue
        lo, hi = leaves.floats[node, LO], leaves.floats[node, HI]
        gain = best - goodness_of(kind.size, tree.sums[node], scale.unit, rules, lo, hi)
        if not gain > rules.least_gain:
            continue
        column, low, high = found.ints[task, which, 0], found.ints[task, which, 1], found.ints[task, which, 2]
        leaves.ints[node, BY], leaves.ints[node, LAST_LEFT] = column, low
        leaves.ints[node, FIRST_RIGHT], leaves.ints[node, GONE] = high, found.ints[task, which, 3]
        leaves.floats[node, BEST] = gain
        if low >= 0:
            low, threshold = between_bins(table.edges, column, low, high)
            leaves.ints[node, LAST_LEFT], leaves.floats[node, WHERE] = low, threshold
        for c in range(2 * kind.size):
            leaves.sums[node, c] = found.sums[task, which, c]
        for word in range(8):
            leaves.bits[node, word] = found.bits[task, which, word]


@merged
def next_leaf(rules, plan, leaves):
    """The open leaf to be split, or −1."""
    chosen, depth, best = np.int64(-1), leaves.ints, leaves.floats
    for k in range(plan[NODES]):
        if best[k, BEST] < 0.0:
            continue
        if chosen < 0:
            chosen = k
        elif rules.by_level and depth[k, DEPTH] != depth[chosen, DEPTH]:
            chosen = k if depth[k, DEPTH] < depth[chosen, DEPTH] else chosen
        elif best[k, BEST] > best[chosen, BEST]:
            chosen = k
    return chosen


@merged
def begin_split(rows, plan, tree, leaves, i):
    """Say how leaf i is parted."""
    plan[LEAF], plan[BEGIN], plan[END] = i, tree.ints[i, FIRST], tree.ints[i, LAST]
    plan[SPLIT_COLUMN], plan[LOW] = leaves.ints[i, BY], leaves.ints[i, LAST_LEFT]
    rows.goes[256] = np.uint8(leaves.ints[i, GONE] == 1)
    if plan[LOW] < 0:
        for b in range(256):
            rows.goes[b] = np.uint8(bit(leaves.bits[i], b))


@merged
def begin_gather(rows, plan):
    """Say where the parts of all pieces belong; from LOW on the right ones do."""
    counts, left = rows.counts, plan[BEGIN]
    for k in range(plan[PIECES]):
        counts[k, 1] = left
        left += counts[k, 0]
    plan[LOW] = left
    right = left
    for k in range(plan[PIECES]):
        counts[k, 2] = right
        start, end = piece_of(plan, k)
        right += end - start - counts[k, 0]
    plan[STEP] = GATHER


@merged
def write_question(plan, tree, leaves, i, right, most_left):
    """Turn a leaf into a question; who was not there goes where most goes."""
    gone = leaves.ints[i, GONE]
    tree.ints[i, COLUMN], tree.ints[i, RIGHT] = leaves.ints[i, BY], right
    tree.ints[i, MISSING_LEFT] = most_left if gone == UNKNOWN else gone
    tree.floats[i, THRESHOLD], tree.floats[i, GAIN] = leaves.floats[i, WHERE], leaves.floats[i, BEST]
    if leaves.ints[i, LAST_LEFT] < 0:
        tree.ints[i, SUBSET] = plan[SUBSETS]
        for word in range(4):
            absent = ~leaves.bits[i, 4 + word] if most_left else np.uint64(0)
            tree.subsets[plan[SUBSETS], word] = leaves.bits[i, word] | absent
        plan[SUBSETS] += 1


@merged
def bounds_below(rules, scale, tree, leaves, i, left, sign):
    """(lo, hi) of the left child and of the right one: a monotone split keeps them apart at their middle."""
    lo, hi, unit, sums = leaves.floats[i, LO], leaves.floats[i, HI], scale.unit, tree.sums
    if sign == 0:
        return lo, hi, lo, hi
    a = value(sums[left, 0] * unit[0], sums[left, 1] * unit[1], rules.l1, rules.l2, lo, hi)
    b = value(sums[left + 1, 0] * unit[0], sums[left + 1, 1] * unit[1], rules.l1, rules.l2, lo, hi)
    m = 0.5 * (a + b)
    return (lo, m, m, hi) if sign > 0 else (m, hi, lo, m)


@merged
def split_leaf(kind, table, rules, scale, plan, tree, leaves, middle):
    """Open the children of a leaf; whether anyone is to look for their splits."""
    i, left, depth = plan[LEAF], plan[NODES], leaves.ints[plan[LEAF], DEPTH] + 1
    start, end, slot = tree.ints[i, FIRST], tree.ints[i, LAST], leaves.ints[i, SLOT]
    write_question(plan, tree, leaves, i, left + 1, 2 * leaves.sums[i, 1] >= tree.sums[i, 1])
    for c in range(2 * kind.size):
        tree.sums[left, c] = leaves.sums[i, c]
        tree.sums[left + 1, c] = tree.sums[i, c] - leaves.sums[i, c]
    sign = table.meaning[leaves.ints[i, BY], 1]
    lo_l, hi_l, lo_r, hi_r = bounds_below(rules, scale, tree, leaves, i, left, sign)
    leaves.floats[i, BEST], leaves.ints[i, LEFT] = -1.0, left
    open_node(tree, leaves, left, start, middle, depth, lo_l, hi_l)
    open_node(tree, leaves, left + 1, middle, end, depth, lo_r, hi_r)
    plan[NODES] += 2
    plan[LEAVES] += 1
    if plan[LEAVES] >= rules.max_leaves or depth >= rules.max_depth:
        leaves.free[plan[FREE]] = slot
        plan[FREE] += 1
        return False
    small, large = (left, left + 1) if middle - start <= end - middle else (left + 1, left)
    plan[FREE] -= 1
    leaves.ints[large, SLOT], leaves.ints[small, SLOT] = slot, leaves.free[plan[FREE]]
    plan[SMALL], plan[LARGE] = small, large
    plan[SMALL_SLOT], plan[LARGE_SLOT] = leaves.ints[small, SLOT], slot
    return True


@merged
def lead(kind, table, rules, scale, plan, rows, tree, leaves, found, draws, crew, stage, threads):
    """What is next, when a phase is over: open another one, or end the stage."""
    step, parted, middle = plan[STEP], False, np.int64(0)
    if step == COUNT:
        plan[STEP], plan[COUNTED], plan[BLOCK] = SEARCH, 1, 1
        crews.begin(crew, table.wide)
        return
    if step == PART:
        begin_gather(rows, plan)
        crews.begin(crew, plan[PIECES])
        return
    searching = step == START
    if step == SEARCH:
        take_best(kind, table, rules, scale, plan, tree, leaves, found)
    elif step == GATHER:
        parted, middle = True, plan[LOW]
    while not searching:
        if not parted:
            i = next_leaf(rules, plan, leaves)
            if i < 0 or plan[LEAVES] >= rules.max_leaves:
                crews.end(crew, stage)
                return
            begin_split(rows, plan, tree, leaves, i)
            n = plan[END] - plan[BEGIN]
            if threads > 1 and n > ALONE:
                plan[STEP], plan[PIECES] = PART, -(-n // PIECE)
                crews.begin(crew, plan[PIECES])
                return
            middle = part_alone(table, rows, plan)
        parted = False
        searching = split_leaf(kind, table, rules, scale, plan, tree, leaves, middle)
    begin_search(kind, table, rules, scale, plan, tree, draws, crew, threads)


@kernel
def grow(
    thread,
    threads,
    crew,
    stage,
    kind,
    ways,
    table,
    rules,
    scale,
    plan,
    hists,
    rows,
    values,
    tree,
    leaves,
    found,
    draws,
    room,
):
    """Take part in growing a tree; thread 0 leads."""
    spins = ZERO
    while True:
        task = crews.claim(crew, stage)
        if task == crews.OVER:
            return
        if task >= 0:
            spins = ZERO
            if plan[STEP] == SEARCH:
                search_block(
                    kind,
                    ways,
                    table,
                    rules,
                    scale,
                    plan,
                    hists,
                    rows,
                    values,
                    tree,
                    leaves,
                    found,
                    draws,
                    room,
                    task,
                )
            elif plan[STEP] == COUNT:
                count_piece(kind, table, rows, plan, hists, values, tree, thread, task)
            elif plan[STEP] == PART:
                part_piece(table, rows, plan, task)
            else:
                gather(rows, plan, task)
            crews.finish(crew)
        elif thread == 0 and crews.is_done(crew):
            lead(kind, table, rules, scale, plan, rows, tree, leaves, found, draws, crew, stage, threads)
        else:
            spins = crews.wait(spins)
