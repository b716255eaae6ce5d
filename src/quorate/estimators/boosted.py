"""Gradient boosting: f(x) = f_0 + ν Σ_t tree_t(x), each tree down the slopes of the loss of those before it."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from quorate import score
from quorate.estimators import check, columns
from quorate.estimators.base import Classifier, Regressor, or_as_before, root_seed
from quorate.estimators.categories import TakesCategories
from quorate.learn.boost import Boost, Course, Stopping, residual_voice
from quorate.learn.loop import Data
from quorate.members import losses
from quorate.members.boosted import OfClasses, OfCounts, OfNumbers
from quorate.members.growth import Growth
from quorate.run.executors import workers

FEWEST = 5  # rows that judge, and rows that are judged, at least


class OfRounds(TakesCategories):
    """What all that is boosted shares: parameters, one fit, scores, and answers after each round."""

    n_estimators: int
    learning_rate: float
    max_leaf_nodes: int
    max_depth: int | None
    growth: str
    min_samples_leaf: float
    min_child_weight: float
    l1_regularization: float
    l2_regularization: float
    subsample: float
    max_features: float
    monotonic_cst: Any
    gradients: str
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    warm_start: bool
    n_jobs: int | None
    random_state: Any

    _parameter_constraints: ClassVar[dict] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_leaf_nodes": [Interval(Integral, 2, 1 << 15, closed="both")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "growth": [StrOptions({"leaf", "level"})],
        "min_samples_leaf": [Interval(Real, 1, None, closed="left")],
        "min_child_weight": [Interval(Real, 0, None, closed="left")],
        "l1_regularization": [Interval(Real, 0, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(RealNotInt, 0, 1, closed="right")],
        "monotonic_cst": ["array-like", dict, None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "gradients": [StrOptions({"auto", "exact", "quantised"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @or_as_before
    @with_callbacks
    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None, sample_weight_val=None):
        """Do `n_estimators` rounds, or fewer with early stopping; whole-number weights count rows.

        `X_val`, `y_val` and `sample_weight_val` are rows that judge with `early_stopping`, in place of a
        `validation_fraction`.
        """
        earlier, known = self._earlier(), getattr(self, "classes_", None)
        data = self._data(
            X, y, sample_weight, root_seed(self.random_state) if earlier is None else self._seed
        )
        self._no_answer_out_of_range(data.y, data.rows)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val are the rows that judge, and their answers; give both, or none")
        learned, given = data, 0
        if X_val is not None:
            if not self.early_stopping:
                raise ValueError("X_val are rows that judge when to stop; set early_stopping=True")
            data, given = self._with_judges(data, X_val, y_val, sample_weight_val)
        data, voice = self._prepared(data, learned, earlier)
        factors = columns.class_weights(getattr(self, "class_weight", None), learned)
        scheme = self._scheme(data, self._stopping(data, given), voice, factors)
        state = None if earlier is None else scheme.resumed(data, self._continued(earlier, data, known))
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        state, _, self.interrupted_ = self._learn(
            scheme, data, state, given={"X": X, "y": y, "metadata": metadata}
        )
        self._keep(state, scheme, voice)
        return self

    # the plan

    def _no_answer_out_of_range(self, y, rows):
        """Complain of the first y that is not what is asked for; `rows` are its numbers in what was given."""

    def _earlier(self):
        """The courses that a warm start goes on with, or None; without `warm_start` only the model itself is kept."""
        if not (self.warm_start and hasattr(self, "member_")):
            return None
        own = (Course(self.member_, tuple(self.receipts_.get("validation_loss", ())[: self.n_estimators_])),)
        return getattr(self, "_courses", own)

    def _continued(self, courses, data, known):
        """The courses, where they can go on with these data."""
        done = courses[0].model.n_rounds
        if courses[0].model.n_features != data.X.shape[1]:
            raise ValueError(
                f"the rounds that are there learned from {courses[0].model.n_features} columns, and X has "
                f"{data.X.shape[1]}; use warm_start=False"
            )
        if data.classes is not None and not np.array_equal(data.classes, known):
            raise ValueError(
                f"the rounds that are there know the classes {known.tolist()}, and y has {data.classes.tolist()}; "
                f"use warm_start=False"
            )
        self._same_scores()
        if done > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {done} rounds that are there; "
                f"a warm start can only add some"
            )
        if done == self.n_estimators:
            warnings.warn(
                "a warm start with the same n_estimators does no more rounds", UserWarning, stacklevel=2
            )
        return courses

    def _same_scores(self):
        """Complain where the scores that are there mean something else than those that are asked for."""

    def _scheme(self, data, stopping, voice, factors):
        d, n_classes = data.X.shape[1], None if data.classes is None else len(data.classes)
        categorical = self._numbers_of(d)
        return Boost(
            self._growth(d, n_classes, categorical),
            self._loss(data, voice),
            0 if n_classes == 1 else self.n_estimators,
            stopping,
            0 if stopping is not None else self._n_folds(data),
            categorical,
            factors,
            workers(self.n_jobs),
        )

    def _growth(self, d, n_classes, categorical):
        return Growth(
            learning_rate=float(self.learning_rate),
            max_leaf_nodes=int(self.max_leaf_nodes),
            max_depth=self.max_depth,
            by_level=self.growth == "level",
            min_samples_leaf=float(self.min_samples_leaf),
            min_child_weight=float(self.min_child_weight),
            l1=float(self.l1_regularization),
            l2=float(self.l2_regularization),
            subsample=float(self.subsample),
            max_features=float(self.max_features),
            monotone=columns.signs(self, d, n_classes, categorical),
            gradients=self.gradients,
        )

    def _n_folds(self, data):
        return 0

    def _prepared(self, data, learned, earlier):
        """(the data as rounds see them, what their scores will say, where that is known before).

        `learned` are the data without rows that judge, `earlier` what a warm start goes on with.
        """
        return data, None

    def _stopping(self, data, given):
        """How to stop early, or None."""
        if not self.early_stopping or (data.classes is not None and len(data.classes) == 1):
            return None
        judges = given or int(self.validation_fraction * len(data))
        if judges < FEWEST or len(data) - judges < FEWEST:
            share = "" if given else f" (validation_fraction={self.validation_fraction})"
            raise ValueError(
                f"early_stopping=True needs at least {FEWEST} rows that judge{share} and {FEWEST} to learn from, and "
                f"of {len(data)} rows {judges} would judge; give more rows, another validation_fraction, or X_val "
                f"and y_val, or set early_stopping=False"
            )
        return Stopping(self.n_iter_no_change, float(self.tol), float(self.validation_fraction), given)

    def _with_judges(self, data, X, y, sample_weight):
        """(the data with the rows that judge after them, how many these are)."""
        X = self._checked(X)
        w, y = check.weights(sample_weight, X), self._codes(data, self._truth(X, y))
        try:
            self._no_answer_out_of_range(y, None)
        except ValueError as error:
            raise ValueError(f"of the rows that judge, X_val and y_val: {error}") from error
        both = None
        if w is not None or data.weight is not None:
            both = np.concatenate([np.ones(len(data)) if data.weight is None else data.weight,
                                   np.ones(len(y)) if w is None else w])  # fmt: skip
        X, y = np.concatenate([data.X, X]), np.concatenate([data.y, y])
        return Data(X, y, both, data.classes, data.seed, data.rows), len(X) - len(data)

    def _codes(self, data, y):
        """Answers as the data have them."""
        if data.classes is None:
            return y
        unknown = y[~np.isin(y, data.classes)].tolist()
        if unknown:
            raise ValueError(f"y_val has the class {unknown[0]!r}, which y has not; leave its rows out")
        return np.searchsorted(data.classes, y)

    def _keep(self, state, scheme, voice):
        course = state.chains[0].course
        self._seed = state.data.seed
        self.__dict__.pop("_courses", None)
        if self.warm_start:
            self._courses = tuple(chain.course for chain in state.chains)
        self.n_estimators_ = course.best if scheme.stopping is not None else course.model.n_rounds
        self.receipts_ = {"validation_loss": np.array(course.judged)} if course.judged else {}
        model = course.model.first(self.n_estimators_)
        self.member_ = replace(model, voice=self._voice(state, scheme, voice))

    # answers

    def _predict_dist(self, X):
        dist = self.member_.predict_dist(X)
        return dist.recode(self.classes_) if hasattr(self, "classes_") else dist

    def _scores(self, X):
        return self.member_.scores(X, self._on_threads(len(X)))

    def _staged_scores(self, X):
        """The scores after each round: one table, which goes on."""
        X = self._checked(X)
        f, run = np.tile(self.member_.start, (len(X), 1)), self._on_threads(len(X))
        for i in range(self.member_.n_rounds):
            f = self.member_.scores(X, run, (i, i + 1), f)
            yield f

    @property
    def feature_importances_(self):
        """The share of all gain that each column brought."""
        return self.member_.importances()

    def contributions(self, X):
        """What each column adds to the score of each row, by Shapley's rule; last what is expected of all rows.

        They sum to the score: the log odds of the second of two classes, the log weight of each of several, the number
        that is predicted or its logarithm, or the parameters of a distribution. Shape (n, d + 1), or (n, d + 1, K).
        """
        X = self._checked(X)
        told = self.member_.contributions(X, self._on_threads(len(X)))
        return told[:, :, 0] if told.shape[2] == 1 else told


class BoostedClassifier(Classifier, OfRounds):
    """Gradient boosting for classes: trees add up to log odds, each a Newton step down the log loss.

        p(y = 1 | x) = 1 / (1 + exp(−f(x))),     f(x) = f_0 + ν Σ_t tree_t(x)

    With K > 2 classes there are K trees a round, one for the score of each, and p is their softmax. A leaf adds
    −G / (H + λ), G and H the sums of the first and second derivatives of its rows' losses. Values are looked at in at
    most 255 bins a column, missing values go where they gain most, and a split of categories is a set of them.

    The model is the same, bit for bit, for any `n_jobs`, and with `warm_start` 10 + 10 rounds are the same as 20.

    Parameters
    ----------
    n_estimators : int, default=100
        How many rounds, at most with early stopping.
    learning_rate : float, default=0.1
        ν, what each tree's step is multiplied by.
    max_leaf_nodes : int, default=31
        The most leaves of a tree.
    max_depth : int, default=None
        The most questions to a leaf.
    growth : {"leaf", "level"}, default="leaf"
        Whether the leaf that gains most is split next, or all of a level before those of the next.
    min_samples_leaf : float, default=20
        A leaf has at least as much curvature H as so many rows have on average.
    min_child_weight : float, default=0.001
        The least curvature H of a leaf.
    l1_regularization : float, default=0.0
        What |G| is lessened by.
    l2_regularization : float, default=1.0
        λ.
    subsample : float, default=1.0
        The share of rows that each round draws, each row by lot.
    max_features : float, default=1.0
        The share of columns that each node draws to choose from.
    class_weight : dict or "balanced", default=None
        A weight for each class, that of the rows is multiplied by.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the second class's probability may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    gradients : {"auto", "exact", "quantised"}, default="auto"
        "quantised" adds slopes up as whole numbers of few digits, rounded up or down by lot, which is faster; "exact"
        of some forty binary digits more. "auto" is exact for small tables, and where slopes differ much in size.
    early_stopping : bool, default=False
        Whether to stop when the loss on rows set aside, or on `X_val`, falls no more; the best round is kept.
    validation_fraction : float, default=0.1
        The share of rows set aside to judge.
    n_iter_no_change : int, default=10
        The rounds within which the loss must fall.
    tol : float, default=0.0
        By how much of itself it must fall.
    warm_start : bool, default=False
        Whether another `fit` keeps the rounds and adds to them.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model.

    Attributes
    ----------
    member_ : Boosted
        The trees, and what their sum says.
    n_estimators_ : int
        How many rounds were kept.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    receipts_ : dict
        With early stopping, "validation_loss" after each round.
    interrupted_ : bool
        Whether the fit was ended early, by a callback or Ctrl-C.

    References
    ----------
    J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29.
    T. Chen, C. Guestrin (2016). XGBoost: a scalable tree boosting system. KDD.
    G. Ke et al. (2017). LightGBM: a highly efficient gradient boosting decision tree. NeurIPS.
    Y. Shi et al. (2022). Quantized training of gradient boosting decision trees. NeurIPS.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = q.BoostedClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.log_score(X[1::2], y[1::2]) > -0.2
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **OfRounds._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        learning_rate=0.1,
        max_leaf_nodes=31,
        max_depth=None,
        growth="leaf",
        min_samples_leaf=20,
        min_child_weight=0.001,
        l1_regularization=0.0,
        l2_regularization=1.0,
        subsample=1.0,
        max_features=1.0,
        class_weight=None,
        monotonic_cst=None,
        categorical_features=None,
        gradients="auto",
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=0.0,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.gradients = gradients
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _loss(self, data, voice):
        k = len(data.classes)
        return losses.Classes(k) if k > 2 else losses.TwoClasses()

    def _voice(self, state, scheme, voice):
        return OfClasses(len(state.data.classes))

    def _probs(self, X):
        return self.member_.voice.probs(self._scores(X))

    def decision_function(self, X):
        """f(x): the log odds of the second of two classes, (n,), or the log weights of several, (n, K)."""
        f = self._scores(self._checked(X))
        return f[:, 0] if f.shape[1] == 1 else f

    def staged_predict_proba(self, X):
        """The probabilities after the first, second, … round."""
        for f in self._staged_scores(X):
            yield self.member_.voice.probs(f)

    def staged_predict(self, X):
        """What is predicted after the first, second, … round."""
        for p in self.staged_predict_proba(X):
            yield self.classes_[np.argmax(p, axis=1)]


