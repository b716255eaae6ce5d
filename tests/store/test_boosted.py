"""Boosted models whose arrays say what no model says: kernels never see them."""

import numpy as np
import pytest
from store.doctor import Doctored, path_to

import quorate as q
from quorate.kernels.walk import CATEGORY, MISSING_LEFT
from quorate.store import model as store
from quorate.store.trust import Trust

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).round(1)
X[:, 3] = RNG.integers(0, 6, 80)
Y = X[:, 0] + 2 * (X[:, 3] % 2)
CLASSES = np.digitize(Y, [0.0, 2.0])
GIVEN = {
    "n_estimators": 3,
    "categorical_features": [3],
    "min_samples_leaf": 4,
    "max_leaf_nodes": 6,
    "random_state": 0,
}
MODELS = {
    "classes": (q.BoostedClassifier(warm_start=True, **GIVEN), CLASSES),
    "two classes": (q.BoostedClassifier(**GIVEN), CLASSES > 0),
    "numbers": (q.BoostedRegressor(**GIVEN), Y),
    "quantiles": (q.BoostedRegressor("quantile", quantile=[0.2, 0.8], **GIVEN), Y),
    "counts": (q.BoostedRegressor("poisson", warm_start=True, **GIVEN), np.floor(np.abs(2 * Y))),
    "even counts": (q.BoostedRegressor("poisson", **GIVEN), 5 + X[:, 3]),
    "one class": (q.BoostedClassifier(**GIVEN), np.zeros(80, int)),
    "stopped": (
        q.BoostedRegressor(early_stopping=True, validation_fraction=0.3, warm_start=True, **GIVEN),
        Y,
    ),
    "distributions": (q.DistributionalRegressor(warm_start=True, **GIVEN), Y),
    "tails": (q.DistributionalRegressor("student_t", loss="crps", **GIVEN), Y),
}
ARRAYS = ["start", "column", "threshold", "right", "subsets", "values", "rows", "gain", "roots"]
bases = pytest.mark.parametrize("base", ["classes", "numbers", "distributions"])


@pytest.fixture(scope="module")
def files():
    fitted = {name: m if hasattr(m, "member_") else m.fit(X, y) for name, (m, y) in MODELS.items()}
    return {name: store.written(model) for name, model in fitted.items()}


def read(doctored):
    return store.read(doctored.bytes(), Trust(()))


def refused(doctored, match):
    with pytest.raises(q.ModelFormatError, match=match):
        read(doctored)


def estimator(doctored):
    """The fitted attributes."""
    [(_, state)] = doctored.manifest["model"].items()
    return state["fitted"]["dict"]


def member(doctored):
    """The fields of the model in it."""
    return estimator(doctored)["member_"]["Boosted"]


def voice(doctored):
    [(name, fields)] = member(doctored)["voice"].items()
    return name, fields


def array_of(doctored, name, fields=None):
    """A copy of an array, which is put in its place."""
    number = (member(doctored) if fields is None else fields)[name]["array"]
    doctored.tensors[number] = doctored.tensors[number].copy()
    return doctored.tensors[number]


def put(doctored, name, values, fields=None):
    doctored.tensors[(member(doctored) if fields is None else fields)[name]["array"]] = values


def first(doctored, which):
    """The number of the first node that is a leaf, a number, or a category, or the root of the second tree."""
    column, right = (array_of(doctored, name) for name in ("column", "right"))
    leaf, category = right == np.arange(len(right)), (column & CATEGORY) != 0
    if which == "second":
        return int(array_of(doctored, "roots")[1])
    return np.flatnonzero({"leaf": leaf, "number": ~leaf & ~category, "category": category}[which])[0]


# as they are


@pytest.mark.parametrize("base", MODELS)
def test_there_and_back(files, base):
    again, (model, _) = read(Doctored(files[base])), MODELS[base]
    assert again.get_params() == model.get_params()
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.contributions(X).tobytes() == model.contributions(X).tobytes()
    assert store.written(again) == files[base]


# nodes


