"""Trees whose arrays say what no tree says: kernels never see them."""

import numpy as np
import pytest
from store.doctor import Doctored, path_to

import quorate as q
from quorate.committee import Committee
from quorate.kernels.walk import CATEGORY, MISSING_LEFT
from quorate.store import model as store
from quorate.store.trees import preorder
from quorate.store.trust import Trust
from quorate.vote import uniform

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).round(1)
X[:, 3] = RNG.integers(0, 6, 60)
CLASSES = np.digitize(X[:, 0] + (X[:, 3] % 2), [0.0, 1.0])
Y = X[:, 0] + 2 * (X[:, 3] % 2)
GIVEN = {"max_depth": 4, "categorical_features": [3]}


@pytest.fixture(scope="module")
def files():
    return {
        "classes": store.written(q.TreeClassifier(**GIVEN).fit(X, CLASSES).tree_),
        "numbers": store.written(q.TreeRegressor(**GIVEN).fit(X, Y).tree_),
        "forest": store.written(q.RandomForestRegressor(2, random_state=0, **GIVEN).fit(X, Y)),
        "forest of classes": store.written(
            q.RandomForestClassifier(2, random_state=0, **GIVEN).fit(X, CLASSES)
        ),
        "tree": store.written(q.TreeClassifier(**GIVEN).fit(X, CLASSES)),
    }


def refused(doctored, match):
    with pytest.raises(q.ModelFormatError, match=match):
        store.read(doctored.bytes(), Trust(()))


def fields(doctored):
    return doctored.manifest["model"]["FittedTree"]


def array_of(doctored, name):
    """A copy of an array of a tree, which is put in its place."""
    number = fields(doctored)[name]["array"]
    doctored.tensors[number] = doctored.tensors[number].copy()
    return doctored.tensors[number]


def put(doctored, name, values):
    doctored.tensors[fields(doctored)[name]["array"]] = values


def first(doctored, which):
    """The number of the first node that is a leaf, a number, or a category."""
    column, right = (doctored.tensors[fields(doctored)[name]["array"]] for name in ("column", "right"))
    leaf, category = right == np.arange(len(right)), (column & CATEGORY) != 0
    return np.flatnonzero({"leaf": leaf, "number": ~leaf & ~category, "category": category}[which])[0]


CELLS = [
    # (array, of which node, another value, what is said)
    ("right", "number", 2**32 - 1, "right child"),
    ("right", "number", 0, "right child|not those of one tree"),
    ("right", "number", 10**6, "right child"),
    ("right", "leaf", 0, "not those of one tree|right child"),
    ("right", "leaf", 2**32 - 5, "not those of one tree|right child"),
    ("column", "number", 2**32 - 1, "flags that are none"),
    ("column", "number", 4, "other columns than 0 … 3"),
    ("column", "number", MISSING_LEFT - 1, "other columns"),
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
    ("weight", "leaf", 0.0, "rows and gains"),
    ("weight", "leaf", np.nan, "rows and gains"),
    ("gain", "number", -1.0, "rows and gains"),
    ("gain", "number", np.inf, "rows and gains"),
    ("values", "leaf", -0.5, "probabilities|means of their samples"),
    ("values", "leaf", np.nan, "not finite"),
    ("values", "number", np.inf, "not finite"),
    ("which", "leaf", -1, "one of the samples"),
    ("which", "leaf", 10**9, "one of the samples"),
]


@pytest.mark.parametrize(("name", "node", "value", "match"), CELLS)
@pytest.mark.parametrize("base", ["classes", "numbers"])
def test_cells(files, base, name, node, value, match):
    doctored = Doctored(files[base])
    if name not in fields(doctored) or fields(doctored)[name] is None:
        pytest.skip("trees of classes have no samples")
    i = first(doctored, node)
    array_of(doctored, name)[i] = value
    refused(doctored, match)


@pytest.mark.parametrize("base", ["classes", "numbers"])
@pytest.mark.parametrize(
    "name", ["column", "threshold", "right", "subsets", "values", "weight", "gain", "which"]
)
def test_lengths_and_types(files, base, name):
    for change in (
        lambda v: v[:-1],
        lambda v: np.concatenate([v, v]),
        lambda v: v[:0],
        lambda v: v.astype(np.float32),
        lambda v: v.astype(np.int16),
        lambda v: v[None],
        lambda v: np.zeros((len(v), 7)),
    ):
        doctored = Doctored(files[base])
        if fields(doctored)[name] is not None:
            with np.errstate(invalid="ignore"):
                put(doctored, name, np.ascontiguousarray(change(array_of(doctored, name))))
            refused(doctored, None)


