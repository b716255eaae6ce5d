"""A round of AdaBoost over the rows: who was wrong, and what all weigh next."""

import numpy as np

from quorate.kernels.jit import U0, U1, kernel


@kernel
def error(said, y, mass):
    """(weight of the rows that are not right, weight of all)."""
    wrong, total = 0.0, 0.0
    for i in range(np.uint64(len(y))):
        total += mass[i]
        wrong += mass[i] if said[i] != y[i] else 0.0
    return wrong, total


@kernel
def follow(said, y, weight, log_u, scores, alpha, moves, out_log_u, out_scores):
    """log u − α where right, + α where not (if it `moves`); scores + α for what was said; weight of wrong votes."""
    wrong, k, n = 0.0, np.uint64(scores.shape[1]), np.uint64(len(y))
    change = alpha if moves else 0.0
    for i in range(n):
        out_log_u[i] = log_u[i] + (change if said[i] != y[i] else -change)
    if k == 2:
        for i in range(n):
            told = np.float64(said[i])
            zero, one = scores[i, U0] + alpha * (1.0 - told), scores[i, U1] + alpha * told
            out_scores[i, U0], out_scores[i, U1] = zero, one
            wrong += weight[i] * np.float64((one > zero) != (y[i] != 0))
        return wrong
    for i in range(n):
        best = U0
        for c in range(k):
            out_scores[i, c] = scores[i, c] + (alpha if c == np.uint64(said[i]) else 0.0)
            best = c if out_scores[i, c] > out_scores[i, best] else best
        wrong += weight[i] * np.float64(best != np.uint64(y[i]))
    return wrong


@kernel
def settle(weight, log_u, u, step):
    """Put u on the grid, scaled so that Σ w u = Σ w; only what weighs nothing is 0 there."""
    total, all_ = 0.0, 0.0
    for i in range(np.uint64(len(u))):
        total += weight[i]
        all_ += weight[i] * (np.rint(u[i] / step) * step)
    factor = total / all_
    for i in range(np.uint64(len(u))):
        v = np.rint(u[i] * factor / step) * step
        u[i] = max(v, step) if log_u[i] > -np.inf else 0.0
