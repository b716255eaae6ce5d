"""Who may sit on a committee, and what the others are told."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import IsolationForest, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q
from quorate.dist import Normal
from quorate.members import Fitted, Member, as_member


def table(seed=0, n=60):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, X[:, 0] + 0.3 * X[:, 1], np.array(["ash", "birch", "cedar"])[np.digitize(X[:, 0], [-0.5, 0.5])]


CLASSIFIERS = [
    KNeighborsClassifier(3),
    GaussianNB(),
    RandomForestClassifier(3, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    CalibratedClassifierCV(LinearSVC(), cv=2),
    GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
    VotingClassifier([("a", GaussianNB()), ("b", KNeighborsClassifier())], voting="soft"),
    q.Probabilistic(SVC()),
    q.BaggingClassifier(n_estimators=2),
]
REGRESSORS = [
    BayesianRidge(),
    ARDRegression(),
    GaussianProcessRegressor(alpha=0.1),
    make_pipeline(StandardScaler(), BayesianRidge()),
    make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), GaussianProcessRegressor(alpha=0.1))),
    q.Probabilistic(KNeighborsRegressor()),
    q.BaggingRegressor(n_estimators=2),
]


def name(thing):
    return repr(thing).replace("\n", "").replace(" ", "")[:60]


@pytest.mark.parametrize("member", CLASSIFIERS, ids=name)
def test_who_gives_probabilities_may_sit(member):
    X, _, y = table()
    model = q.BaggingClassifier(member, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("member", REGRESSORS, ids=name)
def test_who_gives_a_distribution_may_sit(member):
    X, y, _ = table()
    model = q.BaggingRegressor(member, n_estimators=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.isfinite(model.log_score(X, y))


@pytest.mark.parametrize(
    ("estimator", "what"),
    [
        (SVC(), "a class but no probabilities"),
        (Perceptron(), "a class but no probabilities"),
        (RidgeClassifier(), "a class but no probabilities"),
        (VotingClassifier([("a", GaussianNB())]), "a class but no probabilities"),
        (KNeighborsRegressor(), "a number but no distribution"),
        (LinearRegression(), "a number but no distribution"),
        (DecisionTreeRegressor(), "a number but no distribution"),
        (make_pipeline(StandardScaler(), SVC()), "a class but no probabilities"),
        (make_pipeline(StandardScaler(), LinearRegression()), "a number but no distribution"),
    ],
    ids=name,
)
def test_who_gives_none_is_told_of_the_wrapper(estimator, what):
    kind = type(estimator).__name__
    message = rf"{kind} predicts {what}.*wrap it: quorate\.Probabilistic\({kind}\(\.\.\.\)\)"
    with pytest.raises(TypeError, match=message):
        as_member(estimator)
    bagging = q.BaggingRegressor if "number" in what else q.BaggingClassifier
    X, numbers, classes = table()
    with pytest.raises(TypeError, match=message):
        bagging(estimator).fit(X, numbers if "number" in what else classes)


@pytest.mark.parametrize(
    "thing", [StandardScaler(), KMeans(), IsolationForest(), make_pipeline(StandardScaler())], ids=name
)
def test_who_predicts_nothing_may_not_sit(thing):
    with pytest.raises(TypeError, match="neither a classifier nor a regressor"):
        as_member(thing)


@pytest.mark.parametrize("cls", [SVC, DecisionTreeClassifier, q.Probabilistic])
def test_a_class_is_no_estimator(cls):
    with pytest.raises(TypeError, match=rf"give an instance, {cls.__name__}\(\), not the class"):
        as_member(cls)
    for committee in (q.BaggingClassifier(cls), q.BaggingRegressor(cls), q.Probabilistic(cls)):
        with pytest.raises(TypeError, match="give an instance"):
            committee.fit(*table()[:2])


@pytest.mark.parametrize("thing", ["tree", 3, None, [SVC()], ..., len], ids=name)
def test_what_is_no_estimator(thing):
    with pytest.raises(TypeError, match="neither a quorate Member nor a scikit-learn estimator"):
        as_member(thing)
    if thing is not None:
        for cls in (q.BaggingClassifier, q.BaggingRegressor, q.Probabilistic):
            with pytest.raises(ValueError, match=f"The 'estimator' parameter of {cls.__name__} must be"):
                cls(thing).fit(*table()[:2])


def test_a_committee_of_one_kind_wants_members_of_that_kind():
    X, numbers, classes = table()
    with pytest.raises(
        TypeError, match="needs a classifier, and BayesianRidge is none; use BaggingRegressor"
    ):
        q.BaggingClassifier(BayesianRidge()).fit(X, classes)
    with pytest.raises(TypeError, match="needs a regressor, and GaussianNB is none; use BaggingClassifier"):
        q.BaggingRegressor(GaussianNB()).fit(X, numbers)


def test_a_classifier_that_was_fitted_before_does_not_learn_our_codes():
    X, _, y = table()
    codes = np.unique(y, return_inverse=True)[1]
    with pytest.raises(
        ValueError, match=r"answers with \['ash', 'birch', 'cedar'\].*an estimator that can be fitted"
    ):
        as_member(FrozenEstimator(GaussianNB().fit(X, y))).fit(X, codes)


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: make_pipeline(StandardScaler(), e)])
def test_what_is_frozen_learns_nothing_from_samples(wrap):
    """It would be right on every row it was fitted on, out of bag as well."""
    X, numbers, y = table()
    with pytest.raises(TypeError, match="a FrozenEstimator learns nothing from the samples"):
        q.BaggingClassifier(wrap(FrozenEstimator(GaussianNB().fit(X, y)))).fit(X, y)
    with pytest.raises(TypeError, match="give the estimator inside it"):
        q.BaggingRegressor(wrap(FrozenEstimator(BayesianRidge().fit(X, numbers)))).fit(X, numbers)


def test_a_member_that_is_not_of_scikit_learn():
    class Mean(Member):
        def fit(self, X, y, sample_weight=None, rng=None):
            return Told(np.average(y, weights=sample_weight))

    class Told(Fitted):
        def __init__(self, mean):
            self.mean = mean

        def predict_dist(self, X):
            return Normal(np.full(len(X), self.mean), 1.0)

    X, y, _ = table()
    model = q.BaggingRegressor(Mean(), n_estimators=20, random_state=0).fit(X, y)
    assert abs(model.predict(X[:1])[0] - y.mean()) < 0.2
    assert as_member(member := Mean()) is member


# How members are taught


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it was fitted with."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_, self.rows_, self.n_ = np.unique(y), X[:, 0].copy(), len(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


class Weighed(Recorder):
    """The same, with weights."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.weight_ = sample_weight
        return self


