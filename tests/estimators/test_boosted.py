"""Boosted classifiers and regressors: laws, then examples, then complaints."""

import pickle
import signal
from contextlib import contextmanager

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from threadpoolctl import threadpool_limits

import quorate as q
from quorate.learn import Data

RNG = np.random.default_rng
SMALL = {
    "n_estimators": 10,
    "learning_rate": 0.3,
    "min_samples_leaf": 4,
    "max_leaf_nodes": 8,
    "random_state": 0,
}
DRAWN = {"subsample": 0.7, "max_features": 0.6}
NUMBERS = {**SMALL, "residual_folds": 2}
EVERY = {
    "two classes": q.BoostedClassifier(**SMALL),
    "five classes": q.BoostedClassifier(**SMALL),
    "means": q.BoostedRegressor(**NUMBERS),
    "medians": q.BoostedRegressor("absolute_error", **NUMBERS),
    "huber": q.BoostedRegressor("huber", **NUMBERS),
    "quantiles": q.BoostedRegressor("quantile", quantile=[0.1, 0.4, 0.5, 0.9], **NUMBERS),
    "counts": q.BoostedRegressor("poisson", **NUMBERS),
    "sizes": q.BoostedRegressor("gamma", **NUMBERS),
    "distributions": q.DistributionalRegressor(**SMALL),
}
each = pytest.mark.parametrize("kind", EVERY)
CLASSES = ("two classes", "five classes")
each_number = pytest.mark.parametrize("kind", [k for k in EVERY if k not in CLASSES])


@pytest.fixture
def within():
    """A context that ends with an error after some seconds, for what might go on for ever."""

    @contextmanager
    def ending(seconds):
        def late(*_):
            raise TimeoutError(f"not done within {seconds} s")

        before = signal.signal(signal.SIGALRM, late)
        signal.alarm(seconds)
        try:
            yield
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    return ending


def made(kind, **given):
    return clone(EVERY[kind]).set_params(**given)


def table(kind, n=200, seed=0, d=4):
    """(X, y), y of few binary digits, so that means of it are exact."""
    rng = RNG(seed)
    X = rng.normal(size=(n, d)).round(2)
    signal = np.round(8 * (X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n))) / 8
    if kind in CLASSES:
        return X, np.digitize(signal, [0.0] if kind == "two classes" else [-1.5, -0.5, 0.5, 1.5])
    if kind == "counts":
        return X, np.floor(np.exp(signal / 2))
    return X, np.abs(signal) + 0.125 if kind == "sizes" else signal


def fitted(kind, **given):
    """(a fitted model, X, y)."""
    X, y = table(kind)
    return made(kind, **given).fit(X, y), X, y


def bits(model, X):
    """All that it says, to the last bit."""
    dist, said = model.predict_dist(X), [model.predict(X), model.contributions(X)]
    if hasattr(model, "predict_proba"):
        return [part.tobytes() for part in (*said, dist.probs, model.decision_function(X))]
    said += [dist.quantile([0.1, 0.9]), dist.log_prob(said[0].ravel()[: len(X)])]
    return [part.tobytes() for part in said]


def scores(model, X):
    """f(x), (n, K)."""
    return model.member_.scores(X)


# the same bits


@each
@pytest.mark.parametrize("gradients", ["exact", "quantised"])
def test_the_same_bits_for_any_number_of_jobs(kind, gradients, monkeypatch):
    """Five classes on two threads go by whole trees; answers in pieces, too."""
    monkeypatch.setattr("quorate.estimators.base.FEW", 64)
    given = {**DRAWN, "n_estimators": 5}
    if kind != "distributions":
        given["gradients"] = gradients
    elif gradients == "quantised":
        return
    one, X, _ = fitted(kind, **given)
    for n_jobs in (2, 3):
        assert bits(fitted(kind, n_jobs=n_jobs, **given)[0], X) == bits(one, X)


def through_a_file(model, tmp_path):
    q.save(model, tmp_path / "model")
    return q.load(tmp_path / "model")


WAYS = {
    "as it is": lambda model, _: model,
    "pickled": lambda model, _: pickle.loads(pickle.dumps(model)),
    "saved": through_a_file,
}


@each
@pytest.mark.parametrize("way", WAYS)
def test_ten_and_ten_rounds_are_twenty(kind, way, tmp_path):
    """Rows and columns drawn, with chains for residuals, from memory or from a file."""
    warm, X, y = fitted(kind, warm_start=True, **DRAWN)
    warm = WAYS[way](warm, tmp_path)
    warm.set_params(n_estimators=20).fit(X, y)
    whole = fitted(kind, n_estimators=20, **DRAWN)[0]
    assert warm.n_estimators_ == len(list(warm._staged_scores(X))) == 20
    assert bits(warm, X) == bits(whole, X)


@each
def test_ten_and_ten_rounds_with_judges_are_twenty(kind):
    """While patience lasts; and the losses of all rounds are there."""
    given = {"early_stopping": True, "n_iter_no_change": 1000, "validation_fraction": 0.3, **DRAWN}
    warm, X, y = fitted(kind, warm_start=True, **given)
    warm.set_params(n_estimators=20).fit(X, y)
    whole = fitted(kind, n_estimators=20, **given)[0]
    np.testing.assert_array_equal(warm.receipts_["validation_loss"], whole.receipts_["validation_loss"])
    assert bits(warm, X) == bits(whole, X)


