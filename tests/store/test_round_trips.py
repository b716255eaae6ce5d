"""What is saved comes back, bit for bit."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q
from quorate.committee import Ambiguity, Committee
from quorate.members import FittedEstimator, OnColumns
from quorate.store import model as store
from quorate.store.registry import ENTRIES
from quorate.store.trust import Trust
from quorate.vote import Fixed, Nested, uniform

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LABELS = np.array(["no", "yes", "perhaps"])[np.digitize(X[:, 0], [-0.5, 0.5])]
Y = X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=60)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
NAMED = FRAME.round().assign(kind=np.array(["ash", "birch", None], object)[np.arange(60) % 3])


def there_and_back(value, trust="sklearn"):
    return store.read(store.written(value), Trust(trust))


def state(value):
    """All that a value holds, as plain things that can be compared."""
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tolist() if value.dtype == object else value.tobytes())
    if isinstance(value, dict):
        return {key: state(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [state(v) for v in value]
    if hasattr(value, "__getstate__") and value.__getstate__() is not None and not callable(value):
        return type(value), state(value.__getstate__())
    if callable(getattr(value, "get_state", None)):
        return type(value), state(value.get_state())
    return type(value), repr(value)


def same(a, b):
    assert state(a) == state(b)


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            True,
            False,
            0,
            -1,
            2**200,
            0.1,
            -0.0,
            1e-320,
            float("inf"),
            float("-inf"),
            "",
            "é\n\0",
            [],
            (),
        ),
        *([1, [2.0, "x"]], (1, (2,)), {}, {"a": {"b": (None,)}}, {"x y": [True]}),
        *(
            np.float64(0.1),
            np.float32(0.1),
            np.float16(2),
            np.int8(-3),
            np.uint64(2**64 - 1),
            np.bool_(True),
            np.float64("nan"),
        ),
        *(
            np.arange(3),
            np.arange(6.0).reshape(2, 3),
            np.arange(6.0).reshape(2, 3).T,
            np.zeros((0, 3)),
            np.array(5.0),
        ),
        *(
            np.array([True, False]),
            np.array([1, 2], np.uint8),
            np.array([0.1], np.float32),
            np.arange(10)[::3],
            np.arange(3).astype(">i4"),
        ),
        *(
            np.array(["a", "bcd"]),
            np.array(["a", "bcd"], object),
            np.array([["é"]]),
            np.array([], "<U4"),
            np.array([np.nan, -np.inf]),
        ),
    ],
    ids=repr,
)
def test_a_value(value):
    again = there_and_back(value)
    assert type(again) is type(value)
    if isinstance(value, np.ndarray):
        assert again.dtype == value.dtype.newbyteorder("=")
        assert again.flags.f_contiguous == value.flags.f_contiguous or not value.flags.c_contiguous
        np.testing.assert_array_equal(again, value)
    else:
        assert repr(again) == repr(value)


def test_values_that_skops_writes():
    again = there_and_back(
        {"complex": np.array([1 + 2j]), "keys": {1: "a", 2.5: "b"}, "set": {1, 2}, "slice": slice(1, None)},
        (),
    )
    assert (
        repr(again)
        == "{'complex': array([1.+2.j]), 'keys': {1: 'a', 2.5: 'b'}, 'set': {1, 2}, 'slice': slice(1, None, None)}"
    )


def test_the_bits_of_nan_stay():
    odd = np.array([0x7FF8000000000123, 0xFFF8000000000000], np.uint64).view(float)
    assert there_and_back(odd).tobytes() == odd.tobytes()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.array(["2020-01-01"], "M8[D]"), "ndarray cannot be saved"),
        (np.array([1, "a"], object), "all are strings"),
        ("\ud800", "no text"),
        ({True: 1}, "dict cannot be saved: builtins.bool cannot be the type of a key"),
        (lambda: 0, "function cannot be saved"),
        ((i for i in ()), "generator cannot be saved"),
    ],
    ids=["time", "objects", "surrogate", "keys", "function", "generator"],
)
def test_what_cannot_be_written_says_so(value, error):
    with pytest.raises((TypeError, ValueError), match=error):
        store.written(value)


def test_depth_ends_with_an_error():
    deep = []
    deep.append(deep)
    with pytest.raises(ValueError, match="nested too deeply"):
        store.written(deep)


def committee():
    members = tuple(FittedEstimator(LogisticRegression().fit(X, c == LABELS), "proba") for c in ("no", "yes"))
    columns = OnColumns(
        FittedEstimator(LogisticRegression().fit(X[:, [0, 2]], LABELS == "no"), "proba"), np.array([0, 2])
    )
    inner = Committee(members, Fixed(np.log([0.25, 0.75])), names=("first", "second"))
    return Committee((inner, columns), uniform(2))


def distributions():
    normal = q.Normal([0.0, 1.0], 2.0)
    loose = q.Empirical(
        [[1.0, 2.0, 2.0], [0.0, -1.0, 5.0]], weights=[1.0, 0.0, 2.0], loc=[0.0, 1.0], scale=3.0
    )
    return [
        *(
            normal,
            normal[1],
            q.StudentT(3.0, [0.0, 1.0], 2.0),
            q.Laplace(1.0, [2.0, 3.0]),
            q.LogNormal(0.0, [1.0, 0.5]),
        ),
        *(
            q.Gamma([1.0, 2.0]),
            q.Beta(2.0, [1.0, 3.0]),
            q.Dirichlet([[1.0, 2.0], [3.0, 0.5]]),
            q.Poisson([0.5, 3.0]),
        ),
        *(q.NegativeBinomial(3.0, [0.2, 0.5]), q.Binomial(10, [0.2, 0.5]), loose, loose[0], loose.smooth),
        *(
            q.Categorical([[0.25, 0.75], [0.5, 0.5]], ["cherry", "lime"]),
            q.Categorical.from_log(np.log([[0.3, 0.7]])),
        ),
        *(q.Truncated(q.Gamma([1.0, 2.0]), 0.5, [3.0, 4.0]), q.Truncated(q.Poisson([3.0, 4.0]), 1, 5)),
        *(
            20.0 - 2.0 * q.Gamma([3.0, 2.0]),
            q.Mixture(np.log([0.3, 0.7]), [normal, q.Laplace([0.0, 5.0], 1.0)]),
        ),
        q.Mixture(
            np.log([[0.3, 0.7], [0.9, 0.1]]),
            [normal, q.Mixture(np.log([0.1, 0.9]), [normal, q.Normal(0.0, 1.0)])],
        ),
        q.Mixture(np.log(np.full(7, 1 / 7)), [q.Categorical([[p, 1 - p]]) for p in np.linspace(0, 1, 7)]),
        *(
            q.Mixture(np.log([0.5, 0.5]), [q.Poisson(2.0)] * 2),
            q.Mixture(np.log([0.5, 0.5]), [q.Dirichlet([1.0, 2.0])] * 2),
        ),
    ]


@pytest.mark.parametrize("dist", distributions(), ids=repr)
def test_a_distribution(dist):
    again = there_and_back(dist)
    assert type(again) is type(dist)
    assert len(again) == len(dist)
    np.testing.assert_array_equal(again.sample(3, 0), dist.sample(3, 0))
    np.testing.assert_array_equal(again[[0]].sample(3, 0), dist[[0]].sample(3, 0))
    draws = dist.sample(3, 1)
    np.testing.assert_array_equal(again.log_prob(draws), dist.log_prob(draws))
    if hasattr(dist, "cdf"):
        np.testing.assert_array_equal(again.cdf(draws), dist.cdf(draws))
        np.testing.assert_array_equal(again.quantile([0.1, 0.9]), dist.quantile([0.1, 0.9]))


SMALL = {"n_estimators": 3, "random_state": 0}
ESTIMATORS = {
    "trees": (q.BaggingClassifier(oob_score=True, n_estimators=9, random_state=0), X, LABELS),
    "numbers for labels": (q.BaggingClassifier(**SMALL), X, np.digitize(X[:, 0], [0.0]) * 7 - 3),
    "truth for labels": (q.BaggingClassifier(**SMALL), X, X[:, 0] > 0),
    "objects for labels": (q.BaggingClassifier(**SMALL), X, LABELS.astype(object)),
    "votes": (q.BaggingClassifier(rule="majority", stratified=True, **SMALL), X, LABELS),
    "filters": (q.FilteringClassifier(DecisionTreeClassifier(max_depth=1), 2, random_state=0), X, LABELS),
    "residuals": (q.BaggingRegressor(**SMALL), X, Y),
    "float32": (q.BaggingRegressor(BayesianRidge(), **SMALL), X.astype(np.float32), Y.astype(np.float32)),
    "columns by name": (
        q.BaggingRegressor(BayesianRidge(), max_features=2, bootstrap_features=True, **SMALL),
        FRAME,
        Y,
    ),
    "no bootstrap": (
        q.BaggingRegressor(BayesianRidge(), bootstrap=False, max_samples=20, oob_score=True, **SMALL),
        X,
        Y,
    ),
    "bayesian": (q.BaggingRegressor(BayesianRidge(), bootstrap="bayesian", **SMALL), X, Y),
    "bags of bags": (
        q.BaggingClassifier(q.BaggingClassifier(LogisticRegression(), n_estimators=2), **SMALL),
        X,
        LABELS,
    ),
    "bags of margins": (q.BaggingClassifier(q.Probabilistic(SVC()), **SMALL), X, LABELS),
    "margins": (q.Probabilistic(SVC(), cv=KFold(3)), X, LABELS),
    "scaled residuals": (
        q.Probabilistic(DecisionTreeRegressor(max_depth=3), cv=2, spread="scaled", random_state=0),
        X,
        Y,
    ),
    "given splits": (q.Probabilistic(DummyRegressor(), cv=[(np.arange(30), np.arange(30, 60))]), X, Y),
    "a state for seed": (q.BaggingRegressor(BayesianRidge(), 3, random_state=np.random.RandomState(0)), X, Y),
    "forests": (q.BaggingClassifier(RandomForestClassifier(3), **SMALL), X, LABELS),
    "histograms": (
        q.BaggingClassifier(HistGradientBoostingClassifier(max_iter=2, categorical_features=[3]), **SMALL),
        X.round(),
        LABELS,
    ),
    "boosting": (q.BaggingClassifier(GradientBoostingClassifier(n_estimators=2), **SMALL), X, LABELS),
    "neighbours": (q.BaggingClassifier(KNeighborsClassifier(algorithm="kd_tree"), **SMALL), X, LABELS),
    "balls": (q.BaggingClassifier(KNeighborsClassifier(algorithm="ball_tree", p=3), **SMALL), X, LABELS),
    "processes": (q.BaggingRegressor(GaussianProcessRegressor(RBF() + WhiteKernel()), **SMALL), X, Y),
    "pipelines": (
        q.BaggingClassifier(
            make_pipeline(StandardScaler(), SelectKBest(f_classif, k=2), LogisticRegression()), **SMALL
        ),
        X,
        LABELS,
    ),
    "a pipeline around": (
        make_pipeline(FunctionTransformer(np.arcsinh), q.BaggingRegressor(BayesianRidge(), **SMALL)),
        X,
        Y,
    ),
    "reweighted": (q.AdaBoostClassifier(**SMALL), X, LABELS),
    "reweighted bags": (q.AdaBoostClassifier(q.BaggingClassifier(**SMALL), **SMALL), X, LABELS),
    "drawn by weight": (
        q.AdaBoostClassifier(KNeighborsClassifier(), how="resample", **SMALL),
        X,
        X[:, 0] + X[:, 1] > 0,
    ),
    "boosted residuals": (q.AdaBoostRegressor(**SMALL), X, Y),
    "bags of boosting": (q.BaggingClassifier(q.AdaBoostClassifier(**SMALL), **SMALL), X, LABELS),
    "a tree of classes": (q.TreeClassifier(class_weight={"no": 2}, random_state=0), X, LABELS),
    "a tree of names": (
        q.TreeRegressor(min_samples_leaf=3, categorical_features=["c", "kind"]),
        NAMED,
        Y,
    ),
    "a forest of classes": (
        q.RandomForestClassifier(max_leaf_nodes=5, oob_score=True, n_estimators=9, random_state=0),
        X,
        LABELS,
    ),
    "a forest of names": (q.RandomForestRegressor(categorical_features="from_dtype", **SMALL), NAMED, Y),
    "extra trees": (q.ExtraTreesClassifier(categorical_features=[3], **SMALL), X.round(), LABELS),
    "extra trees of numbers": (q.ExtraTreesRegressor(min_samples_leaf=2, **SMALL), X, Y),
    "bags of trees": (q.BaggingRegressor(q.TreeRegressor(max_leaf_values=4), max_features=3, **SMALL), X, Y),
    "boosted trees": (q.AdaBoostClassifier(q.TreeClassifier(max_depth=2), **SMALL), X, LABELS),
    "boosted trees of numbers": (q.AdaBoostRegressor(q.TreeRegressor(max_depth=2), **SMALL), X, Y),
    "rounds": (q.BoostedClassifier(min_samples_leaf=2, warm_start=True, **SMALL), X, LABELS),
    "rounds of names": (
        q.BoostedRegressor(
            "quantile", quantile=[0.2, 0.8], categorical_features="from_dtype", min_samples_leaf=3, **SMALL
        ),
        NAMED,
        Y,
    ),
    "rounds of counts": (
        q.BoostedRegressor("poisson", min_samples_leaf=3, **SMALL),
        X,
        np.round(np.abs(3 * Y)),
    ),
    "rounds of distributions": (
        q.DistributionalRegressor("gamma", min_samples_leaf=3, **SMALL),
        X,
        np.exp(Y),
    ),
    "bags of rounds": (q.BaggingClassifier(q.BoostedClassifier(**SMALL), **SMALL), X, LABELS),
    "a pipeline inside and around": (
        q.BaggingClassifier(make_pipeline(StandardScaler(), q.Probabilistic(SVC())), **SMALL),
        X,
        LABELS,
    ),
}


def answers(model, X):
    """All that a model says of rows, as bytes."""
    said = [model.predict(X)]
    said += [
        getattr(model, name)(X) for name in ("predict_proba", "predict_interval") if hasattr(model, name)
    ]
    if hasattr(model, "predict_dist"):
        said.append(model.predict_dist(X).sample(2, 0))
    return [
        np.asarray(a).astype(str).tobytes() if np.asarray(a).dtype == object else np.asarray(a).tobytes()
        for a in said
    ]


def named(value):
    """Its repr, without the addresses in memory."""
    return re.sub("0x[0-9A-F]+", "", str(value))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings(
    "ignore:.*were seen by every member", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_an_estimator(name, tmp_path):
    estimator, X, y = ESTIMATORS[name]
    model = clone(estimator).fit(X, y)
    q.save(model, tmp_path / "model")
    again = q.load(tmp_path / "model", trust=["sklearn"])
    assert answers(again, X) == answers(model, X)
    assert type(again) is type(model)
    assert named(again) == named(model)
    assert named(again.get_params()) == named(model.get_params())
    same(clone(again), clone(model))
    kept = {
        k: v
        for k, v in vars(model).items()
        if k.endswith("_") and k not in ("oob_dist_", "committee_", "member_", "steps")
    }
    for attribute, value in kept.items():
        same(getattr(again, attribute), value)
    if hasattr(model, "estimators_"):
        assert len(again.estimators_) == len(model.estimators_)
        assert [len(one.committee_.flatten()) for one in (again, model)] == [
            len(model.committee_.flatten())
        ] * 2


def test_the_same_model_is_the_same_file():
    model = q.BaggingClassifier(**SMALL).fit(X, LABELS)
    data = store.written(model)
    assert data == store.written(model)
    assert data == store.written(there_and_back(model))


@pytest.mark.parametrize("cls", [q.RandomForestRegressor, q.ExtraTreesRegressor])
def test_a_loaded_forest_warm_starts_as_it_would_have(cls):
    model = cls(4, warm_start=True, random_state=0).fit(X, Y)
    again = there_and_back(model).set_params(n_estimators=7).fit(X, Y)
    assert answers(again, X) == answers(cls(7, warm_start=True, random_state=0).fit(X, Y), X)
    assert (
        again.predict_dist(X).log_prob(Y).tobytes()
        == cls(7, random_state=0).fit(X, Y).predict_dist(X).log_prob(Y).tobytes()
    )


@pytest.mark.filterwarnings("ignore:.*were seen by every member")
def test_a_loaded_model_warm_starts_as_it_would_have():
    model = q.BaggingClassifier(n_estimators=9, oob_score=True, warm_start=True, random_state=0).fit(
        X, LABELS
    )
    again = there_and_back(model)
    for one in (model, again):
        one.set_params(n_estimators=12).fit(X, LABELS)
    assert answers(again, X) == answers(model, X)
    assert again.oob_score_ == model.oob_score_
    np.testing.assert_array_equal(again.oob_dist_.probs, model.oob_dist_.probs)


def test_an_unfitted_estimator():
    estimator = q.BaggingClassifier(q.Probabilistic(SVC(C=2.0)), max_features=0.5)
    again = there_and_back(estimator)
    assert repr(again) == repr(estimator)
    assert not hasattr(again, "committee_")


def test_committees_and_votes():
    whole = committee()
    again = there_and_back(whole)
    np.testing.assert_array_equal(again.predict_dist(X).probs, whole.predict_dist(X).probs)
    assert again.members[0].names == ("first", "second")
    flat = there_and_back(whole.flatten())
    assert isinstance(flat.vote, Nested)
    np.testing.assert_array_equal(flat.predict_dist(X).probs, whole.flatten().predict_dist(X).probs)
    some = Fixed(np.log(np.array([0.5, 0.0, 0.5]), where=[True, False, True], out=np.full(3, -np.inf)))
    np.testing.assert_array_equal(there_and_back(some).log_w, some.log_w)


def test_receipts():
    receipt = Ambiguity("log_loss", np.float64(0.5), 0.75, float("nan"))
    assert repr(there_and_back(receipt)) == repr(receipt)


@pytest.mark.filterwarnings("ignore:.*were seen by every member")
def test_every_type_has_been_here(monkeypatch):
    """Each entry of the registry is written and read by some test above."""
    seen = set()
    entry = type(next(iter(ENTRIES.values())))
    build = entry.build
    monkeypatch.setattr(entry, "build", lambda self, found: seen.add(self.name) or build(self, found))
    for value in [*distributions(), committee().flatten(), Ambiguity("log_loss", 0.0, 0.0, 0.0)]:
        there_and_back(value)
    boosted = (
        "reweighted",
        "boosted residuals",
        "rounds",
        "rounds of names",
        "rounds of counts",
        "rounds of distributions",
    )
    for name in (
        "trees",
        "columns by name",
        "no bootstrap",
        "bayesian",
        "margins",
        "residuals",
        "filters",
        "a tree of classes",
        "a tree of names",
        "a forest of classes",
        "a forest of names",
        "extra trees",
        "extra trees of numbers",
        *boosted,
    ):
        estimator, rows, y = ESTIMATORS[name]
        there_and_back(clone(estimator).fit(rows, y))
    assert seen | {"Committee"} == ENTRIES.keys()


def test_a_fit_that_learned_more_says_so():
    model = q.BaggingRegressor(BayesianRidge(), **SMALL).fit(X, Y)
    model.surprise_ = 1
    with pytest.raises(TypeError, match="surprise_"):
        store.written(model)


def test_types_of_ours_that_are_not_entered_say_so():
    with pytest.raises(TypeError, match=r"TimeBudget has no entry in quorate\.store"):
        store.written(q.run.TimeBudget(1.0))


def test_a_dataclass_is_entered_by_its_fields():
    """The recipe of registry.py's docstring: one line for a new type."""
    from quorate.store.checks import array
    from quorate.store.registry import put

    @dataclasses.dataclass
    class Slope:
        a: np.ndarray

    put(Slope, a=array("f", 1, least=1))
    try:
        assert there_and_back(Slope(np.arange(2.0))).a.tolist() == [0.0, 1.0]
        with pytest.raises(q.ModelFormatError, match="a has the shape"):
            there_and_back(Slope(np.zeros(0)))
    finally:
        del ENTRIES["Slope"]
