"""What leaves keep, and what pruning leaves of a tree."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q
from quorate.members.leaves import best_bandwidth
from quorate.members.tree import Tree

RNG = np.random.default_rng


def grown(y, X=None, w=None, **given):
    X = np.arange(len(y))[:, None] * 1.0 if X is None else X
    return X, Tree("squared_error", classifies=False, bandwidth=1.0, **given).fit(X, y, w, RNG(0))


def kept(tree, leaf):
    """(values, weights) of a leaf."""
    s, k = tree.samples, tree.which[leaf]
    return (part[s.indptr[k] : s.indptr[k + 1]] for part in (s.atoms, s.weights))


# leaves


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_keep_their_rows_exactly(weighted):
    rng = RNG(0)
    y = rng.integers(0, 9, 300) / 4
    w = rng.random(300) + 0.1 if weighted else None
    X, tree = grown(y, w=w, min_samples_leaf=20)
    leaves = tree.leaves(X)
    for leaf in np.flatnonzero(tree.is_leaf):
        mine = leaves == leaf
        atoms, weights = kept(tree, leaf)
        values = np.unique(y[mine])
        np.testing.assert_array_equal(atoms, values)
        weight = np.ones(300) if w is None else w
        np.testing.assert_allclose(weights, [weight[mine & (y == v)].sum() for v in values], rtol=1e-12)
        assert tree.values[leaf, 0] == pytest.approx(np.average(y[mine], weights=weight[mine]), rel=1e-12)


@pytest.mark.parametrize("most", [1, 7, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_values_leaves_keep_parts_of_equal_weight(most, weighted):
    """Never more than so many; weight and mean stay what they are, and quantiles move by a part at most."""
    rng = RNG(0)
    y = np.concatenate([rng.normal(size=900), np.zeros(100)]) + 1e3
    w = rng.random(1000) + 0.5 if weighted else np.ones(1000)
    X, tree = grown(y, rng.normal(size=(1000, 2)), w, min_samples_leaf=150, max_leaf_values=most)
    leaves, sizes = tree.leaves(X), []
    for leaf in np.flatnonzero(tree.is_leaf):
        mine = leaves == leaf
        atoms, weights = kept(tree, leaf)
        sizes.append(len(atoms))
        assert weights.sum() == pytest.approx(w[mine].sum(), rel=1e-12)
        assert np.average(atoms, weights=weights) == pytest.approx(
            np.average(y[mine], weights=w[mine]), rel=1e-12
        )
        order = np.argsort(y[mine])
        below = np.cumsum(w[mine][order])
        for a, share in zip(atoms, np.cumsum(weights) / weights.sum()):
            low, high = np.interp([share - 2 / most, share + 2 / most], below / below[-1], y[mine][order])
            assert low <= a <= high
    assert max(sizes) <= most
    assert max(sizes) >= most / 2 or most == 50


def test_the_width_that_best_foretells_rows_unseen():
    """Of the values tried it is the best; it is never below the gap between values, and of no rows that of y."""
    rng = RNG(0)
    X = rng.normal(size=(400, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=400)
    tree = grown(y[:300], X[:300], min_samples_leaf=15)[1]
    h = best_bandwidth([tree], X[300:], y[300:], 1e-6)

    def score(width):
        return np.mean(tree.with_bandwidth(width).predict_dist(X[300:]).log_prob(y[300:]))

    assert all(score(h) >= score(h * 2.0**k) for k in (-3, -2, -1, 1, 2, 3))
    assert best_bandwidth([tree], X[300:], y[300:], 5.0) == 5.0 or score(h) >= score(5.0)
    assert best_bandwidth([tree], X[300:], y[300:], 3.0) >= 3.0
    assert best_bandwidth([tree], X[:0], y[:0], 1e-6) == pytest.approx(0.25 * np.std(tree.samples.atoms))


def test_a_row_of_which_a_copy_is_known_is_not_unseen():
    """Weights of 0 tell a member what it may not see; copies of what it sees say nothing of its honesty."""
    rng = RNG(0)
    X = rng.normal(size=(80, 1)).round(1)
    y = (X[:, 0] + rng.normal(size=80)).round(2)
    w = (np.arange(80) % 3 > 0).astype(float)
    member = Tree("squared_error", classifies=False, min_samples_leaf=4)
    alone = member.fit(X, y, w, RNG(0))
    seen = w > 0
    more = member.fit(np.vstack([X, X[seen]]), np.append(y, y[seen]), np.append(w, 0 * y[seen]), RNG(0))
    assert alone.samples.bandwidth[0] == more.samples.bandwidth[0]


# pruning


def few(seed, n_classes):
    """A table of few values, so that bins hold one each, and answers without ties."""
    rng = RNG(seed)
    X = np.column_stack([rng.permutation(120) % 40, rng.permutation(120) % 30]).astype(float)
    signal = np.sin(X[:, 0] / 5) + X[:, 1] / 20 + 0.5 * rng.normal(size=120)
    return X, np.argsort(np.argsort(signal)) * n_classes // 120 if n_classes else signal


@pytest.mark.parametrize(
    ("criterion", "n_classes"),
    [("squared_error", 0), ("poisson", 0), ("gini", 2), ("entropy", 2), ("gini", 3), ("entropy", 3)],
)
def test_pruning_is_scikit_learns(criterion, n_classes):
    """The same tree loses the same branches at the same α."""
    X, y = few(0, n_classes)
    y = y + 3.0 if criterion == "poisson" else y
    given = {"criterion": criterion, "min_samples_leaf": 7}
    ours, theirs = (
        (q.TreeClassifier, DecisionTreeClassifier) if n_classes else (q.TreeRegressor, DecisionTreeRegressor)
    )
    alphas, leaves = ours(**given).cost_complexity_pruning_path(X, y)
    path = theirs(random_state=0, **given).cost_complexity_pruning_path(X, y)
    expected = np.unique(path.ccp_alphas.round(12))
    assert len(expected) > 5
    np.testing.assert_allclose(np.unique(alphas.round(12)), expected[expected > 0], rtol=1e-9)
    assert leaves[-1] == 1
    assert np.all(np.diff(leaves) < 0)
    assert np.all(np.diff(alphas) >= -1e-12)
    for alpha in (alphas[1:] + alphas[:-1])[np.diff(alphas) > 1e-9] / 2:
        a = ours(ccp_alpha=alpha, **given).fit(X, y)
        b = theirs(ccp_alpha=alpha, random_state=0, **given).fit(X, y)
        assert a.get_n_leaves() == b.get_n_leaves() == leaves[np.searchsorted(alphas, alpha) - 1]
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-12)


def test_the_path_leaves_the_model_as_it_was():
    X, y = few(1, 0)
    model = q.TreeRegressor(ccp_alpha=0.01).fit(X, y)
    before = model.predict(X)
    model.cost_complexity_pruning_path(X[:, :1], y)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), before)


def test_pruned_leaves_keep_all_rows_of_their_branch():
    X, y = few(2, 0)
    model = q.TreeRegressor(ccp_alpha=0.02).fit(X, y)
    assert 1 < model.get_n_leaves() < 20
    leaves, tree = model.apply(X), model.tree_
    for leaf in np.flatnonzero(tree.is_leaf):
        atoms, weights = kept(tree, leaf)
        np.testing.assert_array_equal(atoms, np.unique(y[leaves == leaf]))
        assert weights.sum() == tree.weight[leaf] == np.sum(leaves == leaf)
