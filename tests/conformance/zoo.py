"""Every public estimator, found by itself, and what it is tried on. A new one joins by being in `quorate.__all__`."""

import inspect
import re
import warnings

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import BayesianRidge, LinearRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import quorate as q
from quorate.dist.base import Lattice

# Arguments that keep a test short, for every estimator that has a parameter of that name.
CHEAP = {"n_estimators": 3, "n_init": 1, "random_state": 0}


# And for some classes, because so little of them learns nothing.
CHEAP_OF = {
    "BoostedClassifier": {"n_estimators": 8, "learning_rate": 0.3},
    "BoostedRegressor": {"n_estimators": 8, "learning_rate": 0.3},
    "DistributionalRegressor": {"n_estimators": 8, "learning_rate": 0.3},
}


# More of the same class: other members, other draws, other rules. Optional, by the name of the class.
VARIANTS = {
    "Probabilistic": [
        {"estimator": KNeighborsClassifier(3)},
        {"estimator": DecisionTreeRegressor(random_state=0), "cv": 2},
    ],
    "BaggingClassifier": [
        {"estimator": BernoulliNB(), "bootstrap": "bayesian"},
        {"bootstrap": False, "max_samples": 0.7, "max_features": 0.5},
        {"stratified": True, "bootstrap_features": True, "rule": "votes"},
        {
            "estimator": q.BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
            "n_estimators": 2,
            "rule": "majority",
        },
        {"estimator": q.Probabilistic(KNeighborsClassifier(3)), "n_estimators": 2},
    ],
    "FilteringClassifier": [
        {"estimator": BernoulliNB(), "depth": 2, "n_examples": 20},
        {"estimator": DecisionTreeClassifier(), "n_examples": 30, "validation_fraction": 0},
        {"depth": 0},
    ],
    "BaggingRegressor": [
        {"estimator": BayesianRidge(), "bootstrap": "bayesian"},
        {"estimator": q.Probabilistic(LinearRegression()), "bootstrap": False, "max_samples": 0.8},
        {"estimator": q.BaggingRegressor(BayesianRidge(), n_estimators=2), "n_estimators": 2},
        {"estimator": q.TreeRegressor(min_samples_leaf=2), "max_features": 0.6},
    ],
    "AdaBoostClassifier": [
        {"estimator": KNeighborsClassifier(3), "how": "resample"},
        {"estimator": DecisionTreeClassifier(max_depth=2), "learning_rate": 0.5},
        {"estimator": RidgeClassifier(solver="svd")},
        {"estimator": q.TreeClassifier(max_depth=2)},
        {
            "estimator": q.BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2),
            "how": "resample",
            "n_estimators": 2,
        },
    ],
    "AdaBoostRegressor": [
        {"estimator": BayesianRidge(), "loss": "square"},
        {"estimator": q.TreeRegressor(max_depth=2)},
    ],
    "BoostedClassifier": [
        {
            "subsample": 0.7,
            "max_features": 0.6,
            "growth": "level",
            "min_samples_leaf": 2,
            "l1_regularization": 0.1,
        },
        {
            "categorical_features": [0],
            "class_weight": "balanced",
            "l2_regularization": 1.0,
            "min_samples_leaf": 3,
        },
    ],
    "BoostedRegressor": [
        {"subsample": 0.7, "min_samples_leaf": 2, "residual_folds": 2},
        {"loss": "absolute_error", "min_samples_leaf": 3, "max_depth": 4},
        {"loss": "quantile", "quantile": 0.7, "min_samples_leaf": 3},
        {"loss": "poisson", "min_samples_leaf": 3},
    ],
    "DistributionalRegressor": [
        {"family": "student_t", "min_samples_leaf": 3, "subsample": 0.7},
        {"family": "laplace", "loss": "crps", "min_samples_leaf": 3, "categorical_features": [0]},
    ],
    "TreeClassifier": [{"criterion": "entropy", "min_samples_leaf": 2, "class_weight": "balanced"}],
    "TreeRegressor": [{"criterion": "absolute_error", "max_depth": 4}],
    "RandomForestClassifier": [
        {"max_leaf_nodes": 6, "class_weight": "balanced", "max_features": "log2+1", "ccp_alpha": 0.01}
    ],
    "RandomForestRegressor": [
        {"max_leaf_nodes": 8, "max_leaf_values": 3, "min_samples_leaf": 2},
        {"categorical_features": [0], "bootstrap": False, "max_features": 0.4},
    ],
    "ExtraTreesClassifier": [{"categorical_features": [0], "bootstrap": True}],
    "ExtraTreesRegressor": [{"criterion": "absolute_error", "bootstrap": True, "max_samples": 0.8}],
}


