"""What a leaf keeps of numbers: all of them, or, of many, the means of parts of equal weight."""

import numpy as np

from quorate import kernels
from quorate.dist import Empirical, Mixture
from quorate.dist.samples import Samples

GRID = 2.0 ** np.arange(2, -12, -1.0)  # widths to try, in units of the spread of y


def leaf_samples(ints, rows, y, w, most):
    """(the samples of the leaves, which of them is each node's: a node above leaves has 0)."""
    leaf = np.flatnonzero(ints[:, kernels.grow.COLUMN] < 0)
    first, last = ints[leaf, kernels.grow.FIRST], ints[leaf, kernels.grow.LAST]
    which = np.zeros(len(ints), np.int64)
    which[leaf] = np.arange(len(leaf))
    owner = np.repeat(np.arange(len(leaf)), last - first)
    atoms, weights = y[rows], w[rows]
    order = np.lexsort((atoms, owner))
    atoms, weights = atoms[order], weights[order]
    atoms, weights, owner = _means_of(_same(atoms, owner), atoms, weights, owner, exact=True)
    if np.bincount(owner).max() > most:
        atoms, weights, owner = _means_of(_parts(weights, owner, most), atoms, weights, owner)
        atoms, weights, owner = _means_of(_same(atoms, owner), atoms, weights, owner, exact=True)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(leaf)))])
    return Samples._like(atoms, weights, indptr, np.ones(len(leaf))), which


def _same(atoms, owner):
    """Where a new value of a leaf begins."""
    return np.concatenate([[True], (atoms[1:] != atoms[:-1]) | (owner[1:] != owner[:-1])])


def _parts(weights, owner, most):
    """Where a new part of a leaf begins, of which it has at most so many, of equal weight but for rounding."""
    count, total = np.bincount(owner), np.bincount(owner, weights)
    before = np.cumsum(weights) - weights
    start = np.concatenate([[0], np.cumsum(count)[:-1]])
    middle = (before - before[start][owner] + 0.5 * weights) / total[owner]
    part = np.where(count[owner] <= most, np.arange(len(owner)) - start[owner], np.floor(middle * most))
    return np.concatenate([[True], (part[1:] != part[:-1]) | (owner[1:] != owner[:-1])])


def _means_of(begins, atoms, weights, owner, exact=False):
    """Runs of values as one value each: their mean, or the value itself where all are the same."""
    first = np.flatnonzero(begins)
    total = np.add.reduceat(weights, first)
    mean = atoms[first] if exact else np.add.reduceat(weights * atoms, first) / total
    return mean, total, owner[first]


def best_bandwidth(trees, X, y, gap, log_w=None, weight=None):
    """The width of kernels, at least `gap`, that best foretells rows of such weight which the trees have not seen.

    `log_w` (n, M) are the votes of the trees for each row; with no such rows, the width is that of all of y.
    """
    spread = np.std(np.concatenate([tree.samples.atoms for tree in trees]))
    unit = spread if spread > 0 else 1.0
    floor = max(gap, np.finfo(float).tiny)
    if not len(y):
        return max(gap, 0.25 * unit)
    parts, best, best_score = [tree.predict_dist(X) for tree in trees], floor, -np.inf
    log_w = np.full(len(trees), -np.log(len(trees))) if log_w is None else log_w
    for share in GRID:
        h = max(share * unit, floor)
        score = np.average(Mixture(log_w, [_with(part, h) for part in parts]).log_prob(y), weights=weight)
        if score > best_score:
            best, best_score = h, score
    return best


def _with(part, bandwidth):
    s = part.samples
    same = Samples._like(s.atoms, s.weights, s.indptr, np.full(len(s), bandwidth))
    return Empirical.from_samples(same, part.which)
