"""AdaBoost: members one after the other, each taught what the last ones missed (Freund and Schapire, 1997)."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, _fit_context, is_classifier
from sklearn.callback import with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import has_fit_parameter

from quorate import score
from quorate.estimators import check
from quorate.estimators.base import Classifier, OfCommittee, Regressor, or_as_before, root_seed
from quorate.estimators.tree import TreeClassifier, TreeRegressor
from quorate.learn.drucker import Drucker, beta, vote
from quorate.learn.reweight import CHANCE, Own, Reweight, receipts
from quorate.members import Member, as_decider, as_member
from quorate.members.wrap import is_estimator, last_step, predictor, takes_missing


class _AdaBoost(MetaEstimatorMixin, OfCommittee):
    """What the two share: parameters, one fit, and answers after each round."""

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    @or_as_before
    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Teach up to `n_estimators` members, one after the other.

        Whole-number weights count rows, as repeating them would.
        """
        scheme = self._scheme(self._voter())
        data = self._data(X, y, sample_weight, root_seed(self.random_state))
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        given = {"X": X, "y": y, "metadata": metadata}
        state, self.committee_, self.interrupted_ = self._learn(scheme, data, given=given)
        self._keep(state)
        return self

    def staged_score(self, X, y, sample_weight=None):
        """The score of the committee of the first 1, 2, … members."""
        X = self._checked(X)
        truth, weight = self._truth(X, y), check.weights(sample_weight, X)
        for said in self._staged(X):
            yield self._score(said, truth, weight)

    def staged_predict(self, X):
        """What the committee of the first 1, 2, … members predicts."""
        yield from self._staged(self._checked(X))

    def _member(self):
        return self._default_estimator() if self.estimator is None else self.estimator

    def _voter(self):
        """The member to teach, which must be of the committee's kind."""
        member, name = self._member(), type(self._member()).__name__
        if isinstance(member, Member):
            return member
        if is_classifier(predictor(member)) != is_classifier(self):
            kind, other = ("classifier", "Regressor") if is_classifier(self) else ("regressor", "Classifier")
            raise TypeError(f"{type(self).__name__} needs a {kind}, and {name} is none; use AdaBoost{other}")
        if isinstance(last_step(member), FrozenEstimator):
            raise TypeError(
                f"a FrozenEstimator learns nothing from weights or draws, so the members of {type(self).__name__} "
                f"would all be the same; give the estimator inside it"
            )
        return self._seat(member)

    @property
    def estimators_(self):
        """The fitted members."""
        seated = (getattr(member, "member", member) for member in self.committee_.members)
        return [getattr(member, "estimator", member) for member in seated]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_estimator(self._member()):
            tags.input_tags.allow_nan = takes_missing(self._member())
            tags.input_tags.sparse = get_tags(self._member()).input_tags.sparse
        return tags