REWRITES = [
    ("classes", ("n_features",), 3, "other columns than 0 … 2|categories of a column"),
    ("classes", ("n_features",), 0, "n_features should be"),
    ("classes", ("n_features",), 2**40, "n_features should be"),
    ("classes", ("codes",), {"tuple": []}, "asked for by sets"),
    ("classes", ("codes",), None, "codes should be a tuple"),
    ("classes", ("codes", "tuple", 0, "tuple", 0), 9, "categories of a column that is not there"),
    ("classes", ("codes", "tuple", 0, "tuple", 0), -1, "whole number from 0"),
    ("classes", ("codes", "tuple", 0, "tuple", 0), 0, "asked for by sets"),
    ("classes", ("codes", "tuple", 0, "tuple", 1), None, "the categories of a column should be"),
    ("classes", ("codes", "tuple", 0, "tuple"), [3], "columns and categories"),
    ("classes", ("which",), {"dict": {}}, "no samples"),
    ("numbers", ("samples",), None, "left to use|no samples|not used|probabilities"),
    ("numbers", ("which",), None, "which should be"),
    ("numbers", ("samples",), {"Fixed": {}}, "Fixed lacks"),
]


@pytest.mark.parametrize(("base", "path", "value", "match"), REWRITES)
def test_rewrites(files, base, path, value, match):
    doctored = Doctored(files[base])
    holder, key = path_to(fields(doctored), *path)
    holder[key] = value
    refused(doctored, match)


@pytest.mark.parametrize(
    "change", [lambda v: v[::-1], lambda v: v * np.nan, lambda v: v * 0, lambda v: np.arange(300.0)]
)
def test_categories_rise(files, change):
    doctored = Doctored(files["numbers"])
    number = fields(doctored)["codes"]["tuple"][0]["tuple"][1]["array"]
    doctored.tensors[number] = np.ascontiguousarray(change(doctored.tensors[number]))
    refused(doctored, "categories")


def test_trees_of_a_forest_are_alike(files):
    for base, at in (("forest", "RandomForestRegressor"), ("forest of classes", "RandomForestClassifier")):
        doctored = Doctored(files[base])
        trees = doctored.manifest["model"][at]["fitted"]["dict"]["committee_"]["Committee"]["members"][
            "tuple"
        ]
        number = trees[1]["FittedTree"]["codes"]["tuple"][0]["tuple"][1]["array"]
        doctored.tensors[number] = doctored.tensors[number] + 1.0
        refused(doctored, "learned from other columns or categories")
        doctored = Doctored(files[base])
        doctored.manifest["model"][at]["fitted"]["dict"]["n_features_in_"] = 5
        refused(doctored, "expects 4 columns of 5")


def test_a_forest_knows_what_it_is_asked_for(files):
    """Trees of classes in a forest of numbers, and the other way."""
    one, other = Doctored(files["forest"]), Doctored(files["forest of classes"])
    of = one.manifest["model"]["RandomForestRegressor"]["fitted"]["dict"]["committee_"]["Committee"]
    [(_, theirs)] = other.manifest["model"].items()
    trees = theirs["fitted"]["dict"]["committee_"]["Committee"]["members"]
    one.tensors, of["members"] = other.tensors, trees
    of["vote"] = theirs["fitted"]["dict"]["committee_"]["Committee"]["vote"]
    refused(one, "asked for|not used")


def test_a_tree_of_other_classes(files):
    doctored = Doctored(files["tree"])
    state = doctored.manifest["model"]["TreeClassifier"]["fitted"]["dict"]
    doctored.tensors[state["classes_"]["array"]] = np.arange(4)
    refused(doctored, "other classes")


def test_names_of_categories():
    import pandas as pd

    frame = pd.DataFrame({"x": X[:, 0], "kind": np.array(list("abc"))[np.arange(60) % 3]})
    data = store.written(q.TreeRegressor(categorical_features="from_dtype").fit(frame, Y))
    for levels, match in (
        ({"kind": {"text": ["object", [2], ["a", "b"]]}}, "no places of its categories"),
        ({"kind": {"text": ["object", [3], ["a", "c", "b"]]}}, "in order"),
        ({"x": {"text": ["object", [3], ["a", "b", "c"]]}}, "are none"),
        ({"y": {"text": ["object", [3], ["a", "b", "c"]]}}, "which is no column"),
        ({"kind": {"text": ["<U1", [3], ["a", "b", "c"]]}}, "names of columns"),
    ):
        doctored = Doctored(data)
        doctored.manifest["model"]["TreeRegressor"]["fitted"]["dict"]["_levels"] = {"dict": levels}
        refused(doctored, match)


def test_preorder_is_exact():
    """Of all arrays of right children of a few nodes, it takes just those that a recursion over them takes."""

    def end(right, i):
        """The node after the branch at i, or None where there is none."""
        if i >= len(right):
            return None
        if right[i] == i:
            return i + 1
        middle = end(right, i + 1)
        return end(right, middle) if middle is not None and middle == right[i] else None

    for n in (1, 2, 3, 4, 5):
        for right in np.ndindex(*[n] * n):
            good = end(right, 0) == n
            try:
                preorder(np.array(right, np.int32))
            except q.ModelFormatError:
                assert not good, right
            else:
                assert good, right


def test_tables_of_another_width_are_refused():
    tree = q.TreeClassifier().fit(X, CLASSES).tree_
    forest = Committee((tree, tree), uniform(2), np.arange(3)).joined
    for ask in (tree.predict_dist, forest.mean):
        for wrong in (X[:, :3], X[:, 0], np.hstack([X, X])):
            with pytest.raises(ValueError, match="learned from 4 columns"):
                ask(wrong)
