"""From a number or a score to an honest distribution, by what an estimator says of rows it has not seen.

One model is fitted on all rows, and one on all but each fold; the latter speak only of the rows they did not see.

Regression: the residuals y − ŷ of unseen rows are the distribution of what is still to come,

    p(y | x) = law of  ŷ(x) + s(x) · r,     r drawn from the unseen residuals over their own s,

with s = 1 (spread "constant"), or s(x) = the expected size of a residual at x (spread "scaled"), itself learned.

Classification: the probabilities are a logistic function of the scores, fitted to the scores of unseen rows (Platt).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import ExtraTreesRegressor

from quorate.dist import Categorical, Empirical
from quorate.dist.bandwidth import kernel_bandwidth, smallest_gap
from quorate.learn.content import folds
from quorate.learn.loop import Data, Job, Scheme
from quorate.members import Fitted, Member
from quorate.members.wrap import seeded, taught
from quorate.vote import uniform

STIFF = 4.0  # how much stiffer the slopes of single classes are than the one they share


@dataclass(frozen=True)
class Point(Member):
    """A clone of an estimator, fitted for what it says itself: a number, or scores."""

    estimator: BaseEstimator

    def fit(self, X, y, sample_weight=None, rng=None):
        return taught(self.estimator, X, y, sample_weight, rng)


@dataclass(frozen=True, eq=False)
class CrossFitState:
    """The data, its folds [(rows to learn from, rows to speak of), …] and the estimators fitted so far."""

    data: Data
    splits: tuple
    fitted: tuple = ()

    @property
    def members(self):
        """The estimator that saw all rows."""
        return self.fitted[-1:]


@dataclass(frozen=True)
class CrossFit(Scheme):
    """One estimator a fold, and one on all rows. `cv` is a number of folds, or ready splits."""

    member: Member
    cv: int | tuple

    def start(self, data):
        return CrossFitState(data, tuple(self._splits(data)))

    def _splits(self, data):
        if not isinstance(self.cv, int):
            return self.cv
        fold = folds(data.X, data.y, self.cv, data.classes, data.groups)
        return [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k))
            for k in range(self.cv)
            if np.any(fold == k)
        ]

    def done(self, state):
        return bool(state.fitted)

    def ask(self, state):
        jobs = [Job((k,), self.member, rows=rows) for k, (rows, _) in enumerate(state.splits)]
        return [*jobs, Job((len(jobs),), self.member)]

    def tell(self, state, seats):
        return replace(state, fitted=tuple(seat.member for seat in seats))

    def expected(self, state=None):
        return (self.cv if isinstance(self.cv, int) else len(self.cv)) + 1

    def vote(self, state):
        return uniform(1)

    @staticmethod
    def unseen(state, speak, able=lambda estimator: True):
        """(rows, what the estimators say of them by `speak(estimator, X)`), for the folds of those that are `able`."""
        folds = zip(state.fitted, state.splits, strict=False)
        told = [(rows, speak(e, state.data.X[rows])) for e, (_, rows) in folds if able(e)]
        if not told:
            return np.zeros(0, int), speak(state.fitted[-1], state.data.X)[:0]
        return tuple(np.concatenate(column) for column in zip(*told, strict=True))


# Regression: residuals


@dataclass(frozen=True, eq=False)
class Residuals(Fitted):
    """ŷ(x) + s(x) · r: a fitted regressor, what sizes its residuals (None: 1), and the residuals r of unseen rows."""

    estimator: BaseEstimator
    sizes: BaseEstimator | None
    smallest: float
    residuals: np.ndarray
    weights: np.ndarray
    bandwidth: float

    def predict_dist(self, X):
        scale = 1.0 if self.sizes is None else np.maximum(self.sizes.predict(X), self.smallest)
        return Empirical(
            self.residuals, self.weights, loc=said(self.estimator, X), scale=scale, bandwidth=self.bandwidth
        )


def residuals(state, spread, seed_rng):
    """The Residuals member of a finished CrossFit."""
    data = state.data
    rows, predicted = CrossFit.unseen(state, said)
    weight = np.ones(len(rows)) if data.weight is None else data.weight[rows]
    r = data.y[rows] - predicted
    gap = smallest_gap(data.y) or 1.0
    sizes, size, smallest = None, np.ones(len(rows)), 1.0
    if spread == "scaled":
        sizes, size, smallest = _sizes(state, rows, np.abs(r), weight, gap, seed_rng)
    r, floor = r / size, gap / np.average(size, weights=weight)
    return Residuals(state.fitted[-1], sizes, smallest, r, weight, kernel_bandwidth(r, weight, floor))


def said(estimator, X):
    """The estimator's numbers, as one column."""
    return np.asarray(estimator.predict(X), dtype=float).reshape(X.shape[0])


