"""Bagging: the same member taught many samples of the rows, all votes equal (Breiman, 1996).

p(y | x, D) = 1/M Σ_m p(y | x, D_m),     D_m a sample of the rows of D
"""

import warnings
from dataclasses import replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, _fit_context, is_classifier
from sklearn.callback import with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import validate_data

from quorate.committee import ambiguity
from quorate.estimators.base import Classifier, OfCommittee, Regressor, or_as_before, root_seed
from quorate.estimators.probabilistic import Probabilistic
from quorate.learn import Bootstrap, Resample, Subsample
from quorate.learn.resample import BayesianBootstrap, out_of_bag
from quorate.members import Member, as_member
from quorate.members.wrap import is_estimator, last_step, predictor, takes_missing
from quorate.vote.rules import answer

OTHER_DATA = (
    "a warm start adds members to those that are there, so it needs the same classes and columns; "
    "use warm_start=False for other data"
)


class _Bagging(MetaEstimatorMixin, OfCommittee):
    """What the two share: from parameters to a Resample scheme, and from its state to fitted attributes."""

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean", StrOptions({"bayesian"})],
        "bootstrap_features": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    @or_as_before
    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Teach `n_estimators` members, each its own sample of the rows.

        Whole-number weights count rows: they change how often a row is drawn, as repeating it would.
        """
        member = self._voter()
        again = self.warm_start and hasattr(self, "committee_")
        if again:
            self._same_columns(X)
        seed = self._seed if again else root_seed(self.random_state)
        data = self._data(X, y, sample_weight, seed)
        scheme = self._scheme(member, data)
        if self.oob_score and not scheme.draw.leaves_out(data):
            raise ValueError(
                "oob_score=True needs rows that members did not see, and this sampling leaves none out; "
                "use bootstrap=True, or bootstrap=False with max_samples below 1.0"
            )
        given = {
            "X": X,
            "y": y,
            "metadata": None if sample_weight is None else {"sample_weight": sample_weight},
        }
        state, committee, self.interrupted_ = self._learn(scheme, data, self._earlier(again, data), given)
        return self._keep(state, committee)

    def _member(self):
        return self._default_estimator() if self.estimator is None else self.estimator

    def _voter(self):
        """The member to teach, which must be of the committee's kind."""
        member, name = self._member(), type(self._member()).__name__
        if isinstance(member, Member):
            return member
        if is_classifier(predictor(member)) != is_classifier(self):
            kind, other = ("classifier", "Regressor") if is_classifier(self) else ("regressor", "Classifier")
            raise TypeError(f"{type(self).__name__} needs a {kind}, and {name} is none; use Bagging{other}")
        if isinstance(last_step(member), FrozenEstimator):
            raise TypeError(
                f"a FrozenEstimator learns nothing from the samples that {type(self).__name__} draws, so its members "
                f"would all be the same, and out-of-bag rows none it had not seen; give the estimator inside it"
            )
        return as_member(member)

    def _scheme(self, member, data):
        n_rows, width = len(data.slots), data.X.shape[1]
        draw: object = BayesianBootstrap()
        if self.bootstrap != "bayesian":
            draw = (Bootstrap if self.bootstrap else Subsample)(
                self.max_samples, getattr(self, "stratified", False)
            )
        elif self.max_samples != 1.0:
            raise ValueError('bootstrap="bayesian" weighs all rows; leave max_samples at 1.0')
        if not self.bootstrap and isinstance(self.max_samples, Integral) and int(self.max_samples) > n_rows:
            raise ValueError(
                f"max_samples={self.max_samples} rows cannot be drawn without replacement from {n_rows}"
            )
        n = (
            int(self.max_features)
            if isinstance(self.max_features, Integral)
            else max(1, int(self.max_features * width))
        )
        if n > width:
            raise ValueError(f"max_features={n} is more than the {width} columns of X")
        columns = None if n == width and not self.bootstrap_features else n
        return Resample(member, self.n_estimators, draw, columns, self.bootstrap_features)

    def _same_columns(self, X):
        """The members that are there were taught certain columns, in their order."""
        try:
            validate_data(self, X, reset=False, skip_check_array=True)
        except TypeError:
            return  # no table at all: that is said where tables are checked
        except ValueError as error:
            raise ValueError(f"{OTHER_DATA}. {error}") from error

    def _earlier(self, again, data):
        """The state that a warm start continues, or None."""
        if not again:
            return None
        if not np.array_equal(self.committee_.classes, data.classes):
            raise ValueError(
                f"{OTHER_DATA}. They learned the classes {self.committee_.classes}; these are {data.classes}"
            )
        if self.oob_score and self._learned != data.digest:
            raise ValueError(
                "oob_score=True needs to know which rows each member has seen, and those that are there learned from "
                "other rows (or weights); use warm_start=False, or oob_score=False"
            )
        if len(self._state.seats) > self.n_estimators:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {len(self._state.seats)} members that are there; "
                f"a warm start can only add some"
            )
        if len(self._state.seats) == self.n_estimators:
            warnings.warn(
                "a warm start with the same n_estimators fits no new members", UserWarning, stacklevel=2
            )
        return replace(self._state, data=data)

    def _keep(self, state, committee):
        self.committee_ = replace(committee, rule=getattr(self, "rule", "mixture"))
        self._seed, self._learned = state.data.seed, state.data.digest
        self._state = replace(state, data=None)
        self.receipts_ = {}
        for earlier in ("oob_rows_", "oob_dist_", "oob_score_"):
            self.__dict__.pop(earlier, None)
        if self.oob_score:
            self._out_of_bag(state)
        return self

    def _out_of_bag(self, state):
        data = state.data
        rows, dist = out_of_bag(state.seats, data, data.classes)
        if len(rows) < len(data):
            what = f"{len(data) - len(rows)} of {len(data)} rows were seen by every member"
            warnings.warn(
                f"{what}, so they have no out-of-bag answer; more estimators would give one", stacklevel=3
            )
        self.oob_rows_ = rows if data.rows is None else data.rows[rows]
        self.oob_dist_ = None if dist is None else answer(dist, self.committee_.rule)
        if dist is not None:
            truth = data.y[rows] if data.classes is None else data.classes[data.y[rows]]
            weight = None if data.weight is None else data.weight[rows]
            self.oob_score_ = self._oob_score(dist, truth, weight)
            self.receipts_ = {f"oob_{kind}": r for kind, r in ambiguity(dist, truth, weight).items()}

    @property
    def estimators_(self):
        """The fitted members."""
        return [getattr(seat.member, "estimator", seat.member) for seat in self._state.seats]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_estimator(self._member()):
            inner = get_tags(self._member())
            tags.input_tags.allow_nan = takes_missing(self._member())
            tags.input_tags.sparse = inner.input_tags.sparse
        return tags


