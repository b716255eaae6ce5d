"""Third-party objects: nothing is made of them that was not named in `trust`, and no state that could do harm."""

import copy
import io
import json
import re
import zipfile
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import eval_hermite, expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Sum
from sklearn.kernel_approximation import AdditiveChi2Sampler, PolynomialCountSketch
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
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


def scale_rows(X, by=1.0):
    """A function of the user's own."""
    return X * by


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
        "another number of classes",
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
        node["content"][name] = literal("1")
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


def test_a_model_that_cannot_answer_says_so_when_it_is_asked(files):
    """Loading asks it nothing, for an answer may take long."""
    doctored = edited(files, "pipeline", "LogisticRegression", "coef_", lambda c: c[:, :1].copy())
    with pytest.raises(ValueError, match="matmul"):
        read(doctored).predict(X)


# what can be called, or is compiled, in another place


def put(doctored, class_, name, node):
    """A node as an attribute of the first object of a class."""
    holder = doctored.nodes(class_=class_)[0]["content"]
    if name not in holder["content"]:
        holder["key_types"]["content"].append({"__id__": holder["key_types"]["content"][0]["__id__"]})
    holder["content"][name] = node
    return doctored


@pytest.mark.parametrize(
    ("name", "class_", "node", "match"),
    [
        (
            "pipeline",
            "LogisticRegression",
            {"__class__": "exp", "__module__": "numpy"},
            "a numpy.ufunc stands",
        ),
        (
            "pipeline",
            "LogisticRegression",
            {"__class__": "pairwise_distances", "__module__": "sklearn.metrics.pairwise"},
            "a builtins.function stands",
        ),
    ],
)
def test_functions_stand_where_functions_are_called(files, name, class_, node, match):
    node = {**KIND, **node, "__loader__": "FunctionNode"}
    refused(put(Doctored(files[name]), class_, "extra_", node), match)


def test_compiled_parts_stand_with_their_owners(files):
    for name, owner, part in (
        ("tree", "DecisionTreeClassifier", "Tree"),
        ("histograms", "HistGradientBoostingClassifier", "TreePredictor"),
        ("histograms", "HistGradientBoostingClassifier", "_BinMapper"),
        ("neighbours", "KNeighborsClassifier", "KDTree"),
        ("boosting", "GradientBoostingClassifier", "CyHalfMultinomialLoss"),
    ):
        doctored = Doctored(files[name])
        [node, *_] = doctored.nodes(class_=part)
        refused(
            put(doctored, owner, "extra_", {"__id__": node["__id__"]}),
            f"{part} stands where it does not belong",
        )


def test_what_a_set_or_a_partial_holds_is_data(files):
    exp = {**KIND, "__class__": "exp", "__module__": "numpy", "__loader__": "FunctionNode"}
    held = {**KIND, "__class__": "set", "__loader__": "SetNode", "content": [exp], "__id__": 10**6 + 1}
    refused(put(Doctored(files["pipeline"]), "LogisticRegression", "extra_", held), "only data may stand")
    for name in ("func", "args"):
        model = HistGradientBoostingClassifier(max_iter=1, categorical_features=[0]).fit(X.round(), Y)
        doctored = Doctored(store.written(model))
        part = doctored.nodes(loader="PartialNode")[0]["content"]
        part[name] = {**NOTHING, "content": [exp]} if name == "args" else {"__id__": part["args"]["__id__"]}
        part["kwds"], part["args"] = (
            (part["args"], part["kwds"]) if name == "func" else (part["kwds"], part["args"])
        )
        refused(doctored, None)


def test_functions_that_may_not_be_called():
    for function in (
        partial(eval_hermite, 5),
        partial(pairwise_distances, np.zeros((1, 3))),
        pairwise_distances,
    ):
        with pytest.raises(TypeError, match="cannot be saved"):
            store.written(make_pipeline(FunctionTransformer(function), LogisticRegression()))
    for function in (np.add, eval_hermite, scale_rows, partial(scale_rows, by=2.0)):
        refused(store.written(FunctionTransformer(function)), "not said you trust")
    own = FunctionTransformer(partial(scale_rows, by=2.0))
    trusted = read(store.written(own), ["sklearn", scale_rows])
    np.testing.assert_array_equal(trusted.transform(X), own.transform(X))
    with pytest.raises(TypeError, match="kw_args of a FunctionTransformer cannot be checked"):
        store.written(FunctionTransformer(np.exp, kw_args={"out": np.zeros((10, 3))}))
    for function in (np.log1p, expit):
        assert read(store.written(FunctionTransformer(function))).func is function
    doctored = Doctored(store.written(FunctionTransformer(np.exp)))
    doctored.nodes(loader="FunctionNode")[0].update(__class__="f2py")
    refused(doctored, "not said you trust:\n    numpy.f2py")


# numbers and names by which an estimator asks for more than a file holds


def test_boosting_begins_with_what_can_be_checked(files):
    with pytest.raises(TypeError, match="what a GradientBoostingRegressor begins with cannot be checked"):
        store.written(GradientBoostingRegressor(init=BayesianRidge(), n_estimators=2).fit(X, Y))
    zero = GradientBoostingClassifier(init="zero", n_estimators=2).fit(X, Y)
    np.testing.assert_array_equal(read(store.written(zero)).predict_proba(X), zero.predict_proba(X))
    doctored = Doctored(files["boosting"])
    doctored.state("DummyClassifier")["n_outputs_"] = literal("0")
    refused(doctored, "DummyClassifier")


