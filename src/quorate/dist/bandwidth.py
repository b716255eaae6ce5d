"""How wide the kernels of a weighted sample are: what best foretells each value from all the others.

    h = argmax Σ_j w_j log p_{−j}(a_j),     p_{−j}(x) = Σ_{i ≠ j} w_i exp(−|x − a_i| / h) / (2h Σ_{i ≠ j} w_i)

over a grid of h, where equal values are one atom that is left out as a whole: repeated values can not foretell
themselves, so a spike on them wins nothing, and integer weights are the same as repetitions. h is never below a
floor δ, the smallest gap between distinct values.
"""

import numpy as np

from quorate.dist.running import running

# From four times ½ E|A − A'|, which is exactly the best h of a sample of two, down to 1/200 of it.
GRID = 4.0 * 2.0 ** (-0.75 * np.arange(14))
SHARE = 1e-3  # of its only value, where a lone sample has one


def kernel_bandwidth(values, weights=None, floor=None):
    """The bandwidth of one weighted sample, at least `floor` (None: the smallest gap between its values).

    >>> import numpy as np
    >>> round(kernel_bandwidth(np.arange(100.0)), 2) >= 1.0
    True
    """
    from quorate.dist.samples import Samples

    sample = Samples(np.asarray(values, dtype=float).ravel(), weights, bandwidth=1.0)
    return float(bandwidths(sample.atoms, sample.weights, sample.indptr, floor)[0])


def bandwidths(atoms, weights, indptr, floor=None):
    """The bandwidth of each sample, at least `floor` (None: the smallest gap between the values of all samples).

    A sample of one value has nothing to tell: it gets the median of the others, or the floor where there are none, or
    a thousandth of its value, or 1.
    """
    n, owner = len(indptr) - 1, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    floor = smallest_gap(atoms) if floor is None else floor
    total, spread = _spread(atoms, weights, indptr, owner)
    known = spread > 0
    unit = np.where(known, spread, 1.0)
    best, best_score = np.maximum(GRID[0] * unit, floor), np.full(n, -np.inf)
    for share in GRID:
        h = np.maximum(share * unit, max(floor, np.finfo(float).tiny))
        score = _unseen(atoms, weights, indptr, owner, h, total)
        better = score > best_score
        best, best_score = np.where(better, h, best), np.where(better, score, best_score)
    alone = np.abs(atoms[indptr[:-1]]) * SHARE
    if known.any():
        alone = np.full(n, max(np.median(best[known]), floor))
    elif floor > 0:
        alone = np.full(n, float(floor))
    return np.where(known, best, np.where(alone > 0, alone, 1.0))


def smallest_gap(values):
    """δ, the smallest gap between distinct values; 0 where there is but one."""
    gaps = np.diff(np.unique(values))
    return float(gaps.min()) if gaps.size else 0.0


def _spread(atoms, weights, indptr, owner):
    """(total weight, ½ E|A − A'|) of each sample."""
    cumulative = running(weights, indptr)
    last = indptr[1:] - 1
    total = cumulative[last]
    f = cumulative / total[owner]
    gap = np.diff(atoms, append=0.0)
    gap[last] = 0.0
    return total, np.add.reduceat(gap * f * (1 - f), indptr[:-1])


def _unseen(atoms, weights, indptr, owner, h, total):
    """Σ_j w_j log p_{−j}(a_j) of each sample."""
    width = h[owner]
    gap = np.diff(atoms, prepend=0.0, append=0.0)
    gap[indptr] = np.inf  # nothing before the first atom of a sample, nor after its last
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        before = np.roll(np.log(running(weights, indptr, atoms, width)), 1) - gap[:-1] / width
        after = np.roll(np.log(running(weights, indptr, atoms, width, backwards=True)), -1) - gap[1:] / width
        log_p = np.logaddexp(before, after) - np.log(2 * width) - np.log(total[owner] - weights)
        return np.add.reduceat(np.where(np.isnan(log_p), -np.inf, weights * log_p), indptr[:-1])
