"""The entry for trees. Kernels follow what it says without looking, so here it is looked at once.

A walk begins at node 0 and goes to i + 1 or to `right[i]`, reads the column it is told to, and where categories are
asked for, one of 256 bits of the subset it is told to. Nodes that are in preorder lead to a leaf, and no further.
"""

import numpy as np

from quorate import kernels
from quorate.dist.samples import Samples
from quorate.members.bins import BINS
from quorate.members.tree import FittedTree
from quorate.store.checks import MAX_FEATURES, a, anything, array, is_array, optional, require, whole
from quorate.store.registry import put

FIELDS = (
    "column",
    "threshold",
    "right",
    "subsets",
    "values",
    "weight",
    "gain",
    "n_features",
    "samples",
    "which",
)


def _fields(tree):
    """The categories, whose columns are numbers, as pairs."""
    return {**{name: getattr(tree, name) for name in FIELDS}, "codes": as_codes(tree.codes)}


def _tree(found):
    return FittedTree(**{**found, "codes": from_codes(found["codes"])})


def as_codes(codes):
    """Categories, whose columns are numbers, as pairs."""
    return tuple((int(j), known) for j, known in sorted(codes.items()))


def from_codes(pairs):
    """And back."""
    return dict(pairs)


def is_codes(value):
    """Pairs of a column and its categories, which rise."""
    require(type(value) is tuple, "should be a tuple of columns and categories")
    for pair in value:
        require(type(pair) is tuple and len(pair) == 2, "should be columns and categories")
        whole(0, MAX_FEATURES)(pair[0])
        is_array(pair[1], np.dtype(float), np.shape(pair[1])[:1], "the categories of a column")
        rise = np.all(np.isfinite(pair[1])) and np.all(np.diff(pair[1]) > 0)
        require(rise and len(pair[1]) <= BINS, f"should be at most {BINS} categories, in order")
    columns = [int(j) for j, _ in value]
    require(columns == sorted(set(columns)), "should be in the order of their columns, none of them twice")


def _sound(tree):
    n, k = len(tree.right), len(tree.subsets)
    is_array(tree.right, np.dtype(np.uint32), (n,), "right")
    is_array(tree.column, np.dtype(np.uint32), (n,), "column")
    for name in ("threshold", "weight", "gain"):
        is_array(getattr(tree, name), np.dtype(float), (n,), name)
    is_array(tree.subsets, np.dtype(np.uint64), (k, 4), "subsets")
    leaf = preorder(tree.right)
    leaves_ask_nothing(tree, leaf)
    questions(tree, ~leaf, k)
    good = np.all(np.isfinite(tree.weight)) and np.all(tree.weight > 0)
    require(good and np.all(np.isfinite(tree.gain)) and np.all(tree.gain >= 0), "rows and gains are numbers")
    is_array(tree.values, np.dtype(float), (n, *np.shape(tree.values)[1:2]), "values")
    (_shares if tree.samples is None else _numbers)(tree, leaf)


def preorder(right):
    """Which nodes are leaves, where the nodes are a whole tree, each before its left child and that before its right.

    Read as steps, a question goes up and a leaf down: a tree is what first goes below the ground at its end, and the
    right child of a question is where the way first comes back to its height.
    """
    n = len(right)
    leaf = right == np.arange(n)
    height = np.concatenate([[0], np.cumsum(np.where(leaf, -1, 1))])
    require(n and height[-1] == -1 and height[:-1].min() >= 0, "the nodes are not those of one tree")
    order, after = np.argsort(height[:-1], kind="stable"), np.arange(n)
    after[order[:-1]] = order[1:]
    require(np.all(leaf | (right == after)), "a node has another right child than it should")
    return leaf


def leaves_ask_nothing(tree, leaf):
    """A leaf leads to itself, whatever x is: nothing is below NaN, and what is missing goes right."""
    good = np.all(tree.column[leaf] == 0) and np.all(np.isnan(tree.threshold[leaf]))
    require(good, "a leaf should ask nothing")


def questions(tree, inner, k):
    """Each asks for a column that is there: numbers by a threshold, categories by a set of their own."""
    walk, column, t = kernels.walk, tree.column[inner], tree.threshold[inner]
    j, category = column & walk.COLUMN, (column & walk.CATEGORY) != 0
    require(np.all(column < 1 << 31), "a node has flags that are none")  # all other bits have a meaning
    require(np.all(j < tree.n_features), f"a node asks for other columns than 0 … {tree.n_features - 1}")
    require(not np.any(np.isnan(t)), "a threshold is no number")
    require(
        all(c < tree.n_features for c in tree.codes), "there are categories of a column that is not there"
    )
    named = np.isin(j, np.fromiter(tree.codes, np.int64, len(tree.codes)))
    require(np.array_equal(named, category), "categories are asked for by sets, and numbers by thresholds")
    sets = t[category]
    good = np.all((sets >= 0) & (sets < k) & (sets == np.floor(sets)))
    require(good and k == len(sets), "there should be a set for each node that asks for categories")


def _shares(tree, leaf):
    values = tree.values
    require(
        tree.which is None and values.shape[1] > 0, "a tree of classes should have classes, and no samples"
    )
    good = np.all(values >= 0) and np.all(np.abs(values.sum(axis=1) - 1) < 1e-6)
    require(good, "values should be probabilities that sum to one")


def _numbers(tree, leaf):
    n, samples = len(leaf), tree.samples
    is_array(tree.which, np.dtype(np.int64), (n,), "which")
    inside = np.all((tree.which >= 0) & (tree.which < len(samples)))
    require(inside and tree.values.shape[1] == 1, "each node should have one of the samples, and one value")
    said, kept = tree.values[leaf, 0], samples.mean[tree.which[leaf]]
    near = np.all(np.isfinite(tree.values)) and np.allclose(said, kept, rtol=1e-6, atol=1e-9 * np.ptp(kept))
    require(near, "the values of the leaves should be the means of their samples")


def named(model, tree):
    """That an estimator's names of categories are those of its tree's numbers."""
    names = list(getattr(model, "feature_names_in_", ()))
    for name, levels in model._levels.items():
        require(name in names, f"there are categories of {name!r}, which is no column")
        codes = tree.codes.get(names.index(name))
        good = isinstance(levels, np.ndarray) and levels.ndim == 1 and levels.dtype == object
        require(good and codes is not None, f"the categories of {name!r} are none")
        require(
            levels.tolist() == sorted(set(levels.tolist())), f"the categories of {name!r} should be in order"
        )
        inside = np.all(np.isin(codes, np.arange(len(levels))))
        require(inside, f"{name!r} has numbers that are no places of its categories")


def alike(trees):
    """Trees that are walked as one learned from the same columns, with the same categories, all classes or numbers."""
    first = trees[0]
    for tree in trees:
        same = tree.n_features == first.n_features and tree.codes.keys() == first.codes.keys()
        same = same and all(np.array_equal(tree.codes[j], first.codes[j]) for j in tree.codes)
        require(same, "the trees learned from other columns or categories")
        require(
            (tree.samples is None) == (first.samples is None), "some trees know classes, and some numbers"
        )


put(
    FittedTree,
    column=anything,
    threshold=anything,
    right=array("u", 1, least=1),
    subsets=array("u", 2),
    values=array("f", 2, least=1),
    weight=anything,
    gain=anything,
    n_features=whole(1, MAX_FEATURES),
    codes=is_codes,
    samples=optional(a(Samples)),
    which=anything,
    read=_fields,
    make=_tree,
    agree=_sound,
)
