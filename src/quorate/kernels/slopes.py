"""What boosting follows downhill: the first two derivatives of a loss, row by row, as whole numbers; and the way taken.

    g = ∂ loss(y, f) / ∂f,    h = ∂² loss / ∂f², or what stands in for it

| loss | g | h |
|---|---|---|
| Logistic | p − y, p = 1 / (1 + e^−f) | p (1 − p) |
| Squared | f − y | 1 |
| Absolute, Quantile | 1 − level above y, −level below | 1 |
| Huber | f − y, within ± δ | 1 |
| Poisson | e^f − y | e^f |
| Gamma | 1 − y e^−f | 1, what it is on average |
| softmax | p_k − 1{y = k} | p_k (1 − p_k) K / (K−1) |

A row that counts m times adds m times the whole number of one. Packed words have few digits where rows are many, so
they are rounded up or down by lot, right on average; pairs are rounded to the nearest.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload

from quorate.kernels import crew as crews
from quorate.kernels.boost import LAST_LEFT, LEFT
from quorate.kernels.gain import MISSING, Packed
from quorate.kernels.grow import COLUMN, FIRST, LAST, MISSING_LEFT, RIGHT, SUBSET
from quorate.kernels.jit import BARE, inline, kernel

PIECE = 8192  # rows of a task
LOT = 2.0**-32
MANY = 4096  # copies of a row that are not drawn one by one


class Logistic(NamedTuple):
    """Two classes."""

    unused: float = 0.0


class Squared(NamedTuple):
    """½ (f − y)²."""

    unused: float = 0.0


class Quantile(NamedTuple):
    """Pinball loss; level ½ is half the absolute error."""

    level: float


class Huber(NamedTuple):
    """Squared near, absolute from δ on."""

    delta: float


class Poisson(NamedTuple):
    """Counts, f the log of their mean."""

    unused: float = 0.0


class Gamma(NamedTuple):
    """Positive numbers, f the log of their mean."""

    unused: float = 0.0


def slope(loss, f, y):
    """(g, h)."""


@overload(slope, jit_options=BARE, inline="always")
def _slope(loss, f, y):
    return SLOPES[loss.instance_class]


def _logistic(loss, f, y):
    p = 1.0 / (1.0 + np.exp(-f))
    return p - y, p * (1.0 - p)


def _squared(loss, f, y):
    return f - y, 1.0


def _quantile(loss, f, y):
    return np.float64(f > y) - loss.level * np.float64(f != y), 1.0


def _huber(loss, f, y):
    return min(max(f - y, -loss.delta), loss.delta), 1.0


def _poisson(loss, f, y):
    mean = np.exp(f)
    return mean - y, mean


def _gamma(loss, f, y):
    return 1.0 - y * np.exp(-f), 1.0


SLOPES = {
    Logistic: _logistic,
    Squared: _squared,
    Quantile: _quantile,
    Huber: _huber,
    Poisson: _poisson,
    Gamma: _gamma,
}


# whole numbers


@inline
def lot(i, key):
    """64 random bits of a row (SplitMix64's last steps)."""
    z = (np.uint64(i) + key) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return z ^ (z >> np.uint64(31))


def keep(kind, values, i, times, g, h, per, key):
    """Write a row's whole numbers and return them: `per` units are 1."""


@overload(keep, jit_options=BARE)
def _keep(kind, values, i, times, g, h, per, key):
    return keep_packed if kind.instance_class is Packed else keep_pair


def keep_packed(kind, values, i, times, g, h, per, key):
    z = lot(i, key)
    a = times * np.int64(np.floor(g * per[0] + np.float64(z >> np.uint64(32)) * LOT))
    b = times * np.int64(np.floor(h * per[1] + np.float64(z & np.uint64(0xFFFFFFFF)) * LOT))
    values[np.uint64(i)] = (a << 32) + b
    return a, b


def keep_pair(kind, values, i, times, g, h, per, key):
    a, b = times * np.int64(np.rint(g * per[0])), times * np.int64(np.rint(h * per[1]))
    values[np.uint64(2 * i)], values[np.uint64(2 * i + 1)] = a, b
    return a, b


@inline
def piece(task, n):
    """(first row, end) of a task."""
    return task * PIECE, min(n, (task + 1) * PIECE)


@kernel
def extent(thread, crew, stage, loss, f, y, factor, times, out):
    """The largest |g| and h, of each task, and its Σ|g|; `factor` and `times` may be empty."""
    n = len(y)
    if thread == 0:
        crews.begin(crew, len(out))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        g_most, h_most, total = 0.0, 0.0, 0.0
        for i in range(np.uint64(first), np.uint64(last)):
            if len(times) and times[i] == 0:
                continue
            g, h = slope(loss, f[i], y[i])
            by = factor[i] if len(factor) else 1.0
            g_most, h_most, total = max(g_most, by * abs(g)), max(h_most, by * h), total + by * abs(g)
        out[task, 0], out[task, 1], out[task, 2] = g_most, h_most, total
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)


