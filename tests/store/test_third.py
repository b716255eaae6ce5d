"""Third-party objects: nothing is made of them that was not named in `trust`, and no state that could do harm."""

import copy
import io
import json
import re
import zipfile

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, SplineTransformer, StandardScaler
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from store.doctor import Doctored, literal

import quorate as q
from quorate.store import format, model as store
from quorate.store.trust import Trust, sklearn_types

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.digitize(X[:, 0], [-0.5, 0.5])


def bag(estimator, **parameters):
    return q.BaggingClassifier(estimator, n_estimators=2, random_state=0, **parameters).fit(X, Y)


class Nearest(ClassifierMixin, BaseEstimator):
    """A classifier of the user's own."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X):
        return self.classes_[np.zeros(len(X), int)]


@pytest.fixture(scope="module")
def files():
    made = {
        "tree": DecisionTreeClassifier(max_depth=3),
        "forest": RandomForestClassifier(2, random_state=np.random.RandomState(0)),
        "boosting": GradientBoostingClassifier(n_estimators=2),
        "histograms": HistGradientBoostingClassifier(
            max_iter=2, min_samples_leaf=5, categorical_features=[2]
        ),
        "svc": SVC(),
        "neighbours": KNeighborsClassifier(algorithm="kd_tree", leaf_size=5),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    table = np.column_stack([X[:, :2], np.arange(40) % 4])
    return {name: store.written(model.fit(table, Y)) for name, model in made.items()}


def read(doctored, trust="sklearn"):
    return store.read(doctored if isinstance(doctored, bytes) else doctored.bytes(), Trust(trust))


def refused(doctored, match, trust="sklearn"):
    with pytest.raises(q.ModelFormatError, match=match):
        read(doctored, trust)


# trust


def test_without_trust_the_types_are_listed(tmp_path):
    path = tmp_path / "model"
    q.save(bag(DecisionTreeClassifier()), path)
    with pytest.raises(q.ModelFormatError) as error:
        q.load(path)
    assert str(error.value) == (
        f"{path}: it holds third-party types that you have not said you trust:\n"
        "    sklearn.tree._classes.DecisionTreeClassifier\n"
        "    sklearn.tree._tree.Tree\n"
        'if you trust whoever made the file, say so: trust=["sklearn"]'
    )


@pytest.mark.parametrize(
    "trust",
    [
        *(
            "sklearn",
            ["sklearn"],
            ("sklearn.tree",),
            ["sklearn.tree._classes.DecisionTreeClassifier", "sklearn.tree._tree"],
        ),
        *([DecisionTreeClassifier, "sklearn.tree._tree.Tree"], {"sklearn"}),
    ],
    ids=str,
)
def test_ways_to_trust(files, trust):
    assert isinstance(read(files["tree"], trust), DecisionTreeClassifier)


@pytest.mark.parametrize(
    "trust",
    [(), [DecisionTreeClassifier], ["sklearn.tree._classes"], ["sk"], ["sklearn.tre"], [SVC], ["Tree"]],
    ids=str,
)
def test_ways_not_to_trust_enough(files, trust):
    refused(files["tree"], "not said you trust", trust)


def test_what_is_no_trust():
    for trust in ([3], [None], [""], [["sklearn"]]):
        with pytest.raises(TypeError, match="trust takes classes and names"):
            q.load("model", trust=trust)


def test_types_of_the_users_own():
    data = store.written(bag(Nearest()))
    refused(data, rf'trust=\["{Nearest.__module__}.Nearest"\]', "sklearn")
    for trust in ([Nearest], [f"{Nearest.__module__}.Nearest"], ["sklearn", Nearest.__module__]):
        np.testing.assert_array_equal(read(data, trust).predict(X), bag(Nearest()).predict(X))


def test_a_module_is_imported_only_if_the_caller_names_it(files):
    doctored = Doctored(files["tree"])
    doctored.nodes(class_="DecisionTreeClassifier")[0].update(__module__="antigravity")
    refused(doctored, "not said you trust:\n    antigravity.DecisionTreeClassifier")
    doctored.nodes(class_="DecisionTreeClassifier")[0].update(__module__="sklearn.no_such_room")
    refused(doctored, "the state of sklearn.no_such_room.DecisionTreeClassifier cannot be checked")
    doctored.nodes(class_="DecisionTreeClassifier")[0].update(__module__="no_such_package.inside")
    refused(doctored, "'no_such_package', which cannot be imported", ["sklearn", "no_such_package"])
    doctored.nodes(class_="DecisionTreeClassifier")[0].update(__module__="json.tool")
    refused(doctored, "no type json.tool.DecisionTreeClassifier in json", ["sklearn", "json"])


def test_unchecked_states_are_refused_even_if_named():
    model = make_pipeline(SplineTransformer(), LogisticRegression()).fit(X, Y)
    with pytest.raises(
        TypeError,
        match=r"Pipeline cannot be saved: the state of sklearn\.\S+SplineTransformer cannot be checked",
    ):
        store.written(bag(model))
    data = Doctored(store.written(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)))
    data.nodes(class_="StandardScaler")[0].update(
        __module__="sklearn.preprocessing._polynomial", __class__="SplineTransformer"
    )
    refused(data, "cannot be checked", ["sklearn", SplineTransformer])


def test_what_skops_cannot_write_names_the_member(tmp_path):
    scaler = FunctionTransformer(lambda X: X)
    with pytest.raises(TypeError, match=r"Pipeline cannot be saved: .*<lambda>"):
        q.save(bag(make_pipeline(scaler, LogisticRegression())), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_the_closed_list():
    """What trust in "sklearn" covers does not change unseen: a new name is looked at before it is added."""
    names = set(sklearn_types())
    assert all(name.startswith(("sklearn.", "scipy.sparse.", "functools.partial")) for name in names)
    assert not any("datasets" in name or "joblib" in name or "urlretrieve" in name for name in names)
    assert {"sklearn.tree._tree.Tree", "sklearn.svm._classes.SVC", "sklearn.utils._bunch.Bunch"} <= names
    assert 200 < len(names) < 400


# the tree of nodes


KIND = {"__module__": "builtins", "__id__": 10**6}
NOTHING = {**KIND, "__class__": "tuple", "__loader__": "TupleNode", "content": []}
CALL = {"__loader__": "ConstructorFromReduceNode", "content": NOTHING, "__id__": 10**6 + 1}

HOSTILE = {
    "a function that runs commands": (
        {**KIND, "__module__": "os", "__class__": "system", "__loader__": "FunctionNode"},
        "    os.system",
    ),
    "a call of it": ({**CALL, "__module__": "os", "__class__": "system"}, "could run code"),
    "a type that runs commands": (
        {**KIND, "__module__": "subprocess", "__class__": "Popen", "__loader__": "TypeNode"},
        "    subprocess.Popen",
    ),
    "eval": ({**KIND, "__class__": "eval", "__loader__": "TypeNode"}, "    builtins.eval"),
    "what scikit-learn imported": (
        {
            **KIND,
            "__module__": "sklearn.datasets._base",
            "__class__": "urlretrieve",
            "__loader__": "FunctionNode",
        },
        "the state of sklearn.datasets._base.urlretrieve cannot be checked",
    ),
    "a function of scikit-learn for a type": (
        {
            **KIND,
            "__module__": "sklearn.utils.validation",
            "__class__": "check_array",
            "__loader__": "TypeNode",
        },
        "cannot be made by a TypeNode",
    ),
    "a class for a function": (
        {**KIND, "__module__": "sklearn.svm._classes", "__class__": "SVC", "__loader__": "FunctionNode"},
        "cannot be made by a FunctionNode",
    ),
    "an object of a function's type": (
        {**KIND, "__module__": "os", "__class__": "system", "__loader__": "ObjectNode"},
        "    os.system",
    ),
    "a method": (
        {**KIND, "__class__": "x", "__loader__": "MethodNode", "content": {"obj": NOTHING, "func": "x"}},
        "could run code",
    ),
    "an operator": (
        {
            **KIND,
            "__module__": "operator",
            "__class__": "methodcaller",
            "__loader__": "OperatorFuncNode",
            "attrs": NOTHING,
        },
        "could run code",
    ),
    "an unknown loader": ({**KIND, "__class__": "x", "__loader__": "PickleNode"}, "could run code"),
    "a loader that is none": ({**KIND, "__class__": "x", "__loader__": []}, "could run code"),
    "an old loader": (
        {"__id__": 10**6, "__class__": "x", "__module__": "y", "__loader__": "CachedNode"},
        "could run code",
    ),
    "one of ours": (
        {
            **KIND,
            "__module__": "quorate.estimators.bagging",
            "__class__": "BaggingClassifier",
            "__loader__": "ObjectNode",
        },
        "quorate's own",
    ),
    "a ufunc somewhere else": (
        {
            **KIND,
            "__module__": "scipy.special.tests.test_basic",
            "__class__": "expit",
            "__loader__": "FunctionNode",
        },
        "    scipy.special.tests.test_basic.expit",
    ),
    "a slot of nothing": (
        {**KIND, "__module__": "quorate.store.third", "__class__": "Slot", "__loader__": "ObjectNode"},
        "Slot",
    ),
    "a file that is not there": (
        {**KIND, "__class__": "bytes", "__loader__": "BytesNode", "file": "/etc/passwd"},
        "no bin",
    ),
    "another's file": (
        {
            **KIND,
            "__module__": "numpy",
            "__class__": "ndarray",
            "__loader__": "NdArrayNode",
            "type": "numpy",
            "file": "0.npy",
        },
        "no npy '0.npy' left",
    ),
    "an extra key": ({**NOTHING, "more": 1}, "has the keys"),
    "no node": (3, "no node"),
    "an id of nothing": ({"__id__": 10**7}, "not there before"),
    "an id that skops forgets": ({**NOTHING, "__id__": 0}, "no node"),
    "an id that is none": ({**NOTHING, "__id__": "x"}, "no node"),
    "an id of another": ({**NOTHING, "__id__": 1}, "described twice|no node"),
    "JSON in JSON": (
        {**KIND, "__class__": "str", "__loader__": "JsonNode", "content": "[1]", "is_json": True},
        "one value",
    ),
    "no JSON": (
        {**KIND, "__class__": "str", "__loader__": "JsonNode", "content": "os", "is_json": True},
        "no JSON",
    ),
    "a key made by a call": (
        {
            **KIND,
            "__class__": "dict",
            "__loader__": "DictNode",
            "content": {"true": NOTHING},
            "key_types": {
                **KIND,
                "__class__": "list",
                "__loader__": "ListNode",
                "__id__": 10**6 + 2,
                "content": [{**KIND, "__class__": "list", "__loader__": "TypeNode", "__id__": 10**6 + 3}],
            },
        },
        "builtins.list cannot be the type of a key",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_node(files, name):
    node, match = HOSTILE[name]
    doctored = Doctored(files["pipeline"])
    doctored.state("LogisticRegression")["C"] = copy.deepcopy(node)
    refused(doctored, match)


@pytest.mark.parametrize("protocol", [0, 1, 3, None, True, "2"])
def test_another_protocol(files, protocol):
    doctored = Doctored(files["tree"])
    doctored.root["protocol"] = protocol
    if protocol is not True:
        refused(doctored, "protocol")


def test_an_object_that_holds_itself(files):
    doctored = Doctored(files["pipeline"])
    node = doctored.nodes(class_="LogisticRegression")[0]
    doctored.state("LogisticRegression")["C"] = {"__id__": node["__id__"]}
    refused(doctored, "not there before")


def test_trees_that_grow_when_they_are_walked(files):
    """Sixty lists, each with the one before it twice: 2^60 leaves for whoever walks it without remembering."""
    doctored = Doctored(files["pipeline"])
    node = {**NOTHING, "__id__": 10**6}
    for i in range(1, 60):
        node = {**NOTHING, "__id__": 10**6 + i, "content": [node, {"__id__": 10**6 + i - 1}]}
    doctored.state("LogisticRegression")["C"] = node
    refused(doctored, "share too many parts")
    doctored = Doctored(files["pipeline"])
    for i in range(400):
        node = {**NOTHING, "__id__": 10**6 + i, "content": [node if i else NOTHING]}
    doctored.state("LogisticRegression")["C"] = node
    refused(doctored, "nested too deeply")


def test_an_object_array_is_as_large_as_it_says(files):
    doctored = Doctored(files["boosting"])
    array = next(
        n for n in doctored.nodes(class_="ndarray") if n["type"] == "json" and len(n["content"]) == 2
    )
    array["shape"]["content"][0] = literal("5")
    refused(doctored, "another shape than it says")


def test_no_archive_is_inflated(files):
    """There is no archive in the file; one in its place is not opened."""
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", b" " * 10_000_000)
    doctored = Doctored(files["tree"])
    schema = doctored.third["schema"]
    doctored.root = None
    doctored.tensors[schema] = np.frombuffer(bomb.getvalue(), np.uint8)
    refused(doctored, "schema is no valid JSON")


@pytest.mark.parametrize("name", ["../x.npy", "0.npz", "0.py", "x.npy", ".npy", "-1.npy"])
def test_names_of_files(files, name):
    doctored = Doctored(files["tree"])
    doctored.third["files"][name] = doctored.third["files"].pop("0.npy")
    refused(doctored, "no file of|no npy|one part|nothing|no third-party object uses")


# arrays


def header(text, version=b"\x01\x00"):
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "raw",
    [
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"cos\nsystem\n(S'true'\ntR.",
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n"),
        header("{'descr': '<U0', 'fortran_order': False, 'shape': (100000000000,), }\n"),
        header("{'descr': '<U999999999', 'fortran_order': False, 'shape': (0,), }\n") + b"x",
        header("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,), }\n") + b"\0" * 8,
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').system('true'),), }\n"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "(" * 3000 + "),), }\n"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n", b"\x03\x00") + b"\0" * 8,
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }\n") + b"\x07",
        header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }\n") + b"\xff\xff\xff\xff",
        header("x" * 60_000),
        *(b"", b"\x93NUMPY", b"\x80\x04N."),
    ],
    ids=lambda raw: repr(raw[10:40]),
)
def test_a_hostile_array(files, raw):
    doctored = Doctored(files["tree"])
    doctored.put("0.npy", raw)
    refused(doctored, "array|descr")


# states of compiled types


def edited(files, name, class_, attribute, change):
    """The file, an attribute's array changed."""
    doctored = Doctored(files[name])
    doctored.change(doctored.state(class_)[attribute], change)
    return doctored


