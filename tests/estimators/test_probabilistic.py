"""Any estimator, answering with an honest distribution."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_digits, load_iris, make_classification
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, Ridge, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q
from quorate.dist import Categorical


def simulated(n, seed, spread="constant"):
    """y = 2 x₀ − x₁ + noise, whose size is 1, or grows with x₀ from ⅙ to 6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    size = np.exp(0.9 * X[:, 0]) if spread == "scaled" else 1.0
    return X, 2 * X[:, 0] - X[:, 1] + size * rng.normal(size=n)


def overlapping(n, seed, n_classes=3):
    X, y = make_classification(
        3 * n,
        6,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        class_sep=0.8,
        flip_y=0.1,
        random_state=seed,
    )
    return X[:n], X[n:], y[:n], y[n:]


# Regression


@pytest.mark.parametrize(
    "estimator",
    [LinearRegression(), KNeighborsRegressor(10), DecisionTreeRegressor(), SVR(), DummyRegressor()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("spread", ["constant", "scaled"])
def test_intervals_hold_what_they_promise(estimator, spread):
    """Whatever the estimator: even one that knows its rows by heart, as a tree does."""
    X, y = simulated(400, 0)
    X_test, y_test = simulated(2000, 1)
    dist = q.Probabilistic(estimator, spread=spread, random_state=0).fit(X, y).predict_dist(X_test)
    for level in (0.5, 0.8, 0.95):
        assert abs(q.score.coverage(dist, y_test, level=level) - level) < 0.06


def test_a_tree_is_not_believed_on_rows_it_has_seen():
    X, y = simulated(300, 0)
    model = q.Probabilistic(DecisionTreeRegressor()).fit(X, y)
    assert model.score(X, y) > 0.999
    assert np.all(model.predict_dist(X).std > 1.0)


def test_the_true_law_is_nearly_found():
    X, y = simulated(1000, 0)
    X_test, y_test = simulated(2000, 1)
    model = q.Probabilistic().fit(X, y)
    truth = stats.norm.logpdf(y_test, 2 * X_test[:, 0] - X_test[:, 1]).mean()
    assert truth - 0.03 < model.log_score(X_test, y_test) <= truth + 0.005
    np.testing.assert_allclose(model.predict_dist(X_test).std.mean(), 1.0, rtol=0.05)


def test_scaled_residuals_follow_the_noise():
    X, y = simulated(600, 0, "scaled")
    X_test, y_test = simulated(4000, 1, "scaled")
    same = q.Probabilistic(random_state=0).fit(X, y)
    scaled = q.Probabilistic(spread="scaled", random_state=0).fit(X, y)
    assert scaled.log_score(X_test, y_test) > same.log_score(X_test, y_test) + 0.3
    assert stats.spearmanr(scaled.predict_dist(X_test).std, X_test[:, 0]).statistic > 0.9

    def coverage(model, side):
        rows = side * X_test[:, 0] > 1
        return q.score.coverage(model.predict_dist(X_test[rows]), y_test[rows], level=0.8)

    # One size for all holds nearly everything where there is little noise, and too little where there is much.
    assert coverage(same, -1) > 0.97
    assert coverage(same, 1) < 0.65
    for side in (-1, 1):
        assert abs(coverage(scaled, side) - 0.8) < 0.1


def test_scaled_costs_little_where_the_noise_is_the_same():
    X, y = simulated(400, 0)
    X_test, y_test = simulated(2000, 1)
    same = q.Probabilistic(random_state=0).fit(X, y).log_score(X_test, y_test)
    assert q.Probabilistic(spread="scaled", random_state=0).fit(X, y).log_score(X_test, y_test) > same - 0.05


def test_skewed_residuals_stay_skewed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 1)), rng.exponential(size=500)
    dist = q.Probabilistic().fit(X, y).predict_dist(X[:1])
    low, middle, high = dist.quantile([0.05, 0.5, 0.95])[0]
    assert high - middle > 2 * (middle - low)


def test_the_mean_is_the_estimators_own_up_to_the_mean_residual():
    X, y = load_diabetes(return_X_y=True)
    model = q.Probabilistic(Ridge()).fit(X, y)
    shift = model.predict(X) - Ridge().fit(X, y).predict(X)
    np.testing.assert_allclose(shift, shift[0], atol=1e-9)
    assert abs(shift[0]) < 1.0


