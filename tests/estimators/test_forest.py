"""Forests: laws, then examples."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import quorate as q
from quorate.dist import Mixture

RNG = np.random.default_rng
SMALL = {"n_estimators": 6, "random_state": 0}
FORESTS = [q.RandomForestClassifier(**SMALL), q.ExtraTreesClassifier(**SMALL)]
FORESTS += [q.RandomForestRegressor(**SMALL), q.ExtraTreesRegressor(**SMALL)]


def classifies(forest):
    return hasattr(forest, "predict_proba")


def table(n=200, seed=0, n_classes=0):
    rng = RNG(seed)
    X = rng.normal(size=(n, 4)).round(2)
    signal = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n)
    return X, np.digitize(signal, np.linspace(-1, 1, n_classes - 1)) if n_classes else signal


def of(forest, n_classes=3, **given):
    """(a fitted clone, X, y)."""
    X, y = table(n_classes=n_classes if classifies(forest) else 0)
    return clone(forest).set_params(**given).fit(X, y), X, y


def bits(forest, X):
    """All that it says, to the last bit."""
    dist = forest.predict_dist(X)
    said = (
        dist.probs if classifies(forest) else np.column_stack([dist.quantile([0.1, 0.9]), dist.log_prob(0.5)])
    )
    return said.tobytes(), np.asarray(forest.predict(X)).tobytes()


each = pytest.mark.parametrize("forest", FORESTS, ids=lambda f: type(f).__name__)


# laws


@each
def test_five_and_five_trees_are_ten(forest):
    warm, X, y = of(forest, n_estimators=5, warm_start=True)
    warm.set_params(n_estimators=10).fit(X, y)
    whole = of(forest, n_estimators=10)[0]
    assert len(warm.estimators_) == 10
    assert bits(warm, X) == bits(whole, X)


@each
def test_the_same_bits_for_any_number_of_jobs(forest, monkeypatch):
    monkeypatch.setattr("quorate.estimators.base.PIECE", 64)
    one, X, _ = of(forest)
    for n_jobs in (2, 3, -1):
        assert bits(of(forest, n_jobs=n_jobs)[0], X) == bits(one, X)


@each
def test_the_short_way_says_the_same_bits(forest):
    """Packed trees, for many rows or one, answer as the mixture of their distributions does."""
    model, X, _ = of(forest)
    dist = model.predict_dist(X)
    assert isinstance(dist, Mixture)
    for rows in (slice(None), slice(3, 4)):
        if classifies(forest):
            assert model.predict_proba(X[rows]).tobytes() == np.asarray(dist.probs[rows]).tobytes()
        else:
            assert model.predict(X[rows]).tobytes() == np.asarray(dist.mean[rows]).tobytes()


@each
def test_whole_weights_are_repetitions(forest):
    X, y = table(120, n_classes=3 if classifies(forest) else 0)
    y = np.round(8 * y) / 8
    w = RNG(1).integers(1, 4, len(y))
    one, other = clone(forest).fit(X, y, w), clone(forest).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.predict_dist(X).log_prob(y), other.predict_dist(X).log_prob(y), rtol=1e-9)


@each
def test_the_order_of_rows_says_nothing(forest):
    X, y = table(n_classes=3 if classifies(forest) else 0)
    y = np.round(8 * y) / 8
    order = RNG(2).permutation(len(y))
    one, other = clone(forest).fit(X, y), clone(forest).fit(X[order], y[order])
    np.testing.assert_allclose(one.predict_dist(X).log_prob(y), other.predict_dist(X).log_prob(y), rtol=1e-9)


@each
def test_trees_differ_and_so_do_seeds(forest):
    model, X, _ = of(forest)
    leaves = model.apply(X)
    assert leaves.shape == (200, 6)
    assert all(np.any(leaves[:, 0] != leaves[:, m]) for m in range(1, 6))
    assert bits(model, X + 0.2) != bits(of(forest, random_state=1)[0], X + 0.2)


@each
def test_importances_find_the_signal(forest):
    model, _, _ = of(forest, n_estimators=20, min_samples_leaf=5)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}


@each
def test_pickles_are_the_same_forest(forest):
    model, X, _ = of(forest)
    model.predict(X)
    assert bits(pickle.loads(pickle.dumps(model)), X) == bits(model, X)


@each
def test_missing_values_and_categories(forest):
    rng = RNG(0)
    kind = rng.integers(0, 40, 400)
    frame = pd.DataFrame({"x": rng.normal(size=400), "kind": np.char.add("k", kind.astype(str))})
    signal = np.isin(kind, rng.permutation(40)[:20]) * 3.0 + frame["x"].to_numpy()
    frame.loc[rng.random(400) < 0.2, "x"] = np.nan
    y = signal > 1.5 if classifies(forest) else signal
    model = clone(forest).set_params(categorical_features="from_dtype", n_estimators=30, min_samples_leaf=2)
    assert model.fit(frame[:300], y[:300]).score(frame[300:], y[300:]) > (0.8 if classifies(forest) else 0.4)


# out of bag


@pytest.mark.filterwarnings("ignore:.*were seen by every member")
def test_out_of_bag_is_as_good_as_on_new_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = q.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X[::2], y[::2])
    assert model.oob_score_ == pytest.approx(model.score(X[1::2], y[1::2]), abs=0.03)
    X, y = load_diabetes(return_X_y=True)
    model = q.RandomForestRegressor(60, min_samples_leaf=5, oob_score=True, random_state=0).fit(
        X[::2], y[::2]
    )
    assert model.oob_score_ == pytest.approx(model.score(X[1::2], y[1::2]), abs=0.1)
    log_score = np.mean(model.oob_dist_.log_prob(y[::2][model.oob_rows_]))
    assert log_score == pytest.approx(model.log_score(X[1::2], y[1::2]), abs=0.15)


def test_who_leaves_nobody_out_has_no_out_of_bag():
    X, y = table()
    for given in ({"bootstrap": False}, {}):
        with pytest.raises(ValueError, match="leaves none out"):
            q.ExtraTreesRegressor(oob_score=True, **given).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=False draws none"):
        q.RandomForestRegressor(bootstrap=False, max_samples=0.5).fit(X, y)
    small = q.RandomForestRegressor(4, max_samples=20, random_state=0).fit(X, y)
    assert max(tree.weight[0] for tree in small.estimators_) == 20


# beside scikit-learn


@pytest.mark.parametrize("load", [load_wine, load_digits, load_diabetes])
def test_they_foretell_as_well_as_scikit_learns(load):
    X, y = load(return_X_y=True)
    X, y = X[:900], y[:900]
    ours, theirs = (
        (q.RandomForestRegressor, RandomForestRegressor)
        if load is load_diabetes
        else (q.RandomForestClassifier, RandomForestClassifier)
    )
    test = np.arange(len(y)) % 3 == 0
    given = {"n_estimators": 40, "random_state": 0}
    a, b = (t(**given).fit(X[~test], y[~test]).score(X[test], y[test]) for t in (ours, theirs))
    assert a > b - 0.04
    extra = q.ExtraTreesRegressor if load is load_diabetes else q.ExtraTreesClassifier
    assert extra(**given).fit(X[~test], y[~test]).score(X[test], y[test]) > b - 0.06


# whole distributions


@pytest.mark.parametrize("cls", [q.RandomForestRegressor, q.ExtraTreesRegressor])
def test_quantiles_know_how_much_the_noise_differs(cls):
    """9 of 10 are within the interval, which is wide where y is noisy.

    Columns are drawn, for trees that choose among all of them find noise that agrees, and are too sure.
    """
    rng = RNG(0)
    X = rng.uniform(-1, 1, size=(4000, 3))
    spread = np.where(X[:, 0] > 0, 1.5, 0.3)
    y = 2 * X[:, 1] + spread * rng.normal(size=4000)
    model = cls(40, min_samples_leaf=5, max_features="sqrt", random_state=0).fit(X[:2000], y[:2000])
    new, low_high = y[2000:], model.predict_interval(X[2000:], 0.9)
    inside = (low_high[:, 0] <= new) & (new <= low_high[:, 1])
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    wide = low_high[:, 1] - low_high[:, 0]
    loud = X[2000:, 0] > 0.1
    assert wide[loud].mean() > 1.5 * wide[X[2000:, 0] < -0.1].mean()
    middle = model.predict_quantile(X[2000:], 0.5)
    assert np.mean(new <= middle) == pytest.approx(0.5, abs=0.04)
    normal = q.Normal(np.full(2000, y[:2000].mean()), y[:2000].std())
    assert model.log_score(X[2000:], new) > np.mean(normal.log_prob(new)) + 0.3


@pytest.mark.parametrize("forest", FORESTS[2:], ids=lambda f: type(f).__name__)
def test_one_width_for_all_trees_learned_from_rows_unseen(forest):
    model, _, _ = of(forest, n_estimators=12)
    widths = {float(h) for tree in model.estimators_ for h in tree.samples.bandwidth}
    assert len(widths) == 1
    assert 0.05 < widths.pop() < 1.5
    with_few = of(forest, max_leaf_values=1, min_samples_leaf=20)[0]
    assert all(len(tree.samples.atoms) == tree.is_leaf.sum() for tree in with_few.estimators_)


def test_one_row_and_copies_of_it():
    for forest in FORESTS:
        X, y = np.ones((5, 2)), np.full(5, 2.0)
        model = clone(forest).fit(X, y)
        assert model.predict(X[:1])[0] == pytest.approx(2.0, rel=1e-15)
        assert np.isfinite(model.predict_dist(X[:1]).log_prob(2.0)).all()


def test_classes_that_a_tree_has_not_met():
    """A class of one row is unknown to trees that did not draw it, and known to the forest."""
    X, y = table(60, n_classes=3)
    y[7] = 5
    model = q.RandomForestClassifier(8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 5])
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert 0 < proba[7, 3] < 1


def test_parameters_reach_the_trees():
    X, y = table()
    model = q.RandomForestRegressor(3, max_leaf_nodes=7, random_state=0).fit(X, y)
    assert [int(tree.is_leaf.sum()) for tree in model.estimators_] == [7, 7, 7]
    model = q.ExtraTreesRegressor(3, max_depth=2, random_state=0).fit(X, y)
    assert max(tree.depths.max() for tree in model.estimators_) == 2
    with pytest.raises(ValueError, match="max_features=9 is more than the 4 columns"):
        q.RandomForestRegressor(max_features=9).fit(X, y)
    with pytest.raises(ValueError, match=r"poisson.*use criterion="):
        q.RandomForestRegressor(criterion="poisson").fit(X, y)
    shares = [
        tree.values[0]
        for tree in q.ExtraTreesClassifier(3, class_weight="balanced").fit(X, y > 1).estimators_
    ]
    np.testing.assert_allclose(shares, 0.5, rtol=1e-6)