def tree_with(files, name="tree", at=1, **fields):
    doctored = Doctored(files[name])
    state = doctored.nodes(class_="Tree")[0]["content"]["content"]

    def change(nodes):
        for field, value in fields.items():
            nodes[field][at] = value

    doctored.change(state["nodes"], change)
    return doctored


@pytest.mark.parametrize(
    ("at", "fields", "match"),
    [
        (0, {"left_child": 0}, "before their parent"),
        (1, {"left_child": 0, "right_child": 0, "feature": 0}, "before their parent"),
        (0, {"right_child": 10**6}, "not there"),
        (0, {"left_child": -5}, "not there"),
        (0, {"left_child": -1}, "one child"),
        (0, {"right_child": 1}, "no parent, or with two"),
        (0, {"feature": 3}, "other features than 0 … 2"),
        (0, {"feature": -2}, "other features than 0 … 2"),
        (0, {"threshold": np.nan}, "numbers that are none"),
        (0, {"n_node_samples": -1}, "numbers that are none"),
        (0, {"left_child": -1, "right_child": -1}, "no parent|not 3 deep"),
    ],
)
def test_a_tree_that_is_none(files, at, fields, match):
    refused(tree_with(files, at=at, **fields), match)


def test_trees_with_other_sizes(files):
    for change, match in (
        (lambda values: values[:-1], "the values of a tree"),
        (lambda values: values[:, :, :1], "the values of a tree"),
        (lambda values: values.astype(np.float32), "the values of a tree"),
        (lambda values: np.asfortranarray(values), "the values of a tree"),
        (lambda values: np.full_like(values, np.nan), "numbers that are none"),
    ):
        doctored = Doctored(files["tree"])
        doctored.change(doctored.nodes(class_="Tree")[0]["content"]["content"]["values"], change)
        refused(doctored, match)
    for attribute, value, match in (
        ("node_count", "1000000", "the nodes of a tree"),
        ("node_count", "-1", "counts that are none"),
        ("max_depth", "0", "not 0 deep"),
        ("max_depth", "100", "not 100 deep"),
        ("max_depth", "1e3", "counts that are none"),
    ):
        doctored = Doctored(files["tree"])
        state = doctored.nodes(class_="Tree")[0]["content"]["content"]
        state[attribute] = literal(value)
        refused(doctored, match)
    doctored = Doctored(files["tree"])
    args = doctored.nodes(class_="Tree")[0]["__reduce__"]["args"]["content"]
    doctored.change(args[1], lambda n: n.__setitem__(0, 2**40))
    refused(doctored, "the values of a tree")


