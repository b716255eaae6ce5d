"""AdaBoost for classes and for numbers, with scikit-learn's faces."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_hastie_10_2
from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression, Perceptron
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import quorate as q
from quorate.dist import Normal
from quorate.members import Fitted, Member, Softened

STUMP = DecisionTreeClassifier(max_depth=1)


@pytest.fixture(scope="module")
def cancer():
    """(X, y, X of other rows, their y)"""
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    return X[::2], names[::2], X[1::2], names[1::2]


@pytest.fixture(scope="module", params=["reweight", "resample"])
def tasted(request, wine):
    return q.AdaBoostClassifier(n_estimators=15, how=request.param, random_state=0).fit(*wine[:2]), wine


def votes(model, X):
    """Σ_t α_t 1{h_t(x) = y}, told without the loop's means."""
    out = np.zeros((len(X), len(model.classes_)))
    for alpha, tree in zip(model.estimator_weights_, model.estimators_, strict=True):
        out += alpha * (tree.predict(X)[:, None] == np.arange(len(model.classes_)))
    return out


# what it answers


def test_the_most_probable_class_is_the_weighted_vote(tasted):
    model, (_, _, X, _) = tasted
    vote = model.classes_[votes(model, X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), vote)
    np.testing.assert_array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], vote)


def test_probabilities_are_the_log_pool(tasted):
    """Π_t p_t^{1/τ}, p_t = 1−ε_t for the class h_t decides for, ε_t/(K−1) for each other."""
    model, (_, _, X, _) = tasted
    log_p = 0.0
    for e, tree in zip(model.estimator_errors_, model.estimators_, strict=True):
        log_p = log_p + np.log(np.where(tree.predict(X)[:, None] == np.arange(3), 1 - e, e / 2))
    p = np.exp(log_p / model.temperature_)
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True), rtol=1e-9)
    for e, part in zip(model.estimator_errors_, model.explain(X).parts, strict=True):
        np.testing.assert_allclose(np.sort(part.probs[0]), [e / 2, e / 2, 1 - e], rtol=1e-9)


def test_of_equal_votes_the_first_class_wins():
    X, y = np.zeros((4, 1)), np.array(["yes", "no", "yes", "no"])
    with pytest.warns(UserWarning, match="error is 0.5, no better than guessing.*all classes are equally"):
        model = q.AdaBoostClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)
    np.testing.assert_array_equal(model.predict(X), "no")
    np.testing.assert_array_equal(model.decision_function(X), 0.0)
    np.testing.assert_array_equal(model.margins(X, y), 0.0)


def test_answers_build_no_distribution_for_each_member(tasted, monkeypatch):
    model, (_, _, X, _) = tasted
    before = model.predict_proba(X)

    def never(self, X):
        raise AssertionError("decisions are enough")

    monkeypatch.setattr(Softened, "predict_dist", never)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    model.predict(X)


def test_margins(tasted):
    model, (X, y, _, _) = tasted
    F, truth = votes(model, X), y[:, None] == model.classes_
    expected = (F[truth] - np.where(truth, -np.inf, F).max(axis=1)) / model.estimator_weights_.sum()
    np.testing.assert_allclose(model.margins(X, y), expected, atol=1e-12)
    assert np.mean(model.margins(X, y) <= 1e-12) == pytest.approx(model.receipts_["training_error"][-1])


def test_decision_function_of_two_classes(cancer):
    model = q.AdaBoostClassifier(n_estimators=10, random_state=0).fit(*cancer[:2])
    said, F = model.decision_function(cancer[2]), votes(model, cancer[2])
    np.testing.assert_allclose(said, (F[:, 1] - F[:, 0]) / model.estimator_weights_.sum(), atol=1e-12)
    np.testing.assert_array_equal(model.predict(cancer[2]), (said > 0).astype(int))


def test_decision_function_of_more_classes(tasted):
    model, (_, _, X, _) = tasted
    said = model.decision_function(X)
    assert said.shape == (len(X), 3)
    np.testing.assert_allclose(said.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[said.argmax(axis=1)], model.predict(X))


