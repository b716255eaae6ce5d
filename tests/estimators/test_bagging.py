"""Bagging: what it draws, what it adds up to, and that it pays."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification, make_friedman1
from sklearn.ensemble import BaggingClassifier as TheirBagging
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q

TREE = DecisionTreeClassifier(max_depth=3)


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, flip_y=0.15, random_state=0)
    return train_test_split(X, np.array(["ash", "birch", "cedar"])[y], test_size=0.5, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    return train_test_split(X, y, test_size=0.5, random_state=0)


# What pays


def test_bagged_trees_beat_a_tree(classes):
    X, X_test, y, y_test = classes
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    model = q.BaggingClassifier(n_estimators=50, random_state=0).fit(X, y)
    theirs = TheirBagging(n_estimators=50, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > tree.score(X_test, y_test) + 0.03
    assert abs(model.score(X_test, y_test) - theirs.score(X_test, y_test)) < 0.05


def test_bagged_trees_have_less_variance():
    """Averaging takes variance off and leaves the bias."""

    def draw(rng):
        X = rng.uniform(size=(80, 2))
        return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=80)

    alone = q.bias_variance(DecisionTreeRegressor(), draw=draw, n_rounds=10, random_state=0)
    tree = q.Probabilistic(DecisionTreeRegressor(), cv=2)
    bagged = q.bias_variance(q.BaggingRegressor(tree, n_estimators=8), draw=draw, n_rounds=10, random_state=0)
    assert bagged.variance < 0.6 * alone.variance
    assert bagged.bias < 1.3 * alone.bias


def test_the_answer_has_members_that_disagree_where_there_is_little_to_go_by(numbers):
    X, X_test, y, _ = numbers
    model = q.BaggingRegressor(BayesianRidge(), n_estimators=20, random_state=0).fit(X, y)
    near, far = model.predict_dist(X_test).uncertainty(), model.predict_dist(X_test + 10).uncertainty()
    assert far.between.mean() > 20 * near.between.mean()
    assert np.all(far.within >= 0.9 * near.within)


def test_a_regression_committee_is_honest(numbers):
    X, X_test, y, y_test = numbers
    tree = q.Probabilistic(DecisionTreeRegressor(min_samples_leaf=5))
    model = q.BaggingRegressor(tree, n_estimators=20, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.65
    assert 0.8 < q.score.coverage(model.predict_dist(X_test), y_test, level=0.8) <= 1.0
    assert model.log_score(X_test, y_test) > tree.fit(X, y).log_score(X_test, y_test)


# Draws


def test_every_member_sees_its_own_rows(classes):
    X, _, y, _ = classes
    model = q.BaggingClassifier(n_estimators=10, random_state=0).fit(X, y)
    answers = {m.predict_dist(X).probs.tobytes() for m in model.committee_.members}
    assert len(answers) == 10


@pytest.mark.parametrize(("size", "n"), [(0.5, 75), (40, 40), (1.0, 150)])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_max_samples(classes, size, n, bootstrap):
    X, _, y, _ = classes
    knn = KNeighborsClassifier(1)
    model = q.BaggingClassifier(
        knn, n_estimators=3, max_samples=size, bootstrap=bootstrap, random_state=0
    ).fit(X, y)
    assert [e.n_samples_fit_ for e in model.estimators_] == [n] * 3
    repeats = [len(e._fit_X) - len(np.unique(e._fit_X, axis=0)) for e in model.estimators_]
    assert (max(repeats) > 0) == bootstrap


def test_members_that_see_one_row_each_say_its_class(classes):
    X, _, y, _ = classes
    model = q.BaggingClassifier(n_estimators=600, max_samples=1, random_state=0).fit(X, y)
    shares = np.unique(y, return_counts=True)[1] / len(y)
    np.testing.assert_allclose(model.predict_proba(X[:2]), [shares, shares], atol=0.07)


@pytest.mark.parametrize(("size", "n"), [(0.5, 3), (2, 2), (0.01, 1), (1.0, 6), (6, 6)])
def test_max_features(classes, size, n):
    X, X_test, y, _ = classes
    model = q.BaggingClassifier(TREE, n_estimators=8, max_features=size, random_state=0).fit(X, y)
    seen = [getattr(m, "columns", np.arange(6)) for m in model.committee_.members]
    assert all(len(columns) == len(set(columns)) == n and np.all(np.diff(columns) > 0) for columns in seen)
    assert (len({tuple(columns) for columns in seen}) > 1) == (n < 6)
    assert model.predict(X_test).shape == (150,)


def test_bootstrap_features_may_draw_a_column_twice(classes):
    X, _, y, _ = classes
    model = q.BaggingClassifier(TREE, n_estimators=8, bootstrap_features=True, random_state=0).fit(X, y)
    assert all(len(m.columns) == 6 for m in model.committee_.members)
    assert any(len(set(m.columns)) < 6 for m in model.committee_.members)


def test_random_subspaces_of_all_rows(classes):
    """Ho's method: every member sees all rows and half of the columns."""
    X, X_test, y, y_test = classes
    model = q.BaggingClassifier(bootstrap=False, max_features=0.5, n_estimators=30, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > DecisionTreeClassifier(random_state=0).fit(X, y).score(
        X_test, y_test
    )


def test_stratified_samples_keep_the_shares_of_the_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.array([0] * 190 + [1] * 10)
    members = {
        s: q.BaggingClassifier(GaussianNB(), 30, stratified=s, random_state=0).fit(X, y).estimators_
        for s in (True, False)
    }
    counts = {s: np.array([e.class_count_[1] for e in members[s]]) for s in members}
    np.testing.assert_array_equal(counts[True], 10.0)
    assert counts[False].std() > 1.5


def test_the_bayesian_bootstrap_shows_all_rows(classes):
    X, X_test, y, y_test = classes
    model = q.BaggingClassifier(GaussianNB(), 10, bootstrap="bayesian", random_state=0).fit(X, y)
    assert all(np.all(e.class_count_ > 0) for e in model.estimators_)
    assert len({e.theta_.tobytes() for e in model.estimators_}) == 10
    assert model.score(X_test, y_test) > 0.5


def test_the_bayesian_bootstrap_needs_members_that_take_weights(classes):
    X, _, y, _ = classes
    with pytest.raises(
        ValueError, match=r"KNeighborsClassifier takes no sample_weight.*a member that takes weights"
    ):
        q.BaggingClassifier(KNeighborsClassifier(), bootstrap="bayesian").fit(X, y)
    with pytest.raises(ValueError, match=r"weighs all rows; leave max_samples at 1\.0"):
        q.BaggingClassifier(bootstrap="bayesian", max_samples=0.5).fit(X, y)


def test_more_than_there_is(classes):
    X, _, y, _ = classes
    with pytest.raises(ValueError, match="max_samples=151 rows cannot be drawn without replacement from 150"):
        q.BaggingClassifier(bootstrap=False, max_samples=151).fit(X, y)
    with pytest.raises(ValueError, match="max_features=7 is more than the 6 columns"):
        q.BaggingClassifier(max_features=7).fit(X, y)
    assert (
        len(q.BaggingClassifier(TREE, 2, max_samples=500).fit(X, y).estimators_) == 2
    )  # with replacement it can


@pytest.mark.parametrize(
    "bad",
    [
        {"n_estimators": 0},
        {"n_estimators": 2.5},
        {"max_samples": 0},
        {"max_samples": 1.5},
        {"max_samples": -0.5},
        {"max_features": 0.0},
        {"max_features": "sqrt"},
        {"bootstrap": "frequentist"},
        {"rule": "loudest"},
        {"random_state": "lucky"},
        {"n_jobs": 0.5},
        {"oob_score": "yes"},
    ],
    ids=str,
)
def test_bad_parameters(classes, bad):
    X, _, y, _ = classes
    (name,) = bad
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BaggingClassifier must be"):
        q.BaggingClassifier(**bad).fit(X, y)


def test_no_jobs_and_negative_seeds(classes):
    X, _, y, _ = classes
    with pytest.raises(ValueError, match="n_jobs must not be 0; use 1"):
        q.BaggingClassifier(n_jobs=0).fit(X, y)
    with pytest.raises(ValueError, match="The 'random_state' parameter"):
        q.BaggingClassifier(random_state=-1).fit(X, y)


# Out of bag


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"max_samples": 0.5},
        {"bootstrap": False, "max_samples": 0.6},
        {"stratified": True},
        {"rule": "majority"},
    ],
    ids=str,
)
def test_out_of_bag_is_nearly_as_good_as_a_test(classes, how):
    X, X_test, y, y_test = classes
    model = q.BaggingClassifier(n_estimators=40, oob_score=True, random_state=0, **how).fit(X, y)
    np.testing.assert_array_equal(model.oob_rows_, np.arange(150))
    assert model.oob_score_ == pytest.approx(np.mean(model.oob_dist_.mode == y))
    assert abs(model.oob_score_ - model.score(X_test, y_test)) < 0.1
    assert model.oob_score_ < model.score(X, y) - 0.1


