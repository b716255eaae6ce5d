"""Any scikit-learn estimator that gives probabilities is a member; the others are told how to become one.

An estimator gives a distribution in one of three ways: quorate's own by `predict_dist`, a classifier by
`predict_proba`, and some regressors (Gaussian processes, Bayesian ridge) by `predict(X, return_std=True)`. A Normal
that is narrower than the grid on which y is written would win any log score with a spike on a value that comes often,
so none is: its σ is at least δ/√12, δ the smallest gap between values of y.
"""

import inspect
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from quorate.dist import Categorical, Normal
from quorate.dist.bandwidth import smallest_gap
from quorate.members.base import Fitted, Member

TINY = float(np.finfo(float).tiny)
MOST = 10_000_000  # rows that weights may stand for, or a hundred times the rows there are


def as_member(estimator):
    """The estimator as a Member, or a TypeError that names the fix."""
    if isinstance(estimator, Member):
        return estimator
    own = (
        estimator.as_member() if hasattr(estimator, "as_member") and not isinstance(estimator, type) else None
    )
    if own is not None:
        return own
    return FromEstimator(predictor(estimator), voice(estimator))


def seated(estimator):
    """A fitted scikit-learn estimator as a Fitted member, or a TypeError that names the fix."""
    return FittedEstimator(estimator, voice(predictor(estimator)))


def as_decider(estimator):
    """The estimator as a Member that is asked for decisions only, which every classifier gives."""
    if isinstance(estimator, Member) or hasattr(predictor(estimator), "predict_dist"):
        return as_member(estimator)
    return Deciding(estimator)


def predictor(estimator):
    """The estimator, if it is a scikit-learn classifier or regressor; else a TypeError."""
    if isinstance(estimator, type):
        raise TypeError(f"give an instance, {estimator.__name__}(), not the class")
    if not is_estimator(estimator):
        raise TypeError(f"{estimator!r} is neither a quorate Member nor a scikit-learn estimator")
    if not (is_classifier(estimator) or is_regressor(estimator)):
        name = type(estimator).__name__
        raise TypeError(f"{name} is neither a classifier nor a regressor, so it cannot sit on a committee")
    return estimator


def is_estimator(thing):
    """Whether this is a scikit-learn estimator, not a class of them or something else that has a fit."""
    return hasattr(thing, "fit") and hasattr(thing, "get_params") and not isinstance(thing, type)


def voice(estimator):
    """How the estimator gives a distribution: "dist", "proba" or "std"; a TypeError where it gives none."""
    if hasattr(estimator, "predict_dist"):
        return "dist"
    if is_classifier(estimator) and hasattr(estimator, "predict_proba"):
        return "proba"
    if is_regressor(estimator) and _gives_std(estimator):
        return "std"
    name = type(estimator).__name__
    what = "a class but no probabilities" if is_classifier(estimator) else "a number but no distribution"
    raise TypeError(
        f"{name} predicts {what}, so it cannot sit on a committee as it is; wrap it: "
        f"quorate.Probabilistic({name}(...)) learns an honest distribution from rows it has not seen"
    )


def _gives_std(estimator):
    # A Pipeline hands predict's arguments to its last step.
    predict = getattr(last_step(estimator), "predict", None)
    return predict is not None and "return_std" in inspect.signature(predict).parameters


@dataclass(frozen=True)
class FromEstimator(Member):
    """A member that fits a clone of a scikit-learn estimator."""

    estimator: BaseEstimator
    voice: str

    def fit(self, X, y, sample_weight=None, rng=None):
        if self.voice == "proba":
            fitted = taught(self.estimator, X, y, sample_weight, rng)
            return FittedEstimator(of_codes(fitted, y), self.voice)
        fitted = fit_weighted(seeded(clone(self.estimator), rng), X, y, sample_weight)
        grid = smallest_gap(y) if self.voice == "std" else 0.0
        return FittedEstimator(fitted, self.voice, max(grid / np.sqrt(12), TINY))


@dataclass(frozen=True)
class FittedEstimator(Fitted):
    """A fitted scikit-learn estimator, answering with a distribution."""

    estimator: BaseEstimator
    voice: str
    narrowest: float = TINY  # the least standard deviation of a "std"

    def predict_dist(self, X):
        if self.voice == "dist":
            return self.estimator.predict_dist(X)
        if self.voice == "std":
            mean, std = self.estimator.predict(X, return_std=True)
            return Normal(mean, np.maximum(std, self.narrowest))
        return Categorical(self.estimator.predict_proba(X), self.estimator.classes_)


