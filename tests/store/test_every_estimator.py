"""Every estimator of scikit-learn's that trust in "sklearn" covers: the same answers, and no state half there."""

import contextlib
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, is_regressor
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import mutual_info_classif
from sklearn.gaussian_process.kernels import RBF, DotProduct, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from store.doctor import Doctored

from quorate.store import model as store
from quorate.store.trust import Trust, sklearn_types

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 4))).round(1)
Y = np.digitize(X[:, 0], [0.4, 0.9])
NAMED = [("one", LogisticRegression()), ("two", DecisionTreeClassifier(max_depth=2))]
NUMBERS = [("one", BayesianRidge()), ("two", DecisionTreeRegressor(max_depth=2))]
GIVEN = {
    "ClassifierChain": {"estimator": LogisticRegression()},
    "ColumnTransformer": {
        "transformers": [("a", OneHotEncoder(handle_unknown="ignore"), [0, 1]), ("b", StandardScaler(), [2])]
    },
    "FeatureUnion": {"transformer_list": [("a", StandardScaler()), ("b", FunctionTransformer(np.log1p))]},
    "FrozenEstimator": {"estimator": LogisticRegression().fit(X, Y)},
    "GridSearchCV": {
        "estimator": LogisticRegression(),
        "param_grid": {"C": [0.1, 1.0]},
        "scoring": make_scorer(f1_score, average="macro"),
    },
    "HalvingGridSearchCV": {"estimator": LogisticRegression(), "param_grid": {"C": [0.1, 1.0]}, "cv": 2},
    "HalvingRandomSearchCV": {
        "estimator": LogisticRegression(),
        "param_distributions": {"C": [0.1, 1.0]},
        "n_candidates": 2,
        "cv": 2,
    },
    "Pipeline": {"steps": [("a", StandardScaler()), ("b", LogisticRegression())]},
    "RandomizedSearchCV": {
        "estimator": LogisticRegression(),
        "param_distributions": {"C": [0.1, 1.0, 2.0]},
        "n_iter": 2,
    },
    "RegressorChain": {"estimator": BayesianRidge()},
    "SparseRandomProjection": {"n_components": 2},
    "GaussianRandomProjection": {"n_components": 2},
    "SelectKBest": {"k": 2},
    "SelfTrainingClassifier": {"estimator": LogisticRegression()},
    "StackingClassifier": {"estimators": NAMED},
    "StackingRegressor": {"estimators": NUMBERS},
    "TransformedTargetRegressor": {"func": np.log1p, "inverse_func": np.expm1},
    "VotingClassifier": {"estimators": NAMED, "voting": "hard"},
    "VotingRegressor": {"estimators": NUMBERS},
}
ALONE = {"_BinMapper", "_BinaryGaussianProcessClassifierLaplace", "_ConstantPredictor", "LabelBinarizer"}


def made(cls):
    """One of a class, with what it cannot do without."""
    if cls.__name__ in GIVEN:
        return cls(**GIVEN[cls.__name__])
    for needed in ({}, {"estimator": LogisticRegression()}, {"estimator": BayesianRidge()}):
        try:
            return cls(**needed)
        except TypeError:
            continue
    raise AssertionError(f"{cls.__name__} needs a line in GIVEN")


def fitted(estimator, X=X):
    """A small fit to whatever data it takes."""
    y = Y.astype(float) + X[:, 1] if is_regressor(estimator) else Y
    two = np.column_stack([Y > 0, Y > 1]).astype(int)
    for table, target in ((X, y), (X, Y > 0), (X, two), (X @ X.T, None), (X[:, 0], y), (Y, None)):
        try:
            # A copy, for products of a table with itself are computed in another way.
            return (
                estimator.fit(table, target) if target is not None else estimator.fit(table)
            ), table.copy()
        except (ValueError, TypeError, IndexError, AttributeError):
            continue
    raise AssertionError(f"nothing to fit a {type(estimator).__name__} to")


def answers(model, rows):
    """What it says to the rows, by each of its ways to answer, as bytes."""
    said = {}
    for name in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, name) and not (name == "predict_proba" and _says_no(model)):
            answer = getattr(model, name)(rows)
            answer = answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)
            said[name] = answer.tobytes() if answer.dtype != object else answer.tolist()
    assert said
    return said


def _says_no(model):
    """A Gaussian process of classes in pairs has a predict_proba, which refuses."""
    return getattr(model, "multi_class", None) == "one_vs_one"


def there_and_back(model):
    return store.read(store.written(model), Trust("sklearn"))