def test_weights_are_handed_over():
    X, y, w = np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), np.array([0.5, 2.0, 0.0, 1.0])
    fitted = as_member(Weighed()).fit(X, y, w).estimator
    np.testing.assert_array_equal(fitted.weight_, [0.5, 2.0, 1.0])
    np.testing.assert_array_equal(fitted.rows_, [0, 1, 3])  # rows of no weight are not even shown
    assert as_member(Weighed()).fit(X, y).estimator.weight_ is None


def test_weights_go_to_the_last_step_where_rows_can_not_be_repeated():
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="takes no sample_weight"):
        as_member(make_pipeline(StandardScaler(), Recorder())).fit(X, y, np.array([0.5, 2.0, 0.0, 1.0]))
    pipe = as_member(make_pipeline(StandardScaler(), make_pipeline(Weighed())))
    fitted = pipe.fit(X, y, np.array([0.5, 2.0, 0.0, 1.0])).estimator
    np.testing.assert_array_equal(fitted[-1][-1].weight_, [0.5, 2.0, 1.0])
    assert fitted[0].n_samples_seen_ == 3
    assert q.BaggingClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), bootstrap="bayesian"
    ).fit(X, y)


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(SimpleImputer(), SVC()),
        make_pipeline(None, SimpleImputer(), SVC()),
        GridSearchCV(make_pipeline(SimpleImputer(), SVC()), {"svc__C": [1.0]}, cv=2),
        make_pipeline(ColumnTransformer([("impute", SimpleImputer(), slice(0, 3))]), SVC()),
    ],
    ids=name,
)
def test_missing_values_reach_those_who_take_them(estimator):
    X, _, y = table()
    X[0, 0] = np.nan
    assert q.Probabilistic(estimator).fit(X, y).score(X, y) > 0.7
    assert q.BaggingClassifier(q.Probabilistic(estimator), 2).fit(X, y).predict_proba(X).shape == (len(y), 3)
    with pytest.raises(ValueError, match="column 0, row 0"):
        q.Probabilistic(make_pipeline(StandardScaler(), Normalizer(), SVC())[1:]).fit(X, y)