def test_estimators_that_do_not_fit_their_trees(files):
    refused(tree_with(files, "forest", 0, feature=100), "other features")
    refused(
        edited(files, "tree", "DecisionTreeClassifier", "classes_", lambda c: c[:2]),
        "other classes than its tree",
    )
    for name, class_, attribute in (
        ("tree", "DecisionTreeClassifier", "n_features_in_"),
        ("forest", "RandomForestClassifier", "n_features_in_"),
        ("boosting", "GradientBoostingClassifier", "n_features_in_"),
        ("boosting", "GradientBoostingClassifier", "n_trees_per_iteration_"),
        ("histograms", "HistGradientBoostingClassifier", "_n_features"),
        ("histograms", "HistGradientBoostingClassifier", "n_trees_per_iteration_"),
    ):
        for value in ("2", "7", "100000"):
            doctored = Doctored(files[name])
            doctored.state(class_)[attribute] = literal(value)
            refused(doctored, None)


def predictor_with(files, **fields):
    doctored = Doctored(files["histograms"])

    def change(nodes):
        inner = np.flatnonzero(nodes["is_leaf"] == 0)[0]
        for field, value in fields.items():
            nodes[field][inner] = value

    doctored.change(doctored.state("TreePredictor")["nodes"], change)
    return doctored


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"left": 0}, "before their parent"),
        ({"right": 2**31}, "not there"),
        ({"feature_idx": 3}, "a feature that is not there"),
        ({"feature_idx": -1}, "a feature that is not there"),
        ({"feature_idx": 0, "is_categorical": 1}, "the category of a number|beyond its own"),
        ({"feature_idx": 2, "is_categorical": 1, "bitset_idx": 10**6}, "beyond its own|category of a number"),
    ],
)
def test_a_histogram_tree_that_is_none(files, fields, match):
    refused(predictor_with(files, **fields), match)