@each
def test_a_warm_start_of_what_was_not_one(kind):
    """The model goes on though it was not fitted to; chains for residuals begin anew."""
    warm, X, y = fitted(kind)
    warm.set_params(warm_start=True, n_estimators=15).fit(X, y)
    assert bits(warm, X) == bits(fitted(kind, n_estimators=15)[0], X)


@each
def test_pickles_and_clones_are_the_same(kind):
    model, X, y = fitted(kind)
    assert bits(pickle.loads(pickle.dumps(model)), X) == bits(model, X)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert bits(again.fit(X, y), X) == bits(model, X)
    assert bits(fitted(kind, random_state=1)[0], X) == bits(model, X)  # nothing is drawn
    assert bits(fitted(kind, random_state=1, **DRAWN)[0], X) != bits(fitted(kind, **DRAWN)[0], X)


# rows


@each
@pytest.mark.parametrize("drawn", [False, True])
def test_whole_weights_are_repetitions(kind, drawn):
    X, y = table(kind, 120)
    w = RNG(1).integers(1, 4, 120)
    given = DRAWN if drawn else {}
    one = made(kind, **given).fit(X, y, w)
    other = made(kind, **given).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(one.predict_dist(X).log_prob(y), other.predict_dist(X).log_prob(y), rtol=1e-8)


@each
def test_the_order_of_rows_says_nothing(kind):
    X, y = table(kind)
    order = RNG(2).permutation(len(y))
    one, other = made(kind, **DRAWN).fit(X, y), made(kind, **DRAWN).fit(X[order], y[order])
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(one.predict_dist(X).log_prob(y), other.predict_dist(X).log_prob(y), rtol=1e-8)


@each
def test_rows_of_no_weight_are_not_there(kind):
    X, y = table(kind)
    w = RNG(3).integers(0, 2, len(y)).astype(float)
    one, other = made(kind).fit(X, y, w), made(kind).fit(X[w > 0], y[w > 0])
    assert bits(one, X) == bits(other, X)


@each
def test_of_weights_only_the_ratios_count(kind):
    X, y = table(kind)
    w = RNG(4).random(len(y)) + 0.5
    one, other = made(kind).fit(X, y, w), made(kind).fit(X, y, 4 * w)
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=1e-9, atol=1e-12)
    plain = made(kind).fit(X, y)
    np.testing.assert_array_equal(scores(made(kind).fit(X, y, np.full(len(y), 0.37)), X), scores(plain, X))
    assert np.any(scores(one, X) != scores(plain, X))


@pytest.mark.parametrize("kind", CLASSES)
def test_class_weights_are_sample_weights(kind):
    """A third of the rows weighs four times as much, so that the mean weight is a power of two and all sums exact."""
    X, y = table("means", 198)
    place = np.argsort(np.argsort(y, kind="stable"))
    y = place // 66 // 2 if kind == "two classes" else np.minimum(place // 33, 4)
    weights = {c: 1.0 if c == y.max() else 0.25 for c in range(y.max() + 1)}
    plain = made(kind, l2_regularization=0.0)  # which is no ratio
    one = clone(plain).set_params(class_weight=weights).fit(X, y)
    other = clone(plain).fit(X, y, np.array([weights[c] for c in y]))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-11)
    assert np.abs(one.predict_proba(X) - plain.fit(X, y).predict_proba(X)).max() > 0.01
    balanced = made(kind, class_weight="balanced", n_estimators=1, learning_rate=1e-9).fit(X, y)
    np.testing.assert_allclose(balanced.predict_proba(X), 1 / len(weights), rtol=1e-5)


# losses


@pytest.mark.parametrize("kind", [k for k in EVERY if k not in ("distributions", "huber")])
@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_the_loss_falls_every_round(kind, rate):
    """Of the rows that are learned, until nothing is to be gained, where all are shown and the loss is convex.

    Huber's changes from round to round, and a Newton step of the logarithm's losses is shortened.
    """
    model, X, y = fitted(kind, learning_rate=rate, n_estimators=40)
    loss = model._loss(Data(X, y, classes=getattr(model, "classes_", None)), None)
    before = np.mean(loss.risk(np.tile(model.member_.start, (len(y), 1)), y))
    if rate == 1.0 and kind in ("two classes", "five classes"):
        rate = 0.5  # for which Newton's step has no guarantee
        model = fitted(kind, learning_rate=rate, n_estimators=40)[0]
    for i, f in enumerate(model._staged_scores(X)):
        after = np.mean(loss.risk(f, y))
        assert after <= before * (1 + 1e-12), i
        before = after


