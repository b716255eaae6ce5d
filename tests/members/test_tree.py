"""Trees against their plain twins: splits, whole trees, the way to the leaves."""

import naive
import numpy as np
import pytest

from quorate.kernels.walk import CATEGORY, MISSING_LEFT
from quorate.members.bins import binned
from quorate.members.tree import Forest, Tree

RNG = np.random.default_rng


def table(seed, n=90, d=3, missing=0.0, levels=0):
    """A table of few enough values for bins to be exact; the last column of categories, where there are any."""
    rng = RNG(seed)
    X = rng.normal(size=(n, d)).round(2)
    if levels:
        X[:, -1] = rng.integers(0, levels, n)
    if missing:
        X[rng.random((n, d)) < missing] = np.nan
    return X


def answer(seed, X, criterion, n_classes=0):
    """What depends on the first and the last column; numbers that no two rows share, so that splits do not tie."""
    rng = RNG(seed + 1000)
    filled = np.where(np.isnan(X), 1.0, X)
    signal = filled[:, 0] + np.sin(3 * filled[:, -1]) + rng.normal(size=len(X))
    if n_classes:
        return np.argsort(np.argsort(signal)) * n_classes // len(X)
    return np.maximum(0, np.round(np.exp(signal / 2), 3)) if criterion == "poisson" else signal


def weights(seed, n):
    return RNG(seed + 2000).random(n) + 0.5


def walked(tree, X):
    """The rows that pass each node, told by the twin's walk to the leaves below it."""
    leaf = np.array([naive.leaf_of(tree, x) for x in X])
    end = np.arange(1, len(tree.right) + 1)
    for i in np.flatnonzero(~tree.is_leaf)[::-1]:
        end[i] = end[tree.right[i]]
    return [np.flatnonzero((leaf >= i) & (leaf < end[i])) for i in range(len(end))]


NUMBERS = ["squared_error", "poisson", "absolute_error"]
CLASSES = [("gini", 2), ("entropy", 2), ("gini", 4), ("entropy", 4)]
KINDS = [*((c, 0) for c in NUMBERS), *CLASSES]


def member(criterion, n_classes, **given):
    if n_classes:
        return Tree(criterion, n_classes=n_classes, **given)
    return Tree(criterion, classifies=False, bandwidth=1.0, **given)


def scale(criterion, n_classes):
    """Gini's index of two classes is twice the squared error of 0 and 1."""
    return 2.0 if (criterion, n_classes) == ("gini", 2) else 1.0


def check_split(tree, X, best, factor):
    gain, column, left, threshold = best
    assert factor * tree.gain[0] == pytest.approx(gain, rel=1e-9)
    assert tree.columns[0] == column
    np.testing.assert_array_equal(walked(tree, X)[1], np.flatnonzero(left))
    if np.isfinite(threshold):
        assert tree.threshold[0] == pytest.approx(threshold, rel=1e-12)


# one split


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(("criterion", "n_classes"), KINDS)
def test_the_best_split_of_numbers(criterion, n_classes, missing):
    for seed in range(6):
        X = table(seed, missing=missing)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        for least in (1, 30):
            tree = member(criterion, n_classes, max_depth=1, min_samples_leaf=least).fit(X, y, w, RNG(0))
            best = naive.best_split(X, y, w, criterion, least=0.0 if least == 1 else least)
            check_split(tree, X, best, scale(criterion, n_classes))


@pytest.mark.parametrize(
    ("criterion", "n_classes"), [k for k in KINDS if k[1] < 3 and k[0] != "absolute_error"]
)
def test_monotone_splits(criterion, n_classes):
    for seed in range(5):
        X = table(seed)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        for signs in ((-1, 0, 1), (-1, -1, 0)):
            tree = member(criterion, n_classes, max_depth=1, monotone=signs).fit(X, y, w, RNG(0))
            check_split(
                tree, X, naive.best_split(X, y, w, criterion, signs=signs), scale(criterion, n_classes)
            )


@pytest.mark.parametrize("levels", [2, 6, 30])
@pytest.mark.parametrize(("criterion", "n_classes"), KINDS)
def test_the_best_split_of_categories(criterion, n_classes, levels):
    """Numbers and two classes: in the order of means, which for few categories is the best of all subsets as well."""
    for seed in range(4):
        X = table(seed, d=2, missing=0.2, levels=levels)[:, 1:]
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        tree = member(criterion, n_classes, max_depth=1, categorical=(0,)).fit(X, y, w, RNG(0))
        left = np.isin(np.arange(len(X)), walked(tree, X)[1])
        lowered = naive.impurity(criterion, y, w) - sum(
            naive.impurity(criterion, y[side], w[side]) for side in (left, ~left)
        )
        factor = scale(criterion, n_classes)
        assert factor * tree.gain[0] == pytest.approx(lowered, rel=1e-9)
        if n_classes < 3:
            ordered = naive.best_split(X, y, w, criterion, (0,))
            assert lowered == pytest.approx(ordered[0], rel=1e-9)
        if levels < 8 and criterion != "absolute_error":
            best = naive.best_split(X, y, w, criterion, (0,), exhaustive=True)
            assert lowered == pytest.approx(best[0], rel=1e-9)