CELLS = [
    # (array, of which node, another value, what is said)
    ("right", "number", 2**32 - 1, "right child"),
    ("right", "number", 0, "right child|not those of one tree"),
    ("right", "number", 10**6, "right child"),
    ("right", "second", 0, "right child|not those of one tree"),
    ("right", "leaf", 0, "not those of one tree|right child"),
    ("right", "leaf", 2**32 - 5, "not those of one tree|right child"),
    ("column", "number", 2**32 - 1, "flags that are none"),
    ("column", "number", 4, "other columns than 0 … 3"),
    ("column", "number", int(MISSING_LEFT) - 1, "other columns"),
    ("column", "number", 3, "asked for by sets"),
    ("column", "number", int(CATEGORY), "asked for by sets"),
    ("column", "category", 3, "asked for by sets"),
    ("column", "leaf", 1, "a leaf should ask nothing"),
    ("column", "leaf", int(MISSING_LEFT), "a leaf should ask nothing"),
    ("column", "leaf", int(CATEGORY), "a leaf should ask nothing"),
    ("threshold", "leaf", 0.0, "a leaf should ask nothing"),
    ("threshold", "number", np.nan, "threshold is no number"),
    ("threshold", "category", np.nan, "threshold is no number"),
    ("threshold", "category", -1.0, "a set for each node"),
    ("threshold", "category", 0.5, "a set for each node"),
    ("threshold", "category", 1e9, "a set for each node"),
    ("threshold", "category", np.inf, "a set for each node"),
    ("rows", "leaf", 0.0, "rows and gains"),
    ("rows", "leaf", -1.0, "rows and gains"),
    ("rows", "number", np.nan, "rows and gains"),
    ("gain", "number", -1.0, "rows and gains"),
    ("gain", "number", np.inf, "rows and gains"),
    ("values", "leaf", np.nan, "finite|numbers"),
    ("values", "leaf", np.inf, "finite|numbers"),
    ("values", "leaf", 1e300, "values should be numbers"),
]


@pytest.mark.parametrize(("name", "node", "value", "match"), CELLS)
@bases
def test_cells(files, base, name, node, value, match):
    doctored = Doctored(files[base])
    i = first(doctored, node)
    array_of(doctored, name)[i] = value
    refused(doctored, match)


@pytest.mark.parametrize("name", ARRAYS)
@bases
def test_lengths_and_types(files, base, name):
    for change in (
        lambda v: v[:-1],
        lambda v: np.concatenate([v, v]),
        lambda v: v[:0],
        lambda v: v.astype(np.float32),
        lambda v: v.astype(np.int16),
        lambda v: v[None],
        lambda v: v[::-1],
        lambda v: np.zeros((len(v), 7)),
    ):
        doctored = Doctored(files[base])
        before = array_of(doctored, name)
        with np.errstate(invalid="ignore"):
            after = np.ascontiguousarray(change(before))
        unchanged = after.dtype == before.dtype and np.array_equal(after, before)
        harmless = name in ("start", "values", "rows", "gain", "subsets") and after.shape == before.shape
        if not (unchanged or (harmless and after.dtype == before.dtype)):
            put(doctored, name, after)
            refused(doctored, None)


@bases
def test_roots(files, base):
    """The trees one after another, each round whole."""
    for change in (
        lambda v: v + np.uint64(1),
        lambda v: v * np.uint64(0),
        lambda v: np.append(v[:-1], np.uint64(2**63)),
        lambda v: np.append(v[:-1], np.uint64(2**64 - 1)),
        lambda v: np.append(v[:-1], v[-1] + np.uint64(1)),
        lambda v: np.append(v[0], v[2:]),
        lambda v: np.append(v, v[-1]),
        lambda v: v[[0, 2, 1, *range(3, len(v))]],
    ):
        doctored = Doctored(files[base])
        put(doctored, "roots", change(array_of(doctored, "roots")))
        refused(doctored, "one after another|not those of one tree|right child|for each group|as many rounds")


def test_no_trees_at_all(files):
    doctored = Doctored(files["one class"])
    estimator(doctored)["n_estimators_"] = 1
    refused(doctored, "as many rounds")
    doctored = Doctored(files["numbers"])
    for name in ARRAYS[1:]:
        put(doctored, name, array_of(doctored, name)[:0])
    refused(doctored, "as many rounds")
    estimator(doctored)["n_estimators_"] = 0
    np.testing.assert_array_equal(read(doctored).member_.scores(X)[:, 0], array_of(doctored, "start")[0])


# what is beside them