@each
def test_stages_end_at_the_model_and_are_models_of_fewer_rounds(kind):
    model, X, _ = fitted(kind, early_stopping=True, n_iter_no_change=100, validation_fraction=0.3)
    stages = list(model._staged_scores(X))
    assert len(stages) == model.n_estimators_
    np.testing.assert_array_equal(stages[-1], scores(model, X))
    few, X, _ = fitted(kind, n_estimators=4)
    more = fitted(kind)[0]
    stages = list(more._staged_scores(X))
    np.testing.assert_array_equal(stages[3], scores(few, X))
    if kind in CLASSES:
        np.testing.assert_array_equal(list(more.staged_predict_proba(X))[3], few.predict_proba(X))
        np.testing.assert_array_equal(list(more.staged_predict(X))[-1], more.predict(X))
    elif kind == "distributions":
        np.testing.assert_array_equal(list(more.staged_predict_dist(X))[3].mean, few.predict(X))
    else:
        np.testing.assert_allclose(list(more.staged_predict(X))[-1], more.predict(X), rtol=1e-12)


@each
def test_contributions_add_up_to_the_scores(kind, monkeypatch):
    monkeypatch.setattr("quorate.estimators.base.FEW", 64)
    model, X, _ = fitted(kind, **DRAWN)
    told = model.contributions(X)
    f = scores(model, X)
    assert told.shape == ((200, 5) if f.shape[1] == 1 else (200, 5, f.shape[1]))
    np.testing.assert_allclose(told.sum(axis=1), f[:, 0] if f.shape[1] == 1 else f, atol=1e-10)
    assert model.set_params(n_jobs=2).contributions(X).tobytes() == told.tobytes()
    flat = told.reshape(200, 5, -1)
    assert np.ptp(flat[:, -1], axis=0).max() == 0  # what is expected of all rows
    np.testing.assert_allclose(flat[:, -1].mean(), f.mean(), atol=0.3 * np.ptp(f))


@each
def test_importances_find_the_signal(kind):
    model, X, y = fitted(kind, n_estimators=20)
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.all(model.feature_importances_ >= 0)
    told = permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean
    for found in (model.feature_importances_, told):
        assert set(np.argsort(found)[-2:].tolist()) == {0, 1}


@pytest.mark.parametrize("kind", [k for k in EVERY if k != "quantiles"])
def test_partial_dependence(kind):
    """By scikit-learn's tools: it rises with what y rises with."""
    model, X, _ = fitted(kind)
    given = {"target": 4} if kind == "five classes" else {}
    if kind == "sizes":
        return  # which fall and rise
    found = partial_dependence(model, X, [0], grid_resolution=10)["average"]
    assert found.shape == (5 if kind == "five classes" else 1, 10)
    assert found[-1, -1] > found[-1, 0]
    shown = PartialDependenceDisplay.from_estimator(model, X, [0, (0, 1)], grid_resolution=5, **given)
    assert len(shown.pd_results) == 2
    plt.close(shown.figure_)


@pytest.mark.parametrize("kind", ["two classes", "five classes", "means", "counts"])
def test_quantised_slopes_lose_next_to_nothing(kind):
    """On new rows."""
    X, y = table(kind, 2000)
    new = table(kind, 2000, seed=1)
    given = {"n_estimators": 30, "learning_rate": 0.1, "min_samples_leaf": 20, "max_leaf_nodes": 16}
    told = [made(kind, gradients=g, **given).fit(X, y).log_score(*new) for g in ("exact", "quantised")]
    assert told[0] != told[1]
    assert told[0] == pytest.approx(told[1], abs=0.01)


def test_quantised_slopes_of_rows_that_count_very_often(within):
    """More often than a word has digits for."""
    X, y = table("two classes")
    once = made("two classes", gradients="exact", l2_regularization=0.0).fit(X, y)
    model = made("two classes", gradients="quantised", l2_regularization=0.0)
    with within(20):
        model.fit(X, y, np.full(len(y), 1e9))
    assert model.log_score(X, y) == pytest.approx(once.log_score(X, y), abs=0.05)


# trees


def trees(model):
    """(depths of the leaves, weights of the leaves) of each tree."""
    member, out = model.member_, []
    ends = [*member.roots[1:].astype(int).tolist(), len(member.right)]
    for first, end in zip(member.roots.astype(int).tolist(), ends):
        depth = np.zeros(end - first, int)
        right = member.right[first:end].astype(int) - first
        inner = np.flatnonzero(right != np.arange(end - first))
        for i in inner:
            depth[[i + 1, right[i]]] = depth[i] + 1
        leaf = np.setdiff1d(np.arange(end - first), inner)
        out.append((depth[leaf], member.rows[first:end][leaf]))
    return out


@each
@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_trees_are_as_large_as_is_allowed(kind, growth):
    model, _, _ = fitted(kind, max_leaf_nodes=6, growth=growth)
    assert max(len(depth) for depth, _ in trees(model)) == 6
    model, _, _ = fitted(kind, max_depth=2, max_leaf_nodes=100, growth=growth)
    assert max(depth.max() for depth, _ in trees(model)) == 2
    if growth == "level" and kind not in CLASSES:
        model, _, _ = fitted(kind, max_leaf_nodes=6, growth=growth, min_samples_leaf=1)
        assert all(np.ptp(depth) <= 1 for depth, _ in trees(model)[: len(model.member_.start)])


@pytest.mark.parametrize("kind", ["means", "medians", "huber", "sizes", "quantiles"])
@pytest.mark.parametrize("gradients", ["exact", "quantised"])
def test_leaves_have_as_many_rows_as_is_asked(kind, gradients):
    """Where all rows curve alike."""
    model, _, _ = fitted(kind, min_samples_leaf=17, max_leaf_nodes=100, gradients=gradients)
    least = [w.min() for _, w in trees(model)]
    assert min(least) >= 17
    assert min(least) < 25