def test_stages_end_where_the_committee_is(tasted):
    model, (X, y, _, _) = tasted
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.committee_)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    scores = list(model.staged_score(X, y))
    assert scores[-1] == model.score(X, y)
    np.testing.assert_allclose(1 - np.array(scores), model.receipts_["training_error"], atol=1e-12)


# beside scikit-learn's


def hastie(n, seed):
    X, y = make_hastie_10_2(n, random_state=seed)
    return X, (y > 0).astype(int)


def test_the_same_committee_as_sklearns():
    """On rows whose best stumps have no ties."""
    X, y = hastie(600, 0)
    mine = q.AdaBoostClassifier(STUMP, n_estimators=60, random_state=0).fit(X, y)
    its = AdaBoostClassifier(STUMP, n_estimators=60, random_state=0).fit(X, y)
    np.testing.assert_allclose(mine.estimator_errors_, its.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(2 * mine.estimator_weights_, its.estimator_weights_, rtol=1e-8)
    np.testing.assert_array_equal(mine.predict(X), its.predict(X))


def test_the_same_committee_of_more_classes(wine):
    X, y, other, _ = wine
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    mine = q.AdaBoostClassifier(tree, n_estimators=8, random_state=0).fit(X, y)
    its = AdaBoostClassifier(tree, n_estimators=8, random_state=0).fit(X, y)
    assert np.mean(mine.predict(other) == its.predict(other)) > 0.95


@pytest.mark.slow
def test_the_simulation_of_the_elements_of_statistical_learning():
    """Section 10.1: a stump alone errs on nearly half of the rows, 400 of them on few; as scikit-learn's do."""
    X, y = hastie(12000, 1)
    learn, ask = slice(0, 2000), slice(2000, None)
    mine = q.AdaBoostClassifier(n_estimators=400, random_state=0).fit(X[learn], y[learn])
    its = AdaBoostClassifier(STUMP, n_estimators=400, random_state=0).fit(X[learn], y[learn])
    alone = 1 - next(mine.staged_score(X[ask], y[ask]))
    errors = [1 - model.score(X[ask], y[ask]) for model in (mine, its)]
    assert alone > 0.4
    assert errors[0] < 0.14
    assert abs(errors[0] - errors[1]) < 0.01


# members of every kind


@pytest.mark.parametrize(
    "member",
    [SVC(), Perceptron(), make_pipeline(StandardScaler(), SVC(C=0.1)), q.BaggingClassifier(STUMP, 3)],
    ids=lambda member: type(member).__name__,
)
def test_members_need_no_probabilities(member, wine):
    X, y, other, truth = wine
    model = q.AdaBoostClassifier(member, n_estimators=5, random_state=0).fit(X, y)
    assert model.score(other, truth) > 0.6
    np.testing.assert_allclose(model.predict_proba(other).sum(axis=1), 1.0)
    told = model.receipts_
    assert np.all(told["training_error"] <= told["bound"] * (1 + 1e-9))


def test_members_that_take_no_weights(wine):
    X, y, other, truth = wine
    for member in (KNeighborsClassifier(3), make_pipeline(StandardScaler(), KNeighborsClassifier(3))):
        with pytest.raises(ValueError, match=r'takes no sample_weight.*how="resample" draws them'):
            q.AdaBoostClassifier(member).fit(X, y)
    model = q.AdaBoostClassifier(member, how="resample", n_estimators=5, random_state=0).fit(X, y)
    assert model.score(other, truth) > 0.8


def test_members_that_cannot_sit_on_it(wine):
    X, y, _, _ = wine
    with pytest.raises(
        TypeError, match="needs a classifier, and BayesianRidge is none; use AdaBoostRegressor"
    ):
        q.AdaBoostClassifier(BayesianRidge()).fit(X, y)
    with pytest.raises(TypeError, match="needs a regressor, and SVC is none; use AdaBoostClassifier"):
        q.AdaBoostRegressor(SVC()).fit(X, np.arange(len(X)))
    with pytest.raises(TypeError, match=r"wrap it: quorate.Probabilistic\(LinearRegression"):
        q.AdaBoostRegressor(LinearRegression()).fit(X, np.arange(len(X)))
    with pytest.raises(TypeError, match="FrozenEstimator learns nothing from weights"):
        q.AdaBoostClassifier(FrozenEstimator(STUMP)).fit(X, y)


def test_a_member_that_knows_all_ends_it(wine):
    X, y, _, _ = wine
    model = q.AdaBoostClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert len(model.committee_) == 1
    assert model.score(X, y) == 1
    assert model.temperature_ > 0.5  # it does not know all of rows that it has not seen
    assert model.predict_proba(X).max() < 0.999
    assert model.receipts_["bound"][-1] == model.receipts_["training_error"][-1] == 0


# temperature


def test_noise_in_the_labels_makes_it_less_sure(cancer, rng):
    X, y, other, _ = cancer
    noisy = np.where(rng.random(len(y)) < 0.2, 1 - y, y)
    clean, unsure = (q.AdaBoostClassifier(n_estimators=40, random_state=0).fit(X, v) for v in (y, noisy))
    scale = [np.abs(m.estimator_weights_).sum() / m.temperature_ for m in (clean, unsure)]
    assert np.isfinite(unsure.temperature_)
    assert scale[1] < 0.8 * scale[0]
    assert unsure.predict_proba(other).max(axis=1).mean() < clean.predict_proba(other).max(axis=1).mean()


def test_a_learned_temperature_is_better_than_none(cancer):
    X, y, other, truth = cancer
    model = q.AdaBoostClassifier(random_state=0).fit(X, y)
    learned = model.log_score(other, truth)
    p = model.committee_.predict_dist(other).log_p * model.temperature_
    plain = (p - np.logaddexp.reduce(p, axis=1)[:, None])[np.arange(len(truth)), truth].mean()
    assert learned > plain + 0.1
    assert learned > -0.25


# rules of one's own


def half_log_odds(error):
    return 0.5 * np.log((1 - error) / error)


def exponential(weights, correct, alpha):
    return weights * np.exp(np.where(correct, -alpha, alpha))


def test_the_exponential_pair_given_is_the_default(cancer):
    X, y, other, _ = cancer
    mine = q.AdaBoostClassifier(n_estimators=20, rule=(half_log_odds, exponential), random_state=0).fit(X, y)
    default = q.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    np.testing.assert_allclose(mine.estimator_weights_, default.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(mine.predict_proba(other), default.predict_proba(other), rtol=1e-5)
    assert "bound" in default.receipts_
    assert "bound" not in mine.receipts_
    assert "training_error" in mine.receipts_


def test_an_own_pair_of_equal_votes(wine):
    X, y, other, truth = wine
    rule = [lambda error: 1.0, lambda w, correct, alpha: np.where(correct, w, 2 * w)]
    model = q.AdaBoostClassifier(n_estimators=25, rule=rule, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.estimator_weights_, 1.0)
    np.testing.assert_array_equal(model.predict(other), model.classes_[votes(model, other).argmax(axis=1)])
    assert model.score(other, truth) > 0.8


@pytest.mark.parametrize("rule", [(half_log_odds,), (half_log_odds, 3), (1, 2, 3), ()])
def test_a_rule_that_is_none(wine, rule):
    with pytest.raises(
        ValueError, match=r"rule should be a pair of functions, \(member_weight\(error\), update"
    ):
        q.AdaBoostClassifier(rule=rule).fit(*wine[:2])


def test_a_rule_of_ones_own_cannot_be_saved(wine, tmp_path):
    X, y, other, _ = wine
    model = q.AdaBoostClassifier(n_estimators=3, rule=(half_log_odds, exponential), random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"functions cannot be saved.*set_params\(rule=None\)"):
        q.save(model, tmp_path / "model.quorate")
    before = model.predict_proba(other)
    q.save(model.set_params(rule=None), tmp_path / "model.quorate")
    loaded = q.load(tmp_path / "model.quorate", trust="sklearn")
    np.testing.assert_array_equal(loaded.predict_proba(other), before)


def test_a_slower_rate(wine):
    X, y, _, _ = wine
    slow, fast = (
        q.AdaBoostClassifier(n_estimators=5, learning_rate=r, random_state=0).fit(X, y) for r in (0.5, 1)
    )
    assert slow.estimator_weights_[0] == pytest.approx(0.5 * fast.estimator_weights_[0])
    assert "bound" not in slow.receipts_
    assert np.all(np.diff(fast.receipts_["bound"]) != 0)


# receipts, and where it is fitted


def test_receipts_travel(wine, tmp_path):
    model = q.AdaBoostClassifier(n_estimators=5, random_state=0).fit(*wine[:2])
    q.save(model, tmp_path / "model.quorate")
    loaded = q.load(tmp_path / "model.quorate", trust="sklearn")
    assert loaded.receipts_.keys() == {"error", "edge", "normaliser", "training_error", "bound"}
    for name, told in model.receipts_.items():
        np.testing.assert_array_equal(loaded.receipts_[name], told)
    assert loaded.temperature_ == model.temperature_


def test_the_same_bits_from_threads(wine):
    X, y, other, _ = wine
    for how in ("reweight", "resample"):
        one, four = (
            q.AdaBoostClassifier(n_estimators=10, how=how, n_jobs=n, random_state=3).fit(X, y) for n in (1, 4)
        )
        np.testing.assert_array_equal(one.predict_proba(other), four.predict_proba(other))
        assert one.temperature_ == four.temperature_


def test_an_early_end_leaves_a_committee(cancer):
    X, y, other, truth = cancer
    model = q.AdaBoostClassifier(n_estimators=100_000, random_state=0)
    model.set_callbacks(q.run.TimeBudget(0.3)).fit(X, y)
    assert model.interrupted_
    assert 1 <= len(model.committee_) == len(model.estimator_weights_) < 100_000
    assert model.score(other, truth) > 0.8


def test_whole_weights_are_rows(wine):
    X, y, other, _ = wine
    w = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    for how in ("reweight", "resample"):
        model = q.AdaBoostClassifier(n_estimators=25, how=how, random_state=0)
        a, b = model.fit(X, y, w).predict_proba(other), model.fit(X[rows], y[rows]).predict_proba(other)
        np.testing.assert_allclose(a, b, rtol=1e-9)


# numbers


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module", params=["linear", "square", "exponential"])
def measured(request, diabetes):
    model = q.AdaBoostRegressor(BayesianRidge(), n_estimators=8, loss=request.param, random_state=0)
    return model.fit(*diabetes[:2]), diabetes


def means(model, X):
    return np.stack([tree.predict(X) for tree in model.estimators_], axis=1)


def test_the_mean_is_the_weighted_mean(measured):
    model, (_, _, X, _) = measured
    w = model.estimator_weights_
    np.testing.assert_allclose(model.predict(X), means(model, X) @ w / w.sum(), rtol=1e-12)
    np.testing.assert_allclose(np.exp(model.committee_.vote.log_w), w / w.sum(), rtol=1e-12)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.committee_)
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12)