def _sizes(state, rows, size, weight, gap, rng):
    """A model of |residual| given x, what it says of rows it did not see, and the least it may say.

    Extremely random trees draw no rows and weigh their leaves, so that a row of weight 3 is three rows to them.
    """
    data = state.data
    leaf = max(2.0, min(50.0, weight.sum() / 20)) / weight.sum()
    model = ExtraTreesRegressor(50, min_weight_fraction_leaf=min(leaf, 0.5))
    smallest = 1e-3 * max(np.average(size, weights=weight), gap)
    predicted, end = np.empty(len(rows)), 0
    for learn, speak in state.splits:
        here, end = np.arange(end, end + len(speak)), end + len(speak)
        known = np.flatnonzero(np.isin(rows, learn))
        at = known if len(known) else here
        fold = seeded(clone(model), rng).fit(data.X[rows[at]], size[at], weight[at])
        predicted[here] = fold.predict(data.X[speak])
    fitted = seeded(clone(model), rng).fit(data.X[rows], size, weight)
    return fitted, np.maximum(predicted, smallest), smallest


# Classification: calibrated scores


@dataclass(frozen=True, eq=False)
class Calibrated(Fitted):
    """softmax(A·score(x) + b): a fitted classifier and the logistic function of its scores.

    A class of which no row was ever held out has its share of the rows, and the others divide the rest.
    """

    estimator: BaseEstimator
    n_classes: int
    slopes: np.ndarray
    intercepts: np.ndarray
    shares: np.ndarray  # 0 for classes of which some rows were held out
    certain: float  # probabilities are taken no nearer to 0 than this before their logarithm

    def predict_dist(self, X):
        seen = self.shares == 0
        said = scores(self.estimator, X, self.n_classes, self.certain)
        logits = said @ self.slopes[seen].T + self.intercepts[seen]
        p = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        table = np.tile(self.shares, (X.shape[0], 1))
        table[:, seen] = (1 - self.shares.sum()) * p / p.sum(axis=1, keepdims=True)
        return Categorical(table)


def calibrated(state):
    """The Calibrated member of a finished CrossFit."""
    data, n_classes, whole = state.data, len(state.data.classes), state.fitted[-1]
    rows_of = np.bincount(data.y, data.weight, minlength=n_classes)
    certain = 0.5 / rows_of.sum()
    rows, table = CrossFit.unseen(
        state,
        lambda e, X: scores(e, X, n_classes, certain),
        able=lambda e: len(e.classes_) > 1 or len(whole.classes_) == 1,
    )
    if state.splits and not len(rows):
        raise ValueError(
            "every training part that cv leaves holds one class only, so nothing is learned of the others; give "
            "splits with more, such as a number of folds, or sklearn.model_selection.StratifiedKFold"
        )
    y, weight = data.y[rows], None if data.weight is None else data.weight[rows]
    slopes, intercepts = _logistic(table, y, weight, n_classes)
    shares = np.where(np.isin(np.arange(n_classes), y), 0.0, rows_of / rows_of.sum())
    return Calibrated(whole, n_classes, slopes, intercepts, shares, certain)


def scores(estimator, X, n_classes, certain):
    """What a classifier says of each class: its margin, its probability and the logarithm of it, or its vote.

    Of probabilities both, since some know their small ones well (a network), and others not at all (neighbours).
    """
    known = estimator.classes_
    if hasattr(estimator, "decision_function"):
        said = [_one_a_class(estimator.decision_function(X), len(known))]
    elif hasattr(estimator, "predict_proba"):
        p = estimator.predict_proba(X)
        said = [p, np.log(np.clip(p, certain, 1.0))]
    else:
        said = [(estimator.predict(X)[:, None] == known).astype(float)]
    return np.hstack([_of_all(table, known, n_classes) for table in said])


def _one_a_class(margins, k):
    """A margin for each of k classes; from one for each pair of them, what those of a class add up to."""
    if margins.ndim == 1:
        return np.stack([-margins, margins], axis=1)
    if margins.shape[1] == k:
        return margins
    out = np.zeros((len(margins), k))
    for margin, i, j in zip(margins.T, *np.triu_indices(k, 1)):
        out[:, i] += margin
        out[:, j] -= margin
    return out