def test_whole_weights_repeat_rows_where_they_can_not_be_handed_over():
    X, y, w = np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), np.array([1.0, 3.0, 0.0, 2.0])
    np.testing.assert_array_equal(as_member(Recorder()).fit(X, y, w).estimator.rows_, [0, 1, 1, 1, 3, 3])
    with pytest.raises(
        ValueError, match=r"Recorder takes no sample_weight.*use whole numbers, or a member that takes"
    ):
        as_member(Recorder()).fit(X, y, w + 0.5)


def test_weights_that_would_fill_memory_are_refused():
    X, y, w = np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), np.array([1.0, 1e9, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"adds up to 1e\+09.*divide them by their mean"):
        as_member(Recorder()).fit(X, y, w)


def test_every_random_state_is_set_from_the_generator():
    pipe = make_pipeline(StandardScaler(), Recorder())
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1])
    seeds = [
        as_member(pipe).fit(X, y, rng=np.random.default_rng(s)).estimator[-1].random_state for s in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    assert pipe[-1].random_state is None  # a clone is fitted


def test_the_only_class_is_learned_by_those_who_refuse_it():
    """Most linear classifiers want two classes, and a bootstrap may hold one."""
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 0, 1])
    fitted = as_member(LogisticRegression()).fit(X, y, np.array([1.0, 2, 1, 1, 1, 0]))
    np.testing.assert_array_equal(fitted.predict_dist(X).recode(np.arange(2)).probs, [[1.0, 0.0]] * 6)
    model = q.BaggingClassifier(LogisticRegression(), n_estimators=20, random_state=0).fit(X, y)
    assert {type(e).__name__ for e in model.estimators_} == {"LogisticRegression", "DummyClassifier"}
    assert model.predict_proba(X).shape == (6, 2)
    constant = q.Probabilistic(SVC()).fit(X, np.zeros(6, int))
    np.testing.assert_array_equal(constant.predict_proba(X), np.ones((6, 1)))


class Sure(RegressorMixin, BaseEstimator):
    """A regressor that is sure of its answer."""

    def fit(self, X, y):
        return self

    def predict(self, X, return_std=False):
        return np.zeros(len(X)), np.zeros(len(X))


@pytest.mark.parametrize(("y", "narrowest"), [([1.0, 1.0, 1.0], 0.0), ([5.0, 2.0, 2.5], 0.5 / np.sqrt(12))])
def test_no_density_is_narrower_than_the_grid_of_y(y, narrowest):
    """A spike on the values that y may have would win any log score."""
    dist = as_member(Sure()).fit(np.ones((3, 1)), np.array(y)).predict_dist(np.ones((3, 1)))
    np.testing.assert_allclose(dist.std, narrowest, atol=1e-300)
    assert np.all(dist.std > 0)
    wide = as_member(BayesianRidge()).fit(np.arange(3.0)[:, None], np.array(y))
    assert np.all(wide.predict_dist(np.ones((3, 1))).std >= narrowest)
