"""The face of `learn/crossfit.py`: any scikit-learn estimator, answering with a distribution."""

from copy import copy
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, _fit_context, is_classifier
from sklearn.callback import with_callbacks
from sklearn.linear_model import LinearRegression
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from quorate.estimators.base import Classifier, Estimator, Regressor, or_as_before, root_seed
from quorate.learn.crossfit import CrossFit, Point, calibrated, residuals
from quorate.members.wrap import is_estimator, predictor, takes_missing
from quorate.run import one_thread

SIZES, FOLDS = 1, 2  # what the seed is drawn for, beside the estimators themselves


def _classifies(self):
    return is_classifier(self)


def _regresses(self):
    return not is_classifier(self)


class Probabilistic(MetaEstimatorMixin, Estimator):
    """Any scikit-learn regressor or classifier with an honest predictive distribution.

        p(y | x) = law of ŷ(x) + s(x) · r,          r the residuals of rows not seen (regressors)
        p(y | x) = softmax(A · score(x) + b),       A, b fitted to the scores of rows not seen (classifiers)

    The estimator is fitted on all rows, and once more on all but each fold. What the latter say of the rows they did
    not see becomes the distribution: for a regressor the residuals around its prediction, for a classifier (with
    margins, probabilities, or only decisions) a logistic function of its scores.

    Parameters
    ----------
    estimator : scikit-learn classifier or regressor, default=LinearRegression()
        What predicts. A `FrozenEstimator` is calibrated as it is, so give rows that it was not fitted on.
    cv : int, splitter or list of (train, test), default=5
        A number makes folds that depend on what the rows say, so that equal rows share a fold. A splitter that draws
        and has no seed of its own gets one from `random_state`.
    spread : {"constant", "scaled"}, default="constant"
        Whether residuals are as large everywhere, or their size depends on x and is learned (regressors).
    n_jobs : int, default=None
        Threads to fit on: None is 1, -1 all cores. `quorate.run.on` chooses processes or a cluster.
    random_state : int, RandomState or None, default=None
        The root of all randomness, also of the estimator's own.

    Attributes
    ----------
    member_ : Residuals or Calibrated
        The estimator fitted on all rows, with what makes it speak in distributions.
    classes_ : ndarray
        The classes, in order (classifiers).
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    receipts_ : dict
        Empty.
    interrupted_ : bool
        Whether the fit was ended early.

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers.
    R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani (2021). Predictive inference with the jackknife+.
    Annals of Statistics 49.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.Probabilistic(KNeighborsRegressor(20)).fit(X, y)
    >>> inside = (model.predict_interval(X, 0.8) - y[:, None]).prod(axis=1) <= 0
    >>> bool(0.75 < inside.mean() < 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods("fit"), None],
        "cv": ["cv_object"],
        "spread": [StrOptions({"constant", "scaled"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator=None, *, cv=5, spread="constant", n_jobs=None, random_state=None):
        self.estimator = estimator
        self.cv = cv
        self.spread = spread
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    @or_as_before
    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit the estimator on all rows, and on all but each fold.

        Rows of one of the `groups` (the measurements of a patient, the houses of a street) share a fold, so that what
        is said of a row is learned from other groups only. A splitter as `cv` is given the groups, too.
        """
        member = Point(predictor(self._estimator()))
        data = self._data(X, y, sample_weight, root_seed(self.random_state), groups)
        scheme = CrossFit(member, self._folds(data, _num_samples(X)))
        state, _, self.interrupted_ = self._learn(scheme, data)
        with one_thread():
            self.member_ = (
                calibrated(state)
                if is_classifier(self)
                else residuals(state, self.spread, state.data.rng(SIZES))
            )
        self.receipts_ = {}
        return self

    def _folds(self, data, n_given):
        if data.classes is None and data.copies_only:
            raise ValueError(
                f"Probabilistic needs rows that its estimator has not seen, but there is 1 sample, and copies of it "
                f"(n_samples={len(data)}); give at least 2 different rows"
            )
        if data.groups is not None and data.groups.max() == 0:
            raise ValueError(
                "groups has one label only, so no group could be held out; give at least 2, or None"
            )
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, Integral):
            return int(cv)
        if hasattr(cv, "split"):
            splits = _seeded(cv, data.rng(FOLDS)).split(data.X, data.y, data.groups)
        else:
            splits = _listed(cv, data, n_given)
        splits = tuple(split for split in splits if len(split[0]) and len(split[1]))
        if not splits:
            raise ValueError("cv leaves no rows to learn from, or none to speak of; give other splits")
        return splits

    def _estimator(self):
        return LinearRegression() if self.estimator is None else self.estimator

    def _predict_dist(self, X):
        dist = self.member_.predict_dist(X)
        return dist.recode(self.classes_) if is_classifier(self) else dist

    def _learn_truth(self, X, y):
        return self._face._learn_truth(self, X, y)

    def _truth(self, X, y):
        return self._face._truth(self, X, y)

    @property
    def _face(self):
        return Classifier if is_classifier(self) else Regressor

    def predict(self, X):
        """The most probable class, or the mean, of each row."""
        return self._face.predict(self, X)

    def score(self, X, y, sample_weight=None):
        """Accuracy of a classifier, R² of a regressor."""
        return self._face.score(self, X, y, sample_weight)

    _probs, _means = Classifier._probs, Regressor._means
    predict_proba = available_if(_classifies)(Classifier.predict_proba)
    predict_interval = available_if(_regresses)(Regressor.predict_interval)
    predict_quantile = available_if(_regresses)(Regressor.predict_quantile)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if not is_estimator(self._estimator()):
            return tags
        inner = get_tags(self._estimator())
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = takes_missing(self._estimator())
        return tags


def _seeded(cv, rng):
    """The splitter, or where it draws and was given no seed, a copy that has one."""
    if getattr(cv, "random_state", 0) is None and getattr(cv, "shuffle", True):
        cv = copy(cv)
        cv.random_state = int(rng.integers(2**31 - 1))
    return cv


def _listed(splits, data, n_given):
    """Splits told as rows of the table that was given, or as masks of them, as rows of the data."""
    kept = np.arange(n_given) if data.rows is None else data.rows
    for split in splits:
        parts = [np.asarray(part) for part in split]
        parts = [np.flatnonzero(part) if part.dtype == bool else part.astype(int) for part in parts]
        wrong = next((row for part in parts for row in part if not 0 <= row < n_given), None)
        if wrong is not None:
            raise ValueError(f"cv names row {wrong}, but X has {n_given} rows, from 0 to {n_given - 1}")
        yield tuple(np.searchsorted(kept, part[np.isin(part, kept)]) for part in parts)