def test_out_of_bag_of_numbers(numbers):
    X, X_test, y, y_test = numbers
    tree = q.Probabilistic(DecisionTreeRegressor(min_samples_leaf=3), cv=3)
    model = q.BaggingRegressor(tree, n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    assert abs(model.oob_score_ - model.score(X_test, y_test)) < 0.12
    assert model.oob_score_ < model.score(X, y) - 0.1
    log_score = q.score.log_score(model.oob_dist_, y[model.oob_rows_])
    assert abs(log_score - model.log_score(X_test, y_test)) < 0.25


def test_out_of_bag_is_what_members_say_of_rows_they_did_not_see(classes):
    """By hand: nearest neighbours know their rows."""
    X, _, y, _ = classes
    model = q.BaggingClassifier(KNeighborsClassifier(3), 15, oob_score=True, random_state=0).fit(X, y)
    rows = {row.tobytes(): i for i, row in enumerate(X)}
    table = np.zeros((len(y), 3))
    for e in model.estimators_:
        seen = {rows[row.tobytes()] for row in e._fit_X}
        unseen = [i for i in range(len(y)) if i not in seen]
        table[unseen] += e.predict_proba(X[unseen])
    table = table[model.oob_rows_]
    np.testing.assert_allclose(model.oob_dist_.probs, table / table.sum(axis=1, keepdims=True), rtol=1e-12)


def test_out_of_bag_receipts(classes, numbers):
    for model, (X, _, y, _) in (
        (q.BaggingClassifier(LogisticRegression(), 15), classes),
        (q.BaggingRegressor(BayesianRidge(), 15), numbers),
    ):
        model.set_params(oob_score=True, random_state=0).fit(X, y)
        assert model.receipts_.keys() == {"oob_squared_error", "oob_log_loss"}
        for receipt in model.receipts_.values():
            assert receipt.gap <= 1e-12 * max(1.0, abs(receipt.members))
            assert receipt.ambiguity > 0


@pytest.mark.parametrize(
    "how",
    [
        {"bootstrap": False},
        {"bootstrap": "bayesian"},
        {"bootstrap": False, "max_samples": 150},
        {"bootstrap": False, "max_samples": 0.999},
        {"bootstrap": False, "max_samples": 0.999, "stratified": True},
    ],
    ids=str,
)
def test_out_of_bag_is_refused_where_no_row_is_left_out(classes, how):
    X, _, y, _ = classes
    with pytest.raises(
        ValueError, match=r"leaves none out; use bootstrap=True, or bootstrap=False with max_samples below"
    ):
        q.BaggingClassifier(oob_score=True, **how).fit(X, y)


def test_rows_that_every_member_saw_have_no_out_of_bag_answer(classes):
    X, _, y, _ = classes
    with pytest.warns(UserWarning, match=r"\d+ of 150 rows were seen by every member.*more estimators"):
        model = q.BaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(X, y)
    assert len(model.oob_dist_) == len(model.oob_rows_) < 150


def test_nobody_left_out():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    with pytest.warns(UserWarning, match="4 of 4 rows were seen by every member"):
        model = q.BaggingClassifier(n_estimators=1, max_samples=200, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_dist_ is None
    assert len(model.oob_rows_) == 0
    assert model.receipts_ == {}


def test_out_of_bag_rows_are_rows_of_the_table_that_was_given(classes):
    X, _, y, _ = classes
    w = np.where(np.arange(150) % 3 == 0, 0.0, 1.0)
    model = q.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(model.oob_rows_, np.flatnonzero(w))
    assert model.oob_score_ == pytest.approx(np.mean(model.oob_dist_.mode == y[model.oob_rows_]))


def test_a_copy_of_a_row_counts_as_the_row_out_of_bag(classes):
    X, _, y, _ = classes
    w = np.where(np.arange(150) % 2 == 0, 2.0, 1.0)
    model = q.BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).fit(X, y, sample_weight=w)
    truth = model.oob_dist_.mode == y[model.oob_rows_]
    assert model.oob_score_ == pytest.approx(np.average(truth, weights=w[model.oob_rows_]))


def noise(n):
    """Columns that say nothing of y: nobody is right out of bag, but by chance."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


@pytest.mark.filterwarnings("ignore:Since KNeighborsClassifier does not appear to accept sample_weight")
@pytest.mark.parametrize(
    "member",
    [DecisionTreeClassifier(), CalibratedClassifierCV(KNeighborsClassifier(1), ensemble=False, cv=3)],
    ids=lambda e: type(e).__name__,
)
def test_out_of_bag_rows_are_not_shown_to_anybody(member):
    """Not even to estimators that take weights and do something else with the rows."""
    X, y = noise(200)
    model = q.BaggingClassifier(member, n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    assert abs(model.oob_score_ - 0.5) < 0.12


@pytest.mark.filterwarnings("ignore:.*were seen by every member")
def test_copies_of_a_row_were_seen_where_the_row_was():
    X, y = noise(200)
    model = q.BaggingClassifier(KNeighborsClassifier(1), 30, oob_score=True, random_state=0)
    weighted = model.fit(X, y, sample_weight=np.full(200, 3)).oob_score_
    assert abs(weighted - 0.5) < 0.12
    assert model.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3)).oob_score_ == pytest.approx(weighted)


def test_a_warm_start_on_other_rows_knows_not_who_saw_them():
    X, y = noise(200)
    model = q.BaggingClassifier(n_estimators=9, warm_start=True, random_state=0).fit(X[:150], y[:150])
    again = clone(model).set_params(oob_score=True, n_estimators=40).fit(X, y)
    for other in ((X, y), (X[:150], y[:150], np.arange(150) % 2 + 1)):
        with pytest.raises(ValueError, match=r"learned from other rows \(or weights\); use warm_start=False"):
            model.set_params(n_estimators=40, oob_score=True).fit(*other)
    order = np.random.default_rng(0).permutation(200)
    again.set_params(n_estimators=50).fit(
        X[order], y[order]
    )  # the same rows in another order are the same rows
    assert abs(again.oob_score_ - 0.5) < 0.12


def test_another_fit_forgets_what_was_out_of_bag(classes):
    X, _, y, _ = classes
    model = q.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    model.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]


# Warm starts


@pytest.mark.parametrize("how", [{}, {"max_features": 0.5}, {"bootstrap": "bayesian"}], ids=str)
def test_five_and_five_are_ten(classes, how):
    X, X_test, y, _ = classes
    warm = q.BaggingClassifier(TREE, n_estimators=5, warm_start=True, random_state=0, **how).fit(X, y)
    first = warm.estimators_
    warm.set_params(n_estimators=10).fit(X, y)
    at_once = q.BaggingClassifier(TREE, n_estimators=10, random_state=0, **how).fit(X, y)
    np.testing.assert_array_equal(warm.predict_proba(X_test), at_once.predict_proba(X_test))
    assert warm.estimators_[:5] == first


def test_five_and_five_are_ten_out_of_bag(classes):
    X, _, y, _ = classes
    warm = q.BaggingClassifier(TREE, n_estimators=20, warm_start=True, random_state=0).fit(X, y)
    warm.set_params(n_estimators=40, oob_score=True).fit(X, y)
    at_once = q.BaggingClassifier(TREE, n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_array_equal(warm.oob_dist_.probs, at_once.oob_dist_.probs)


def test_a_warm_start_keeps_its_seed(classes):
    X, X_test, y, _ = classes
    model = q.BaggingClassifier(TREE, n_estimators=3, warm_start=True).fit(X, y)
    before = model.estimators_
    model.set_params(n_estimators=6).fit(X, y)
    assert model.estimators_[:3] == before
    assert len({e.predict_proba(X_test).tobytes() for e in model.estimators_}) > 3


def test_a_warm_start_only_adds(classes):
    X, _, y, _ = classes
    model = q.BaggingClassifier(TREE, n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 4 members"):
        model.set_params(n_estimators=3).fit(X, y)
    with pytest.warns(UserWarning, match="fits no new members"):
        model.set_params(n_estimators=4).fit(X, y)


def test_a_warm_start_needs_the_same_classes_and_columns(classes):
    X, _, y, _ = classes
    warm = q.BaggingClassifier(TREE, n_estimators=2, warm_start=True, random_state=0)
    for X_other, y_other in (
        (X[y != "ash"], y[y != "ash"]),
        (X[:, :4], y),
        (X, np.unique(y, return_inverse=True)[1]),
    ):
        model = clone(warm).fit(X, y).set_params(n_estimators=4)
        with pytest.raises(ValueError, match="needs the same classes and columns; use warm_start=False"):
            model.fit(X_other, y_other)


def test_a_cold_start_forgets(classes):
    X, X_test, y, _ = classes
    model = q.BaggingClassifier(TREE, n_estimators=3, random_state=0).fit(X, y)
    again = model.predict_proba(X_test)
    assert len(model.set_params(n_estimators=2).fit(X, y).estimators_) == 2
    np.testing.assert_array_equal(model.set_params(n_estimators=3).fit(X, y).predict_proba(X_test), again)


# In good company


def test_searches_and_pipelines(classes):
    X, X_test, y, y_test = classes
    search = GridSearchCV(
        make_pipeline(StandardScaler(), q.BaggingClassifier(TREE, n_estimators=5, random_state=0)),
        {"baggingclassifier__max_features": [0.5, 1.0], "baggingclassifier__estimator__max_depth": [1, 3]},
        cv=2,
    ).fit(X, y)
    assert search.score(X_test, y_test) > 0.5
    assert len(cross_val_score(q.BaggingRegressor(BayesianRidge(), 3), X, X[:, 0], cv=2)) == 2


def test_fits_are_not_interrupted_by_themselves(classes):
    X, _, y, _ = classes
    assert q.BaggingClassifier(TREE, 2).fit(X, y).interrupted_ is False


def test_rules_decide(classes):
    X, X_test, y, y_test = classes
    said = {}
    for rule in ("mixture", "soft", "majority", "votes"):
        model = q.BaggingClassifier(TREE, n_estimators=9, rule=rule, random_state=0).fit(X, y)
        said[rule] = model.predict(X_test)
        if rule in ("majority", "votes"):
            shares = np.stack([e.predict(X_test) for e in model.estimators_])
            counted = np.stack([(shares == k).mean(axis=0) for k in range(3)], axis=1)
            np.testing.assert_allclose(model.predict_proba(X_test), counted, rtol=1e-12)
        assert np.mean(said[rule] == y_test) > 0.5
    np.testing.assert_array_equal(said["mixture"], said["soft"])
    np.testing.assert_array_equal(said["majority"], said["votes"])
    assert np.any(said["mixture"] != said["majority"])


def test_no_warning_on_a_real_table():
    X, y = load_breast_cancer(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = q.BaggingClassifier(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ > 0.93


def test_members_without_weights_see_repeated_rows(numbers):
    X, X_test, y, y_test = numbers
    knn = q.Probabilistic(KNeighborsRegressor(5), cv=3)
    model = q.BaggingRegressor(knn, n_estimators=5, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > 0.5