@each
def test_penalties_shrink_leaves(kind):
    plain, _, _ = fitted(kind, n_estimators=1)
    for name in ("l1_regularization", "l2_regularization"):
        if kind in ("medians", "quantiles"):
            continue  # whose leaves are quantiles
        some, most = (fitted(kind, n_estimators=1, **{name: v})[0].member_.values for v in (3.0, 1e6))
        assert np.abs(some).max() < np.abs(plain.member_.values).max()
        assert np.abs(most).max() < 1e-3


@pytest.mark.parametrize("kind", ["two classes", "means", "huber", "counts", "sizes"])
@pytest.mark.parametrize("drawn", [False, True])
def test_monotone_columns(kind, drawn):
    """Between other columns with missing values and categories; by number or by name."""
    X, y = table(kind, 400)
    rng = RNG(5)
    X[rng.random(400) < 0.1, 1], X[:, 3] = np.nan, rng.integers(0, 7, 400)
    given = {
        "monotonic_cst": [1, 0, -1, 0],
        "categorical_features": [3],
        "max_leaf_nodes": 16,
        "n_estimators": 30,
    }
    model = made(kind, **given, **(DRAWN if drawn else {})).fit(X, y)
    grid = np.sort(np.append(np.linspace(-4, 4, 60), X[:40, 0]))
    for j, sign in ((0, 1), (2, -1)):
        rows = np.repeat(X[:30], 100, axis=0)
        rows[:, j] = np.tile(grid, 30)
        f = scores(model, rows).reshape(30, 100)
        assert np.all(np.diff(f) * sign >= 0)
    f = scores(made(kind, **given | {"monotonic_cst": None}).fit(X, y), rows).reshape(30, 100)
    assert np.any(np.diff(f) > 0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = made(kind, **given | {"monotonic_cst": {"a": 1, "c": -1}}, **(DRAWN if drawn else {}))
    np.testing.assert_array_equal(scores(named.fit(frame, y), X), scores(model, X))


def test_quantiles_never_cross():
    """However much they are made to learn, and on rows that nobody has seen."""
    X, y = table("quantiles")
    levels = [0.1, 0.15, 0.5, 0.55, 0.9]
    model = made("quantiles", quantile=levels, n_estimators=80, min_samples_leaf=2)
    new = RNG(0).normal(size=(2000, 4)) * 3
    said = model.fit(X, y).predict(new)
    assert said.shape == (2000, 5)
    assert np.all(np.diff(said, axis=1) >= 0)
    assert np.any(np.diff(scores(model, new), axis=1) < 0)  # which nothing but their order sees to
    for stage in model.staged_predict(new[:50]):
        assert np.all(np.diff(stage, axis=1) >= 0)
    low, high = model.predict_interval(new).T
    assert np.all(low < high)


# what is missing, what is unknown


@each
def test_missing_values_and_categories(kind):
    """What y depends on, in part by being missing; unknown categories and columns all missing are answered."""
    rng = RNG(0)
    X, y = table(kind, 400)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = np.array([f"k{k}" for k in rng.integers(0, 12, 400)])
    frame.loc[rng.random(400) < 0.2, "a"] = np.nan
    frame.loc[rng.random(400) < 0.1, "e"] = None
    frame["f"] = np.nan
    model = made(kind, categorical_features="from_dtype").fit(frame, y)
    new = frame[:20].copy()
    new["e"], new.loc[:10, "b"], new["f"] = "new", np.nan, 3.0
    for rows in (new, new.assign(a=np.nan, b=np.nan, c=np.nan, d=np.nan, e=None)):
        dist = model.predict_dist(rows)
        assert np.all(np.isfinite(dist.log_prob(y[:20])))
        assert np.all(np.isfinite(model.contributions(rows)))
    assert model.feature_importances_[5] == 0


@pytest.mark.parametrize("kind", ["two classes", "five classes", "means", "counts", "distributions"])
def test_what_is_missing_tells(kind):
    """Also where that alone tells, and where only rows with a value are asked later."""
    rng = RNG(1)
    gone = rng.random(600) < 0.5
    y = (gone + (rng.random(600) < 0.1)) % 2
    X = np.column_stack([np.where(gone, np.nan, rng.normal(size=600)), rng.normal(size=600)])
    model = made(kind).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])[:, 1] if kind in CLASSES else model.predict(X[400:])
    assert np.mean((p > 0.5) == gone[400:]) > 0.95


@each
def test_a_category_is_no_quantity(kind):
    """A set of many categories is parted from the others at once, whatever their numbers are."""
    rng = RNG(2)
    code = rng.integers(0, 40, 4000)
    odd = np.isin(code, rng.permutation(40)[:20])
    y = (odd * (4 if kind == "five classes" else 1) + (kind == "sizes")).astype(float)
    given = {"categorical_features": [0], "max_leaf_nodes": 2, "n_estimators": 3, "learning_rate": 0.9}
    model = made(kind, **given).fit(code[:, None] * 1.0, y)
    said = np.asarray(model.predict(code[:, None] * 1.0))
    said = said if said.ndim == 1 else said[:, -1]
    assert np.corrcoef(said, y)[0, 1] > 0.97