def found():
    """The classes of `quorate.__all__` that are scikit-learn estimators."""
    public = (getattr(q, name, None) for name in q.__all__)
    return [thing for thing in public if inspect.isclass(thing) and issubclass(thing, BaseEstimator)]


def built(cls, **arguments):
    """An estimator with its defaults, but cheap."""
    known, given = inspect.signature(cls).parameters, {**CHEAP, **CHEAP_OF.get(cls.__name__, {}), **arguments}
    return cls(**{name: value for name, value in given.items() if name in known})


CLASSES = found()
DEFAULTS = [built(cls) for cls in CLASSES]
VARIED = [built(cls, **arguments) for cls in CLASSES for arguments in VARIANTS.get(cls.__name__, [])]
ESTIMATORS = [e for e in DEFAULTS + VARIED if get_tags(e).input_tags.two_d_array]
# Of each class one classifier and one regressor, where it can be both.
ONE_OF_EACH = list({(type(e), is_classifier(e)): e for e in ESTIMATORS[::-1]}.values())[::-1]


def weighted(estimators):
    """Those that take sample_weight."""
    return [e for e in estimators if has_fit_parameter(e, "sample_weight")]


def title(thing):
    """A short name for a test."""
    if isinstance(thing, BaseEstimator):
        text = re.sub(r"\s+", "", repr(thing)).replace("random_state=0", "").replace("n_estimators=", "n=")
        return re.sub(r",?\(,?\)", "", re.sub(r",(?=[,)])|(?<=\(),", "", text))
    return thing if isinstance(thing, str) else None


# Data


def data(estimator, n=60, seed=0):
    """(X, y) that the estimator can learn: five columns that scatter, one of them of whole numbers.

    y is of numbers with few binary digits, so that sums are exact and trees cannot settle ties by rounding errors.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(3)
    X[:, 3] = rng.integers(0, 4, n)
    signal = 2 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n)
    if is_classifier(estimator):
        return X, np.array(["ash", "birch", "cedar"])[np.searchsorted([-1.0, 1.0], signal)]
    y = np.round(8 * signal) / 8
    return X, np.abs(y) if _positive(estimator) else y


def _positive(estimator):
    return get_tags(estimator).target_tags.positive_only


def predicts_the_mean(model):
    """Whether `predict` is the mean of the predictive: boosting of medians and quantiles predicts those."""
    return getattr(model, "loss", "") not in ("huber", "absolute_error", "quantile")


def fit(estimator, X, y, sample_weight=None, **parameters):
    """A fitted clone."""
    fresh = clone(estimator).set_params(**parameters)
    return fresh.fit(X, y) if sample_weight is None else fresh.fit(X, y, sample_weight=sample_weight)


# Answers


def answers(model, X):
    """Everything that a model says of X, as arrays."""
    dist = model.predict_dist(X)
    if is_classifier(model):
        return {"predict": model.predict(X), "proba": model.predict_proba(X), "probs": dist.probs}
    places = np.array([[0.0, 1.0, 4.0] if isinstance(dist, Lattice) else [-4.0, 0.0, 4.0]])
    return {
        "predict": model.predict(X),
        "mean": dist.mean,
        "std": dist.std,
        "quantiles": model.predict_quantile(X, [0.1, 0.5, 0.9]),
        "log_prob": dist.log_prob(places),
        "cdf": dist.cdf(places),
    }


def same(one, other, X, X_other=None):
    """Assert that two models say the same of X, bit for bit."""
    theirs = answers(other, X if X_other is None else X_other)
    for name, said in answers(one, X).items():
        np.testing.assert_array_equal(said, theirs[name], err_msg=name)


def close(one, other, X, rtol=1e-8):
    """Assert that two models say the same of X but for rounding."""
    theirs = answers(other, X)
    for name, said in answers(one, X).items():
        if said.dtype.kind == "f":
            np.testing.assert_allclose(said, theirs[name], rtol=rtol, atol=rtol, err_msg=name)
        else:
            np.testing.assert_array_equal(said, theirs[name], err_msg=name)


def is_finite(model, X):
    """Whether every number that a model says of X is finite; log scores of what it predicts too."""
    said = [v for v in answers(model, X).values() if v.dtype.kind == "f"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dist, at = model.predict_dist(X), model.predict(X)
        at_prediction = dist.log_prob(np.floor(at) if isinstance(dist, Lattice) else at)
    return all(np.all(np.isfinite(v)) for v in [*said, at_prediction])