def test_the_median_is_druckers(measured):
    model, (_, _, X, _) = measured
    w, said = model.estimator_weights_, means(model, X)
    for row, answer in zip(said, model.weighted_median(X), strict=True):
        below = [w[row <= value].sum() >= w.sum() / 2 for value in row]
        assert answer == pytest.approx(min(row[below]), rel=1e-12)


def test_losses_and_votes_are_druckers(measured):
    """Told again from the members, and the rows they were taught."""
    model, (X, y, _, _) = measured
    shape = {"linear": lambda e: e, "square": np.square, "exponential": lambda e: 1 - np.exp(-e)}[model.loss]
    p = np.full(len(y), 1 / len(y))
    for t, said in enumerate(means(model, X).T):
        miss = np.abs(y - said)
        loss = shape(miss / miss.max())
        average = p @ loss
        assert model.estimator_errors_[t] == pytest.approx(average, rel=1e-9)
        beta = average / (1 - average)
        assert model.estimator_weights_[t] == pytest.approx(-np.log(beta), rel=1e-9)
        assert model.receipts_["beta"][t] == pytest.approx(beta, rel=1e-9)
        p = p * beta ** (1 - loss)
        p /= p.sum()


def test_as_good_as_sklearns(diabetes):
    X, y, other, truth = diabetes
    mine = q.AdaBoostRegressor(q.Probabilistic(LinearRegression()), n_estimators=8, random_state=0).fit(X, y)
    its = AdaBoostRegressor(LinearRegression(), n_estimators=8, random_state=0).fit(X, y)
    assert abs(mine.score(other, truth) - its.score(other, truth)) < 0.05
    assert [*mine.staged_score(other, truth)][-1] == pytest.approx(mine.score(other, truth))