REWRITES = [
    ("numbers", ("n_features",), 3, "other columns than 0 … 2|categories of a column|expects"),
    ("numbers", ("n_features",), 0, "n_features should be"),
    ("numbers", ("n_features",), 2**40, "n_features should be"),
    ("numbers", ("n_features",), 5, "expects 5 columns of 4|expects 4 columns of 5"),
    ("numbers", ("groups",), 0, "groups should be"),
    ("numbers", ("groups",), 2, "as many scores"),
    ("classes", ("groups",), 1, "values"),
    ("classes", ("groups",), 2, "as many scores"),
    ("distributions", ("groups",), 2, "values"),
    ("numbers", ("codes",), {"tuple": []}, "asked for by sets"),
    ("numbers", ("codes",), None, "codes should be a tuple"),
    ("numbers", ("codes", "tuple", 0, "tuple", 0), 9, "categories of a column that is not there"),
    ("numbers", ("codes", "tuple", 0, "tuple", 0), 0, "asked for by sets"),
    ("numbers", ("codes", "tuple", 0, "tuple", 1), None, "the categories of a column should be"),
    ("numbers", ("voice",), None, "the model says nothing"),
    ("classes", ("voice",), {"OfClasses": {"n_classes": 4}}, "other scores|other classes"),
    ("classes", ("voice",), {"OfClasses": {"n_classes": 2}}, "other scores|other classes"),
    ("classes", ("voice",), {"OfNumbers": {"log": False, "levels": {"tuple": []}}}, "other scores"),
    ("two classes", ("voice",), {"OfClasses": {"n_classes": 1}}, "other scores|other classes"),
    ("two classes", ("voice",), {"OfCounts": {"r": 2.0}}, "other classes"),
    ("numbers", ("voice",), {"OfClasses": {"n_classes": 2}}, "other classes"),
    ("numbers", ("voice",), {"OfClasses": {"n_classes": 0}}, "n_classes should be"),
    ("quantiles", ("voice", "OfResiduals", "of", "OfNumbers", "levels", "tuple"), [0.5], "other scores"),
    (
        "quantiles",
        ("voice", "OfResiduals", "of", "OfNumbers", "levels", "tuple"),
        [0.2, 1.5],
        "levels|each of",
    ),
    ("quantiles", ("voice", "OfResiduals", "of", "OfNumbers", "log"), 1, "log should be"),
    ("numbers", ("voice", "OfResiduals", "bandwidth"), -1.0, "bandwidth should be"),
    ("numbers", ("voice", "OfResiduals", "smallest"), -1.0, "smallest should be"),
    ("numbers", ("voice", "OfResiduals", "of"), {"OfClasses": {"n_classes": 2}}, "of should be"),
    ("counts", ("voice", "OfCounts", "r"), -1.0, "r should be"),
    ("counts", ("voice", "OfCounts", "r"), 0.0, "r should be"),
    ("distributions", ("voice", "OfFamily", "family"), "cauchy", "family should be"),
    ("distributions", ("voice", "OfFamily", "family"), "poisson", "other scores"),
    ("distributions", ("voice", "OfFamily", "family"), "student_t", "other scores"),
    ("distributions", ("voice", "OfFamily", "score"), "mse", "score should be"),
    ("distributions", ("voice", "OfFamily", "floor"), -1.0, "floor should be"),
    ("distributions", ("voice", "OfFamily", "scale"), -2.0, "scale should be"),
    ("distributions", ("voice", "OfFamily", "loc"), "here", "loc should be"),
]


@pytest.mark.parametrize(("base", "path", "value", "match"), REWRITES)
def test_rewrites(files, base, path, value, match):
    doctored = Doctored(files[base])
    holder, key = path_to(member(doctored), *path)
    holder[key] = value
    refused(doctored, f"{match}|not used")


def test_a_scale_of_nought(files):
    doctored = Doctored(files["distributions"])
    voice(doctored)[1]["scale"] = 0.0
    refused(doctored, "scale should be")


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1], lambda v: v * np.nan, lambda v: v[:0], lambda v: v[None]]
)
@pytest.mark.parametrize("name", ["residuals", "weights"])
def test_residuals(files, name, change):
    doctored = Doctored(files["numbers"])
    fields = voice(doctored)[1]
    put(doctored, name, np.ascontiguousarray(change(array_of(doctored, name, fields))), fields)
    refused(doctored, None)