LOSSES = {
    "squared_error": losses.Squared,
    "absolute_error": losses.Quantiles,
    "huber": losses.Huber,
    "quantile": losses.Quantiles,
    "poisson": losses.Poisson,
    "gamma": losses.Gamma,
}


class BoostedRegressor(Regressor, OfRounds):
    """Gradient boosting for numbers: trees add up to a mean, its logarithm, a median or other quantiles.

        p(y | x) = law of  f(x) + r,     f(x) = f_0 + ν Σ_t tree_t(x),     r the residuals of rows that were not seen

    A leaf adds −G / (H + λ), G and H the sums of the first and second derivatives of its rows' losses; for quantiles,
    it adds the quantile of its rows' residuals. The r come from fits to all but each of some folds, or with early
    stopping from the rows set aside. Of a logarithm they are ratios y / e^f; of several quantiles they are shares of
    the distance between the outer ones, so that intervals are wide where those are. Counts (loss="poisson", whole
    numbers) are negative binomial, their dispersion that of the rows that were not seen. `DistributionalRegressor`
    boosts the whole distribution instead.

    The model is the same, bit for bit, for any `n_jobs`, and with `warm_start` 10 + 10 rounds are the same as 20.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma"}, default="squared_error"
        What is lowered; "poisson" takes y ≥ 0, "gamma" y > 0. `predict` answers with the mean of the predictive, but
        for "absolute_error" and "huber" with f, for "quantile" with the quantile, or of several a column for each.
    n_estimators : int, default=100
        How many rounds, at most with early stopping.
    quantile : float or array-like, default=0.5
        The levels of loss="quantile", which rise. Several are boosted side by side, and never cross.
    alpha : float, default=0.9
        For loss="huber", the share of rows whose residuals count squared, the others by their size.
    learning_rate : float, default=0.1
        ν, what each tree's step is multiplied by.
    max_leaf_nodes : int, default=31
        The most leaves of a tree.
    max_depth : int, default=None
        The most questions to a leaf.
    growth : {"leaf", "level"}, default="leaf"
        Whether the leaf that gains most is split next, or all of a level before those of the next.
    min_samples_leaf : float, default=20
        A leaf has at least as much curvature H as so many rows have on average.
    min_child_weight : float, default=0.0
        The least curvature H of a leaf.
    l1_regularization : float, default=0.0
        What |G| is lessened by.
    l2_regularization : float, default=1.0
        λ.
    subsample : float, default=1.0
        The share of rows that each round draws, each row by lot.
    max_features : float, default=1.0
        The share of columns that each node draws to choose from.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the mean may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    gradients : {"auto", "exact", "quantised"}, default="auto"
        "quantised" adds slopes up as whole numbers of few digits, rounded up or down by lot, which is faster; "exact"
        of some forty binary digits more. "auto" is exact for small tables, and where slopes differ much in size.
    residual_folds : int, default=None
        Folds whose residuals the predictive is made of: None is 5 for up to 2000 rows and one fifth of more; 0 is none,
        which is faster, and then there is no predictive.
    early_stopping : bool, default=False
        Whether to stop when the loss on rows set aside, or on `X_val`, falls no more; the best round is kept.
    validation_fraction : float, default=0.1
        The share of rows set aside to judge.
    n_iter_no_change : int, default=10
        The rounds within which the loss must fall.
    tol : float, default=0.0
        By how much of itself it must fall.
    warm_start : bool, default=False
        Whether another `fit` keeps the rounds and adds to them.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model.

    Attributes
    ----------
    member_ : Boosted
        The trees, and what their sum says.
    n_estimators_ : int
        How many rounds were kept.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    receipts_ : dict
        With early stopping, "validation_loss" after each round.
    interrupted_ : bool
        Whether the fit was ended early, by a callback or Ctrl-C.

    References
    ----------
    J. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29.
    V. Chernozhukov, I. Fernández-Val, A. Galichon (2010). Quantile and probability curves without crossing.
    Econometrica 78.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.BoostedRegressor(n_estimators=50, learning_rate=0.05, random_state=0).fit(X[::2], y[::2])
    >>> bool(0.8 < q.score.coverage(model.predict_dist(X[1::2]), y[1::2], level=0.9) < 1)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **OfRounds._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "residual_folds": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        n_estimators=100,
        quantile=0.5,
        alpha=0.9,
        learning_rate=0.1,
        max_leaf_nodes=31,
        max_depth=None,
        growth="leaf",
        min_samples_leaf=20,
        min_child_weight=0.0,
        l1_regularization=0.0,
        l2_regularization=1.0,
        subsample=1.0,
        max_features=1.0,
        monotonic_cst=None,
        categorical_features=None,
        gradients="auto",
        residual_folds=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=0.0,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.loss = loss
        self.n_estimators = n_estimators
        self.quantile = quantile
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.gradients = gradients
        self.residual_folds = residual_folds
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _loss(self, data, voice):
        if self.loss in ("absolute_error", "quantile"):
            if np.any(columns.signs(self, data.X.shape[1], None, ())):
                raise ValueError(
                    f'monotonic_cst is about means, and loss="{self.loss}" about quantiles; use loss="squared_error", '
                    f'"huber" or "poisson"'
                )
            return losses.Quantiles(self._quantile_levels())
        return losses.Huber(float(self.alpha)) if self.loss == "huber" else LOSSES[self.loss]()

    def _quantile_levels(self):
        """The levels of the quantiles that are boosted."""
        if self.loss != "quantile":
            return (0.5,)
        levels = np.atleast_1d(np.asarray(self.quantile, dtype=float))
        if levels.ndim != 1 or not levels.size or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"quantile={self.quantile!r} must be levels between 0 and 1, both excluded")
        if np.any(np.diff(levels) <= 0):
            raise ValueError(f"quantile={self.quantile!r} must rise; give np.unique of them")
        return tuple(levels.tolist())

    def _no_answer_out_of_range(self, y, rows):
        low = {"poisson": y < 0, "gamma": y <= 0}.get(self.loss)
        if low is not None and low.any():
            i = int(np.argmax(low))
            row, least = i if rows is None else rows[i], "≥ 0" if self.loss == "poisson" else "> 0"
            raise ValueError(
                f'loss="{self.loss}" is for y {least}, and y is {y[i]:g} in row {row}; '
                f'use loss="squared_error", or drop the row'
            )

    def _n_folds(self, data):
        return self.residual_folds

    def _of(self):
        """What scores are."""
        levels = self._quantile_levels() if self.loss == "quantile" else ()
        return OfNumbers(self.loss in ("poisson", "gamma"), levels)

    def _same_scores(self):
        voice = self.member_.voice
        before = OfNumbers(True) if isinstance(voice, OfCounts) else getattr(voice, "of", voice)
        if before != self._of():
            raise ValueError(
                f"the rounds that are there add up to other scores than those of loss={self.loss!r}"
                f"{f' and quantile={self.quantile!r}' if self.loss == 'quantile' else ''}; use warm_start=False"
            )

    def _voice(self, state, scheme, voice):
        of = self._of()
        if scheme.n_folds == 0 and scheme.stopping is None:
            return of
        means = {"squared_error": "mean", "poisson": "counts", "gamma": "mean"}.get(self.loss, "")
        return residual_voice(state, of, self.n_estimators_, means)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in ("poisson", "gamma")
        return tags

    def _means(self, X):
        return self.member_.voice.point(self._scores(X))

    def score(self, X, y, sample_weight=None):
        """R²: 1 is perfect, 0 as good as the mean of y; of several quantiles, that of the middle one."""
        X = self._checked(X)
        said = self._means(X)
        said = said if said.ndim == 1 else said[:, said.shape[1] // 2]
        return score.r2(said, self._truth(X, y), check.weights(sample_weight, X))

    def staged_predict(self, X):
        """What is predicted after the first, second, … round."""
        for f in self._staged_scores(X):
            yield self.member_.voice.point(f)