def test_a_column_that_only_tells_what_is_missing():
    X = np.where(np.arange(40) % 2, 1.0, np.nan)[:, None]
    y = np.isnan(X[:, 0]) * 3.0 + np.arange(40) / 100
    tree = member("squared_error", 0, max_depth=1).fit(X, y, None, RNG(0))
    assert np.isinf(tree.threshold[0])
    np.testing.assert_array_equal(tree.leaves(X) == 1, ~np.isnan(X[:, 0]))
    assert tree.leaves(np.array([[7.0]]))[0] == 1


# whole trees


def check_tree(tree, root, X, criterion, n_classes):
    nodes = naive.preorder(root)
    assert len(tree.right) == len(nodes)
    rows = walked(tree, X)
    for i, node in enumerate(nodes):
        np.testing.assert_array_equal(rows[i], node["rows"])
        assert tree.is_leaf[i] == ("children" not in node)
        if not tree.is_leaf[i]:
            gain, column, _, _ = node["split"]
            assert tree.columns[i] == column
            assert scale(criterion, n_classes) * tree.gain[i] == pytest.approx(gain, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("criterion", "n_classes"), KINDS)
def test_whole_trees(criterion, n_classes):
    for seed in range(3):
        X = table(seed, n=120, missing=0.1, levels=0 if n_classes > 2 else 5)
        names = () if n_classes > 2 else (2,)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        tree = member(criterion, n_classes, max_depth=4, min_samples_leaf=6, categorical=names).fit(
            X, y, w, RNG(0)
        )
        root = naive.grown(X, y, w, criterion=criterion, categorical=names, max_depth=4, least=6.0)
        check_tree(tree, root, X, criterion, n_classes)


@pytest.mark.parametrize(("criterion", "n_classes"), [("squared_error", 0), ("gini", 2), ("entropy", 4)])
def test_whole_trees_best_gain_first(criterion, n_classes):
    for seed in range(3):
        X = table(seed, n=120, missing=0.1)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        for most in (2, 7, 12):
            tree = member(criterion, n_classes, max_leaf_nodes=most, min_samples_leaf=5).fit(X, y, w, RNG(0))
            assert tree.is_leaf.sum() == most
            root = naive.grown(X, y, w, max_leaves=most, criterion=criterion, least=5.0)
            check_tree(tree, root, X, criterion, n_classes)


@pytest.mark.parametrize(("criterion", "n_classes"), [("squared_error", 0), ("poisson", 0), ("entropy", 2)])
def test_whole_monotone_trees(criterion, n_classes):
    """Splits by free columns stay between the bounds of the monotone splits above them."""
    for seed in range(4):
        X = table(seed, n=120, levels=4)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        given = {"monotone": (1, 0, 0), "categorical": (2,), "max_depth": 4, "min_samples_leaf": 5}
        tree = member(criterion, n_classes, **given).fit(X, y, w, RNG(0))
        rules = {
            "criterion": criterion,
            "signs": (1, 0, 0),
            "categorical": (2,),
            "max_depth": 4,
            "least": 5.0,
        }
        check_tree(tree, naive.grown(X, y, w, **rules), X, criterion, n_classes)


def test_rows_near_each_other_and_far_apart_are_the_same_tree():
    """Nodes of more rows than are copied near, of more than are sparse, and of fewer: the twin knows no difference."""
    rng = RNG(0)
    X = rng.integers(0, 40, size=(2600, 3)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=2600) * 9
    tree = member("squared_error", 0, max_depth=4).fit(X, y, None, RNG(0))
    check_tree(tree, naive.grown(X, y, criterion="squared_error", max_depth=4), X, "squared_error", 0)


# drawn splits