def test_repeated_values_of_y_are_not_spikes():
    """Six grades, and an estimator that is often exactly right: no density is narrower than a grade allows."""
    rng = np.random.default_rng(0)
    X = rng.integers(3, 9, (300, 1)).astype(float)
    y = np.where(rng.random(300) < 0.9, X[:, 0], rng.integers(3, 9, 300))
    for spread in ("constant", "scaled"):
        model = q.Probabilistic(DecisionTreeRegressor(), spread=spread, random_state=0).fit(X, y)
        assert np.max(model.predict_dist(X).log_prob(y)) < np.log(1.5)


def test_a_constant_is_not_known_for_sure():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for spread in ("constant", "scaled"):
        model = q.Probabilistic(spread=spread, random_state=0).fit(X, np.full(20, 7.0))
        np.testing.assert_allclose(model.predict(X), 7.0)
        assert np.all(np.abs(model.predict_dist(X).log_prob(7.0)) < 5)


# Classification


def naive(estimator, X):
    """What the scores say, taken for logarithms of probabilities."""
    if hasattr(estimator, "predict_proba"):
        return Categorical(estimator.predict_proba(X), estimator.classes_)
    margins = estimator.decision_function(X)
    margins = np.stack([-margins, margins], axis=1) if margins.ndim == 1 else margins
    p = np.exp(margins - margins.max(axis=1, keepdims=True))
    return Categorical(p / p.sum(axis=1, keepdims=True), estimator.classes_)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(random_state=0),
        KNeighborsClassifier(5),
        RidgeClassifier(),
        LinearSVC(random_state=0),
        Perceptron(random_state=0),
        GaussianNB(),
        DecisionTreeClassifier(random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_calibrated_scores_beat_naive_ones(estimator, n_classes):
    ours, theirs, error, right, right_before = np.mean(
        [_compared(estimator, n_classes, s) for s in range(3)], axis=0
    )
    assert np.isfinite(ours)
    assert ours > theirs - 0.005
    assert ours > -np.log(n_classes)  # better than to say nothing
    assert error < 0.08
    assert right > right_before - 0.03


def _compared(estimator, n_classes, seed):
    X, X_test, y, y_test = overlapping(300, seed, n_classes)
    model = q.Probabilistic(estimator, random_state=seed).fit(X, y)
    fitted = model.member_.estimator
    with np.errstate(divide="ignore"):
        theirs = q.score.log_score(naive(fitted, X_test), y_test)
    error = q.score.calibration_error(model.predict_dist(X_test), y_test)
    right = model.score(X_test, y_test), np.mean(fitted.predict(X_test) == y_test)
    return model.log_score(X_test, y_test), theirs, error, *right


class Decides(ClassifierMixin, BaseEstimator):
    """Says a class, and nothing more."""

    def fit(self, X, y):
        self.classes_, self.fitted_ = np.unique(y), GaussianNB().fit(X, y)
        return self

    def predict(self, X):
        return self.fitted_.predict(X)


def test_a_mere_decision_becomes_a_share():
    """A row said to be of a class gets about the frequency with which that is so."""
    X, X_test, y, y_test = overlapping(500, 0)
    model = q.Probabilistic(Decides()).fit(X, y)
    said = model.member_.estimator.predict(X_test)
    proba = model.predict_proba(X_test)
    for k in range(3):
        assert len(np.unique(proba[said == k].round(12), axis=0)) == 1
        np.testing.assert_allclose(
            proba[said == k][0], np.bincount(y_test[said == k], minlength=3) / np.sum(said == k), atol=0.1
        )


def test_margins_of_every_shape():
    X, X_test, y, y_test = overlapping(200, 0, 4)
    for shape in ("ovo", "ovr"):
        model = q.Probabilistic(SVC(decision_function_shape=shape)).fit(X, y)
        assert model.log_score(X_test, y_test) > -np.log(4)


@pytest.mark.parametrize(
    "estimator", [SVC(), SVC(decision_function_shape="ovo"), KNeighborsClassifier(3), Decides()], ids=repr
)
def test_folds_that_lack_classes(estimator):
    """Rows in the order of their classes, cut as they stand: what a fold never saw is held to be least likely."""
    X, X_test, y, y_test = overlapping(300, 0, 4)
    order = np.argsort(y, kind="stable")
    for cv in (KFold(3), TimeSeriesSplit(3)):
        model = q.Probabilistic(estimator, cv=cv).fit(X[order], y[order])
        assert np.isfinite(model.log_score(X_test, y_test))
    two = order[y[order] < 2]
    with pytest.raises(ValueError, match=r"holds one class only.*StratifiedKFold"):
        q.Probabilistic(estimator, cv=[(two[y[two] == 0], two[y[two] == 1])]).fit(X, y)


def test_many_classes_cost_no_accuracy():
    """Few rows find the slope that all classes share, not one for each pair of them."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:100], rows[100:]
    model = q.Probabilistic(SVC()).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > model.member_.estimator.score(X[test], y[test]) - 0.03
    theirs = CalibratedClassifierCV(SVC()).fit(X[train], y[train]).predict_proba(X[test])
    assert model.log_score(X[test], y[test]) > -log_loss(y[test], theirs)


def test_a_splitter_without_a_seed_gets_ours():
    X, y = simulated(60, 0)
    cv = KFold(3, shuffle=True)
    one, two, other = (q.Probabilistic(cv=cv, random_state=s).fit(X, y).member_.residuals for s in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert cv.random_state is None


def test_a_class_of_one_row_has_the_share_of_one_row():
    """Nobody could learn it from the others, so no margin speaks for it: 1/n."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(41, 2)), np.array(["ash", "birch"] * 20 + ["yew"])
    for estimator in (SVC(), KNeighborsClassifier(3), GaussianNB(), RidgeClassifier()):
        model = q.Probabilistic(estimator).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 2], 1 / 41, rtol=1e-9)
        assert np.isfinite(model.log_score(X, y))
    w = np.append(np.ones(40), 10.0)
    np.testing.assert_allclose(
        q.Probabilistic(GaussianNB()).fit(X, y, w).predict_proba(X)[:, 2], 0.2, rtol=1e-9
    )


