"""Cost-complexity pruning: of all subtrees, the smallest that minimises  cost + α · leaves."""

import numpy as np

from quorate import kernels


def pruned(ints, floats, sums, alpha, criterion):
    """The arrays of a tree without the branches that gain less than α a leaf; gains count by the share of rows."""
    if alpha <= 0.0:
        return ints, floats, sums
    gone = _weakest_first(ints, _gain(floats, sums, criterion), alpha)
    return _without(ints, floats, sums, gone)


def pruning_path(ints, floats, sums, criterion):
    """[(α, number of leaves)] at which branches go, from the whole tree to its root."""
    path: list = []
    _weakest_first(ints, _gain(floats, sums, criterion), np.inf, path)
    return path


def _gain(floats, sums, criterion):
    """What each split lowers the impurity of all rows by: Gini's counts both of two classes, entropy is in bits."""
    two = sums.shape[1] == 2
    gain = floats[:, kernels.grow.GAIN] / (sums[0, 0] if two else sums[0].sum())
    if criterion in ("entropy", "log_loss"):
        return gain / np.log(2)
    return 2.0 * gain if criterion == "gini" and two else gain


def _weakest_first(ints, gain, alpha, path=None):
    """Cut the branch with the least gain a leaf again and again, up to α; which nodes became leaves."""
    g, n = kernels.grow, len(ints)
    inner = ints[:, g.COLUMN] >= 0
    parent = np.full(n, -1)
    parent[np.flatnonzero(inner) + 1] = np.flatnonzero(inner)
    parent[ints[inner, g.RIGHT]] = np.flatnonzero(inner)
    branch_gain, leaves = np.where(inner, gain, 0.0), np.where(inner, 0, 1)
    for i in range(n - 1, 0, -1):
        branch_gain[parent[i]] += branch_gain[i]
        leaves[parent[i]] += leaves[i]
    cut, end = np.zeros(n, bool), _ends(ints)
    while inner[0]:
        link = np.where(inner, branch_gain / np.maximum(leaves - 1, 1), np.inf)
        i = int(np.argmin(link))
        if link[i] > alpha:
            break
        lost_gain, lost_leaves = branch_gain[i], leaves[i] - 1
        inner[i : end[i]] = False
        cut[i] = True
        j = i
        while j >= 0:
            branch_gain[j] -= lost_gain
            leaves[j] -= lost_leaves
            j = parent[j]
        if path is not None:
            path.append((float(link[i]), int(leaves[0])))
    return cut


def _ends(ints):
    """The node after the last one of each branch, in preorder."""
    g, n = kernels.grow, len(ints)
    end = np.arange(1, n + 1)
    for i in range(n - 1, -1, -1):
        if ints[i, g.COLUMN] >= 0:
            end[i] = end[ints[i, g.RIGHT]]
    return end


def _without(ints, floats, sums, cut):
    """The tree in which these nodes are leaves, renumbered."""
    g, n, end = kernels.grow, len(ints), _ends(ints)
    keep = np.ones(n, bool)
    for i in np.flatnonzero(cut):
        keep[i + 1 : end[i]] = False
    ints, floats = ints.copy(), floats.copy()
    cut = np.flatnonzero(cut & keep)
    ints[cut, g.LAST] = ints[end[cut] - 1, g.LAST]
    ints[cut, g.COLUMN], ints[cut, g.RIGHT], ints[cut, g.SUBSET], ints[cut, g.MISSING_LEFT] = -1, -1, -1, 0
    floats[cut, g.THRESHOLD], floats[cut, g.GAIN] = np.nan, 0.0
    number = np.cumsum(keep) - 1
    inner = ints[:, g.COLUMN] >= 0
    ints[inner, g.RIGHT] = number[ints[inner, g.RIGHT]]
    return ints[keep], floats[keep], sums[keep]