@pytest.mark.parametrize(("criterion", "n_classes"), [("squared_error", 0), ("gini", 2), ("entropy", 4)])
def test_drawn_splits_lie_between_a_nodes_values_and_part_them_so(criterion, n_classes):
    for seed in range(3):
        X = table(seed, n=150, missing=0.15, levels=5)
        y, w = answer(seed, X, criterion, n_classes), weights(seed, len(X))
        tree = member(criterion, n_classes, drawn=True, categorical=(2,), max_features=1).fit(
            X, y, w, RNG(seed)
        )
        for i, rows in enumerate(walked(tree, X)):
            assert w[rows].sum() == pytest.approx(tree.weight[i])
            x = X[rows, tree.columns[i]]
            if not (tree.is_leaf[i] or tree.column[i] & CATEGORY or np.isinf(tree.threshold[i])):
                assert np.nanmin(x) <= tree.threshold[i] < np.nanmax(x)


def test_drawn_splits_are_uniform_between_the_least_and_the_greatest_value():
    X = np.concatenate([np.linspace(0, 1, 40), [2.0]])[:, None]
    y = np.arange(41.0)
    t = [
        member("squared_error", 0, drawn=True, max_depth=1).fit(X, y, None, RNG(s)).threshold[0]
        for s in range(600)
    ]
    assert np.abs(np.quantile(t, [0.25, 0.5, 0.75]) - [0.5, 1.0, 1.5]).max() < 0.15


# the way to the leaves


def forest(n_classes=0):
    X = table(0, n=200, d=4, missing=0.2, levels=7)
    y = answer(0, X, "gini", n_classes)
    kind = "gini" if n_classes else "squared_error"
    shared = binned(X, None, (3,))
    return [
        member(kind, n_classes, categorical=(3,), drawn=s % 2 == 0).fit(shared, y, None, RNG(s))
        for s in range(20)
    ]


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_way_to_the_leaves(n_classes):
    """NaN, categories, unseen categories, single precision; many rows at once, one alone, and many trees."""
    trees = forest(n_classes)
    X = table(5, n=70, d=4, missing=0.2, levels=9)
    X[0], X[1, :3] = np.nan, [1e30, -1e30, 0.0]
    for rows in (X, X.astype(np.float32)):
        there = [np.array([naive.leaf_of(tree, x.astype(float)) for x in rows]) for tree in trees]
        for tree, leaf in zip(trees, there):
            np.testing.assert_array_equal(tree.leaves(rows), leaf)
        votes = RNG(0).dirichlet(np.ones(len(trees)))
        whole = Forest.of(trees, votes, np.arange(3) if n_classes else None)
        by_hand = sum(v * tree.values[leaf] for v, tree, leaf in zip(votes, trees, there))
        np.testing.assert_allclose(whole.mean(rows), by_hand, rtol=1e-12)
        alone = np.vstack([whole.mean(rows[i : i + 1]) for i in range(len(rows))])
        np.testing.assert_array_equal(alone, whole.mean(rows))
        in_parts = whole.mean(rows, lambda work, n: [work(a, min(a + 17, n)) for a in range(0, n, 17)])
        np.testing.assert_array_equal(in_parts, whole.mean(rows))


def test_who_was_not_there_goes_with_the_majority():
    """Missing values and categories that a node has not seen."""
    X = np.column_stack([np.arange(30.0), np.arange(30) % 3])
    tree = member("squared_error", 0, max_depth=1).fit(X[:, :1], (X[:, 0] >= 10).astype(float), None, RNG(0))
    assert tree.column[0] & MISSING_LEFT == 0
    assert tree.leaves(np.array([[np.nan]]))[0] == tree.right[0]
    kinds = member("squared_error", 0, max_depth=1, categorical=(0,)).fit(
        X[:, 1:], X[:, 1] == 1.0, None, RNG(0)
    )
    few, many = naive.leaf_of(kinds, [1.0]), naive.leaf_of(kinds, [0.0])
    assert few != many
    np.testing.assert_array_equal(kinds.leaves(np.array([[np.nan], [7.0], [-1.0], [0.5]])), many)


def test_a_stump_of_two_classes_looks_at_the_values_of_its_two_bins(rng):
    """The shortest way to one question finds what a search of all values finds, once it has the right pair of bins."""
    X = rng.normal(size=(3000, 3))
    y = (X[:, 1] > 2.9).astype(int)  # a dozen rows of the last bin
    w = rng.integers(1, 4, len(y)).astype(float)
    tree = Tree(max_depth=1).fit(X, y, w, rng)
    assert tree.columns[0] == 1
    highest, lowest = X[y == 0, 1].max(), X[y == 1, 1].min()
    assert highest <= tree.threshold[0] < lowest
    np.testing.assert_array_equal(tree.values[1:], [[1.0, 0.0], [0.0, 1.0]])
    binned = Tree(max_depth=1).prepare(X, w)
    np.testing.assert_array_equal(tree.choices(binned), y)
    np.testing.assert_array_equal(tree.choices(X), y)