def test_a_degree_that_is_no_c_int():
    doctored = Doctored(store.written(SVC(kernel="poly").fit(X, Y)))
    doctored.state("SVC")["degree"] = literal(str(10**30))
    refused(doctored, "degree of a SVC is no small whole number")


def test_answers_in_another_shape():
    doctored = Doctored(store.written(KNeighborsClassifier(algorithm="brute", metric="manhattan").fit(X, Y)))
    doctored.state("KNeighborsClassifier")["outputs_2d_"] = literal("true")
    refused(doctored, "answers in another shape")


@pytest.mark.parametrize(
    "given",
    [{"Y_norm_squared": np.zeros(1)}, {"V": np.eye(3)}, {"w": np.ones(2)}, {"w": -np.ones(3)}, {"p": -1.0}],
    ids=str,
)
def test_metrics_that_are_given_more_than_they_need(given):
    model = KNeighborsClassifier(algorithm="brute", metric="minkowski", p=3).fit(X, Y)
    model.effective_metric_params_ = given
    with pytest.raises(TypeError, match="of a KNeighborsClassifier"):
        store.written(model)
    with pytest.raises(TypeError, match="the metric of a KNeighborsClassifier cannot be checked"):
        store.written(KNeighborsClassifier(metric="precomputed").fit(np.abs(X @ X.T), Y))


def test_saving_leaves_a_model_as_it_was():
    model = KNeighborsClassifier(algorithm="brute", metric="minkowski", metric_params={"w": np.ones(3)}).fit(
        X, Y
    )
    before = copy.deepcopy(vars(model))
    assert store.written(model) == store.written(model)
    assert repr(vars(model)) == repr(before)


@pytest.mark.parametrize(
    ("model", "attribute", "value"),
    [
        (PolynomialFeatures(), "_n_out_full", "1000000000"),
        (PolynomialFeatures(), "_max_degree", "1000000000"),
        (PolynomialCountSketch(), "n_components", "1000000000"),
        (AdditiveChi2Sampler(sample_interval=1.0), "sample_steps", "1000000000"),
        (DummyRegressor(), "n_outputs_", "1000000000"),
        (DummyClassifier(), "n_classes_", "1000000000"),
        (RandomForestClassifier(2), "n_classes_", "1000000000"),
        (RandomForestRegressor(2), "n_outputs_", "1000000000"),
        (HistGradientBoostingClassifier(max_iter=2), "n_trees_per_iteration_", "1000000000"),
        (FixedThresholdClassifier(LogisticRegression()), "response_method", '"fit"'),
        (SelectFromModel(RandomForestClassifier(2)), "importance_getter", '"estimators_samples_"'),
        (NearestCentroid(), "metric", '"seuclidean"'),
        (LogisticRegression(), "C", '"x"'),
        (LogisticRegression(), "C", "-1"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_numbers_and_names_that_ask_for_too_much(model, attribute, value):
    doctored = Doctored(store.written(model.fit(np.abs(X), Y > 0)))
    assert attribute in doctored.state(type(model).__name__)
    doctored.state(type(model).__name__)[attribute] = literal(value)
    refused(doctored, None)


def test_a_kernel_of_too_many_kernels():
    kernel = RBF()
    for _ in range(10):
        kernel = Sum(kernel, kernel)
    with pytest.raises(TypeError, match="a kernel is made of too many others"):
        store.written(GaussianProcessRegressor(kernel))


def test_votes_for_classes_that_are_not_there():
    doctored = Doctored(store.written(VotingClassifier([("a", GaussianNB())]).fit(X, Y)))
    nodes = doctored.nodes(class_="GaussianNB")[-1]["content"]["content"]
    doctored.change(nodes["classes_"], lambda c: c.__setitem__(2, 10**12))
    refused(doctored, "votes for classes that are not there")


def test_several_labels_a_row():
    model = OneVsRestClassifier(LogisticRegression()).fit(
        X, np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    )
    with pytest.raises(TypeError, match="several labels a row cannot be checked"):
        store.written(model)


@pytest.mark.parametrize(
    "change", [lambda c: c[::-1].copy(), lambda c: c[:1].repeat(4), lambda c: np.array([0, np.nan, 1, 2.0])]
)
def test_categories_out_of_order(change):
    table = (np.arange(40) % 4).astype(float)[:, None]
    for model in (OneHotEncoder(), KBinsDiscretizer(4, quantile_method="linear")):
        doctored = Doctored(store.written(model.fit(table)))
        known = doctored.state("OneHotEncoder")["categories_"]["content"][0]
        doctored.change(known, change)
        refused(doctored, "out of order")
    gaps = OneHotEncoder().fit([[1.0], [np.nan], [0.0]])
    assert read(store.written(gaps)).transform([[np.nan]]).toarray().tolist() == [[0, 0, 1]]
    words = OneHotEncoder(categories=[["low", "high"]]).fit(np.array([["low"], ["high"]], object))
    assert read(store.written(words)).transform([["low"]]).toarray().tolist() == [[1, 0]]


def test_rare_categories_that_are_not_there():
    table = np.repeat(np.arange(5.0), [9, 9, 9, 1, 1])[:, None]
    model = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist").fit(table)
    doctored = Doctored(store.written(model))
    rare = doctored.state("OneHotEncoder")["_infrequent_indices"]["content"][0]
    doctored.change(rare, lambda r: r.__setitem__(0, 10**9))
    refused(doctored, "groups that are none")


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
