"""From rows to leaves. A node is 16 bytes: a threshold, a column with two flags, and the way to the right child.

A leaf leads to itself, so rows that go down side by side, and wait for memory together, need not end together.
"""

import numpy as np

from quorate.kernels.jit import U1, U6, U63, inline, kernel

NODE = np.dtype([("threshold", np.float64), ("column", np.uint32), ("right", np.uint32)])
MISSING_LEFT, CATEGORY, COLUMN = np.uint32(1 << 30), np.uint32(1 << 29), np.uint32((1 << 29) - 1)
SIDE = 16  # rows, or trees, side by side


def room():
    """Room for what is on its way."""
    return np.empty(SIDE, np.uint64)


@inline
def step(cells, row, nodes, subsets, some, i):
    """The child of node i for the row that begins at cells[row]; a leaf's is the leaf."""
    column, threshold, right = nodes[i].column, nodes[i].threshold, np.uint64(nodes[i].right)
    x = np.float64(cells[row + np.uint64(column & COLUMN)])
    left = (x <= threshold) | ((x != x) & ((column & MISSING_LEFT) != 0))
    if some and (column & CATEGORY) != 0 and x == x:
        b = np.uint64(x)
        left = ((subsets[np.uint64(threshold), b >> U6] >> (b & U63)) & U1) != 0
    return i + U1 if left else right


@kernel
def leaves(cells, d, nodes, subsets, first, last, here, out):
    """out[row] = the leaf of a tree, for rows first … last of d cells each; `here` is room for those on their way."""
    some, d = len(subsets) > 0, np.uint64(d)
    for start in range(np.uint64(first), np.uint64(last), np.uint64(SIDE)):
        n, moved = np.uint64(min(np.uint64(SIDE), np.uint64(last) - start)), True
        for k in range(n):
            here[k] = 0
        while moved:
            moved = False
            for k in range(n):
                there = step(cells, (start + k) * d, nodes, subsets, some, here[k])
                moved |= there != here[k]
                here[k] = there
        for k in range(n):
            out[start + k] = here[k]


@kernel
def add_values(cells, d, nodes, subsets, roots, votes, values, first, last, here, out):
    """out[row] += Σ_m vote_m · values[leaf of tree m], tree after tree, for rows first … last of d cells each."""
    some, d, wide = len(subsets) > 0, np.uint64(d), np.uint64(values.shape[1])
    for m in range(len(roots)):
        for start in range(np.uint64(first), np.uint64(last), np.uint64(SIDE)):
            n, moved = np.uint64(min(np.uint64(SIDE), np.uint64(last) - start)), True
            for k in range(n):
                here[k] = roots[m]
            while moved:
                moved = False
                for k in range(n):
                    there = step(cells, (start + k) * d, nodes, subsets, some, here[k])
                    moved |= there != here[k]
                    here[k] = there
            for k in range(n):
                for c in range(wide):
                    out[start + k, c] += votes[m] * values[here[k], c]


@kernel
def add_values_of_one(cells, nodes, subsets, roots, votes, values, here, out):
    """The same for one row, whose way through many trees is gone side by side."""
    some, wide = len(subsets) > 0, np.uint64(values.shape[1])
    for first in range(np.uint64(0), np.uint64(len(roots)), np.uint64(SIDE)):
        n, moved = np.uint64(min(np.uint64(SIDE), np.uint64(len(roots)) - first)), True
        for k in range(n):
            here[k] = roots[first + k]
        while moved:
            moved = False
            for k in range(n):
                there = step(cells, np.uint64(0), nodes, subsets, some, here[k])
                moved |= there != here[k]
                here[k] = there
        for k in range(n):
            for c in range(wide):
                out[0, c] += votes[first + k] * values[here[k], c]