def test_histograms_in_the_middle_of_a_fit(files):
    doctored = Doctored(files["histograms"])
    node = doctored.nodes(class_="HistGradientBoostingClassifier")[0]["content"]
    node["content"]["_in_fit"] = literal("true")
    node["key_types"]["content"].append({"__id__": node["key_types"]["content"][-1]["__id__"]})
    refused(doctored, "before it was done")


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("_n_support", lambda a: a.__setitem__(0, 10**6)),
        ("_n_support", lambda a: a.__setitem__(0, -1)),
        ("_n_support", lambda a: a[:2]),
        ("support_vectors_", lambda a: a[:5]),
        ("support_vectors_", lambda a: a[:, :2].copy()),
        ("support_vectors_", lambda a: a.astype(np.float32)),
        ("_dual_coef_", lambda a: a[:1]),
        ("_dual_coef_", lambda a: a[:, :3].copy()),
        ("_intercept_", lambda a: a[:1]),
        ("support_", lambda a: a[:1]),
        ("_probA", lambda a: np.zeros(1)),
        ("classes_", lambda a: np.arange(9)),
    ],
)
def test_support_vectors_that_are_none(files, attribute, change):
    refused(edited(files, "svc", "SVC", attribute, change), "SVC")


def test_kernels_that_cannot_be_checked():
    kernel = (X @ X.T, Y)
    with pytest.raises(TypeError, match="the kernel of a SVC cannot be checked"):
        store.written(SVC(kernel="precomputed").fit(*kernel))
    with pytest.raises(TypeError, match="learned from sparse data cannot be checked"):
        store.written(SVC().fit(csr_matrix(X), Y))


