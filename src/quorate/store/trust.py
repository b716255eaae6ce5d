"""Whom the caller trusts, and what of scikit-learn can be trusted at all.

`trust` names third-party types: a class itself, its full name, or a package ("sklearn") for all of its classes. What a
file names is looked up among these and nowhere else. A module is imported only if the caller's own words name it.

Compiled code of scikit-learn reads what a file says without looking, so of scikit-learn only those types can be loaded
whose state is checked here (states.py) or handled by Python alone. Not among them, as their state cannot be checked:
neighbours by radius, kernel densities, outlier detectors, clustering, NMF and topic models, dictionary learning,
manifolds, splines, label propagation, sets of labels, and text vectorisers.
"""

import importlib
import inspect
import sys
import warnings
from functools import cache

from quorate.store.format import ModelFormatError

ROOMS = {
    *(
        "calibration",
        "compose",
        "cross_decomposition",
        "decomposition",
        "discriminant_analysis",
        "dummy",
        "ensemble",
    ),
    *(
        "feature_selection",
        "frozen",
        "gaussian_process",
        "impute",
        "isotonic",
        "kernel_approximation",
        "kernel_ridge",
    ),
    *(
        "linear_model",
        "model_selection",
        "multiclass",
        "multioutput",
        "naive_bayes",
        "neighbors",
        "neural_network",
    ),
    *("pipeline", "preprocessing", "random_projection", "semi_supervised", "svm", "tree"),
}
UNCHECKED = {
    *(
        "NMF",
        "MiniBatchNMF",
        "LatentDirichletAllocation",
        "DictionaryLearning",
        "MiniBatchDictionaryLearning",
    ),
    *(
        "MultiLabelBinarizer",
        "SparseCoder",
        "SparsePCA",
        "MiniBatchSparsePCA",
        "SplineTransformer",
        "LabelPropagation",
        "LabelSpreading",
    ),
    *(
        "IsolationForest",
        "OneClassSVM",
        "SGDOneClassSVM",
        "KernelDensity",
        "LocalOutlierFactor",
        "NearestNeighbors",
    ),
    *("RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "RadiusNeighborsTransformer"),
}
# What estimators are made of, beside estimators.
PARTS = {
    "sklearn._loss.link": (
        "IdentityLink",
        "LogLink",
        "LogitLink",
        "HalfLogitLink",
        "MultinomialLogit",
        "Interval",
    ),
    "sklearn._loss.loss": (
        *(
            "AbsoluteError",
            "ExponentialLoss",
            "HalfBinomialLoss",
            "HalfGammaLoss",
            "HalfMultinomialLoss",
            "HuberLoss",
        ),
        *("HalfPoissonLoss", "HalfSquaredError", "HalfTweedieLoss", "HalfTweedieLossIdentity", "PinballLoss"),
    ),
    "sklearn._loss._loss": (
        *(
            "CyAbsoluteError",
            "CyExponentialLoss",
            "CyHalfBinomialLoss",
            "CyHalfGammaLoss",
            "CyHalfMultinomialLoss",
        ),
        *("CyHalfPoissonLoss", "CyHalfSquaredError", "CyHalfTweedieLoss", "CyHalfTweedieLossIdentity"),
        *("CyHuberLoss", "CyPinballLoss"),
    ),
    "sklearn.linear_model._sgd_fast": (
        *("EpsilonInsensitive", "Hinge", "ModifiedHuber", "SquaredEpsilonInsensitive", "SquaredHinge"),
    ),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling"),
    "sklearn.compose._column_transformer": ("make_column_selector",),
    "sklearn.ensemble._hist_gradient_boosting.binning": ("_BinMapper",),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.gaussian_process._gpc": ("_BinaryGaussianProcessClassifierLaplace",),
    "sklearn.gaussian_process.kernels": (
        *(
            "ConstantKernel",
            "DotProduct",
            "ExpSineSquared",
            "Exponentiation",
            "Matern",
            "Product",
        ),
        *("RBF", "RationalQuadratic", "Sum", "WhiteKernel"),
    ),
    "sklearn.metrics._dist_metrics": (
        *("EuclideanDistance64", "ManhattanDistance64", "ChebyshevDistance64", "MinkowskiDistance64"),
    ),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_Scorer", "_MultimetricScorer", "_CurveScorer"),
    "sklearn.model_selection._split": (
        *("GroupKFold", "GroupShuffleSplit", "KFold", "LeaveOneGroupOut", "LeaveOneOut", "PredefinedSplit"),
        *(
            "RepeatedKFold",
            "RepeatedStratifiedKFold",
            "ShuffleSplit",
            "StratifiedGroupKFold",
            "StratifiedKFold",
        ),
        *("StratifiedShuffleSplit", "TimeSeriesSplit"),
    ),
    "sklearn.multiclass": ("_ConstantPredictor",),
    "sklearn.neighbors._ball_tree": ("BallTree",),
    "sklearn.neighbors._kd_tree": ("KDTree",),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.tree._tree": ("Tree",),
    "sklearn.utils._bunch": ("Bunch",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
    "sklearn.utils.validation": ("check_array",),
    "scipy.sparse": ("csr_array", "csr_matrix", "csc_array", "csc_matrix"),
    "functools": ("partial",),
}


def name_of(thing):
    """The full name of a class or function."""
    return f"{thing.__module__}.{thing.__name__}"


@cache
def sklearn_types():
    """{full name: class or function} of all that trust in "sklearn" covers: a closed list."""
    from sklearn.utils import all_estimators

    found = [getattr(importlib.import_module(m), name, None) for m, names in PARTS.items() for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimators = [cls for _, cls in all_estimators()]
    found += [
        cls for cls in estimators if cls.__module__.split(".")[1] in ROOMS and cls.__name__ not in UNCHECKED
    ]
    found += [f for room in ("metrics", "feature_selection") for f in _functions(f"sklearn.{room}")]
    return {name_of(thing): thing for thing in found if thing is not None}


def _functions(module):
    public = importlib.import_module(module)
    return [f for name in public.__all__ if inspect.isfunction(f := getattr(public, name))]


class Trust:
    """The caller's `trust`: types, names of types, names of packages."""

    def __init__(self, trust):
        trust = [trust] if isinstance(trust, str | type) else list(trust)
        for one in trust:
            if not (isinstance(one, str) and one) and not callable(one):
                raise TypeError(f"trust takes classes and names, such as 'sklearn', but not {one!r}")
        self._names = {one for one in trust if isinstance(one, str)}
        self._things = {name_of(one): one for one in trust if not isinstance(one, str)}

    def find(self, name):
        """The class or function of a name in a file; None where it is not trusted."""
        if name.startswith("quorate."):
            raise ModelFormatError(f"{name} is quorate's own, and is not read as a third-party type")
        covering = [own for own in self._names if name == own or name.startswith(f"{own}.")]
        known = sklearn_types().get(name)
        if name not in self._things and not covering and not (known is not None and "sklearn" in self._names):
            return None
        if known is not None:
            return known
        if name.startswith("sklearn."):
            raise ModelFormatError(unchecked(name))
        return self._things.get(name) or _imported(name, max(covering, key=len, default=None))


class Everyone(Trust):
    """Trust for what is about to be saved: it is there already."""

    def __init__(self):
        super().__init__(())

    def find(self, name):
        module, _, own = name.rpartition(".")
        known = sklearn_types().get(name)
        if known is None and name.startswith("sklearn."):
            raise ModelFormatError(unchecked(name))
        thing = known or getattr(sys.modules.get(module), own, None)
        if thing is None or name.startswith("quorate."):
            raise ModelFormatError(f"{name} cannot be found by its name, so it cannot be loaded")
        return thing


def unchecked(name):
    """What is wrong with a type of scikit-learn that is not on the list."""
    return f"the state of {name} cannot be checked when it is loaded, so it is not saved or loaded"


def _imported(name, own):
    """The thing of a name that the caller's words `own` cover: that very name, or a class of that package."""
    module, _, last = name.rpartition(".")
    try:
        importlib.import_module(module if own == name else own)
    except ImportError as error:
        raise ModelFormatError(f"trust names {own!r}, which cannot be imported: {error}") from error
    thing = getattr(sys.modules.get(module), last, None)
    if (
        thing is None
        or (own != name and not isinstance(thing, type))
        or getattr(thing, "__name__", None) != last
    ):
        hint = "" if own == name else f"; import {module} first, or name {name} itself in trust"
        raise ModelFormatError(f"there is no type {name} in {own}{hint}")
    return thing


def wanted(names):
    """The shortest trust that covers the names."""
    known = sklearn_types()
    others = [name for name in sorted(names) if name not in known]
    return [*(["sklearn"] if len(others) < len(names) else []), *others]