class BaggingClassifier(Classifier, _Bagging):
    """A committee of the same classifier, taught many samples of the rows.

        p(y | x, D) = 1/M Σ_m p(y | x, D_m),     D_m a sample of the rows of D

    A row of whole weight w is w rows, to the last draw.

    Parameters
    ----------
    estimator : classifier that gives probabilities, default=DecisionTreeClassifier()
        The member: any scikit-learn or quorate classifier with `predict_proba` or `predict_dist`.
        Others sit on it as `Probabilistic(estimator)`.
    n_estimators : int, default=50
        How many members.
    max_samples : int or float, default=1.0
        How many rows a member is taught, or which share of them.
    max_features : int or float, default=1.0
        How many columns a member sees, or which share of them (the random subspace method).
    bootstrap : bool or "bayesian", default=True
        True draws rows with replacement, False without. "bayesian" shows every member all rows, each with a weight
        drawn from Gamma(w, 1), w its own weight; the member must take weights.
    bootstrap_features : bool, default=False
        Whether a column may be drawn more than once.
    stratified : bool, default=False
        Whether each class is drawn from apart, so that every sample has as much of it as the data.
    rule : {"mixture", "soft", "majority", "votes"}, default="mixture"
        How what they say is added up. "mixture" (scikit-learn's "soft") is the mean of their probabilities;
        "majority" (or "votes") counts how many hold each class most probable, and answers with those shares.
    oob_score : bool, default=False
        Whether to answer for the rows from the members that did not see them.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds to them. 5 + 5 members are the same as 10.
    n_jobs : int, default=None
        Threads to fit on: None is 1, -1 all cores. `quorate.run.on` chooses processes or a cluster.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model, wherever it is fitted.

    Attributes
    ----------
    committee_ : Committee
        Members and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted members.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    oob_score_ : float
        Accuracy of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some member did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer members than it should.

    References
    ----------
    L. Breiman (1996). Bagging predictors. Machine Learning 24.
    T. K. Ho (1998). The random subspace method for constructing decision forests. IEEE TPAMI 20.
    D. B. Rubin (1981). The Bayesian bootstrap. Annals of Statistics 9.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = q.BaggingClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9  # of rows that the members who answered had not seen
    True
    >>> dist = model.predict_dist(X[:2])
    >>> dist.mode
    array([0, 0])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_Bagging._parameter_constraints,
        "stratified": ["boolean"],
        "rule": [StrOptions({"mixture", "soft", "majority", "votes"})],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=50,
        *,
        max_samples=1.0,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        stratified=False,
        rule="mixture",
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.stratified = stratified
        self.rule = rule
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _default_estimator():
        return DecisionTreeClassifier()

    @staticmethod
    def _oob_score(dist, truth, weight):
        return float(np.average(dist.mode == truth, weights=weight))


class BaggingRegressor(Regressor, _Bagging):
    """A committee of the same regressor, taught many samples of the rows.

        p(y | x, D) = 1/M Σ_m p(y | x, D_m),     D_m a sample of the rows of D

    A row of whole weight w is w rows, to the last draw.

    Parameters
    ----------
    estimator : regressor that gives a distribution, default=Probabilistic(DecisionTreeRegressor())
        The member: any scikit-learn or quorate regressor with `predict_dist`, or with
        `predict(X, return_std=True)`. Others sit on it as `Probabilistic(estimator)`.
    n_estimators : int, default=50
        How many members.
    max_samples : int or float, default=1.0
        How many rows a member is taught, or which share of them.
    max_features : int or float, default=1.0
        How many columns a member sees, or which share of them (the random subspace method).
    bootstrap : bool or "bayesian", default=True
        True draws rows with replacement, False without. "bayesian" shows every member all rows, each with a weight
        drawn from Gamma(w, 1), w its own weight; the member must take weights.
    bootstrap_features : bool, default=False
        Whether a column may be drawn more than once.
    oob_score : bool, default=False
        Whether to answer for the rows from the members that did not see them.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds to them. 5 + 5 members are the same as 10.
    n_jobs : int, default=None
        Threads to fit on: None is 1, -1 all cores. `quorate.run.on` chooses processes or a cluster.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model, wherever it is fitted.

    Attributes
    ----------
    committee_ : Committee
        Members and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted members.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    oob_score_ : float
        R² of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some member did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer members than it should.

    References
    ----------
    L. Breiman (1996). Bagging predictors. Machine Learning 24.
    T. K. Ho (1998). The random subspace method for constructing decision forests. IEEE TPAMI 20.
    D. B. Rubin (1981). The Bayesian bootstrap. Annals of Statistics 9.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.BaggingRegressor(BayesianRidge(), n_estimators=10, random_state=0).fit(X, y)
    >>> u = model.predict_dist(X).uncertainty()
    >>> bool((u.within > u.between).all())  # the members agree, but the disease does not follow from the columns
    True
    """

    def __init__(
        self,
        estimator=None,
        n_estimators=50,
        *,
        max_samples=1.0,
        max_features=1.0,
        bootstrap=True,
        bootstrap_features=False,
        oob_score=False,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _default_estimator():
        return Probabilistic(DecisionTreeRegressor())

    @staticmethod
    def _oob_score(dist, truth, weight):
        from sklearn.metrics import r2_score

        return float(r2_score(truth, dist.mean, sample_weight=weight))