@pytest.mark.parametrize(
    ("part", "change", "match"),
    [
        (1, lambda order: order.__setitem__(0, 10**6), "the order"),
        (1, lambda order: order.__setitem__(0, order[1]), "the order"),
        (2, lambda nodes: nodes["idx_end"].__setitem__(0, 10**6), "beyond its data"),
        (2, lambda nodes: nodes["idx_start"].__setitem__(0, -1), "beyond its data"),
        (2, lambda nodes: nodes["is_leaf"].__setitem__(-1, 0), "children that are not there"),
        (3, lambda bounds: bounds[:, :1].copy(), "the bounds"),
        (0, lambda data: data[:5].copy(), "the order"),
        (0, lambda data: data[:, :1].copy(), "the bounds"),
    ],
)
def test_a_neighbour_tree_that_is_none(files, part, change, match):
    doctored = Doctored(files["neighbours"])
    doctored.change(doctored.nodes(class_="KDTree")[0]["content"]["content"][part], change)
    refused(doctored, match)


def test_neighbours_that_are_none(files):
    refused(
        edited(files, "neighbours", "KNeighborsClassifier", "_y", lambda y: y.__setitem__(0, 99)),
        "classes that are not there",
    )
    refused(edited(files, "neighbours", "KNeighborsClassifier", "_y", lambda y: y[:5]), "no answers")
    for attribute, value in (("n_neighbors", "1000"), ("n_samples_fit_", "1000"), ("_fit_method", '"brute"')):
        doctored = Doctored(files["neighbours"])
        doctored.state("KNeighborsClassifier")[attribute] = literal(value)
        refused(doctored, "KNeighborsClassifier")


