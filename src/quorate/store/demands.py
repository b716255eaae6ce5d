"""What a fitted estimator will ask for when it answers: memory, time, and methods of others.

An array in a file takes as much of the file as of memory. A number takes nothing there, and may yet say how large a
table is to be, or how often to do something; and a string may name the method to call. `AFTER` holds the checks of such
numbers, by the full name of a class among an object's ancestors; what compiled code reads is checked in states.py.
"""

import re
from functools import partial
from numbers import Real

import numpy as np

from quorate.store.checks import fitted, is_array, require
from quorate.store.places import is_own

MOST = 1 << 20  # columns made of a row by numbers alone
MANY_KERNELS = 1000
METHODS = {"auto", "decision_function", "predict", "predict_log_proba", "predict_proba"}
NAMES_OF_METHODS = (
    *("chain_method", "chain_method_", "response_method", "stack_method", "stack_method_"),
    "_response_method",
)
# Nothing in the way to these attributes computes anything.
IMPORTANCE = re.compile(
    r"auto|((named_steps\.\w+|regressor_|estimator_|best_estimator_)\.)*(coef_|feature_importances_)"
)


def methods(own):
    """That attributes which name the methods of others name some that answer."""
    for name in NAMES_OF_METHODS:
        value = own.get(name, ())
        named = value if isinstance(value, list | tuple) else [value]
        require(all(one is None or one in METHODS for one in named), f"{name} names other methods")


