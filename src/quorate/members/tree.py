"""Trees (Breiman, Friedman, Olshen and Stone, 1984): p(y | x) is the law of the training rows in x's leaf.

A `Tree` learns, a `FittedTree` answers; `Forest` answers for many of them at once, with the same bits.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from quorate import kernels
from quorate.dist import Categorical, Empirical
from quorate.dist.bandwidth import smallest_gap
from quorate.dist.samples import Samples
from quorate.members.base import Fitted, Member
from quorate.members.bins import MISSING, Binned, binned, coded
from quorate.members.hashes import hashes
from quorate.members.leaves import best_bandwidth, leaf_samples
from quorate.members.prune import pruned, pruning_path

CRITERIA = {
    "gini": 0,
    "squared_error": 0,
    "entropy": 1,
    "log_loss": 1,
    "poisson": 2,
    "absolute_error": 0,
}
DEEPEST = 1 << 30
UNSEEN = 400  # rows a bandwidth is learned from, at most


@dataclass(frozen=True)
class Tree(Member):
    """How a tree is grown. With `classes` it answers with them, else with numbers."""

    criterion: str = "gini"
    classifies: bool = True
    n_classes: int | None = None  # None: as many as the codes it is taught
    max_features: int | None = None  # None: all
    drawn: bool = False
    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    ccp_alpha: float = 0.0
    monotone: tuple = ()
    categorical: tuple = ()
    class_weight: tuple = ()
    max_leaf_values: int = 128
    bandwidth: float | None = None  # None: what best foretells the rows of weight 0, which it does not see

    @property
    def preparation(self):
        """Trees with the same categories share their bins."""
        return ("bins", self.categorical)

    def prepare(self, X, sample_weight=None):
        return X if isinstance(X, Binned) else binned(X, sample_weight, self.categorical)

    def fit(self, X, y, sample_weight=None, rng=None):
        if self.classifies and self.n_classes is None:
            return replace(self, n_classes=int(y.max()) + 1).fit(X, y, sample_weight, rng)
        table = self.prepare(X, sample_weight)
        w = self._weighed(sample_weight, y)
        single = self._stump(table, y, w)
        if single is not None:
            ints, floats, sums, subsets = single
            return FittedTree.of(ints, floats, subsets, table, self._shares(sums), kernels.grow.weights(sums))
        y, rows = np.asarray(y, float), np.flatnonzero(w).astype(np.uint32)
        ints, floats, sums, subsets = self._grow(table, y, w, rows, rng)
        ints, floats, sums = pruned(ints, floats, sums, self.ccp_alpha, self.criterion)
        if self.classifies:
            return FittedTree.of(ints, floats, subsets, table, self._shares(sums), kernels.grow.weights(sums))
        return self._with_leaves(ints, floats, subsets, sums, table, y, w, rows)

    def path(self, X, y, sample_weight=None, rng=None):
        """[(α, leaves left)] of the tree grown to its end."""
        w = self._weighed(sample_weight, y)
        y, rows = np.asarray(y, float), np.flatnonzero(w).astype(np.uint32)
        ints, floats, sums, _ = self._grow(self.prepare(X, sample_weight), y, w, rows, rng)
        return pruning_path(ints, floats, sums, self.criterion)

    def _weighed(self, sample_weight, y):
        """Sample weights times class weights."""
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        return w * np.asarray(self.class_weight)[y] if self.class_weight else w

    def _shares(self, sums):
        """p(y | node) for each of the classes."""
        if sums.shape[1] > 2:
            return sums / sums.sum(axis=1, keepdims=True)
        share = sums[:, 1] / sums[:, 0]  # Moments are of the classes 0 and 1
        return np.ascontiguousarray(np.stack([1 - share, share], axis=1)[:, : self.n_classes])

    def _size(self, y):
        if not self.classifies:
            return 2
        return max(2, int(y.max()) + 1 if self.n_classes is None else self.n_classes)

    def _stump(self, table, y, w):
        """The tree of one question for two classes, a round of AdaBoost's, by the shortest way; else None."""
        plain = self.max_features is None and not (self.drawn or table.codes or self.ccp_alpha)
        once = self.max_depth == 1 and self.max_leaf_nodes is None and self.criterion == "gini"
        if not (plain and once and self.classifies and self._size(y) == 2):
            return None
        _, _, meaning, rules = self._rules(table, 2)
        where = (table.cells, table.stride, table.edges, meaning)
        return kernels.stump.stump(table.X, *where, rules, w, y)

    def _grow(self, table, y, w, rows, rng):
        """What the kernels make of some rows, which are put in the order of the tree."""
        grow, size = kernels.grow, self._size(y)
        # Numbers are counted from their middle, so that a large offset costs no digits.
        middle = 0.0 if self.classifies or self.criterion == "poisson" else 0.5 * y.min() + 0.5 * y.max()
        values = np.stack([w[rows], y[rows] - middle], axis=1).ravel()
        kind, way, meaning, rules = self._rules(table, size)
        seed = 0 if rng is None else int(rng.integers(2**63))
        run = grow.best_first if rules.max_leaves else grow.depth_first
        ways = way(grow.columns_at_once(size, rules, len(meaning)))
        where = (table.cells, table.stride, table.edges, meaning)
        return run(kind, ways, *where, rules, seed, rows, values, not self.classifies)

    def _rules(self, table, size):
        """(kind of sums, ways to split, what columns mean, rules), as the kernels want them."""
        split, d = kernels.split, table.shape[1]
        kind = split.Counts(size) if size > 2 else split.Moments(2)
        if self.criterion == "absolute_error":
            kind = split.Deviations(2)
        rules = split.Rules(
            CRITERIA[self.criterion],
            d if self.max_features is None else min(self.max_features, d),
            DEEPEST if self.max_depth is None else self.max_depth,
            0 if self.max_leaf_nodes is None else self.max_leaf_nodes,
            float(self.min_samples_split),
            # Any row is enough for a leaf of one, whatever it weighs.
            0.0 if self.min_samples_leaf <= 1 else float(self.min_samples_leaf) * (1 - 1e-12),
        )
        meaning = np.zeros((d, 2), np.int8)
        meaning[list(table.codes), 0] = 1
        meaning[:, 1] = self.monotone or 0
        way = split.Drawn if self.drawn else split.Mixed if table.codes else split.Numbers
        return kind, way, meaning, rules

    def _with_leaves(self, ints, floats, subsets, sums, table, y, w, rows):
        samples, which = leaf_samples(ints, rows, y, w, self.max_leaf_values)
        tree = FittedTree.of(ints, floats, subsets, table, samples.mean[which][:, None], sums[:, 0])
        tree = replace(tree, samples=samples, which=which)
        if self.bandwidth is not None:
            return tree.with_bandwidth(self.bandwidth)
        unseen = _unseen(table.X, y, w)
        return tree.with_bandwidth(best_bandwidth([tree], table.X[unseen], y[unseen], smallest_gap(y)))


