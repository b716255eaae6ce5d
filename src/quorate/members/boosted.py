"""A boosted model: f(x) = f_0 + Σ_t tree_t(x), and what the scores f say of y.

Boosting adds in the space of scores, not of probabilities, so its trees are no members of a committee: all of them
together are one member, p(y | x) = p(y | f(x)). What f means is a `Voice`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from quorate import kernels
from quorate.dist import Categorical, Empirical, NegativeBinomial, Poisson
from quorate.members.base import Fitted
from quorate.members.bins import coded
from quorate.members.tree import questions, walked

TREE = ("column", "threshold", "right", "values", "rows", "gain")  # an entry for each node


# What scores say


class Voice(ABC):
    """Owes `dist(f)`, a Predictive of as many rows as f (n, K) has; of numbers also `point(f)`, what is predicted."""

    @abstractmethod
    def dist(self, f):
        """The whole predictive."""

    def point(self, f):
        """The mean of it."""
        return self.dist(f).mean


@dataclass(frozen=True)
class OfClasses(Voice):
    """Log odds of the second of two classes, or a log weight of each of several."""

    n_classes: int

    def dist(self, f):
        return Categorical.of_probs(self.probs(f))

    def probs(self, f):
        """p(y = k), shape (n, K)."""
        if self.n_classes > 2:
            return softmax(f, axis=1)
        if self.n_classes == 1:
            return np.ones((len(f), 1))
        p = expit(f[:, 0])
        return np.stack([expit(-f[:, 0]), p], axis=1)


@dataclass(frozen=True)
class OfNumbers(Voice):
    """The score, or its exponential, or several quantiles; nothing is known of how far y may be from it."""

    log: bool = False
    levels: tuple = ()

    def dist(self, f):
        raise ValueError(
            "this model has learned no residuals of rows that it did not see (residual_folds=0), so it has no "
            "predictive distribution; fit it with residual_folds=None, or use DistributionalRegressor"
        )

    def point(self, f):
        f = np.exp(f) if self.log else f
        # Levels may cross; put in order they do not, and their loss is no larger (Chernozhukov et al., 2010).
        return np.sort(f, axis=1) if len(self.levels) > 1 else f[:, 0]


@dataclass(frozen=True, eq=False)
class OfResiduals(Voice):
    """y = c(x) + s(x) · r, where r are residuals of rows that were not seen.

    | | c | s |
    |---|---|---|
    | one number | f | 1 |
    | a logarithm | 0 | e^f |
    | several quantiles | the middle one | the distance of the outer ones, at least `smallest` |
    """

    of: OfNumbers
    residuals: np.ndarray
    weights: np.ndarray
    bandwidth: float
    smallest: float = 0.0
    means: bool = False  # whether what is predicted is the mean

    def dist(self, f):
        c, s = place(self.of, f, self.smallest)
        return Empirical(self.residuals, self.weights, loc=c, scale=s, bandwidth=self.bandwidth)

    def point(self, f):
        return self.dist(f).mean if self.means else self.of.point(f)


def place(of, f, smallest):
    """(c, s) of scores."""
    said = of.point(f)
    if of.log:
        return 0.0, said
    if len(of.levels) > 1:
        return said[:, said.shape[1] // 2], np.maximum(said[:, -1] - said[:, 0], smallest)
    return said, 1.0


@dataclass(frozen=True)
class OfCounts(Voice):
    """Counts with mean e^f and variance mean + mean² / r; r is infinite where they are no more than Poisson."""

    r: float

    def dist(self, f):
        mean = np.exp(f[:, 0])
        if self.r == np.inf:
            return Poisson(mean)
        return NegativeBinomial(self.r, self.r / (self.r + mean))

    def point(self, f):
        return self.dist(f).mean


# The model


@dataclass(frozen=True, eq=False)
class Boosted(Fitted):
    """Trees one after another, `groups` a round; nodes as in `FittedTree`, numbered through all trees.

    `roots` are the first nodes of the trees, `values` (nodes, K / groups) what leaves add, `rows` how many rows of the
    training table a node had.
    """

    start: np.ndarray
    groups: int
    column: np.ndarray
    threshold: np.ndarray
    right: np.ndarray
    subsets: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    gain: np.ndarray
    roots: np.ndarray
    n_features: int
    codes: dict = field(default_factory=dict)
    voice: Any = None  # None while it is in the making

    @classmethod
    def of(cls, start, groups, trees, table):
        """From what `Rounds` made: trees (ints, floats, values, subsets, rows) in order."""
        wide = len(start) // groups
        return cls(start, groups, **_nothing(wide), n_features=table.shape[1], codes=table.codes).with_trees(
            trees
        )

    def with_trees(self, trees):
        """The model with more trees."""
        parts: list[dict] = [{name: getattr(self, name) for name in (*TREE, "subsets")}]
        at, subsets, roots = len(self.column), len(self.subsets), [self.roots]
        for tree in trees:
            roots.append(np.array([at], np.uint64))
            parts.append(_nodes(tree, at, subsets))
            at, subsets = at + len(tree[0]), subsets + len(tree[3])
        joined: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return replace(self, **joined, roots=np.concatenate(roots))

    @property
    def n_rounds(self):
        """How many rounds there were."""
        return len(self.roots) // self.groups

    @property
    def outputs(self):
        """How many scores a row has."""
        return len(self.start)

    def first(self, rounds):
        """The model of the first so many rounds."""
        if rounds >= self.n_rounds:
            return self
        roots = self.roots[: rounds * self.groups]
        end = int(self.roots[len(roots)])
        cut: dict[str, Any] = {name: getattr(self, name)[:end] for name in TREE}
        inner = cut["column"] & kernels.walk.CATEGORY != 0
        return replace(self, **cut, subsets=self.subsets[: np.count_nonzero(inner)], roots=roots)

    @cached_property
    def nodes(self):
        """The nodes as the kernels want them, 16 bytes each."""
        return walked(self.column, self.threshold, self.right)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "nodes"}

    def __setstate__(self, state):
        vars(self).update(state)

    # answers

    def scores(self, X, run=None, rounds=None, f=None):
        """f(x), shape (n, K); `run(work, n)` has work(first, last) done for all of n rows.

        `rounds` = (first, last) adds just those to `f`, which are the scores before them.
        """
        X = self._table(X)
        first, last = (0, self.n_rounds) if rounds is None else rounds
        wide, out = self.outputs // self.groups, np.empty((self.groups, len(X), self.outputs // self.groups))
        out[:] = (np.broadcast_to(self.start, (len(X), self.outputs)) if f is None else f).reshape(
            len(X), self.groups, wide
        ).transpose(1, 0, 2)  # fmt: skip
        for k in range(self.groups):
            roots = self.roots[first * self.groups + k : last * self.groups : self.groups]
            if len(roots):
                self._walk(X, np.ascontiguousarray(roots), run, out[k])
        return out.transpose(1, 0, 2).reshape(len(X), self.outputs)

    def _table(self, X):
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"the model learned from {self.n_features} columns, and X has the shape {X.shape}"
            )
        return np.ascontiguousarray(coded(X, self.codes))

    def _walk(self, X, roots, run, out):
        walk, votes = kernels.walk, np.ones(len(roots))
        where = (self.nodes, self.subsets, roots, votes, self.values)
        if len(X) == 1:
            walk.add_values_of_one(X.ravel(), *where, walk.room(), out)
        elif run is None:
            walk.add_values(X.ravel(), X.shape[1], *where, 0, len(X), walk.room(), out)
        else:
            run(
                lambda first, last: walk.add_values(
                    X.ravel(), X.shape[1], *where, first, last, walk.room(), out
                ),
                len(X),
            )

    def predict_dist(self, X):
        if self.voice is None:
            raise ValueError("the model is in the making, and its scores say nothing of y yet")
        return self.voice.dist(self.scores(X))

    def importances(self):
        """The share of all gain that each column brought."""
        inner = self.right != np.arange(len(self.right))
        columns = (self.column[inner] & kernels.walk.COLUMN).astype(np.int64)
        gain = np.bincount(columns, self.gain[inner], minlength=self.n_features).astype(float)
        return gain / gain.sum() if gain.sum() > 0 else gain

    # who said what

    def contributions(self, X, run=None):
        """(n, d + 1, K): what each column adds to f(x), by Shapley's rule; last what is expected of all rows."""
        X, tell = self._table(X), kernels.contributions
        wide = self.outputs // self.groups
        out = np.zeros((len(X), self.n_features + 1, self.outputs))
        out[:, -1] = self.start
        for k in range(self.groups):
            roots, own = np.ascontiguousarray(self.roots[k :: self.groups]), slice(k * wide, (k + 1) * wide)
            if not len(roots):
                continue
            told = np.zeros((len(X), self.n_features, wide))
            paths = tell.prepared(self.nodes, self.subsets, roots, self.values, self.rows)
            work = partial(_tell, tell, X, paths, told)
            work(0, len(X)) if run is None else run(work, len(X))
            out[:, :-1, own] = told
            out[:, -1, own] += tell.expected(paths)
        return out


def _tell(tell, X, paths, out, first, last):
    tell.add_contributions(X.ravel(), X.shape[1], paths, first, last, tell.room(paths), out)


def _nothing(wide) -> dict:
    """No trees."""
    u4, f8 = np.zeros(0, np.uint32), np.zeros(0)
    return {
        "column": u4,
        "threshold": f8,
        "right": u4,
        "subsets": np.zeros((0, 4), np.uint64),
        "values": np.zeros((0, wide)),
        "rows": f8,
        "gain": f8,
        "roots": np.zeros(0, np.uint64),
    }


def _nodes(tree, at, n_subsets):
    """The arrays of one tree whose first node has the number `at`."""
    ints, floats, values, subsets, rows = tree
    column, threshold, right = questions(ints, floats, at, n_subsets)
    return {
        "column": column,
        "threshold": threshold,
        "right": right,
        "subsets": subsets,
        "values": np.where((ints[:, kernels.grow.COLUMN] < 0)[:, None], values, 0.0),
        "rows": rows,
        "gain": floats[:, kernels.grow.GAIN],
    }