@dataclass(frozen=True)
class Deciding(Member):
    """A member that fits a clone of a classifier for its decisions, whether or not it gives probabilities."""

    estimator: BaseEstimator

    def fit(self, X, y, sample_weight=None, rng=None):
        return Decided(of_codes(taught(self.estimator, X, y, sample_weight, rng), y))


@dataclass(frozen=True, eq=False)
class Decided(Fitted):
    """A fitted classifier that puts all on the class it predicts."""

    estimator: BaseEstimator

    def predict_dist(self, X):
        known = self.estimator.classes_
        return Categorical((self.choices(X)[:, None] == known).astype(float), known)

    def choices(self, X):
        """What it predicts, as codes."""
        return np.asarray(self.estimator.predict(X))


def taught(estimator, X, y, sample_weight, rng):
    """A clone of the estimator, seeded and fitted. Many classifiers refuse a single class: it is learned for them."""
    seen = y if sample_weight is None else y[sample_weight > 0]
    only = is_classifier(estimator) and len(seen) > 0 and np.all(seen == seen[0])
    return fit_weighted(DummyClassifier() if only else seeded(clone(estimator), rng), X, y, sample_weight)


def of_codes(fitted, y):
    """The fitted classifier, which must answer with classes it was taught (a FrozenEstimator may not)."""
    if set(fitted.classes_.tolist()) <= set(np.unique(y).tolist()):
        return fitted
    raise ValueError(
        f"{type(fitted).__name__} was taught the classes {np.unique(y).tolist()} and answers with "
        f"{fitted.classes_.tolist()}; a committee teaches its members, so give it an estimator that can be fitted"
    )


def seeded(estimator, rng):
    """The estimator with every random_state in it set from rng."""
    if rng is not None:
        names = [n for n in sorted(estimator.get_params(deep=True)) if n.split("__")[-1] == "random_state"]
        if names:
            estimator.set_params(**{n: int(rng.integers(2**31 - 1)) for n in names})
    return estimator


def fit_weighted(estimator, X, y, sample_weight):
    """Fit with weights: handed over where the estimator takes them, by repeating rows where they are whole numbers.

    Rows of weight 0 are not shown: an estimator that takes weights may still look at all rows for something else.
    """
    if sample_weight is None:
        return estimator.fit(X, y)
    if not sample_weight.all():
        rows = np.flatnonzero(sample_weight)
        X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
    if has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(X, y, sample_weight=sample_weight)
    if np.array_equal(sample_weight, np.floor(sample_weight)):
        rows = repeated(np.arange(len(y)), sample_weight)
        return estimator.fit(X[rows], y[rows])
    last = last_step(estimator)
    if last is not estimator and has_fit_parameter(last, "sample_weight"):
        return estimator.fit(X, y, **{f"{_path_to_last(estimator)}sample_weight": sample_weight})
    raise ValueError(
        f"{type(last).__name__} takes no sample_weight, and weights that are not whole numbers cannot be had by "
        f"repeating rows; use whole numbers, or a member that takes weights"
    )


def last_step(estimator):
    """The estimator, or what a Pipeline ends in."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


def _path_to_last(estimator):
    """What a Pipeline's fit calls the arguments of its last step."""
    if not hasattr(estimator, "steps"):
        return ""
    step, last = estimator.steps[-1]
    return f"{step}__{_path_to_last(last)}"


def takes_missing(estimator):
    """Whether the estimator learns from tables with NaN. A Pipeline or a search does if what X meets first does."""
    if get_tags(estimator).input_tags.allow_nan or isinstance(estimator, ColumnTransformer):
        return True
    if hasattr(estimator, "steps"):
        steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
        return bool(steps) and takes_missing(steps[0])
    inner = getattr(estimator, "estimator", None)
    return is_estimator(inner) and takes_missing(inner)


def repeated(rows, counts):
    """The rows, each as often as it counts."""
    n = counts.sum()
    if n > max(MOST, 100 * len(rows)):
        raise ValueError(
            f"sample_weight adds up to {n:.3g}: whole numbers count rows, and that many rows are too many; "
            f"if the weights only compare rows, divide them by their mean"
        )
    return np.repeat(rows, counts.astype(np.int64))