# early stopping


STOPS = {"early_stopping": True, "n_estimators": 150, "n_iter_no_change": 5, "learning_rate": 0.5}


@each
def test_the_best_round_is_kept(kind):
    model, X, _ = fitted(kind, **STOPS)
    told = model.receipts_["validation_loss"]
    assert model.n_estimators_ == 1 + np.argmin(told) == model.member_.n_rounds
    assert len(told) == model.n_estimators_ + 5 < 150
    assert not model.interrupted_
    assert len(list(model._staged_scores(X))) == model.n_estimators_


@each
def test_given_rows_judge(kind):
    """They are not learned from, and whole weights count them."""
    X, y = table(kind)
    new, truth = table(kind, 80, seed=9)
    model = made(kind, **STOPS).fit(X, y, X_val=new, y_val=truth)
    told, n = model.receipts_["validation_loss"], model.n_estimators_
    assert len(told) == n + 5
    if kind in CLASSES:
        assert told[n - 1] == pytest.approx(-model.log_score(new, truth))
    if kind == "means":
        assert told[n - 1] == pytest.approx(np.mean((truth - scores(model, new)[:, 0]) ** 2))
    other = made(kind, **STOPS).fit(X, y, X_val=new, y_val=truth[::-1])
    k = min(n, other.n_estimators_)
    np.testing.assert_array_equal(model.member_.first(k).scores(X), other.member_.first(k).scores(X))
    w = 1 + np.arange(80) % 3
    some = made(kind, **STOPS).fit(X, y, X_val=new, y_val=truth, sample_weight_val=w * 1.0)
    few = made(kind, **STOPS).fit(X, y, X_val=np.repeat(new, w, axis=0), y_val=np.repeat(truth, w))
    for a, b in zip(*(m.receipts_["validation_loss"] for m in (some, few))):
        assert a == pytest.approx(b, rel=1e-9)
    assert some.n_estimators_ == few.n_estimators_
    assert some.receipts_["validation_loss"][0] != told[0]


@pytest.mark.parametrize("kind", ["balanced", "distributions"])
def test_answers_of_given_rows_are_not_learned_from(kind):
    """Neither for the weights of classes nor for the units of y."""
    X, y = table("two classes" if kind == "balanced" else kind)
    model = made("two classes", class_weight="balanced") if kind == "balanced" else made(kind)
    model.set_params(early_stopping=True, n_iter_no_change=99)
    told = []
    for truth in (y, np.full(len(y), y.max())):
        first = model.fit(X, y, X_val=X, y_val=truth).member_.first(1)
        dist = first.voice.dist(first.scores(X))
        told.append(dist.probs if kind == "balanced" else dist.quantile([0.1, 0.9]))
    np.testing.assert_allclose(*told, rtol=1e-9)


@each
def test_a_warm_start_after_early_stopping(kind):
    """It goes on from the last round, and keeps the best of all; with patience, to the end that was asked for."""
    model, X, y = fitted(kind, warm_start=True, **STOPS)
    stopped, best = len(model.receipts_["validation_loss"]), model.n_estimators_
    model.set_params(n_iter_no_change=10**6, n_estimators=stopped + 10).fit(X, y)
    told = model.receipts_["validation_loss"]
    assert len(told) == stopped + 10
    assert model.n_estimators_ == 1 + np.argmin(told) >= best
    given = {**STOPS, "n_iter_no_change": 10**6, "n_estimators": stopped + 10}
    assert bits(fitted(kind, **given)[0], X) == bits(model, X)
    model.set_params(n_iter_no_change=5, n_estimators=stopped + 30).fit(X, y)
    assert len(model.receipts_["validation_loss"]) < stopped + 30


def test_rows_that_judge_without_a_class():
    """A class that only learns, or one of a single row."""
    X, y = table("five classes")
    y[7] = 9
    model = made("five classes", **STOPS).fit(X, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3, 4, 9])
    assert np.all(np.isfinite(model.receipts_["validation_loss"]))


# predictives