def test_random_numbers_that_read_beyond_their_state():
    model = q.BaggingClassifier(LogisticRegression(), 2, random_state=np.random.RandomState(0)).fit(X, Y)
    data = store.written(model)
    assert read(data).get_params()["random_state"].randint(100) == model.random_state.randint(100)
    for attribute, value in (("pos", "1000000"), ("pos", "-1")):
        doctored = Doctored(data)
        state = doctored.nodes(class_="RandomState")[0]["content"]["content"]["state"]["content"]
        state[attribute] = literal(value)
        refused(doctored, "RandomState")
    doctored = Doctored(store.written({"rng": np.random.default_rng(0)}))
    assert read(doctored)["rng"].random() == np.random.default_rng(0).random()
    seeds = doctored.nodes(class_="Generator")[0]["content"]["seed_seq"]["content"]
    seeds["pool_size"]["content"] = "1000000000"
    refused(doctored, "Generator")


@pytest.mark.parametrize(
    ("part", "index", "value"),
    [
        ("indices", 0, 10**6),
        ("indices", 0, -1),
        ("indptr", 1, 10**6),
        ("indptr", 0, 1),
        ("shape", 1, 1),
        ("shape", 0, 10**6),
    ],
)
def test_a_sparse_matrix_that_points_beyond_itself(part, index, value):
    model = make_pipeline(SparseRandomProjection(2, random_state=0), LogisticRegression()).fit(X, Y)
    doctored = Doctored(store.written(model))
    np.testing.assert_array_equal(read(doctored).predict(X), model.predict(X))
    [name] = [name for name in doctored.third["files"] if name.endswith("npz")]
    array = doctored.array(name, part).copy()
    array[index] = value
    doctored.put(name, array, part)
    refused(doctored, "sparse matrix")