CLASSES = [
    cls
    for cls in sklearn_types().values()
    if isinstance(cls, type) and issubclass(cls, BaseEstimator) and cls.__name__ not in ALONE
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_the_same_answers(cls):
    model, rows = fitted(made(cls))
    assert answers(there_and_back(model), rows) == answers(model, rows)
    there_and_back(made(cls))


def variants():
    """Those whose state takes other forms with other parameters."""
    kernel = DotProduct() + RBF([1.0] * 4) * 2.0 + WhiteKernel()
    codes = ColumnTransformer([("codes", OrdinalEncoder(), [0, 1])], remainder="passthrough")
    of = sklearn_types()
    by_name = {name.rpartition(".")[2]: cls for name, cls in of.items()}

    def one(name, **given):
        return by_name[name](**given)

    return [
        *(
            one("HistGradientBoostingRegressor", max_iter=3, categorical_features=some)
            for some in ([0], [0, 1, 2, 3])
        ),
        *(
            one("GradientBoostingClassifier", n_estimators=2, **g)
            for g in ({"init": "zero"}, {"loss": "exponential"})
        ),
        *(one("GradientBoostingRegressor", n_estimators=2, loss=loss) for loss in ("huber", "quantile")),
        *(one("SVC", kernel=k, probability=p) for k, p in (("poly", False), ("sigmoid", False))),
        *(
            one("KNeighborsClassifier", algorithm="brute", metric=m)
            for m in ("cosine", "manhattan", "canberra")
        ),
        one("KNeighborsClassifier", algorithm="ball_tree", p=3, weights="distance"),
        one(
            "KNeighborsRegressor",
            algorithm="brute",
            metric="minkowski",
            metric_params={"w": np.arange(1.0, 5.0)},
        ),
        one("GaussianProcessRegressor", kernel=kernel, normalize_y=True),
        one("GaussianProcessClassifier", kernel=1.0 * RBF(), multi_class="one_vs_one"),
        one("CalibratedClassifierCV", estimator=LogisticRegression(), method="isotonic", cv=2),
        one("DummyClassifier", strategy="constant", constant=1),
        one("OneHotEncoder", max_categories=3, drop="first", handle_unknown="infrequent_if_exist"),
        one("PolynomialFeatures", degree=3, interaction_only=True, include_bias=False),
        one("VotingClassifier", estimators=NAMED, voting="soft"),
        one("StackingClassifier", estimators=[("deep", one("VotingClassifier", estimators=NAMED))], cv=2),
        one("SelectKBest", score_func=mutual_info_classif, k=2),
        one("SelectFromModel", estimator=LogisticRegression(), importance_getter="coef_"),
        one(
            "RandomizedSearchCV",
            estimator=Pipeline([("a", codes), ("b", BayesianRidge())]),
            param_distributions={"a": [codes, "passthrough"]},
            n_iter=2,
        ),
        TransformedTargetRegressor(DecisionTreeRegressor(max_depth=2), transformer=StandardScaler()),
        make_pipeline(codes, OneHotEncoder(handle_unknown="ignore"), LogisticRegression()),
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", variants(), ids=lambda model: str(model)[:40])
def test_the_same_answers_with_other_parameters(model):
    model, rows = fitted(model)
    assert answers(there_and_back(model), rows) == answers(model, rows)


def checked():
    """A small model of each class of which compiled code reads the state, and the rows to ask it about."""
    given = {
        "GradientBoostingClassifier": {"n_estimators": 1, "max_depth": 1},
        "HistGradientBoostingRegressor": {"max_iter": 1, "categorical_features": [0]},
        "RandomForestClassifier": {"n_estimators": 1},
        "RandomTreesEmbedding": {"n_estimators": 1},
        **{name: {} for name in ("DecisionTreeRegressor", "KBinsDiscretizer", "OneHotEncoder", "SVC", "SVR")},
        "KNeighborsClassifier": {"algorithm": "brute", "metric": "manhattan"},
        "KNeighborsRegressor": {"algorithm": "kd_tree"},
    }
    for cls in CLASSES:
        if cls.__name__ in given:
            yield fitted(cls(**given[cls.__name__]))


def ask_with_less(model, rows):
    """Load and ask a model without each attribute of each kind of its parts: called otherwise, it is not there."""
    data, left = store.written(model), Doctored(store.written(model))
    kinds = {node["__class__"]: node for node in left.nodes(loader="ObjectNode") if "content" in node}
    for kind, node in kinds.items():
        for name in list(node["content"]["content"]) if isinstance(node["content"]["content"], dict) else ():
            doctored = Doctored(data)
            state = doctored.state(kind)
            state[f"{name}gone"] = state.pop(name, None)
            with contextlib.suppress(Exception):  # any will do, but the process goes on
                answers(store.read(doctored.bytes(), Trust("sklearn")), rows)


def test_no_missing_attribute_ends_the_process():
    code = (
        "import sys, warnings; sys.path[:0] = ['tests', '.']; warnings.simplefilter('ignore')\n"
        "from store.test_every_estimator import ask_with_less, checked\n"
        "for model, rows in checked(): ask_with_less(model, rows)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