def test_weights_of_residuals(files):
    for change, match in ((lambda v: v * 0, "all zero"), (lambda v: -v, "weights has a number below 0")):
        doctored = Doctored(files["numbers"])
        fields = voice(doctored)[1]
        put(doctored, "weights", change(array_of(doctored, "weights", fields)), fields)
        refused(doctored, match)


@pytest.mark.parametrize(
    "change", [lambda v: v[::-1], lambda v: v * np.nan, lambda v: v * 0, lambda v: np.arange(300.0)]
)
def test_categories_rise(files, change):
    doctored = Doctored(files["classes"])
    number = member(doctored)["codes"]["tuple"][0]["tuple"][1]["array"]
    doctored.tensors[number] = np.ascontiguousarray(change(doctored.tensors[number]))
    refused(doctored, "categories")


STATES = [
    ("classes", "n_estimators_", 2, "as many rounds"),
    ("classes", "n_estimators_", -1, "n_estimators_ should be"),
    ("classes", "n_features_in_", 5, "expects 4 columns of 5"),
    ("numbers", "_seed", -1, "_seed should be"),
    ("numbers", "_levels", {"dict": {"a": None}}, "_levels"),
    ("numbers", "member_", None, "member_ should be"),
    ("classes", "_courses", {"tuple": []}, "_courses should be"),
    ("classes", "_courses", None, "_courses should be"),
]


@pytest.mark.parametrize(("base", "name", "value", "match"), STATES)
def test_states(files, base, name, value, match):
    doctored = Doctored(files[base])
    estimator(doctored)[name] = value
    refused(doctored, f"{match}|not used")


def test_other_classes(files):
    doctored = Doctored(files["classes"])
    doctored.tensors[estimator(doctored)["classes_"]["array"]] = np.arange(4)
    refused(doctored, "other classes")


# the courses of a warm start


def course(doctored, k=0):
    return estimator(doctored)["_courses"]["tuple"][k]["Course"]


@pytest.mark.parametrize("base", ["classes", "counts", "distributions"])
@pytest.mark.parametrize(("name", "node", "value", "match"), CELLS[::3])
def test_cells_of_a_course(files, base, name, node, value, match):
    doctored = Doctored(files[base])
    fields = course(doctored)["model"]["Boosted"]
    i = first(doctored, node)
    array_of(doctored, name, fields)[i] = value
    refused(doctored, match)


def test_courses(files):
    for base, path, value, match in (
        ("stopped", ("judged", "tuple"), [1.0], "a loss for each round"),
        ("stopped", ("judged", "tuple"), [1.0, "2", 2.0], "judged"),
        ("stopped", ("judged",), None, "judged should be"),
        ("stopped", ("ended",), 1, "ended should be"),
        ("counts", ("judged", "tuple"), [1.0], "a loss for each round"),
        ("counts", ("model",), None, "model should be"),
    ):
        doctored = Doctored(files[base])
        holder, key = path_to(course(doctored), *path)
        holder[key] = value
        refused(doctored, f"{match}|not used")


def test_a_course_of_another_model(files):
    """Of other columns, or of other scores."""
    for base, other in (
        ("counts", "distributions"),
        ("distributions", "counts"),
        ("classes", "distributions"),
    ):
        one, two = Doctored(files[base]), Doctored(files[other])
        theirs = two.manifest["model"]
        [(_, state)] = theirs.items()
        at = len(one.tensors)
        model = moved(state["fitted"]["dict"]["_courses"]["tuple"][0]["Course"]["model"], at)
        one.tensors = joined(one.tensors, two.tensors)
        course(one)["model"] = model
        refused(one, "other scores|not used|learned from")


def joined(tensors, more):
    """The tensors of two files, those of the second numbered after those of the first."""
    if isinstance(tensors, dict):
        return {**tensors, **{k + len(tensors): v for k, v in more.items()}}
    return [*tensors, *more]


def moved(value, at):
    """JSON whose arrays are numbered from `at` on."""
    if isinstance(value, dict):
        return {k: v + at if k == "array" else moved(v, at) for k, v in value.items()}
    return [moved(v, at) for v in value] if isinstance(value, list) else value
