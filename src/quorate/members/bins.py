"""Bins: what trees look at in place of values. At most 255 a column, and one for missing values.

A column of few values has a bin for each; another one bins of about equal weight, never between two equal values.
Of categories each has its bin; where there are too many, the rarest are taken for missing. Of more than 262 144 rows,
the bins are learned from so many of them.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from quorate import kernels

BINS, MISSING = 255, 255
ENOUGH = 1 << 18  # rows that bins are learned from
PIECE = 1 << 14  # rows of which a thread finds the bins
MOST_CELLS = 1 << 31


@dataclass(frozen=True, eq=False)
class Binned:
    """A table X, its bins (`cells`, `stride` bytes a row, flat), and the lowest and highest value of each bin."""

    X: np.ndarray
    cells: np.ndarray
    stride: int
    edges: np.ndarray
    codes: dict = field(default_factory=dict)  # column → its categories, in order

    def __len__(self):
        return len(self.X)

    @property
    def shape(self):
        """(rows, columns) of X."""
        return self.X.shape

    @cached_property
    def columns(self):
        """The bins column by column, (d, n)."""
        out = np.empty(self.shape[::-1], np.uint8)
        kernels.bins.turn(self.cells, self.stride, out)
        return out


def binned(X, weight=None, categorical=(), threads=1):
    """The table in bins; `categorical` numbers the columns whose values are names, not quantities."""
    n, d = X.shape
    stride = 1 << max(3, (d - 1).bit_length()) if d <= 64 else -(-d // 64) * 64
    if n * stride > MOST_CELLS:
        raise ValueError(
            f"X has {n} rows of {d} columns, {n * stride:.3g} cells in bins, and trees take at most {MOST_CELLS:.3g}; "
            f"fit to a sample of the rows, or to fewer columns"
        )
    edges, cells, tops = (
        np.full((d, 2, 256), np.inf),
        np.zeros((n, stride), np.uint8),
        np.full((d, 256), np.inf),
    )
    codes = {int(j): _categories(X[:, j], weight) for j in categorical}
    numeric = np.array([j for j in range(d) if j not in codes], dtype=np.int64)
    some = _some(X, weight) if n > ENOUGH else (X, weight)

    def learn(j):
        lows, highs = _edges(some[0][:, j], some[1])
        if n > ENOUGH:  # other rows may lie between bins, which begin where the last one ends
            lows[1:] = np.nextafter(highs[:-1], np.inf)
        edges[j, 0, : len(lows)], edges[j, 1, : len(highs)] = lows, highs
        tops[j, : len(highs) - 1] = highs[:-1]

    def place(first):
        kernels.bins.place(X, tops, numeric, np.array([first, min(first + PIECE, n)]), cells)

    _each(learn, numeric, threads)
    _each(place, range(0, n, PIECE), threads)
    if codes:
        kernels.bins.place_codes(X, *_padded(codes, d), np.array(sorted(codes)), np.array([0, n]), cells)
    return Binned(X, cells.ravel(), stride, edges, codes)


def _each(work, many, threads):
    """work(one) of each, by some threads."""
    if threads == 1:
        for one in many:
            work(one)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, many))


def _some(X, weight):
    """(so many rows that bins are learned from them, their weights)."""
    places = np.arange(ENOUGH) + np.random.default_rng(0).random(ENOUGH)  # one of each so many neighbours
    rows = (places * (len(X) / ENOUGH)).astype(np.int64)
    return X[rows], None if weight is None else weight[rows]


def coded(X, codes):
    """The table with categories replaced by their numbers, as fitted trees want it; unknown ones are missing."""
    if not codes:
        return X
    n, d = X.shape
    cells, out = np.empty((n, d), np.uint8), np.array(X, dtype=float)
    columns = np.array(sorted(codes))
    kernels.bins.place_codes(X, *_padded(codes, d), columns, np.array([0, n]), cells)
    for j in columns:
        out[:, j] = np.where(cells[:, j] == MISSING, np.nan, cells[:, j])
    return out


def _padded(codes, d):
    """(categories of each column in one array, how many they are)."""
    counts, table = np.zeros(d, np.int64), np.zeros((d, 256))
    for j, values in codes.items():
        counts[j], table[j, : len(values)] = len(values), values
    return table, counts


def _edges(x, weight):
    """(lowest value of each bin, highest value of each bin) of a column; one bin where nothing is known."""
    there = ~np.isnan(x)
    weight = None if weight is None else weight[there]
    x = x[there] if not there.all() else x
    if not x.size:
        return np.zeros(1), np.zeros(1)
    if weight is None:
        x = np.sort(x)
        at = -(-np.arange(1, BINS + 1) * len(x) // BINS) - 1
    else:
        order = np.argsort(x, kind="stable")
        x, total = x[order], np.cumsum(weight[order])
        at = np.searchsorted(total, np.arange(1, BINS) / BINS * total[-1] * (1 - 1e-12))
        at = np.append(np.minimum(at, len(x) - 1), len(x) - 1)
    first = np.flatnonzero(np.concatenate([[True], x[1:] > x[:-1]]))
    if len(first) <= BINS:
        return x[first], x[first]
    highs = np.unique(x[at])
    lows = x[np.concatenate([[0], np.searchsorted(x, highs[:-1], side="right")])]
    return lows, highs


def _categories(x, weight):
    """The categories of a column, in order; of more than 255, those that weigh most, of equals the first."""
    there = ~np.isnan(x)
    values, inverse = np.unique(x[there], return_inverse=True)
    if len(values) <= BINS:
        return values.astype(float)
    weights = np.bincount(inverse, None if weight is None else weight[there])
    return np.sort(values[np.argsort(-weights, kind="stable")[:BINS]]).astype(float)
