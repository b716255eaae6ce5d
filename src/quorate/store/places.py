"""Where an object may hold what can be called, or is compiled.

scikit-learn calls what it finds: `predict` of whatever stands in an estimator's place. Compiled objects trust their
owner to have looked at the rows, and functions do with them what they like, so each may stand only where scikit-learn
itself puts it: in an attribute of an owner that is checked (states.py). `PLACES` names for each kind the owners, by a
class among their ancestors, and their attributes. What stands in an object of the user's own type, and the user's own
functions, are the user's affair.
"""

from functools import lru_cache
from types import FunctionType
from typing import Any

from quorate.store.checks import require
from quorate.store.trust import PARTS, name_of

_FEATURES = {"sklearn.feature_selection._univariate_selection._BaseFilter": ("score_func",)}
_FUNCTION_TRANSFORMER = "sklearn.preprocessing._function_transformer.FunctionTransformer"
_TRANSFORMS = {
    _FUNCTION_TRANSFORMER: ("func", "inverse_func"),
    "sklearn.compose._target.TransformedTargetRegressor": ("func", "inverse_func"),
}
# What candidates of a search were: it is shown, and never called again.
_SEARCHED = {
    "sklearn.model_selection._search.BaseSearchCV": (
        *("param_grid", "param_distributions", "cv_results_", "best_params_", "refit"),
    )
}
_SCORES = {
    "sklearn.base.BaseEstimator": ("scoring",),
    "sklearn.metrics._scorer._BaseScorer": ("_score_func",),
}
_BOOSTED = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.BaseHistGradientBoosting"
_BINARIZED = {
    "sklearn.linear_model._ridge._RidgeClassifierMixin": ("_label_binarizer",),
    "sklearn.multiclass.OneVsRestClassifier": ("label_binarizer_",),
    "sklearn.neural_network._multilayer_perceptron.BaseMultilayerPerceptron": ("_label_binarizer",),
}
_GIVEN_NEIGHBOURS = {"sklearn.neighbors._base.NeighborsBase": ("_tree",)}

PLACES: dict[str, dict[str, tuple]] = {
    "numpy.ufunc": _TRANSFORMS | _SEARCHED,
    "functools.partial": {_FUNCTION_TRANSFORMER: ("func", "inverse_func")} | _FEATURES | _SEARCHED,
    "builtins.function": _FEATURES | _SCORES | _SEARCHED,
    "builtins.builtin_function_or_method": {},
    "sklearn.utils._bunch.Bunch": {
        "sklearn.ensemble._base._BaseHeterogeneousEnsemble": ("named_estimators_",)
    },
    "sklearn.preprocessing._label.LabelBinarizer": _BINARIZED,
    "sklearn.tree._tree.Tree": {"sklearn.tree._classes.BaseDecisionTree": ("tree_",)},
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": {_BOOSTED: ("_predictors",)},
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper": {_BOOSTED: ("_bin_mapper",)},
    "sklearn.neighbors._kd_tree.KDTree": _GIVEN_NEIGHBOURS,
    "sklearn.neighbors._ball_tree.BallTree": _GIVEN_NEIGHBOURS,
    **{f"sklearn.metrics._dist_metrics.{name}": {} for name in PARTS["sklearn.metrics._dist_metrics"]},
    **{
        f"sklearn._loss._loss.{name}": {"sklearn._loss.loss.BaseLoss": ("closs",)}
        for name in PARTS["sklearn._loss._loss"]
    },
    **{
        f"sklearn.linear_model._sgd_fast.{name}": {
            "sklearn.linear_model._stochastic_gradient.BaseSGD": ("_loss_function_",)
        }
        for name in PARTS["sklearn.linear_model._sgd_fast"]
    },
}


def place(owner, attribute):
    """The kinds of PLACES that an owner's attribute may hold; None where they may be any."""
    cls: Any = type(owner)
    return _admitted(cls, attribute) if type(owner).__module__.startswith("sklearn.") else None


@lru_cache(4096)
def _admitted(cls, attribute):
    ancestors = {name_of(base) for base in cls.__mro__}
    return frozenset(
        kind
        for kind, owners in PLACES.items()
        if any(name in ancestors and attribute in attributes for name, attributes in owners.items())
    )


def is_own(function):
    """Whether this is a function of the caller's own, who named it in `trust`."""
    return isinstance(function, FunctionType) and not function.__module__.startswith("sklearn.")


NOWHERE: frozenset = frozenset()


def check(thing, admitted):
    """That a thing may stand in a place."""
    kind = name_of(type(thing))
    require(
        admitted is None or kind not in PLACES or kind in admitted or is_own(thing),
        f"a {kind} stands where it does not belong",
    )