class AdaBoostClassifier(Classifier, _AdaBoost):
    """A committee whose members are taught, one after the other, the rows that those before them missed.

        F(x) = Σ_t α_t 1{h_t(x) = y},     α_t = ½ [ln((1−ε_t)/ε_t) + ln(K−1)],     w_i ∝ w_i e^{∓α_t}
        p(y | x, D) ∝ Π_t p_t(y | x)^{1/τ},     p_t = 1−ε_t for the class h_t(x), ε_t/(K−1) for each other

    ε_t is the weighted error of member t: the rows it gets right weigh e^{−α_t} of what they did, those it gets wrong
    e^{α_t}. The most probable class is the one with the largest F. The temperature τ of this log pool is learned from
    rows that were not seen: up to 2000 rows by five more chains of members that each leave a fifth of them out, of
    more rows by one. (Where no row can be left out, as where each class has one row, it is 1.)

    A member that is right on all rows ends it and decides alone; one that is no better than guessing ends it, too, and
    is left out. A row of whole weight w is w rows, to the last draw.

    Parameters
    ----------
    estimator : classifier, default=TreeClassifier(max_depth=1)
        The member: any scikit-learn or quorate classifier. Only its decisions count, so it needs no probabilities.
    n_estimators : int, default=100
        How many members at most.
    how : {"reweight", "resample"}, default="reweight"
        "reweight" teaches members all rows with weights, "resample" rows drawn in proportion to them: for members
        that take none. There a member no better than guessing is replaced by one taught rows drawn alike.
    rule : pair of functions, default=None
        (member_weight, update), where `member_weight(error)` is α, and `update(weights, correct, alpha)` the weights
        that follow, before they are normalised: `weights` (which sum to one) and `correct` (whether the member was
        right) hold a number for each row. None is the pair of exponential loss above.
    learning_rate : float, default=1.0
        What every α is multiplied by.
    n_jobs : int, default=None
        Threads to fit on: None is 1, -1 all cores. `quorate.run.on` chooses processes or a cluster. There are at most
        six jobs at a time, one for each chain.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model, wherever it is fitted.

    Attributes
    ----------
    committee_ : Committee
        Members and votes of the log pool; `predict_dist` is its answer.
    estimators_ : list
        The fitted members.
    estimator_weights_ : ndarray
        α_t of each.
    estimator_errors_ : ndarray
        ε_t of each.
    temperature_ : float
        τ.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    receipts_ : dict
        Of each round, as arrays: "error" ε, "edge" γ = (1−1/K)−ε, "normaliser" Z = Σ_i w_i before they are normalised,
        and "training_error" so far; for the exponential pair also the "bound" Π_t K √(ε(1−ε)/(K−1)) that the latter is
        never above, and of two classes the "exponential_bound" exp(−2 Σ_t γ_t²). (Not where `learning_rate` is not 1,
        or draws began again with rows that weigh alike.)
    interrupted_ : bool
        Whether the fit was ended early and has fewer members than it should.

    References
    ----------
    Y. Freund, R. E. Schapire (1997). A decision-theoretic generalization of on-line learning and an application to
    boosting. Journal of Computer and System Sciences 55.
    J. Zhu, H. Zou, S. Rosset, T. Hastie (2009). Multi-class AdaBoost. Statistics and Its Interface 2.
    L. Breiman (1998). Arcing classifiers. Annals of Statistics 26.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = q.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    >>> told = model.receipts_
    >>> bool((told["training_error"] <= told["bound"]).all())
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **_AdaBoost._parameter_constraints,
        "how": [StrOptions({"reweight", "resample"})],
        "rule": [tuple, list, None],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=100,
        *,
        how="reweight",
        rule=None,
        learning_rate=1.0,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.how = how
        self.rule = rule
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _default_estimator():
        return TreeClassifier(max_depth=1)

    def _seat(self, member):
        if self.how == "reweight" and not _takes_weights(member):
            raise ValueError(
                f"{type(member).__name__} takes no sample_weight, so rows cannot be reweighted for it; "
                f'how="resample" draws them by their weights instead, or give a member that takes weights'
            )
        return as_decider(member)

    def _scheme(self, member):
        pair = None if self.rule is None else Own(*_pair(self.rule))
        return Reweight(member, self.n_estimators, self.how == "resample", pair, self.learning_rate)

    def _keep(self, state):
        leader = state.chains[0]
        self.estimator_weights_ = np.array([told.alpha for told in leader.rounds])
        self.estimator_errors_ = np.array([told.error for told in leader.rounds])
        self.temperature_ = float(np.exp(-self.committee_.vote.log_w[0]))
        bounded = self.rule is None and self.learning_rate == 1
        self.receipts_ = receipts(leader, len(self.classes_), bounded)
        if self.estimator_errors_[0] >= 1 - 1 / max(len(self.classes_), 2) - CHANCE:
            warnings.warn(
                f"the first member's error is {self.estimator_errors_[0]:.6g}, no better than guessing, so it has no "
                f"vote and all classes are equally probable; give an estimator that learns something of these rows",
                stacklevel=2,
            )

    def decision_function(self, X):
        """What was voted for each class less what was voted for the others, at most 1; of two classes, for the second.

        Shape (n, K), the votes against a class shared by the K−1 others; of two classes (n,).
        """
        votes = self._votes(self._checked(X)) / (np.abs(self.estimator_weights_).sum() or 1.0)
        if votes.shape[1] == 2:
            return votes[:, 1] - votes[:, 0]
        against = votes.sum(axis=1, keepdims=True) - votes
        return votes - against / max(votes.shape[1] - 1, 1)

    def margins(self, X, y):
        """Σ_t α_t 1{h_t = y} less the same of the best other class, over Σ_t α_t: between −1 and 1, > 0 where right."""
        X = self._checked(X)
        truth = self._truth(X, y)[:, None] == self.classes_
        votes = self._votes(X) / (np.abs(self.estimator_weights_).sum() or 1.0)
        right = np.sum(np.where(truth, votes, 0.0), axis=1)
        others = np.where(truth, -np.inf, votes).max(axis=1)
        return right - np.where(np.isfinite(others), others, 0.0)

    def _votes(self, X):
        *_, votes = self._running(X)
        return votes

    def _running(self, X):
        """Σ_{s ≤ t} α_s 1{h_s(x) = y} for t = 1, 2, …: one table (n, K), which goes on."""
        votes = np.zeros((X.shape[0], len(self.classes_)))
        for member in self.committee_.members:
            votes[np.arange(len(votes)), member.choices(X)] += member.alpha
            yield votes

    def _staged(self, X):
        for votes in self._running(X):
            yield self.classes_[np.argmax(votes, axis=1)]

    @staticmethod
    def _score(said, truth, weight):
        return score.accuracy(said, truth, weight)


class AdaBoostRegressor(Regressor, _AdaBoost):
    """A committee of regressors, each taught a sample with more of the rows that those before it missed by far (R2).

        p(y | x, D) = Σ_t w_t p_t(y | x),     w_t ∝ ln(1/β_t),     β_t = L̄_t / (1−L̄_t)

    L_it is how far the mean of member t misses row i, as a share of the farthest it misses any, and L̄_t its average,
    weighted as the rows are drawn; a row is then drawn β_t^{1−L_it} as often as before. It ends with a member that
    misses nothing, or before one with L̄_t ≥ ½.

    The answer is the mixture of the members' distributions, so `predict` is its mean: the weighted mean of what the
    members predict. Drucker's committee answers with their weighted *median*, which is here the median of the members'
    means alone, without what each is unsure of: `weighted_median(X)`.

    The members learn how unsure to be from their samples, which have more of the rows that are hard, so the mixture is
    wider than need be: of its intervals at level 0.5 expect more than half of the rows inside.

    Parameters
    ----------
    estimator : regressor that gives a distribution, default=TreeRegressor(max_depth=3)
        The member: any scikit-learn or quorate regressor with `predict_dist`, or with
        `predict(X, return_std=True)`. Others sit on it as `Probabilistic(estimator)`.
    n_estimators : int, default=50
        How many members at most.
    loss : {"linear", "square", "exponential"}, default="linear"
        L of the share e that a row is missed by: e, e² or 1 − exp(−e).
    learning_rate : float, default=1.0
        The power of β_t^{1−L} that draws are changed by.
    n_jobs : int, default=None
        Threads to fit on, of which each member can use one: None is 1, -1 all cores. `quorate.run.on` chooses another
        place.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same model, wherever it is fitted.

    Attributes
    ----------
    committee_ : Committee
        Members and votes; `predict_dist` is its answer.
    estimators_ : list
        The fitted members.
    estimator_weights_ : ndarray
        ln(1/β_t) of each.
    estimator_errors_ : ndarray
        L̄_t of each.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    receipts_ : dict
        Of each round, as arrays: "loss" L̄_t and "beta" β_t.
    interrupted_ : bool
        Whether the fit was ended early and has fewer members than it should.

    References
    ----------
    H. Drucker (1997). Improving regressors using boosting techniques. ICML.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.AdaBoostRegressor(BayesianRidge(), n_estimators=10, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.4
    True
    >>> model.predict_interval(X[:3]).shape
    (3, 2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_AdaBoost._parameter_constraints,
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator=None,
        n_estimators=50,
        *,
        loss="linear",
        learning_rate=1.0,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _default_estimator():
        return TreeRegressor(max_depth=3)

    @staticmethod
    def _seat(member):
        return as_member(member)

    def _scheme(self, member):
        return Drucker(member, self.n_estimators, self.loss, self.learning_rate)

    def _keep(self, state):
        self.estimator_weights_ = np.array([vote(loss, state.weight) for loss in state.losses])
        self.estimator_errors_ = np.array(state.losses)
        betas = np.array([beta(loss, state.weight) for loss in state.losses])
        self.receipts_ = {"loss": self.estimator_errors_.copy(), "beta": betas}

    def weighted_median(self, X):
        """Drucker's answer: the least of the members' means that half of the votes are not above."""
        X = self._checked(X)
        means = np.stack([member.predict_dist(X).mean for member in self.committee_.members], axis=1)
        order = np.argsort(means, axis=1, kind="stable")
        votes = np.cumsum(self.estimator_weights_[order], axis=1)
        middle = np.argmax(votes >= 0.5 * votes[:, -1:], axis=1)
        return np.take_along_axis(means, order, axis=1)[np.arange(len(means)), middle]

    def _staged(self, X):
        """Σ_{s ≤ t} w_s E_s(y | x) / Σ_{s ≤ t} w_s for t = 1, 2, …"""
        total, votes = np.zeros(X.shape[0]), 0.0
        for w, member in zip(self.estimator_weights_, self.committee_.members, strict=True):
            total, votes = total + w * member.predict_dist(X).mean, votes + w
            yield total / votes

    @staticmethod
    def _score(said, truth, weight):
        return score.r2(said, truth, weight)


def _takes_weights(estimator):
    return has_fit_parameter(estimator, "sample_weight") or has_fit_parameter(
        last_step(estimator), "sample_weight"
    )


def _pair(rule):
    """The two functions of `rule`."""
    if len(rule) == 2 and all(callable(function) for function in rule):
        return rule
    raise ValueError(
        f"rule should be a pair of functions, (member_weight(error), update(weights, correct, alpha)), got {rule!r}"
    )
