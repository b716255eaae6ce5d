"""Manifests rewritten by hand, the checksum mended: each is refused, and says where it is wrong."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge, LogisticRegression
from store.doctor import Doctored, path_to

import quorate as q
from quorate.committee import Committee
from quorate.members import FittedEstimator, OnColumns
from quorate.store import model as store
from quorate.store.trust import Trust
from quorate.vote import Fixed, uniform

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.digitize(X[:, 0], [-0.5, 0.5])
SMALL = {"n_estimators": 2, "random_state": 0}


def nested():
    inner = q.BaggingClassifier(LogisticRegression(), **SMALL).fit(X, Y).committee_
    return Committee((inner, inner), uniform(2))


@pytest.fixture(scope="module")
def files():
    columns = q.BaggingClassifier(LogisticRegression(), max_features=2, **SMALL)
    return {
        "bag": store.written(columns.fit(X, np.array(["a", "b", "c"])[Y])),
        "boosted": store.written(q.AdaBoostClassifier(**SMALL).fit(X[:, :2], np.array(["a", "b", "c"])[Y])),
        "boosted numbers": store.written(
            q.AdaBoostRegressor(BayesianRidge(), **SMALL).fit(X, X @ [1, 2, 3] + Y)
        ),
        "margins": store.written(q.Probabilistic(LogisticRegression()).fit(X, Y)),
        "residuals": store.written(q.Probabilistic(BayesianRidge()).fit(X, X[:, 1])),
        "mixture": store.written(
            q.Mixture(np.log([0.25, 0.75]), [q.Normal(0.0, 1.0), q.Laplace(1.0, [1.0, 2.0])])
        ),
        "empirical": store.written(q.Empirical([1.0, 2.0, 4.0], loc=[0.0, 1.0])),
        "truncated": store.written(q.Truncated(q.Gamma(2.0), 0.5, 3.0)),
        "nested": store.written(nested().flatten()),
    }


def refused(doctored, match):
    with pytest.raises(q.ModelFormatError, match=match):
        store.read(doctored.bytes(), Trust("sklearn"))


FITTED = ("BaggingClassifier", "fitted", "dict")
COMMITTEE = (*FITTED, "committee_", "Committee")
MEMBER = (*COMMITTEE, "members", "tuple", 0, "OnColumns")
RESIDUALS = ("Probabilistic", "fitted", "dict", "member_", "Residuals")
CALIBRATED = ("Probabilistic", "fitted", "dict", "member_", "Calibrated")
PARAMS = ("BaggingClassifier", "params", "dict")
BOOSTED = ("AdaBoostClassifier", "fitted", "dict")
POOL = (*BOOSTED, "committee_", "Committee")
SOFTENED = (*POOL, "members", "tuple", 0, "Softened")

REWRITES = [
    # the form
    ("bag", (), None, "nothing uses"),
    ("bag", (), {"os.system": {"command": "true"}}, "'os.system' is no type that quorate knows"),
    ("bag", (), {"Committee": []}, "should have fields"),
    ("bag", (), {"a": 1, "b": 2}, "one key, not 2"),
    ("bag", (), {}, "one key, not 0"),
    ("bag", (*FITTED, "surprise_"), 1, r"has no \['surprise_'\]"),
    ("bag", (*PARAMS, "surprise"), 1, "other parameters"),
    ("bag", (*COMMITTEE, "surprise"), 1, r"committee_'\]: Committee has no \['surprise'\]"),
    ("bag", (*COMMITTEE, "members", "tuple"), [], "members should be a tuple of at least 1"),
    ("bag", (*COMMITTEE, "members", "tuple"), 3, "a tuple should hold a list"),
    ("bag", (*COMMITTEE, "members"), [], "members should be a tuple"),
    ("bag", (*FITTED, "n_features_in_"), {"dict": []}, "a dict should hold an object"),
    # numbers
    ("bag", (*FITTED, "n_features_in_"), 1, "asks|expects"),
    ("bag", (*FITTED, "n_features_in_"), -3, "n_features_in_ should be a whole number from 1"),
    ("bag", (*FITTED, "n_features_in_"), True, "n_features_in_ should be a whole number"),
    ("bag", (*FITTED, "n_features_in_"), 2**70, "n_features_in_ should be a whole number"),
    ("bag", (*FITTED, "n_features_in_"), {"float": "nan"}, "n_features_in_ should be a whole number"),
    ("bag", (*FITTED, "_seed"), -1, "_seed should be a whole number"),
    ("bag", (*FITTED, "interrupted_"), 1, "interrupted_ should be true or false"),
    ("bag", (*FITTED, "receipts_"), {"dict": {"a": "b"}}, "receipts_"),
    ("bag", (*FITTED, "receipts_"), {"Ambiguity": {}}, "Ambiguity lacks"),
    ("bag", (*PARAMS, "n_estimators"), 0, "n_estimators"),
    ("bag", (*PARAMS, "rule"), "dictator", "rule"),
    ("bag", (*PARAMS, "max_samples"), {"float": "inf"}, "max_samples"),
    ("bag", (*PARAMS, "max_samples"), {"float": "1"}, "no number that JSON lacks"),
    ("bag", (*PARAMS, "n_jobs"), {"scalar": ["float64", 0.5]}, "n_jobs"),
    ("bag", (*PARAMS, "n_jobs"), {"scalar": ["int8", 300]}, "int8"),
    ("bag", (*PARAMS, "n_jobs"), {"scalar": ["object_", 3]}, "a scalar should be"),
    ("bag", (*PARAMS, "n_jobs"), {"scalar": ["int64", "3"]}, "is no int64"),
    ("bag", (*PARAMS, "n_jobs"), {"scalar": [[], 3]}, None),
    # tensors and third-party objects
    ("bag", (*MEMBER, "columns", "array"), 1, "no tensor 1 left to use"),
    ("bag", (*MEMBER, "columns", "array"), -1, "no tensor -1"),
    ("bag", (*MEMBER, "columns", "array"), 10**9, "no tensor 1000000000"),
    ("bag", (*MEMBER, "columns", "array"), True, "no tensor True"),
    ("bag", (*MEMBER, "columns", "array"), None, "no tensor None"),
    ("bag", (*MEMBER, "member", "FittedEstimator", "estimator", "third"), -1, "no third-party object -1"),
    ("bag", (*MEMBER, "member", "FittedEstimator", "estimator", "third"), 99, "no third-party object 99"),
    ("bag", (*MEMBER, "member", "FittedEstimator", "estimator", "third"), 2, "nothing uses"),
    ("bag", (*MEMBER, "member", "FittedEstimator", "estimator"), 3, "estimator should be a fitted estimator"),
    (
        "bag",
        (*MEMBER, "member"),
        {"BayesianBootstrap": {}},
        "member should be a fitted member, not a BayesianBootstrap",
    ),
    # labels
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [3], ["a", "b", "b"]]}, "none comes twice"),
    (
        "bag",
        (*FITTED, "classes_"),
        {"text": ["<U1", [3], ["a", "b", "x"]]},
        "classes_ should be the committee's",
    ),
    (
        "bag",
        (*FITTED, "classes_"),
        {"text": ["object", [3], ["a", "b", "c"]]},
        "classes_ should be the committee's",
    ),
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [4], ["a", "b", "c"]]}, "do not fill the shape"),
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [10**18], []]}, "do not fill the shape"),
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [-3], ["a"]]}, "do not fill the shape"),
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [3], ["a", "b", "cc"]]}, "does not fit"),
    ("bag", (*FITTED, "classes_"), {"text": ["<U999999999", [1], ["a"]]}, "no type of string"),
    ("bag", (*FITTED, "classes_"), {"text": ["<f8", [1], ["a"]]}, "no type of string"),
    ("bag", (*FITTED, "classes_"), {"text": ["<U1", [3], ["a", "b", 3]]}, "something else"),
    ("bag", (*FITTED, "classes_"), {"text": ["O"]}, "a type, a shape and strings"),
    ("bag", (*COMMITTEE, "classes"), None, "classes_ should be the committee's"),
    ("bag", (*COMMITTEE, "classes"), {"text": ["<U1", [2], ["a", "b"]]}, "other codes than 0 … 1"),
    (
        "bag",
        (*FITTED, "feature_names_in_"),
        {"text": ["object", [2], ["a", "b"]]},
        "3 different names of columns",
    ),
    (
        "bag",
        (*FITTED, "feature_names_in_"),
        {"text": ["object", [3], ["a", "b", "b"]]},
        "3 different names of columns",
    ),
    # committees
    ("bag", (*COMMITTEE, "vote"), {"dict": {}}, "vote should be a Vote"),
    ("bag", (*COMMITTEE, "names"), {"tuple": ["a"]}, "a name for each member"),
    ("bag", (*COMMITTEE, "rule"), "x", "rule should be one of"),
    ("bag", (*FITTED, "_drawn"), [], "0 jobs for 2 members"),
    ("bag", (*FITTED, "_drawn", 0, "tuple", 0), {"tuple": [-1]}, "_drawn"),
    ("bag", (*FITTED, "_drawn", 0, "tuple", 0), {"tuple": [1]}, "in the order of their keys"),
    ("bag", (*FITTED, "_drawn", 0, "tuple", 0), {"tuple": ["a"]}, "_drawn"),
    ("bag", (*FITTED, "_drawn", 0, "tuple", 1), {"Bootstrap": {"size": -1.0, "stratified": False}}, "size"),
    ("bag", (*MEMBER, "member", "FittedEstimator", "voice"), "eval", "voice should be one of"),
    # calibrations and residuals
    ("margins", (*CALIBRATED, "n_classes"), 2, "not one of 2 classes"),
    ("margins", (*CALIBRATED, "n_classes"), 10**9, "not one of 1000000000 classes"),
    ("margins", (*CALIBRATED, "certain"), 0, "certain should be a number between 0 and 1"),
    ("residuals", (*RESIDUALS, "bandwidth"), 0.0, "bandwidth should be a number between 0"),
    ("residuals", (*RESIDUALS, "bandwidth"), {"float": "nan"}, "bandwidth should be a number"),
    ("residuals", (*RESIDUALS, "smallest"), {"float": "inf"}, "smallest should be a number"),
    ("residuals", (*RESIDUALS, "sizes"), 1, "sizes should be a fitted estimator"),
    # log pools
    ("boosted", (*SOFTENED, "alpha"), 0.125, "members should weigh what estimator_weights_ say"),
    ("boosted", (*SOFTENED, "alpha"), {"float": "nan"}, "alpha should be a number"),
    ("boosted", (*SOFTENED, "n_classes"), 1, "other codes than 0 … 0"),
    ("boosted", (*SOFTENED, "n_classes"), 7, "speaks of 7 classes"),
    ("boosted", (*SOFTENED, "n_classes"), 10**9, "n_classes should be a whole number"),
    ("boosted", (*SOFTENED, "member"), {"BayesianBootstrap": {}}, "should be a fitted member"),
    ("boosted", (*POOL, "rule"), "mixture", "Powers are the votes of a log pool"),
    ("boosted", (*BOOSTED, "temperature_"), -1.0, "temperature_ should be a number"),
    ("boosted", (*BOOSTED, "n_features_in_"), 9, "expects 2 columns of 9"),
    ("boosted", (*BOOSTED, "receipts_"), {"dict": {"error": "small"}}, "receipts_"),
    ("boosted", ("AdaBoostClassifier", "params", "dict", "rule"), 3, "rule"),
    ("boosted", ("AdaBoostClassifier", "params", "dict", "how"), "filter", "how"),
    # distributions
    ("mixture", ("RealMixture", "parts", "tuple", 0), {"tuple": []}, "parts .0. should be a Predictive"),
    ("mixture", ("RealMixture", "parts", "tuple"), [], "parts should be a tuple of at least 1"),
    ("empirical", ("Empirical", "samples"), {"tuple": []}, "samples should be a Samples"),
    ("truncated", ("Truncated", "base"), None, "base should be a Real"),
]


@pytest.mark.parametrize(
    ("name", "path", "value", "match"),
    REWRITES,
    ids=[f"{r[0]} {'.'.join(map(str, r[1][-2:]))} {i}" for i, r in enumerate(REWRITES)],
)
def test_a_rewritten_manifest(files, name, path, value, match):
    doctored = Doctored(files[name])
    holder, key = path_to(doctored.manifest, "model", *path)
    holder[key] = value
    refused(doctored, match)


@pytest.mark.parametrize(
    "change",
    [{"more": 1}, {"answers": 1}, {"written_by": None}, {"third": {}}, {"third": 3}, {"model": [[[]]] * 3}],
    ids=str,
)
def test_a_rewritten_frame(files, change):
    doctored = Doctored(files["mixture"])
    doctored.manifest |= change
    refused(doctored, None)


def test_every_field_is_needed(files):
    """Whatever is taken out of a manifest is missed."""
    for data in files.values():
        places = list(fields(Doctored(data).manifest["model"]))
        assert places
        for path in places:
            doctored = Doctored(data)
            holder, key = path_to(doctored.manifest["model"], *path)
            del holder[key]
            if key not in ("oob_rows_", "oob_score_", "feature_names_in_", "_log_p"):
                refused(doctored, None)


def fields(node, path=()):
    for key, value in (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    ):
        if isinstance(node, dict) and path and str(path[-1])[:1].isupper():
            yield (*path, key)
        yield from fields(value, (*path, key))


def edit(data, path, change):
    doctored = Doctored(data)
    holder, key = path_to(doctored.manifest["model"], *path)
    [number] = holder[key].values()
    values = doctored.tensors[number].copy()
    new = change(values)
    doctored.tensors[number] = values if new is None else new
    return doctored


def put(index, value):
    return lambda values: values.__setitem__(index, value)


@pytest.mark.parametrize(
    ("name", "path", "change", "match"),
    [
        ("bag", (*MEMBER, "columns"), put(0, -1), "columns has a number below 0"),
        ("bag", (*MEMBER, "columns"), put(0, 3), "asks for column 3 of 3"),
        ("bag", (*MEMBER, "columns"), lambda v: v.astype(float), "columns should be an array of kind"),
        ("bag", (*MEMBER, "columns"), lambda v: v[:1], "expects 2 columns of 1"),
        ("bag", (*MEMBER, "columns"), lambda v: v[:0], "columns has the shape"),
        ("bag", (*MEMBER, "columns"), lambda v: v[None], "columns has the shape"),
        ("bag", (*COMMITTEE, "vote", "Fixed", "log_w"), put(0, np.nan), "not finite"),
        ("bag", (*COMMITTEE, "vote", "Fixed", "log_w"), put(0, np.inf), "above"),
        ("bag", (*COMMITTEE, "vote", "Fixed", "log_w"), put(0, -np.inf), "sum to one"),
        (
            "bag",
            (*COMMITTEE, "vote", "Fixed", "log_w"),
            lambda v: np.full(3, -np.log(3)),
            "weighs 3 members of 2",
        ),
        ("margins", (*CALIBRATED, "slopes"), put((0, 0), np.nan), "slopes has numbers that are not finite"),
        ("margins", (*CALIBRATED, "slopes"), lambda v: v[:, :2], "slopes are not"),
        ("margins", (*CALIBRATED, "intercepts"), lambda v: v[:2], "not one of 3 classes"),
        ("margins", (*CALIBRATED, "shares"), put(slice(None), 0.9), "exceed one"),
        ("residuals", (*RESIDUALS, "weights"), put(0, -1.0), "weights has a number below 0"),
        ("residuals", (*RESIDUALS, "weights"), put(0, np.nan), "weights has numbers that are not finite"),
        ("residuals", (*RESIDUALS, "weights"), put(slice(None), 0.0), "all zero"),
        ("residuals", (*RESIDUALS, "weights"), lambda v: v[:-1], "as many residuals as weights"),
        ("residuals", (*RESIDUALS, "residuals"), put(0, np.inf), "residuals has numbers that are not finite"),
        ("boosted", (*POOL, "vote", "Powers", "log_w"), put(0, 1e9), "log_w has a number above 700"),
        ("boosted", (*POOL, "vote", "Powers", "log_w"), lambda v: v[:1], "weighs 1 members of 2"),
        ("boosted", (*BOOSTED, "estimator_weights_"), put(0, 0.5), "members should weigh"),
        ("boosted", (*BOOSTED, "estimator_errors_"), lambda v: v[:1], "a weight and an error for each"),
        ("boosted", (*BOOSTED, "receipts_", "dict", "error"), lambda v: v[:1], "there should be 2 rounds"),
        ("mixture", ("RealMixture", "log_w"), put((0, 0), 0.0), "sum to one"),
        ("mixture", ("RealMixture", "log_w"), lambda v: np.repeat(v, 3, axis=0), "log_w must have shape"),
        (
            "mixture",
            ("RealMixture", "parts", "tuple", 0, "Normal", "scale"),
            put(0, -1.0),
            "scale must be a positive number",
        ),
        (
            "mixture",
            ("RealMixture", "parts", "tuple", 1, "Laplace", "loc"),
            put(0, np.nan),
            "loc has numbers that are not finite",
        ),
        ("mixture", ("RealMixture", "parts", "tuple", 1, "Laplace", "loc"), lambda v: np.zeros(3), None),
        (
            "empirical",
            ("Empirical", "samples", "Samples", "atoms"),
            put(0, 9.0),
            "atoms of a sample should rise",
        ),
        ("empirical", ("Empirical", "samples", "Samples", "weights"), put(0, 0.0), "should be positive"),
        ("empirical", ("Empirical", "samples", "Samples", "indptr"), put(-1, 10**9), "indptr should rise"),
        ("empirical", ("Empirical", "which"), put(0, 5), "which must number"),
        ("empirical", ("Empirical", "which"), put(0, -1), "which must number"),
        ("empirical", ("Empirical", "loc"), lambda v: v[:1], "one of each a row"),
        ("truncated", ("Truncated", "lo"), put(0, 5.0), None),
        ("truncated", ("Truncated", "log_mass"), put(0, -3.0), "its mass is not"),
        (
            "nested",
            ("Committee", "vote", "Nested", "outer", "Fixed", "log_w"),
            lambda v: np.full(3, -np.log(3)),
            "inner vote",
        ),
    ],
)
def test_a_rewritten_tensor(files, name, path, change, match):
    refused(edit(files[name], path, change), match)


def test_a_tensor_that_nobody_uses(files):
    doctored = Doctored(files["mixture"])
    doctored.tensors.append(np.zeros(3))
    refused(doctored, "1 of its tensors are not used")


def test_nesting_ends(files):
    for wrap in (
        lambda v: {"tuple": [v]},
        lambda v: [v],
        lambda v: {"dict": {"a": v}},
        lambda v: {"Nested": {"outer": v}},
    ):
        doctored = Doctored(files["mixture"])
        for _ in range(300):
            doctored.manifest["model"] = wrap(doctored.manifest["model"])
        refused(doctored, "nested too deeply")


def test_codes_of_members_are_indices():
    """A member that answers with codes beyond the committee's classes would write beyond its table."""
    for labels in (Y + 1, Y - 1, Y.astype(float), Y.astype(str)):
        member = FittedEstimator(LogisticRegression().fit(X, labels), "proba")
        bad = Committee((member,), uniform(1), classes=np.array(["a", "b", "c"]))
        with pytest.raises(q.ModelFormatError, match=r"other codes than 0 … 2"):
            store.read(store.written(bad), Trust("sklearn"))


def test_columns_are_checked_through_committees():
    member = FittedEstimator(LogisticRegression().fit(X[:, :1], Y), "proba")
    model = q.BaggingClassifier(LogisticRegression(), **SMALL).fit(X, Y)
    deep = Committee((OnColumns(member, np.array([7])),), Fixed(np.zeros(1)))
    model = copy.copy(model)
    model.committee_ = Committee((deep, deep), uniform(2), model.classes_)
    with pytest.raises(q.ModelFormatError, match=r"committee_\[0\]\[0\] asks for column 7 of 3"):
        store.read(store.written(model), Trust("sklearn"))