def test_classes_of_one_row_each_have_their_frequencies():
    X, y = np.arange(3.0)[:, None], np.array(["ash", "birch", "cedar"])
    np.testing.assert_allclose(
        q.Probabilistic(KNeighborsClassifier(1)).fit(X, y).predict_proba(X), np.full((3, 3), 1 / 3)
    )
    model = q.Probabilistic(GaussianNB()).fit(X, y, sample_weight=[1.0, 2.0, 1.0])
    np.testing.assert_allclose(model.predict_proba(X), [[0.25, 0.5, 0.25]] * 3)


def test_a_class_that_some_folds_did_not_see():
    """With splits of one's own, a fold may lack a class: it is scored as the least likely there."""
    X, y = load_iris(return_X_y=True)
    for estimator in (GaussianNB(), LinearSVC(), SVC(), Decides()):
        model = q.Probabilistic(estimator, cv=KFold(3)).fit(X, y)  # each fold holds out one class altogether
        assert np.all(np.isfinite(model.predict_proba(X)))
        assert model.predict_proba(X).shape == (150, 3)


def test_a_frozen_model_is_calibrated_as_it_is():
    X, X_test, y, y_test = overlapping(300, 0)
    labels = np.array(["ash", "birch", "cedar"])
    frozen = GaussianNB().fit(X[:100] * [9, 1, 1, 1, 1, 1], labels[y[:100]])
    model = q.Probabilistic(FrozenEstimator(frozen)).fit(X[100:], labels[y[100:]])
    assert model.member_.estimator.estimator is not None
    raw = Categorical(frozen.predict_proba(X_test), labels)
    assert model.log_score(X_test, labels[y_test]) > q.score.log_score(raw, labels[y_test])


