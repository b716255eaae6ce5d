"""From rows to leaves. A node is 16 bytes: a threshold, a column with two flags, and the way to the right child.

A leaf leads to itself, so rows that go down side by side, and wait for memory together, need not end together.
"""

import numpy as np

from quorate.kernels.jit import U1, inline, kernel

NODE = np.dtype([("threshold", np.float64), ("column", np.int32), ("right", np.int32)])
MISSING_LEFT, CATEGORY, COLUMN = np.int32(1 << 30), np.int32(1 << 29), np.int32((1 << 29) - 1)
SIDE = 16  # rows, or trees, side by side


def room():
    """Room for what is on its way."""
    return np.empty(SIDE, np.uint64)


@inline
def step(X, row, nodes, subsets, i):
    """The child of node i that a row goes to; a leaf's is the leaf."""
    node = nodes[i]
    column = node.column
    x = np.float64(X[row, np.uint64(column & COLUMN)])
    left = x <= node.threshold
    if x != x:
        left = (column & MISSING_LEFT) != 0
    elif column & CATEGORY:
        b = np.uint64(x)
        left = ((subsets[np.uint64(node.threshold), b >> np.uint64(6)] >> (b & np.uint64(63))) & U1) != 0
    return i + U1 if left else np.uint64(node.right)


@kernel
def leaves(X, nodes, subsets, root, first, last, here, out):
    """out[row] = the leaf of a tree, for rows first … last; `here` is room for the rows that are on their way."""
    for start in range(first, last, SIDE):
        n, moved = min(SIDE, last - start), True
        here[:] = root
        while moved:
            moved = False
            for k in range(n):
                there = step(X, start + k, nodes, subsets, here[k])
                moved |= there != here[k]
                here[k] = there
        for k in range(n):
            out[start + k] = here[k]


@kernel
def add_values(X, nodes, subsets, roots, votes, values, first, last, here, out):
    """out[row] += Σ_m vote_m · values[leaf of tree m], tree after tree, for rows first … last."""
    wide = np.uint64(values.shape[1])
    for start in range(first, last, SIDE):
        n = min(SIDE, last - start)
        for m in range(len(roots)):
            here[:] = roots[m]
            moved = True
            while moved:
                moved = False
                for k in range(n):
                    there = step(X, start + k, nodes, subsets, here[k])
                    moved |= there != here[k]
                    here[k] = there
            for k in range(n):
                for c in range(wide):
                    out[start + k, c] += votes[m] * values[here[k], c]


@kernel
def add_values_of_one(X, row, nodes, subsets, roots, votes, values, here, out):
    """The same for one row, whose way through many trees is gone side by side."""
    wide = np.uint64(values.shape[1])
    for first in range(0, len(roots), SIDE):
        n, moved = min(SIDE, len(roots) - first), True
        for k in range(n):
            here[k] = roots[first + k]
        while moved:
            moved = False
            for k in range(n):
                there = step(X, row, nodes, subsets, here[k])
                moved |= there != here[k]
                here[k] = there
        for k in range(n):
            for c in range(wide):
                out[row, c] += votes[first + k] * values[here[k], c]