def _unseen(X, y, w):
    """Some distinct rows of weight 0, of which no copy has any, in an order that only they decide."""
    if w.all():
        return np.zeros(0, int)
    h, out = hashes(X, y), np.flatnonzero(w == 0)
    out = out[~np.isin(h[out], h[w > 0])]
    return out[np.unique(h[out], return_index=True)[1][:UNSEEN]]


def questions(ints, floats, first_node=0, first_subset=0):
    """(column with its flags, threshold, right child) of the nodes of a tree that kernels made, as walks want them.

    In an array of many trees its nodes are numbered from `first_node` on, and its sets from `first_subset`.
    """
    g, w = kernels.grow, kernels.walk
    leaf, category = ints[:, g.COLUMN] < 0, ints[:, g.SUBSET] >= 0
    column = np.where(leaf, 0, ints[:, g.COLUMN]).astype(np.uint32)
    column |= np.where(ints[:, g.MISSING_LEFT] > 0, w.MISSING_LEFT, 0).astype(np.uint32)
    column |= np.where(category, w.CATEGORY, 0).astype(np.uint32)
    threshold = np.where(category, ints[:, g.SUBSET] + first_subset, floats[:, g.THRESHOLD])
    right = np.where(leaf, np.arange(len(ints)), ints[:, g.RIGHT]) + first_node
    return column, threshold, right.astype(np.uint32)


def walked(column, threshold, right):
    """Nodes as the kernels walk them, 16 bytes each."""
    nodes = np.empty(len(column), kernels.walk.NODE)
    nodes["threshold"], nodes["column"], nodes["right"] = threshold, column, right
    return nodes