def test_no_warning_from_hard_calibrations():
    """Separable classes, scores that say nothing, scores of one value."""
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat([0, 1], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for features in (X, 1e6 * X, 1e-300 * X, 0 * X):
            for estimator in (RidgeClassifier(), KNeighborsClassifier(1), DecisionTreeClassifier()):
                assert np.isfinite(
                    q.Probabilistic(estimator).fit(features + 0 * y[:, None], y).log_score(features, y)
                )


# Folds


def test_equal_rows_share_a_fold():
    """A nearest neighbour would find the copy of every row, were it left in."""
    X, y = simulated(100, 0)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    dist = q.Probabilistic(KNeighborsRegressor(1)).fit(X, y).predict_dist(X)
    assert np.all(dist.std > 1.0)


@pytest.mark.parametrize(
    "cv",
    [
        2,
        10,
        None,
        KFold(4, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(5, random_state=0),
        LeaveOneOut(),
        [(np.arange(20), np.arange(20, 60)), (np.arange(20, 60), np.arange(20))],
        [(np.arange(60) % 2 == 0, np.arange(60) % 2 == 1)],
    ],
    ids=lambda cv: f"{cv!r:.20}",
)
@pytest.mark.parametrize("spread", ["constant", "scaled"])
def test_folds_of_every_kind(cv, spread):
    X, y = simulated(60, 0)
    model = q.Probabilistic(cv=cv, spread=spread, random_state=0).fit(X, y)
    assert abs(np.log(model.predict_dist(X).std.mean())) < 1.0
    labels = np.digitize(y, [-1, 1])
    classifier = q.Probabilistic(GaussianNB(), cv=cv).fit(X, labels)
    assert classifier.log_score(X, labels) > -np.log(3)


def patients(n_groups, size, seed):
    """Rows of a group are alike: they share x, but for a little, and what y has beside it."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(n_groups), size))
    own_x, own_y = rng.normal(size=n_groups), 3 * rng.normal(size=n_groups)
    X = own_x[groups, None] + 1e-6 * rng.normal(size=(len(groups), 1))
    return X, own_x[groups] + own_y[groups] + 0.1 * rng.normal(size=len(groups)), groups


def test_a_group_shares_a_fold():
    """A nearest neighbour would find another row of the same patient, were it left in."""
    X, y, groups = patients(40, 5, 0)
    new_X, new_y, _ = patients(200, 1, 1)
    honest = q.Probabilistic(KNeighborsRegressor(3)).fit(X, y, groups=groups)
    vain = q.Probabilistic(KNeighborsRegressor(3)).fit(X, y)
    assert q.score.coverage(vain.predict_dist(new_X), new_y, level=0.8) < 0.3
    assert 0.7 < q.score.coverage(honest.predict_dist(new_X), new_y, level=0.8) < 0.9


def test_groups_are_what_they_hold():
    """Neither the labels nor the order of rows matter, and rows of no weight are not there."""
    X, y, groups = patients(12, 4, 0)
    labels, order = np.array(list("lkjihgfedcba"))[groups], np.random.default_rng(0).permutation(len(y))
    model = q.Probabilistic().fit(X, y, groups=groups)
    other = q.Probabilistic().fit(X[order], y[order], groups=labels[order].tolist())
    np.testing.assert_allclose(np.sort(model.member_.residuals), np.sort(other.member_.residuals), rtol=1e-12)
    w = (groups != 3).astype(float)
    weighted, removed = (
        q.Probabilistic().fit(X, y, w, groups=groups),
        q.Probabilistic().fit(X[w > 0], y[w > 0], groups=groups[w > 0]),
    )
    np.testing.assert_array_equal(weighted.member_.residuals, removed.member_.residuals)


def test_groups_go_to_splitters_and_come_by_metadata_routing():
    X, y, groups = patients(12, 4, 0)
    splits = list(GroupKFold(3).split(X, y, groups))
    by_splitter = q.Probabilistic(cv=GroupKFold(3)).fit(X, y, groups=groups)
    by_list = q.Probabilistic(cv=splits).fit(X, y)
    np.testing.assert_array_equal(by_splitter.member_.residuals, by_list.member_.residuals)
    with config_context(enable_metadata_routing=True):
        asks = q.Probabilistic(cv=GroupKFold(3)).set_fit_request(groups=True)
        search = GridSearchCV(asks, {"spread": ["constant"]}, cv=GroupKFold(2)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(search.best_estimator_.member_.residuals, by_splitter.member_.residuals)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.zeros(60), "groups has one label only"),
        (np.zeros(59), r"one label for each of the 60 rows of X, got shape \(59,\)"),
        (np.where(np.arange(60) == 7, np.nan, 1.0), "no label for row 7"),
        (np.array(["a"] * 30 + [1] * 30, dtype=object), "groups mixes labels of different types"),
    ],
)
def test_groups_that_are_none(groups, message):
    with pytest.raises(ValueError, match=message):
        q.Probabilistic().fit(*simulated(60, 0), groups=groups)


def test_residuals_are_those_of_the_splits():
    X, y = simulated(40, 0)
    splits = list(KFold(4).split(X))
    model = q.Probabilistic(cv=splits).fit(X, y)
    unseen = np.concatenate([y[b] - LinearRegression().fit(X[a], y[a]).predict(X[b]) for a, b in splits])
    np.testing.assert_allclose(np.sort(model.member_.residuals), np.sort(unseen), rtol=1e-12)
    np.testing.assert_allclose(model.member_.estimator.coef_, LinearRegression().fit(X, y).coef_)


def test_a_list_of_splits_means_rows_of_the_table_that_was_given():
    """Also where rows of no weight are left out."""
    X, y = simulated(40, 0)
    w = np.where(np.arange(40) % 3 == 0, 0.0, 1.0)
    there = np.flatnonzero(w)
    splits = list(KFold(4).split(X))
    model = q.Probabilistic(cv=splits).fit(X, y, w)
    moved = [tuple(np.flatnonzero(np.isin(there, part)) for part in split) for split in splits]
    same = q.Probabilistic(cv=moved).fit(X[there], y[there])
    np.testing.assert_array_equal(model.predict_quantile(X, [0.1, 0.9]), same.predict_quantile(X, [0.1, 0.9]))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "The 'cv' parameter of Probabilistic must be"),
        ("five", "The 'cv' parameter of Probabilistic must be"),
        ([(np.arange(30), np.arange(30, 61))], "cv names row 60, but X has 60 rows, from 0 to 59"),
        ([(np.arange(-1, 30), np.arange(30, 60))], "cv names row -1"),
        ([(np.arange(60), [])], "cv leaves no rows to learn from, or none to speak of"),
        ([], "cv leaves no rows"),
        (GroupKFold(2), "groups"),
        (KFold(61), "61"),
    ],
    ids=lambda value: f"{value!r:.20}",
)
def test_folds_that_are_none(cv, message):
    X, y = simulated(60, 0)
    with pytest.raises(ValueError, match=message):
        q.Probabilistic(cv=cv).fit(X, y)


# Few rows


@pytest.mark.parametrize("n", range(2, 11))
@pytest.mark.parametrize("spread", ["constant", "scaled"])
def test_few_rows(n, spread):
    X, y = simulated(n, n)
    model = q.Probabilistic(Ridge(), spread=spread, random_state=0).fit(X, y)
    dist = model.predict_dist(X)
    assert np.all(np.isfinite(dist.log_prob(y)))
    assert np.all(np.isfinite(model.predict_interval(X)))


@pytest.mark.parametrize("n", range(2, 11))
def test_few_rows_of_classes(n):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 3, n)
    for estimator in (RidgeClassifier(), KNeighborsClassifier(1), DecisionTreeClassifier()):
        model = q.Probabilistic(estimator, random_state=0).fit(X, y)
        assert np.isfinite(model.log_score(X, y))


@pytest.mark.parametrize("copies", [1, 4])
def test_one_row_and_copies_of_it_are_too_few(copies):
    with pytest.raises(
        ValueError, match=r"there is 1 sample, and copies of it.*give at least 2 different rows"
    ):
        q.Probabilistic().fit(np.ones((copies, 2)), np.ones(copies))


# In good company


def test_a_model_is_seen_by_its_face():
    classifier, regressor = q.Probabilistic(SVC()), q.Probabilistic(SVR())
    assert hasattr(classifier, "predict_proba")
    assert not hasattr(classifier, "predict_interval")
    assert not hasattr(classifier, "predict_quantile")
    assert not hasattr(regressor, "predict_proba")
    assert hasattr(regressor, "predict_interval")


def test_wrapped_twice():
    X, y = simulated(100, 0)
    model = q.Probabilistic(q.Probabilistic(LinearRegression())).fit(X, y)
    assert abs(model.predict_dist(X).std.mean() - 1.0) < 0.2


def test_it_sits_on_a_committee():
    X, y = load_iris(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = q.BaggingClassifier(q.Probabilistic(LinearSVC()), n_estimators=5, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.85
    assert np.isfinite(model.log_score(X_test, y_test))


def test_the_estimator_is_seeded():
    """Every random_state inside comes from the one outside, and the estimator that was given stays as it was."""

    class Noisy(RegressorMixin, BaseEstimator):
        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X, y):
            self.constant_ = np.random.default_rng(self.random_state).normal()
            return self

        def predict(self, X):
            return np.full(len(X), self.constant_)

    X, y = simulated(30, 0)
    noisy = Noisy()
    one, two, other = (q.Probabilistic(noisy, random_state=s).fit(X, y).predict(X[:1]) for s in (0, 0, 1))
    assert one == two != other
    assert noisy.random_state is None
    assert not hasattr(noisy, "constant_")


def test_margins_of_a_linear_model_are_calibrated_to_its_own_probabilities():
    """Logistic regression is calibrated already: nearly nothing is to be done."""
    X, X_test, y, _ = overlapping(600, 0, 2)
    model = q.Probabilistic(LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(
        model.predict_proba(X_test), LogisticRegression().fit(X, y).predict_proba(X_test), atol=0.05
    )