def simulated(kind, n, seed):
    """(X, y) whose noise is that of the loss."""
    rng = RNG(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    mean = np.exp(X[:, 0] + 0.5)
    if kind == "counts":
        return X, rng.poisson(rng.gamma(3.0, 3 * mean / 3.0)).astype(float)
    if kind == "sizes":
        return X, rng.gamma(2.0, mean / 2.0)
    if kind == "quantiles":
        return X, 2 * X[:, 0] + np.where(X[:, 1] > 0, 1.5, 0.3) * rng.normal(size=n)
    return X, 3 * X[:, 0] + rng.standard_t(4, n)


@pytest.mark.parametrize("kind", ["means", "medians", "huber", "quantiles", "counts", "sizes"])
@pytest.mark.parametrize(
    "given", [{"residual_folds": None}, {"early_stopping": True, "validation_fraction": 0.4}]
)
def test_nine_of_ten_are_within_the_interval(kind, given):
    X, y = simulated(kind, 3000, 0)
    new, truth = simulated(kind, 4000, 1)
    model = made(kind, n_estimators=40, learning_rate=0.1, min_samples_leaf=20, **given).fit(X, y)
    dist = model.predict_dist(new)
    inside = q.score.coverage(dist, truth, level=0.9, rounding=1.0 * (kind == "counts"))
    assert inside == pytest.approx(0.9, abs=0.035)
    if kind == "quantiles":
        low, high = model.predict_interval(new).T
        loud = new[:, 1] > 0
        assert np.mean((high - low)[loud]) > 2 * np.mean((high - low)[~loud])
        return
    if kind not in ("medians", "huber"):
        np.testing.assert_allclose(model.predict(new), dist.mean, rtol=1e-9)
        assert np.mean(dist.mean) == pytest.approx(truth.mean(), rel=0.1, abs=0.1)


def test_levels_of_quantiles_are_reached():
    X, y = simulated("quantiles", 3000, 0)
    new, truth = simulated("quantiles", 3000, 1)
    given = {"n_estimators": 40, "min_samples_leaf": 30, "learning_rate": 0.2, "max_leaf_nodes": 8}
    model = q.BoostedRegressor("quantile", quantile=[0.1, 0.5, 0.9], residual_folds=0, **given).fit(X, y)
    below = np.mean(truth[:, None] <= model.predict(new), axis=0)
    np.testing.assert_allclose(below, [0.1, 0.5, 0.9], atol=0.04)
    one = q.BoostedRegressor("quantile", quantile=0.9, residual_folds=0, **given).fit(X, y)
    np.testing.assert_array_equal(one.predict(new), scores(model, new)[:, 2])
    median = q.BoostedRegressor("absolute_error", residual_folds=0, **given).fit(X, y)
    np.testing.assert_array_equal(median.predict(new), scores(model, new)[:, 1])


@pytest.mark.parametrize("kind", ["medians", "huber"])
def test_rows_far_off_move_little(kind):
    X, y = table("means", 400)
    far = y.copy()
    far[::40] = 1e6
    said, moved = (made(kind, residual_folds=0, min_samples_leaf=20).fit(X, t).predict(X) for t in (y, far))
    assert np.abs(said - moved).max() < 3
    squared = made("means", residual_folds=0, min_samples_leaf=20).fit(X, far).predict(X)
    assert np.abs(squared - said).max() > 1e4


@pytest.mark.parametrize("kind", ["means", "medians", "huber", "quantiles", "sizes"])
def test_the_predictive_follows_the_units_of_y(kind):
    (X, y), (new, truth) = table(kind), table(kind, seed=1)
    a, b = 2.0**10, 0.0 if kind == "sizes" else -(2.0**12)
    p, told = [0.1, 0.5, 0.9], []
    for t, u in ((y, truth), (a * y + b, a * truth + b)):
        model = made(kind, early_stopping=True, n_iter_no_change=99).fit(X, t, X_val=new, y_val=u)
        told.append(model.predict_dist(X).quantile(p))
    np.testing.assert_allclose(told[1], a * told[0] + b, rtol=1e-6)


# what else there is


def test_known_tables():
    """Where scikit-learn's know 95% of the tumours, 97% of the irises, and R² = .35 of the diabetics."""
    given = {"n_estimators": 40, "learning_rate": 0.1, "random_state": 0}
    for load, least in ((load_breast_cancer, 0.94), (load_iris, 0.92)):
        X, y = load(return_X_y=True)
        assert q.BoostedClassifier(**given).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > least
    X, y = load_diabetes(return_X_y=True)
    assert q.BoostedRegressor(**given).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.3


def test_the_rounds_are_scikit_learns():
    """Where bins hold one value each, and nothing is regularised."""
    X, y = table("means")
    X = X.round(1)
    both = {"max_leaf_nodes": 8, "min_samples_leaf": 4, "learning_rate": 0.3, "l2_regularization": 0.0}
    ours = q.BoostedRegressor(n_estimators=10, residual_folds=0, **both).fit(X, y)
    with threadpool_limits(1):
        theirs = HistGradientBoostingRegressor(max_iter=10, early_stopping=False, **both).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)


def test_one_class():
    X = RNG(0).normal(size=(30, 2))
    for given in ({}, {"early_stopping": True}):
        model = q.BoostedClassifier(n_estimators=5, **given).fit(X, np.full(30, "only"))
        np.testing.assert_array_equal(model.predict(X), "only")
        np.testing.assert_array_equal(model.predict_proba(X), 1.0)
        assert model.n_estimators_ == 0
        assert model.feature_importances_.tolist() == [0, 0]


@each
def test_columns_that_say_nothing(kind):
    """Constant ones: the model is its start."""
    _, y = table(kind)
    X = np.ones((len(y), 2))
    model = made(kind).fit(X, y)
    f = scores(model, X[:3])
    np.testing.assert_allclose(f, np.tile(model.member_.start, (3, 1)), rtol=1e-12, atol=0.1)
    assert model.feature_importances_.tolist() == [0, 0]
    if kind in CLASSES:
        np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.bincount(y) / len(y), atol=1e-3)


@each
def test_few_rows(kind):
    """One, two, copies of one: finite answers."""
    X, y = table(kind)
    for rows in ([0], [0, 0, 0], [0, 1], [0, 1, 2]):
        model = made(kind) if kind in (*CLASSES, "distributions") else made(kind, residual_folds=0)
        model.fit(X[rows], y[rows])
        assert np.all(np.isfinite(scores(model, X[:5])))