@dataclass(frozen=True, eq=False)
class FittedTree(Fitted):
    """Nodes in preorder: the left child of node i is i + 1, a leaf's right child is itself.

    `threshold` is up to where x goes left, or the row of `subsets` (256 bits) that says which categories do.
    `values` are p(y | node), or means; numbers have `samples`, and `which` of them is a node's.
    """

    column: np.ndarray
    threshold: np.ndarray
    right: np.ndarray
    subsets: np.ndarray
    values: np.ndarray
    weight: np.ndarray
    gain: np.ndarray
    n_features: int
    codes: dict = field(default_factory=dict)
    samples: Any = None
    which: Any = None

    @classmethod
    def of(cls, ints, floats, subsets, table, values, weight):
        """From what the kernels made."""
        column, threshold, right = questions(ints, floats)
        return cls(
            column,
            threshold,
            right,
            subsets,
            values,
            weight.copy(),
            floats[:, kernels.grow.GAIN].copy(),
            table.shape[1],
            table.codes,
        )

    @cached_property
    def nodes(self):
        """The nodes as the kernels want them, 16 bytes each."""
        return walked(self.column, self.threshold, self.right)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("nodes", "depths")}

    def __setstate__(self, state):
        vars(self).update(state)

    @property
    def is_leaf(self):
        """Which nodes are leaves."""
        return self.right == np.arange(len(self.right))

    @property
    def columns(self):
        """The column each node looks at, −1 for a leaf."""
        return np.where(self.is_leaf, -1, (self.column & kernels.walk.COLUMN).astype(np.int64))

    @cached_property
    def depths(self):
        """The depth of each node."""
        depths = np.zeros(len(self.right), np.int64)
        for i in np.flatnonzero(~self.is_leaf):
            depths[i + 1] = depths[self.right[i]] = depths[i] + 1
        return depths

    def leaves(self, X):
        """The leaf each row of X ends in, as the number of its node."""
        X = np.ascontiguousarray(_table(X, self.n_features, self.codes))
        out, walk = np.empty(len(X), np.int64), kernels.walk
        walk.leaves(X.ravel(), X.shape[1], self.nodes, self.subsets, 0, len(X), walk.room(), out)
        return out

    def predict_dist(self, X):
        at = self.leaves(X)
        if self.samples is None:
            return Categorical.of_probs(self.values[at])
        return Empirical.from_samples(self.samples, self.which[at])

    def predict(self, X):
        """The code of the most probable class of each row, or the mean."""
        return self.choices(X) if self.samples is None else self.values[self.leaves(X), 0]

    def choices(self, X):
        """The most probable class of each row."""
        best = np.argmax(self.values, axis=1)
        if isinstance(X, Binned) and len(best) == 3 and not self.codes:
            return np.where(self._first_side(X), best[1], best[2])
        return best[self.leaves(X)]

    def _first_side(self, table):
        """Which rows go left at the root, by their bins, and by their values in the bin where the threshold lies."""
        j = self.columns[0]
        bins = table.cells[j :: table.stride]
        t, highest = (
            self.threshold[0],
            np.searchsorted(table.edges[j, 1, :MISSING], self.threshold[0], side="right"),
        )
        left = bins < highest
        if highest < MISSING and table.edges[j, 0, highest] <= t:  # of this bin some values go left
            rows = np.flatnonzero(bins == highest)
            left[rows] = table.X[rows, j] <= t
        return left | (bins == MISSING) if self.column[0] & kernels.walk.MISSING_LEFT else left

    def with_bandwidth(self, bandwidth):
        """The same tree, its densities smoothed by kernels of this width."""
        s = self.samples
        width = np.full(len(s), float(bandwidth))
        return replace(self, samples=Samples._like(s.atoms, s.weights, s.indptr, width))

    def importances(self):
        """The share of all gain that each column brought."""
        gain = np.bincount(self.columns[~self.is_leaf], self.gain[~self.is_leaf], minlength=self.n_features)
        return gain / gain.sum() if gain.sum() > 0 else gain

    @staticmethod
    def join(trees, votes, classes=None):
        """Many trees as one."""
        return Forest.of(trees, votes, classes)


def _table(X, width, codes):
    """What kernels may walk: a table of just these columns, its categories as their numbers."""
    X = X.X if isinstance(X, Binned) else X
    if X.ndim != 2 or X.shape[1] != width:
        raise ValueError(f"the trees learned from {width} columns, and X has the shape {X.shape}")
    return coded(X, codes)


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of many trees in one array, their values, and their votes."""

    nodes: np.ndarray
    subsets: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    votes: np.ndarray
    n_features: int
    codes: dict

    @classmethod
    def of(cls, trees, votes, classes=None):
        """The trees one after another; a class that a tree does not know has probability 0."""
        sizes, first = np.array([len(t.nodes) for t in trees]), 0
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        nodes = np.concatenate([t.nodes for t in trees])
        nodes["right"] += np.repeat(roots, sizes).astype(np.uint32)
        for tree, root, size in zip(trees, roots, sizes, strict=True):
            if len(tree.subsets):
                own = nodes[root : root + size]
                own["threshold"][(own["column"] & kernels.walk.CATEGORY) != 0] += first
            first += len(tree.subsets)
        subsets = np.concatenate([t.subsets for t in trees])
        values = np.zeros((len(nodes), 1 if classes is None else len(classes)))
        for tree, root, size in zip(trees, roots, sizes, strict=True):
            values[root : root + size, : tree.values.shape[1]] = tree.values
        about = trees[0].n_features, trees[0].codes
        return cls(nodes, subsets, roots.astype(np.uint64), values, np.asarray(votes, float), *about)

    def mean(self, X, run=None):
        """Σ_m w_m · values of tree m, shape (n, K); `run(work, n)` has work(first, last) done for all of n rows."""
        X, walk = np.ascontiguousarray(_table(X, self.n_features, self.codes)), kernels.walk
        out, cells, d = np.zeros((len(X), self.values.shape[1])), X.ravel(), X.shape[1]
        where = (self.nodes, self.subsets, self.roots, self.votes, self.values)
        if len(X) == 1:
            walk.add_values_of_one(cells, *where, walk.room(), out)
        elif run is None:
            walk.add_values(cells, d, *where, 0, len(X), walk.room(), out)
        else:
            run(lambda first, last: walk.add_values(cells, d, *where, first, last, walk.room(), out), len(X))
        return out
