"""Contributions of columns against their plain twin: Shapley's sum over all subsets of columns."""

from itertools import combinations
from math import comb, inf, nan

import numpy as np
import pytest

from quorate.kernels import contributions, walk
from quorate.kernels.walk import CATEGORY, MISSING_LEFT, NODE
from quorate.members.bins import coded
from quorate.members.tree import Forest, Tree

RNG = np.random.default_rng
GRID = np.array([-inf, -1.5, -0.1, 0.0, 0.1, 0.3, 2.0, inf, nan])
LEVELS = np.array([0, 1, 62, 63, 64, 65, 127, 128, 191, 192, 200, 254, nan])
D, CATEGORIES = 5, (1, 3)


# the twin


def goes_left(forest, i, x):
    """Which way one cell goes at node i."""
    node, subsets = forest[0][i], forest[1]
    if np.isnan(x):
        return bool(node["column"] & MISSING_LEFT)
    if node["column"] & CATEGORY:
        return bool(int(subsets[int(node["threshold"])][int(x) // 64]) >> (int(x) % 64) & 1)
    return float(x) <= node["threshold"]


def answer(forest, i, row, known):
    """What the tree below node i says of a row of which some columns are known."""
    nodes, _, _, values, cover = forest
    left, right = i + 1, int(nodes[i]["right"])
    if right == i:
        return values[i]
    j = int(nodes[i]["column"] & walk.COLUMN)
    if j in known:
        return answer(forest, left if goes_left(forest, i, row[j]) else right, row, known)
    both = [cover[k] * answer(forest, k, row, known) for k in (left, right)]
    return sum(both) / (cover[left] + cover[right])


def said(forest, row, known):
    """The same of all trees."""
    return sum(answer(forest, int(root), row, known) for root in forest[2])


def shapley(forest, row):
    """φ of each column, by definition."""
    d, out = len(row), []
    for j in range(d):
        rest = [i for i in range(d) if i != j]
        subsets = [set(s) for size in range(d) for s in combinations(rest, size)]
        gains = [said(forest, row, s | {j}) - said(forest, row, s) for s in subsets]
        out.append(sum(g / (d * comb(d - 1, len(s))) for g, s in zip(gains, subsets)))
    return np.array(out)


# what both are asked


def grow(rng, depth, categories, nodes, subsets, d=D):
    """Add a random tree to lists of nodes and of subsets; how many nodes it has."""
    i = len(nodes)
    nodes.append((nan, 0, i))
    if depth == 0 or (depth < 4 and rng.random() < 0.2):
        return
    j = int(rng.integers(d))
    column, threshold = j | int(MISSING_LEFT) * int(rng.integers(2)), rng.choice(GRID[:-1])
    if j in categories:
        column, threshold = column | int(CATEGORY), len(subsets)
        subsets.append(rng.integers(0, 2**64, 4, dtype=np.uint64))
    grow(rng, depth - 1, categories, nodes, subsets, d)
    nodes[i] = (threshold, column, len(nodes))
    grow(rng, depth - 1, categories, nodes, subsets, d)


def covers(rng, nodes):
    """Random weights of leaves, and their sums."""
    out = rng.random(len(nodes)) + 1e-3
    for i in np.flatnonzero(nodes["right"] != np.arange(len(nodes)))[::-1]:
        out[i] = out[i + 1] + out[nodes[i]["right"]]
    return out


def forest_of(seed, n_trees=3, depth=5, k=1, categories=(), d=D):
    """(nodes, subsets, roots, values, cover) of random trees."""
    rng, nodes, subsets, roots = RNG(seed), [], [], []
    for _ in range(n_trees):
        roots.append(len(nodes))
        grow(rng, depth, categories, nodes, subsets, d)
    nodes = np.array(nodes, NODE)
    values = rng.normal(size=(len(nodes), k))
    subsets = np.array(subsets, np.uint64).reshape(-1, 4)
    return nodes, subsets, np.array(roots, np.uint64), values, covers(rng, nodes)


def rows_of(seed, n, categories=(), d=D, dtype=float):
    """Cells on the thresholds and between, some of them missing or infinite."""
    rng = RNG(seed + 100)
    X = np.where(rng.random((n, d)) < 0.7, rng.choice(GRID, (n, d)), rng.normal(size=(n, d)))
    for j in categories:
        X[:, j] = rng.choice(LEVELS, n)
    return X.astype(dtype)


def found(forest, X, pieces=None):
    """What the kernels say: (n, columns, outputs)."""
    paths = contributions.prepared(*forest)
    out = np.zeros((*X.shape, forest[3].shape[1]))
    for first, last in pieces or [(0, len(X))]:
        room = contributions.room(paths)
        contributions.add_contributions(X.ravel(), X.shape[1], paths, first, last, room, out)
    return out


def scores(forest, X):
    """What the trees say of whole rows."""
    nodes, subsets, roots, values, _ = forest
    out = np.zeros((len(X), values.shape[1]))
    where = nodes, subsets, roots, np.ones(len(roots)), values
    walk.add_values(X.ravel(), X.shape[1], *where, 0, len(X), walk.room(), out)
    return out


def assert_adds_up(forest, X):
    total = found(forest, X).sum(axis=1) + contributions.expected(contributions.prepared(*forest))
    np.testing.assert_allclose(total, scores(forest, X), rtol=0, atol=1e-10)


# the tests


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "categories"), [(1, ()), (3, ()), (1, CATEGORIES), (3, range(D))])
def test_twin(k, categories, dtype):
    forest = forest_of(k, k=k, categories=categories)
    X = rows_of(k, 12, categories, dtype=dtype)
    expected = np.array([shapley(forest, row) for row in X])
    np.testing.assert_allclose(found(forest, X), expected, rtol=0, atol=1e-13)
    nothing = said(forest, X[0], set())
    np.testing.assert_allclose(contributions.expected(contributions.prepared(*forest)), nothing, atol=1e-13)


def test_one_column_again_and_again():
    forest = forest_of(7, d=1, depth=7)
    X = rows_of(7, 40, d=1)
    assert_adds_up(forest, X)
    alone = scores(forest, X) - contributions.expected(contributions.prepared(*forest))
    np.testing.assert_allclose(found(forest, X)[:, 0], alone, atol=1e-12)


@pytest.mark.parametrize("d", [2, 6, 40])
def test_adds_up(d):
    categories = range(0, d, 3)
    forest = forest_of(d, n_trees=20, depth=9, k=2, categories=categories, d=d)
    assert_adds_up(forest, rows_of(d, 150, categories, d))


def chain(depth):
    """A path through `depth` columns, from which all else goes to leaves."""
    nodes = [node for i in range(depth) for node in ((0.0, i, 2 * i + 2), (nan, 0, 2 * i + 1))]
    nodes = np.array([*nodes, (nan, 0, 2 * depth)], NODE)
    subsets, roots = np.zeros((0, 4), np.uint64), np.zeros(1, np.uint64)
    values, rng = np.zeros((len(nodes), 1)), RNG(0)
    values[-1] = 1.0
    return nodes, subsets, roots, values, covers(rng, nodes)


def test_deep():
    """Rows that meet all conditions of a long path with equal shares owe each column as much."""
    depth = 45
    forest = chain(depth)
    forest[4][-1] = 1.0
    for i in range(depth)[::-1]:
        forest[4][2 * i + 1] = forest[4][2 * i + 2]
        forest[4][2 * i] = 2 * forest[4][2 * i + 2]
    X = np.ones((3, depth))
    X[1, 4], X[2] = -1.0, -1.0
    out = found(forest, X)[:, :, 0]
    np.testing.assert_allclose(out[0], (1 - 0.5**depth) / depth, rtol=1e-13)
    np.testing.assert_allclose(out[2], -(0.5**depth) / depth, rtol=1e-13)
    np.testing.assert_allclose(np.delete(out[1], 4), out[1, 0], rtol=1e-13)
    assert_adds_up(forest, X)


def test_pieces_have_the_same_bits():
    forest = forest_of(3, n_trees=9, k=2, categories=CATEGORIES)
    X = rows_of(3, 200, CATEGORIES)
    pieces = [(100, 200), (0, 1), (1, 64), (64, 67), (67, 100)]
    np.testing.assert_array_equal(found(forest, X, pieces), found(forest, X))


def test_adds_to_what_is_there():
    forest, X = forest_of(4), rows_of(4, 5)
    paths, out = contributions.prepared(*forest), np.ones((5, D, 1))
    contributions.add_contributions(X.ravel(), D, paths, 1, 3, contributions.room(paths), out)
    assert (out[[0, 3, 4]] == 1).all()
    np.testing.assert_allclose(out[1:3], 1 + found(forest, X)[1:3], atol=1e-14)


def test_some_of_the_trees():
    nodes, subsets, roots, values, cover = forest = forest_of(5, categories=CATEGORIES)
    X = rows_of(5, 20, CATEGORIES)
    one, rest = ((nodes, subsets, r, values, cover) for r in (roots[1:2], roots[[2, 0]]))
    np.testing.assert_allclose(found(one, X) + found(rest, X), found(forest, X), atol=1e-13)
    assert_adds_up(one, X)


def test_a_single_leaf():
    nodes = np.array([(nan, 0, 0)], NODE)
    forest = nodes, np.zeros((0, 4), np.uint64), np.zeros(1, np.uint64), np.array([[3.0, 4.0]]), np.ones(1)
    assert not found(forest, rows_of(0, 3)).any()
    np.testing.assert_array_equal(contributions.expected(contributions.prepared(*forest)), [3.0, 4.0])


@pytest.mark.parametrize("n_classes", [None, 3])
def test_trees_that_have_learned(n_classes):
    X = rows_of(6, 300, CATEGORIES)
    X[np.isinf(X)] = 9.0
    y = RNG(6).integers(0, 3, 300)
    given = {"classifies": False, "criterion": "squared_error", "bandwidth": 1.0} if n_classes is None else {}
    tree = Tree(n_classes=n_classes, categorical=CATEGORIES, max_depth=5, **given).fit(X, y)
    joined = Forest.of([tree, tree], np.ones(2), None if n_classes is None else range(n_classes))
    cells = np.ascontiguousarray(coded(X, tree.codes))
    forest = joined.nodes, joined.subsets, joined.roots, joined.values, np.tile(tree.weight, 2)
    expected = np.array([shapley(forest, row) for row in cells[:8]])
    np.testing.assert_allclose(found(forest, cells[:8]), expected, atol=1e-13)
    total = found(forest, cells).sum(axis=1) + contributions.expected(contributions.prepared(*forest))
    np.testing.assert_allclose(total, joined.mean(X), atol=1e-10)