def test_members_of_committees():
    X, y = table("two classes")
    inner = made("two classes", n_estimators=5)
    for model in (
        q.BaggingClassifier(inner, n_estimators=3, random_state=0),
        q.AdaBoostClassifier(inner, n_estimators=2, random_state=0),
        q.Probabilistic(inner, random_state=0),
    ):
        model.fit(X, y)
        assert model.score(X, y) > 0.85
        assert np.all(np.isfinite(model.predict_dist(X).log_prob(y)))
    X, y = table("means")
    inner = made("means", n_estimators=5)
    for model in (
        q.BaggingRegressor(inner, n_estimators=3, random_state=0),
        q.Probabilistic(clone(inner).set_params(residual_folds=0), random_state=0),
    ):
        model.fit(X, y)
        assert model.score(X, y) > 0.5
        assert q.score.coverage(model.predict_dist(X), y, level=0.9) > 0.8


def test_jobs_within_jobs_keep_to_their_thread():
    """The same bits from a bag on two threads whose members ask for two."""
    X, y = table("means")
    given = {"n_estimators": 3, "random_state": 0}
    bags = [q.BaggingRegressor(made("means", n_jobs=n, **DRAWN), n_jobs=n, **given) for n in (1, 2)]
    one, two = (bag.fit(X, y).predict(X) for bag in bags)
    assert one.tobytes() == two.tobytes()


def test_labels_are_what_was_given():
    X, y = table("five classes")
    names = np.array(["ash", "birch", "cedar", "elm", "fir"])
    model, codes = made("five classes").fit(X, names[y]), made("five classes").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), names[codes.predict(X)])
    np.testing.assert_array_equal(model.decision_function(X), codes.decision_function(X))
    assert model.decision_function(X).shape == (200, 5)
    assert made("two classes").fit(X, y > 2).decision_function(X).shape == (200,)


# complaints


X4, ONES = RNG(0).normal(size=(30, 4)), np.ones(30)
COUNTS = np.arange(30.0)


def complains(model, words, X=X4, y=COUNTS, **given):
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, **given)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_y_out_of_range(loss):
    y, least = ONES.copy(), {"poisson": "≥ 0", "gamma": "> 0"}[loss]
    y[17] = -2.0 if loss == "poisson" else 0.0
    model = q.BoostedRegressor(loss)
    said = f'loss="{loss}" is for y {least}, and y is {y[17]:g} in row 17; use loss="squared_error", or drop the row'
    complains(model, said, y=y)
    w = np.ones(30)
    w[:5] = 0
    complains(model, "in row 17", y=y, sample_weight=w)  # the user's number of the row


@pytest.mark.parametrize("weight", [None, (np.arange(30) > 4) * 1.0])
@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_answers_of_rows_that_judge_out_of_range(loss, weight):
    """The row is counted in y_val."""
    y = ONES.copy()
    y[17] = -2.0
    for model in (q.BoostedRegressor(loss), q.DistributionalRegressor(loss)):
        model.set_params(early_stopping=True)
        complains(model, r"-2 in row 17\b", y=ONES, sample_weight=weight, X_val=X4, y_val=y)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 1.5, [0.1, 1.0], [0.0], [], [[0.1]], [0.5, np.nan]])
def test_a_level_that_is_none(level):
    model = q.BoostedRegressor("quantile", quantile=level)
    complains(model, r"quantile.*(between 0 and 1|range \(0\.?0?, 1)")


@pytest.mark.parametrize("levels", [[0.5, 0.1], [0.5, 0.5]])
def test_levels_that_do_not_rise(levels):
    complains(q.BoostedRegressor("quantile", quantile=levels), r"must rise; give np\.unique of them")


def test_signs_that_are_none():
    model = q.BoostedRegressor(monotonic_cst=[1, 0])
    complains(model, r"monotonic_cst has the shape \(2,\), and X has 4 columns")
    complains(model.set_params(monotonic_cst=[2, 0, 0, 0]), r"monotonic_cst takes 1 \(rising\)")
    complains(model.set_params(monotonic_cst={"e": 1}), "monotonic_cst has 'e', and X has no such column")
    model.set_params(monotonic_cst=[0, 1, 0, 0], categorical_features=[1])
    complains(model, "column 1 holds categories, which have no order; give it 0 in monotonic_cst")
    for loss in ("absolute_error", "quantile"):
        model = q.BoostedRegressor(loss, monotonic_cst=[1, 0, 0, 0])
        complains(model, 'monotonic_cst is about means.*use loss="squared')
        q.BoostedRegressor(loss, monotonic_cst=[0, 0, 0, 0], n_estimators=1).fit(X4, COUNTS)
    three = np.arange(30) % 3
    model = q.BoostedClassifier(monotonic_cst=[1, 0, 0, 0])
    complains(model, "for numbers and for two classes, and y has 3", y=three)