def test_attributes_that_stand_in_for_methods(files):
    for name in ("predict_proba", "predict", "__class__", "_parameter_constraints", "get_params"):
        doctored = Doctored(files["pipeline"])
        node = doctored.nodes(class_="LogisticRegression")[0]["content"]
        node["content"][name] = {
            **KIND,
            "__module__": "numpy",
            "__class__": "exp",
            "__loader__": "FunctionNode",
        }
        node["key_types"]["content"].append({"__id__": node["key_types"]["content"][0]["__id__"]})
        refused(doctored, f"stands in for its {name}")


def test_one_hot_encoders():
    """Their codes are indices: each must be inside the table they are put in."""
    table = np.column_stack([X[:, 0] > 0, np.arange(40) % 4, np.arange(40) % 7]).astype(float)
    for parameters in (
        {},
        {"drop": "first"},
        {"drop": "if_binary"},
        {"max_categories": 3},
        {"max_categories": 3, "drop": "first"},
    ):
        encoder = OneHotEncoder(**parameters)
        model = make_pipeline(encoder, LogisticRegression()).fit(table, Y)
        data = store.written(model)
        np.testing.assert_array_equal(read(data).predict(table), model.predict(table))
        doctored = Doctored(data)
        doctored.state("OneHotEncoder")["_n_features_outs"]["content"][1] = literal("1")
        refused(doctored, "wide")
        doctored = Doctored(data)
        doctored.change(
            doctored.state("OneHotEncoder")["categories_"]["content"][1], lambda a: np.arange(100.0)
        )
        refused(doctored, "OneHotEncoder|wide|answer|cannot be read")


def test_a_billion_jobs(files):
    doctored = Doctored(files["forest"])
    doctored.state("RandomForestClassifier")["n_jobs"] = literal("1000000000")
    refused(doctored, "n_jobs=1000000000 is out of range")


def test_a_model_that_cannot_answer(files):
    refused(
        edited(files, "pipeline", "LogisticRegression", "coef_", lambda c: c[:, :1].copy()), "does not answer"
    )


def test_another_version_of_scikit_learn_warns(files):
    doctored = Doctored(files["pipeline"])
    doctored.state("LogisticRegression")["_sklearn_version"] = literal('"1.0"')
    with pytest.warns(InconsistentVersionWarning):
        read(doctored)


# quorate's own inside third-party objects


def test_ours_inside_theirs():
    inner = q.BaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0)
    model = make_pipeline(StandardScaler(), inner).fit(X, Y)
    before = copy.deepcopy(model)
    data = store.written(model)
    assert isinstance(model[-1], q.BaggingClassifier)
    np.testing.assert_array_equal(model.predict_proba(X), before.predict_proba(X))
    doctored = Doctored(data)
    assert not doctored.nodes(class_="BaggingClassifier")
    np.testing.assert_array_equal(read(doctored).predict_proba(X), model.predict_proba(X))
    for value in ("-1", "1", "null", '"0"'):
        doctored = Doctored(data)
        doctored.state("Slot")["index"] = literal(value)
        refused(doctored, "to put in its slot")
    doctored = Doctored(data)
    doctored.third["slots"] = [{"third": 0}]
    refused(doctored, "holds itself|nothing uses")
    doctored = Doctored(data)
    doctored.third["slots"].append(1)
    refused(doctored, "nothing uses")


def test_nothing_of_the_process_is_in_the_file(files):
    """skops writes addresses in memory; here they are small numbers, so that the same model is the same file."""
    for data in files.values():
        manifest, tensors = format.unpack(data)
        text = bytes(tensors[json.loads(manifest)["third"]["schema"]]).decode()
        assert max(int(n) for n in re.findall(r'"__id__":(\d+)', text)) < len(text)
        assert all(
            json.loads(n["content"]) is None or "0x" not in n["content"]
            for n in Doctored(data).nodes(loader="JsonNode")
        )