def _of_all(table, known, n_classes):
    """The table with a column for each class; those that are not known are as the least likely of the row."""
    if len(known) == n_classes:
        return table
    full = np.repeat(table.min(axis=1, keepdims=True), n_classes, axis=1)
    full[:, known] = table
    return full


def _logistic(table, y, weight, n_classes):
    """(A, b) of the multinomial logistic regression of y on the scores, ridged; 0 for classes not in y."""
    slopes, intercepts = np.zeros((n_classes, table.shape[1])), np.zeros(n_classes)
    seen = np.unique(y)
    if len(seen) > 1:
        centre, scale = _centre_and_scale(table, weight, n_classes)
        w = np.ones(len(y)) if weight is None else weight
        a, b = _ridged((table - centre) / scale, y[:, None] == seen, w, _own(seen, *slopes.shape))
        slopes[seen], intercepts[seen] = a / scale, b - (a / scale) @ centre
    return slopes, intercepts


def _own(seen, n_classes, n_columns):
    """E_s for each kind s of score: 1 where the row's class is the column's, shape (kinds, classes seen, columns)."""
    own = np.zeros((n_columns // n_classes, len(seen), n_columns))
    for kind, of_kind in enumerate(own):
        of_kind[np.arange(len(seen)), kind * n_classes + seen] = 1.0
    return own


def _ridged(z, truth, w, own):
    """(A, b) = argmin −Σ_i w_i log softmax(A z_i + b) at i's class + ½ |t|² + 2 |B|²,  A = Σ_s t_s E_s + B.

    A class's own scores tell most of what there is to know, and equally of each class: few rows find t, the slope that
    all classes share, and only many rows the rest. By Newton steps down to a tiny gradient, so that a weight and
    repeated rows agree to many digits.
    """
    k, total, kinds = truth.shape[1], w.sum(), len(own)

    def parted(x):
        t, rest = x[:kinds], x[kinds:].reshape(k, -1)
        return t, rest[:, :-1], rest[:, -1]

    def slopes(x):
        t, b, _ = parted(x)
        return np.tensordot(t, own, 1) + b

    def logits(x):
        return z @ slopes(x).T + parted(x)[2]

    def packed(of_logits, x):
        t, b, _ = parted(x)
        of_slopes = of_logits.T @ z
        of_t = np.tensordot(own, of_slopes, 2)
        rest = np.column_stack([of_slopes + STIFF * b, of_logits.sum(axis=0)])
        return np.concatenate([of_t + t, rest.ravel()]) / total

    def loss(x):
        (t, b, _), log = parted(x), _log_softmax(logits(x))
        penalty = np.sum(t**2) / 2 + STIFF * np.sum(b**2) / 2
        return (penalty - np.sum(w * log[truth])) / total, packed(w[:, None] * (np.exp(log) - truth), x)

    def curvature(x, v):
        p, change = np.exp(_log_softmax(logits(x))), logits(v)
        change = p * (change - np.sum(p * change, axis=1, keepdims=True))
        return packed(w[:, None] * change, v)

    start = np.zeros(kinds + k * (z.shape[1] + 1))
    found = minimize(loss, start, jac=True, hessp=curvature, method="trust-ncg", options={"gtol": 1e-12}).x
    return slopes(found), parted(found)[2]


def _log_softmax(logits):
    return logits - logsumexp(logits, axis=1, keepdims=True)


def _centre_and_scale(table, weight, n_classes):
    """Mean of each column, and how far those of its kind scatter; infinite for a column constant but for rounding."""
    centre = np.average(table, axis=0, weights=weight)
    spread = np.abs(table - centre).max(axis=0)
    constant = spread <= 1e-12 * np.abs(table).max(axis=0)
    moved = (table - centre) / np.where(constant, 1.0, spread)  # of which the squares do not vanish
    deviation = np.sqrt(np.average(moved**2, axis=0, weights=weight))
    scale = np.where(constant, 0.0, spread * deviation).reshape(-1, n_classes)
    most = scale.max(axis=1, keepdims=True)
    some = np.maximum(np.sum(scale > 0, axis=1, keepdims=True), 1)
    common = most * np.sqrt(
        np.sum((scale / np.where(most > 0, most, 1.0)) ** 2, axis=1, keepdims=True) / some
    )
    return centre, np.where(scale > 0, common, np.inf).ravel()