def test_too_few_rows_to_judge():
    for model in (q.BoostedClassifier(), q.BoostedRegressor(), q.DistributionalRegressor()):
        model.set_params(early_stopping=True)
        y = (np.arange(30) > 9) * 1
        complains(
            model, r"needs at least 5 rows that judge \(validation_fraction=0.1\) and 5 to.*30 rows 3", y=y
        )
        model.set_params(validation_fraction=0.9)
        complains(model, r"of 30 rows 27 would judge; give more rows", y=y)
        complains(model, r"of 34 rows 4 would judge", y=y, X_val=X4[:4], y_val=y[:4])


def test_rows_that_judge_in_part():
    y = (np.arange(30) > 9) * 1
    for model in (q.BoostedClassifier(), q.BoostedRegressor(), q.DistributionalRegressor()):
        complains(model, "judge when to stop; set early_stopping=True", y=y, X_val=X4, y_val=y)
        model.set_params(early_stopping=True)
        complains(model, "give both, or none", y=y, X_val=X4)
        complains(model, "give both, or none", y=y, y_val=y)
        complains(model, "4 features|columns", y=y, X_val=X4[:, :3], y_val=y)
        complains(model, "sample", y=y, X_val=X4, y_val=y[:7])
        complains(model, "sample_weight", y=y, X_val=X4, y_val=y, sample_weight_val=-1 * y)


def test_a_class_that_only_judges():
    y, model = (np.arange(30) > 9) * 1, q.BoostedClassifier(early_stopping=True)
    complains(model, "y_val has the class 6, which y has not; leave its rows out", y=y, X_val=X4, y_val=6 * y)


def test_a_warm_start_that_is_none():
    y = np.arange(30) % 3
    model = q.BoostedClassifier(n_estimators=6, warm_start=True, min_samples_leaf=2).fit(X4, y)
    before = model.predict_proba(X4)
    complains(model, r"know the classes \[0, 1, 2\], and y has \[0, 1\]; use warm_start=False", y=y % 2)
    complains(model, "learned from 4 columns, and X has 3; use warm_start=False", X=X4[:, :3], y=y)
    complains(model.set_params(n_estimators=5), "n_estimators=5 is less than the 6 rounds", y=y)
    with pytest.warns(UserWarning, match="same n_estimators does no more rounds"):
        model.set_params(n_estimators=6).fit(X4, y)
    np.testing.assert_array_equal(model.predict_proba(X4), before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"loss": "poisson"}),
        ({"loss": "poisson"}, {"loss": "squared_error"}),
        ({}, {"loss": "quantile", "quantile": [0.1, 0.9]}),
        ({"loss": "quantile", "quantile": [0.1, 0.9]}, {"quantile": [0.2, 0.5]}),
        ({"loss": "quantile", "quantile": [0.1, 0.9]}, {"quantile": [0.1, 0.5, 0.9]}),
    ],
)
def test_a_warm_start_with_another_loss(before, after):
    """Scores of a mean are no logarithms, and those of a quantile are of no other one."""
    model = q.BoostedRegressor(n_estimators=2, warm_start=True, residual_folds=0, **before).fit(X4, COUNTS)
    complains(model.set_params(n_estimators=4, **after), "warm_start=False")


@pytest.mark.parametrize("cls", [q.BoostedRegressor, q.DistributionalRegressor])
def test_a_warm_start_with_other_categories(cls):
    """The sets of the trees that are there are of the categories that were."""
    X, other = X4.copy(), X4.copy()
    X[:, 3], other[:, 3] = np.arange(30) % 3, 10 + np.arange(30) % 4
    given = {"n_estimators": 2, "warm_start": True, "categorical_features": [3], "min_samples_leaf": 2}
    for change, rows in (({}, other), ({"categorical_features": None}, X)):
        model = cls(**given).fit(X, COUNTS)
        complains(model.set_params(n_estimators=4, **change), "warm_start=False", X=rows)


def test_no_residuals_no_predictive():
    model = q.BoostedRegressor(n_estimators=2, residual_folds=0).fit(X4, COUNTS)
    assert model.predict(X4).shape == (30,)
    for ask in (model.predict_dist, model.predict_interval, lambda X: model.predict_quantile(X, 0.5)):
        with pytest.raises(ValueError, match=r"residual_folds=0.*=None, or use DistributionalRegressor"):
            ask(X4)
    complains(q.BoostedRegressor(n_estimators=2), "give at least 2 different rows, or set residual_folds=0",
              X=X4[:1], y=COUNTS[:1])  # fmt: skip


def test_class_weights_that_are_none():
    y = np.arange(30) % 2
    for weight in ({0: 0.0}, {0: -1.0}, {1: np.inf}):
        model = q.BoostedClassifier(class_weight=weight)
        complains(model, "class_weight of .* must be positive and finite", y=y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0),
        ("learning_rate", 0.0),
        ("max_leaf_nodes", 1),
        ("max_depth", 0),
        ("growth", "best"),
        ("min_samples_leaf", 0.5),
        ("subsample", 0.0),
        ("subsample", 1.5),
        ("max_features", 3),
        ("gradients", "fast"),
        ("validation_fraction", 1.0),
        ("l1_regularization", -1),
        ("loss", "mse"),
    ],
)
def test_parameters_that_are_none(name, value):
    complains(q.BoostedRegressor().set_params(**{name: value}), f"The '{name}' parameter of BoostedRegressor")
