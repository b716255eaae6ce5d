"""Values to bins: the first bin whose highest value is not below x, or MISSING."""

import numpy as np

from quorate.kernels.jit import kernel

MISSING = 255


@kernel
def place(X, tops, columns, rows, out):
    """out[i, j] = the bin of X[i, j], for some numeric columns, and rows from rows[0] to rows[1].

    `tops` are the highest values of the bins of each column, 256 of them, ∞ beyond the last bin.
    """
    for i in range(rows[0], rows[1]):
        for j in columns:
            x = np.float64(X[i, j])
            if np.isnan(x):
                out[i, j] = MISSING
                continue
            b = 0
            for half in (128, 64, 32, 16, 8, 4, 2, 1):
                b += half * (tops[j, b + half - 1] < x)
            out[i, j] = b


@kernel
def place_codes(X, codes, counts, columns, rows, out):
    """The same for columns of categories: out[i, j] = the place of X[i, j] among the sorted codes[j], or MISSING."""
    for i in range(rows[0], rows[1]):
        for j in columns:
            x, lo, hi = np.float64(X[i, j]), 0, counts[j]
            while lo < hi:
                middle = (lo + hi) >> 1
                if codes[j, middle] < x:
                    lo = middle + 1
                else:
                    hi = middle
            out[i, j] = lo if lo < counts[j] and codes[j, lo] == x else MISSING


@kernel
def turn(cells, stride, out):
    """out[j, i] = bin of row i and column j, by blocks that stay in the nearest cache."""
    d, n = out.shape
    for start in range(0, n, 512):
        for j in range(d):
            for i in range(start, min(start + 512, n)):
                out[j, i] = cells[i * stride + j]