class Knows(Member):
    """Says the first column, and something more."""

    def __init__(self, off):
        self.off = off

    def fit(self, X, y, sample_weight=None, rng=None):
        assert sample_weight.sum() == len(y)
        return KnowsAll(self.off)


class KnowsAll(Fitted):
    def __init__(self, off):
        self.off = off

    def predict_dist(self, X):
        return Normal(X[:, 0] + self.off, 1.0)


@pytest.mark.parametrize("off", [0.0, 1.0])
def test_where_it_ends(off):
    """A member that misses nothing ends it; one that misses all rows alike is kept only where there is no other."""
    y = np.arange(20.0)
    model = q.AdaBoostRegressor(Knows(off)).fit(y[:, None], y)
    assert len(model.committee_) == 1
    np.testing.assert_allclose(model.predict(y[:, None]), y + off)
    assert model.estimator_errors_[0] == off


def test_default_members_hold_at_least_what_they_promise(diabetes):
    """More, as they learn how unsure to be from samples with more of the rows that are hard."""
    X, y, other, truth = diabetes
    model = q.AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    inside = (model.predict_interval(other, 0.9) - truth[:, None]).prod(axis=1) <= 0
    assert inside.mean() > 0.85


def test_draws_are_not_of_one_row_only():
    """One row that is missed by far soon has nearly all of the weight; the member is taught others, too."""
    y = np.where(np.arange(30) == 3, 1e6, np.arange(30.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = q.AdaBoostRegressor(n_estimators=10, random_state=0).fit(np.arange(30.0)[:, None] ** 2, y)
    assert np.all(np.isfinite(model.predict(np.arange(30.0)[:, None])))


class Breaks:
    """A callback that ends the fit with an error after some members."""

    def __init__(self, after):
        self.left = after

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.left -= 1
        if not self.left:
            raise RuntimeError("the power is gone")

    def teardown(self, estimator, context):
        pass


@pytest.mark.parametrize("how", ["reweight", "resample"])
def test_a_fit_that_broke_goes_on_where_it_was(how, wine, tmp_path):
    """In the midst of a round, when some of its chains have their member and others have not."""
    X, y, other, _ = wine
    model = q.AdaBoostClassifier(n_estimators=12, how=how, random_state=0)
    whole = model.fit(X, y).predict_proba(other)
    kept = q.Checkpoint(tmp_path / "kept", trust="sklearn")
    with pytest.raises(RuntimeError, match="the power is gone"):
        q.AdaBoostClassifier(**model.get_params()).set_callbacks(kept, Breaks(33)).fit(X, y)
    again = q.AdaBoostClassifier(**model.get_params()).set_callbacks(
        q.Checkpoint(tmp_path / "kept", trust="sklearn")
    )
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(other), whole)
    assert not again.interrupted_
