"""Draws and folds that depend on what the rows say, not on where they stand.

A row of weight 3 and three equal rows are the same data, so they must meet the same draws and the same folds. Rows are
therefore put in an order that only their content decides, and a row of weight w owns w neighbouring slots in it: to
draw rows is to draw slots. As a gift, no copy of a held-out row is left in the training part, and the order in which
rows arrive does not matter.
"""

from typing import Any

import numpy as np

from quorate import kernels
from quorate.members.hashes import hashes
from quorate.members.wrap import repeated

NEVER = -1  # the fold of a row that is always in the training part


def folds(X, y, n_folds, classes=None, groups=None):
    """The fold (0 … n_folds−1) of each row; within each class where there are classes, whole groups where there are.

    A class with one distinct row is never held out: nobody could have learned it.
    """
    if groups is not None:
        return _of_groups(hashes(X, y), groups, n_folds)
    unique, first, inverse = np.unique(hashes(X, y), return_index=True, return_inverse=True)
    if classes is None:
        return (np.arange(len(unique)) % n_folds)[inverse]
    fold = np.empty(len(unique), dtype=int)
    start = 0
    for code in range(len(classes)):
        mine = np.flatnonzero(y[first] == code)
        fold[mine] = (start + np.arange(len(mine))) % n_folds if len(mine) > 1 else NEVER
        start += len(mine)
    return fold[inverse]


def _of_groups(h, groups, n_folds):
    """Groups take turns, in the order of the least hash of their rows."""
    least = np.full(groups.max() + 1, np.iinfo(np.uint64).max)
    np.minimum.at(least, groups, h)
    fold = np.empty(len(least), dtype=int)
    fold[np.argsort(least, kind="stable")] = np.arange(len(least)) % n_folds
    return fold[groups]


def units(weight, log_u):
    """What one copy of each row weighs, u_i ∝ exp(log_u_i) with Σ w_i u_i = Σ w_i; rows of weight 0 weigh nothing.

    They lie on a grid so coarse that all their sums are exact: in whatever order the rows come, and whether a row of
    whole weight w is one or w. It is far finer than an error of single rows, and no row falls off it, down to 0.
    """
    total = weight.sum()
    log_u = log_u if weight.all() else np.where(weight > 0, log_u, -np.inf)
    u = np.exp(log_u - log_u.max())
    kernels.rounds.settle(weight, log_u, u, 2.0 ** (np.ceil(np.log2(total)) - 51))
    return u


def set_aside(h, y, share, classes=None):
    """Which rows, of these hashes, are set aside: `share` of the distinct ones, of each class where there are classes.

    A class with one distinct row keeps it.
    """
    unique, first, inverse = np.unique(h, return_index=True, return_inverse=True)
    out = np.zeros(len(unique), bool)
    for mine in [np.arange(len(unique))] if classes is None else _by_class(y[first], len(classes)):
        if len(mine) > 1:
            out[mine] = np.diff(np.floor(share * np.arange(len(mine) + 1) + 0.5)) > 0
    return out[inverse]


def _by_class(y, n_classes):
    return [np.flatnonzero(y == code) for code in range(n_classes)]


class Slots:
    """The slots of some rows: as many as the rows count for, in the order of their content."""

    def __init__(self, rows, h, weight=None):
        order = np.argsort(h[rows], kind="stable")
        self.rows = rows[order]
        self.weight: Any = None if weight is None else weight[self.rows]
        self.whole = weight is None or bool(np.all(weight[rows] == np.floor(weight[rows])))
        self.owner: Any = None  # the row of each slot, where they are not one to one
        if self.whole and weight is not None:
            self.owner = repeated(self.rows, self.weight)

    def __len__(self):
        """How many rows the rows stand for: weights that are whole numbers count them."""
        return len(self.rows) if self.owner is None else len(self.owner)

    @property
    def each(self):
        """(the row of each slot, how likely it is to be drawn)."""
        rows = self.rows if self.owner is None else self.owner
        return rows, np.ones(len(rows)) if self.whole else self.weight

    def first(self, n):
        """The number of the first slot of each of n rows."""
        out = np.zeros(n, np.uint64)
        each = self.weight if self.whole and self.weight is not None else np.ones(len(self.rows))
        out[self.rows] = (np.cumsum(each) - each).astype(np.uint64)
        return out

    def put(self, per_slot, out):
        """Add a number for each slot to the rows that own them."""
        if self.owner is None:
            out[self.rows] += per_slot
        else:
            out += np.bincount(self.owner, weights=per_slot, minlength=len(out))

    def with_replacement(self, n, rng, out):
        """Draw n slots, each as likely as its weight, and count how often each row was drawn."""
        if self.whole:
            self.put(np.bincount(rng.integers(0, len(self), n), minlength=len(self)), out)
        else:
            ends = np.cumsum(self.weight)
            drawn = np.searchsorted(ends, rng.random(n) * ends[-1], side="right")
            self.put(np.bincount(np.minimum(drawn, len(ends) - 1), minlength=len(self)), out)

    def in_proportion(self, units, rng, out):
        """Draw as many slots as weigh something, each as likely as its row's unit, and count how often each was."""
        owner = self.rows if self.owner is None else self.owner
        share = units[owner] if self.whole else units[owner] * self.weight
        ends = np.cumsum(share)
        drawn = np.searchsorted(ends, rng.random(np.count_nonzero(share)) * ends[-1], side="right")
        last = np.searchsorted(ends, ends[-1])  # behind it may be slots that weigh nothing
        out += np.bincount(owner[np.minimum(drawn, last)], minlength=len(out))

    def without_replacement(self, n, rng, out):
        """Draw n different slots; a row whose weight is not a whole number keeps it when drawn."""
        drawn = np.zeros(len(self))
        drawn[rng.choice(len(self), n, replace=False)] = 1.0
        self.put(drawn if self.whole else drawn * self.weight, out)

    def bayesian(self, rng, out):
        """A standard exponential for each slot: Gamma(w, 1) for a row of weight w."""
        self.put(rng.standard_exponential(len(self)) if self.whole else rng.standard_gamma(self.weight), out)