@kernel
def follow(thread, crew, stage, kind, loss, f, y, factor, times, per, key, values, totals):
    """Each row's slopes as whole numbers, and their sums, of each task."""
    n = len(y)
    if thread == 0:
        crews.begin(crew, len(totals))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        a, b = np.int64(0), np.int64(0)
        for i in range(np.uint64(first), np.uint64(last)):
            g, h = slope(loss, f[i], y[i])
            by = factor[i] if len(factor) else 1.0
            m = np.int64(times[i]) if len(times) else np.int64(1)
            c, d = keep(kind, values, i, m, by * g, by * h, per, key[0])
            a += c
            b += d
        totals[task, 0], totals[task, 1] = a, b
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)


@kernel
def follow_classes(thread, crew, stage, kind, f, y, factor, times, per, key, values, totals, room):
    """The same of the softmax of f (K, n): a row of `values` and two columns of `totals` for each class."""
    classes, n = np.uint64(f.shape[0]), f.shape[1]
    curve = np.float64(classes) / (np.float64(classes) - 1.0)
    if thread == 0:
        crews.begin(crew, len(totals))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        for c in range(2 * classes):
            totals[task, c] = 0
        for i in range(np.uint64(first), np.uint64(last)):
            top, total = f[0, i], 0.0
            for c in range(classes):
                top = f[c, i] if f[c, i] > top else top
            for c in range(classes):
                room[thread, c] = np.exp(f[c, i] - top)
                total += room[thread, c]
            by = factor[i] if len(factor) else 1.0
            m = np.int64(times[i]) if len(times) else np.int64(1)
            for c in range(classes):
                p = room[thread, c] / total
                g = p - np.float64(c == np.uint64(y[i]))
                a, b = keep(
                    kind, values[c], i, m, by * g, by * curve * p * (1.0 - p), per, key[0] + (c << np.uint64(40))
                )  # fmt: skip
                totals[task, 2 * c] += a
                totals[task, 2 * c + 1] += b
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)


@kernel
def follow_given(thread, crew, stage, g, h, times, per, values, totals):
    """The same of given slopes of several outputs, (n, K) each, as pairs."""
    n, size = len(g), np.uint64(g.shape[1])
    if thread == 0:
        crews.begin(crew, len(totals))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        for c in range(2 * size):
            totals[task, c] = 0
        for i in range(np.uint64(first), np.uint64(last)):
            m = np.int64(times[i]) if len(times) else np.int64(1)
            for c in range(size):
                a = m * np.int64(np.rint(g[i, c] * per[2 * c]))
                b = m * np.int64(np.rint(h[i, c] * per[2 * c + 1]))
                at = (i * size + c) * np.uint64(2)
                values[at], values[at + np.uint64(1)] = a, b
                totals[task, 2 * c] += a
                totals[task, 2 * c + 1] += b
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)


@kernel
def draw_times(slots, times, share, key, out):
    """How many of a row's copies are drawn, each with probability `share` by a lot of its own; `slots` number them."""
    for i in range(np.uint64(len(times))):
        m = np.int64(0)
        if times[i] > MANY:
            m = np.int64(times[i] * share + np.float64(lot(slots[i], key[0]) >> np.uint64(11)) * 2.0**-53)
        else:
            for j in range(times[i]):
                m += np.float64(lot(slots[i] + np.uint64(j), key[0]) >> np.uint64(11)) * 2.0**-53 < share
        out[i] = m


# the way taken


@kernel
def step(thread, crew, stage, f, at, ints, nodes, value):
    """f[row] += the value of its leaf, for the rows of a tree, whose values of K outputs go to the rows of f (n, K)."""
    n, size = len(at), np.uint64(f.shape[1])
    if thread == 0:
        crews.begin(crew, -(-n // PIECE))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        for k in range(nodes[0]):
            if ints[k, COLUMN] >= 0:
                continue
            start, end = max(first, ints[k, FIRST]), min(last, ints[k, LAST])
            for c in range(size):
                v = value[k, c]
                for i in range(np.uint64(start), np.uint64(max(start, end))):
                    f[np.uint64(at[i]), c] += v
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)


@kernel
def step_unseen(thread, crew, stage, f, rows, count, columns, ints, leaves, subsets, value):
    """The same for the first count[0] of `rows`, which the tree has not seen: they go down by their bins."""
    n, size = count[0], np.uint64(f.shape[1])
    if thread == 0:
        crews.begin(crew, -(-n // PIECE))
    task = crews.next_task(thread, crew, stage)
    while task >= 0:
        first, last = piece(task, n)
        for k in range(first, last):
            row, i = np.uint64(rows[k]), np.int64(0)
            while ints[i, COLUMN] >= 0:
                b = columns[ints[i, COLUMN], row]
                if ints[i, SUBSET] >= 0:
                    left = ((subsets[ints[i, SUBSET], b >> 6] >> np.uint64(b & 63)) & np.uint64(1)) != 0
                elif b == MISSING:
                    left = ints[i, MISSING_LEFT] == 1
                else:
                    left = b <= leaves[i, LAST_LEFT]
                i = leaves[i, LEFT] if left else np.int64(ints[i, RIGHT])
            for c in range(size):
                f[row, c] += value[i, c]
        crews.finish(crew)
        task = crews.next_task(thread, crew, stage)