def whole(value, most=MOST):
    """Whether a value is a whole number from 1 to `most`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 1 <= value <= most


def _classes(estimator):
    """There are as many classes as it says, in each of its answers."""
    own = vars(estimator)
    if "n_classes_" in own:
        classes = own.get("classes_")
        several = isinstance(classes, list)
        there = isinstance(classes, list | np.ndarray) and [
            len(c) for c in (classes if several else [classes])
        ]
        same = there and np.array_equal(np.atleast_1d(own["n_classes_"]), there)
        require(same, f"a {type(estimator).__name__} has another number of classes than it says")


def _dummy_classifier(estimator):
    if found := fitted(estimator, "n_outputs_", "classes_", "n_classes_", "class_prior_", "sparse_output_"):
        n, classes, _, shares, as_sparse = found
        require(
            n == (len(classes) if isinstance(classes, list) else 1), "a DummyClassifier answers otherwise"
        )
        require(as_sparse is False, "a DummyClassifier that answers with sparse tables cannot be checked")
        classes, shares = (classes, shares) if isinstance(classes, list) else ([classes], [shares])
        for known, share in zip(classes, shares, strict=True):
            is_array(share, np.dtype(float), (len(known),), "the shares of a DummyClassifier")
        if estimator.strategy == "constant":
            said = np.atleast_1d(estimator.constant)
            good = len(said) == n and all(c in known for c, known in zip(said, classes, strict=True))
            require(good, "a DummyClassifier says what is no class")


def _dummy_regressor(estimator):
    if found := fitted(estimator, "n_outputs_", "constant_"):
        n, constant = found
        good = isinstance(constant, np.ndarray) and constant.dtype.kind in "biuf"
        require(good and constant.shape == (1, n), "a DummyRegressor says what is no number")


def _polynomials(estimator):
    if found := fitted(estimator, "_n_out_full", "_max_degree", "n_features_in_"):
        n, degree, n_features = found
        require(degree == 0 or whole(degree, 1000), "a PolynomialFeatures has too high a degree")
        require(whole(n) and whole(n_features), "a PolynomialFeatures is too wide")
        of = {"interaction_only": estimator.interaction_only, "include_bias": estimator.include_bias}
        same = estimator._num_combinations(n_features, min_degree=0, max_degree=degree, **of) == n
        require(same, "a PolynomialFeatures is as wide as it is not")


def _count_sketch(estimator):
    if found := fitted(estimator, "indexHash_", "bitHash_"):
        shape = (estimator.degree, np.shape(found[0])[-1])
        for hashes in found:
            is_array(hashes, np.dtype(np.int64), shape, "the hashes of a PolynomialCountSketch")
        require(whole(estimator.degree * estimator.n_components), "a PolynomialCountSketch is too wide")


def _chi2_sampler(estimator):
    require(whole(estimator.sample_steps, 1000), "an AdditiveChi2Sampler has too many steps")


def _factors(estimator):
    """It inverts a matrix of as many rows as it has factors."""
    if found := fitted(estimator, "components_", "n_features_in_"):
        factors, n_features = found
        good = isinstance(factors, np.ndarray) and factors.ndim == 2 and factors.shape[1] == n_features
        require(good and len(factors) <= n_features, "a FactorAnalysis has more factors than columns")


def _one_against_rest(estimator):
    if found := fitted(estimator, "label_binarizer_", "estimators_"):
        one_label = not vars(found[0]).get("y_type_", "").startswith("multilabel")
        require(one_label, "a OneVsRestClassifier of several labels a row cannot be checked")


def _votes(estimator):
    """Votes are counted by their codes."""
    if estimator.voting == "hard" and (found := fitted(estimator, "estimators_", "le_", "classes_")):
        voters, _, classes = found
        for voter in (voter for voter in voters if hasattr(voter, "predict")):
            codes = np.asarray(getattr(voter, "classes_", -1))
            good = codes.size and codes.dtype.kind in "iu" and codes.min() >= 0 and codes.max() < len(classes)
            require(good, "a VotingClassifier counts votes for classes that are not there")


def _centroids(estimator):
    require(
        estimator.metric in ("euclidean", "manhattan"), "the metric of a NearestCentroid cannot be checked"
    )


def _important(estimator):
    getter = estimator.importance_getter
    good = isinstance(getter, str) and IMPORTANCE.fullmatch(getter)
    require(good, f"what a {type(estimator).__name__} holds for important cannot be checked: {getter!r}")


def _function(estimator):
    """With no more than the rows, so that as many come out as go in."""
    for name in ("kw_args", "inv_kw_args"):
        require(not getattr(estimator, name), f"{name} of a FunctionTransformer cannot be checked")
    for name in ("func", "inverse_func"):
        function = getattr(estimator, name)
        good = not isinstance(function, partial) or is_own(function.func) or _checks_rows(function)
        require(
            good, f"{name} of a FunctionTransformer is a partial of another function, which cannot be checked"
        )


def _checks_rows(function):
    """Whether this is what HistGradientBoosting does with numbers."""
    from sklearn.utils import check_array

    given = function.keywords
    good = function.func is check_array and not function.args and not vars(function)
    good = good and given.keys() == {"dtype", "ensure_all_finite"}
    return good and given["dtype"] == [np.float64] and given["ensure_all_finite"] is False


def _gaussian_process(estimator):
    for name in ("kernel", "kernel_"):
        left = MANY_KERNELS
        kernels = [vars(estimator).get(name)]
        while kernels:
            kernel, left = kernels.pop(), left - 1
            require(left, "a kernel is made of too many others")
            inside = vars(kernel) if kernel is not None else {}
            kernels += [inside[part] for part in ("k1", "k2", "kernel") if part in inside]


def _kernel(kernel):
    from sklearn.gaussian_process.kernels import Kernel

    for name, value in vars(kernel).items():
        numbers = np.asarray(value) if isinstance(value, list | tuple | np.ndarray | Real) else None
        good = numbers is not None and numbers.ndim < 2 and numbers.dtype.kind in "iuf"
        good = good or isinstance(value, Kernel) or name.endswith("_bounds")
        ours = not type(kernel).__module__.startswith("sklearn.")
        require(good or ours, f"the {name} of a {type(kernel).__name__} is no number")


AFTER = {
    "sklearn.base.ClassifierMixin": _classes,
    "sklearn.decomposition._factor_analysis.FactorAnalysis": _factors,
    "sklearn.dummy.DummyClassifier": _dummy_classifier,
    "sklearn.dummy.DummyRegressor": _dummy_regressor,
    "sklearn.ensemble._voting.VotingClassifier": _votes,
    "sklearn.feature_selection._from_model.SelectFromModel": _important,
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace": _gaussian_process,
    "sklearn.gaussian_process._gpr.GaussianProcessRegressor": _gaussian_process,
    "sklearn.gaussian_process.kernels.Kernel": _kernel,
    "sklearn.kernel_approximation.AdditiveChi2Sampler": _chi2_sampler,
    "sklearn.kernel_approximation.PolynomialCountSketch": _count_sketch,
    "sklearn.multiclass.OneVsRestClassifier": _one_against_rest,
    "sklearn.neighbors._nearest_centroid.NearestCentroid": _centroids,
    "sklearn.preprocessing._function_transformer.FunctionTransformer": _function,
    "sklearn.preprocessing._polynomial.PolynomialFeatures": _polynomials,
}
