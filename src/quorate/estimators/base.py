"""What every estimator shares: checking, seeds, the watch around the loop, and answers from one predictive."""

import numbers as kinds
from dataclasses import replace
from functools import partial, wraps
from secrets import randbits
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from quorate import score
from quorate.dist.base import fraction
from quorate.estimators import check, plan
from quorate.learn import Data, Seat, committee as committee_of, learn
from quorate.run import Watch, executor
from quorate.run.executors import workers
from quorate.run.pieces import in_pieces

BLOCK = 1 << 16  # rows answered at once
PIECE = 1 << 14  # rows that a thread takes through one tree after another; so often is a tree read anew
FEW = 1 << 10  # rows that are not worth a thread


def or_as_before(fit):
    """A `fit` that fails, or is interrupted with nothing to keep, leaves the estimator as it was."""

    @wraps(fit)
    def guarded(self, *arguments, **more):
        before = dict(vars(self))
        try:
            return fit(self, *arguments, **more)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


class Estimator(CallbackSupportMixin, BaseEstimator):
    """Owes `_predict_dist(X)` for a checked table; the faces derive the rest from that one answer."""

    _parameter_constraints: ClassVar[dict] = {}

    def predict_dist(self, X):
        """The whole predictive distribution p(y | x), a Predictive of as many rows as X."""
        return self._predict_dist(self._checked(X))

    def log_score(self, X, y, sample_weight=None):
        """Mean log p(y | x): larger is better."""
        X = self._checked(X)
        return score.log_score(self._predict_dist(X), self._truth(X, y), check.weights(sample_weight, X))

    def _joined(self):
        """A short way to what the members say on average, a function of X; None where there is none."""
        return None

    def _checked(self, X, reset=False):
        if not reset:
            if check.is_ready(self, X):
                return X
            check_is_fitted(self)
        tags = self.__sklearn_tags__().input_tags
        return check.table(self, X, reset=reset, allow_nan=tags.allow_nan, allow_sparse=tags.sparse)

    def _on_threads(self, n):
        """A function that has work(first, last) done for all of n rows by `n_jobs` threads; None for one thread."""
        threads = workers(getattr(self, "n_jobs", None))
        size = min(PIECE, max(FEW, -(-n // threads)))
        return None if n <= size else partial(in_pieces, threads, size)

    def _in_blocks(self, X, speak):
        """speak(predictive) of all rows of a checked table, some at a time so that memory stays bounded."""
        blocks = [X[s : s + BLOCK] for s in range(0, X.shape[0], BLOCK)]
        return np.concatenate([speak(self._predict_dist(block)) for block in blocks])

    def _data(self, X, y, sample_weight, seed, groups=None):
        """The checked Data of a fit; rows of weight 0 are left out, since they say nothing."""
        X = self._checked(X, reset=True)
        classes, y = self._learn_truth(X, y)
        w, rows, groups = check.weights(sample_weight, X), None, check.groups(groups, X)
        if w is not None and np.any(w == 0):
            rows = np.flatnonzero(w)
            X, y, w = X[rows], y[rows], w[rows]
            if classes is not None:
                kept, y = np.unique(y, return_inverse=True)
                classes = classes[kept]
                self.classes_ = classes
            if groups is not None:
                groups = np.unique(groups[rows], return_inverse=True)[1]
        return Data(X, y, w, classes, seed, rows, groups)

    def _learn(self, scheme, data, earlier=None, given=None):
        """Run the loop under watch: (state, committee, whether it ended early); callbacks see what was `given`."""
        context = self._init_callback_context(
            max_subtasks=scheme.expected(earlier), sequential_subtasks=False
        )
        callbacks = getattr(self, "_skl_callbacks", ())
        keeper = next((c for c in callbacks if hasattr(c, "recall")), None)
        if keeper is not None:
            asked = self.random_state if isinstance(self.random_state, kinds.Integral) else None
            data = replace(data, seed=keeper.begin(plan.digest(self, data, asked), data.seed))

        def so_far():
            state = scheme.tell(watch.state, [Seat(job, member) for job, member in watch.fitted])
            return {"committee_": committee_of(scheme, state, data)}

        shown = {"estimator": self, **(given or {})}
        after = {**shown, "reconstruction_attributes": so_far if scheme.in_parts else None}

        def finished(job, member):
            task = context.subcontext(task_name="member", task_id=job.key).call_on_fit_task_begin(**shown)
            return task.call_on_fit_task_end(**after)

        watch = Watch(executor(self.n_jobs), finished=finished if callbacks else None, checkpoint=keeper)
        context.call_on_fit_task_begin(**shown)
        state, committee = learn(scheme, data, watch, earlier)
        context.call_on_fit_task_end(**after)
        return state, committee, watch.interrupted


class OfCommittee(Estimator):
    """An estimator that answers as its `committee_` does."""

    def _predict_dist(self, X):
        return self.committee_.predict_dist(X)

    def _joined(self):
        joined = self.committee_.joined
        if joined is None:
            return None
        return lambda X: joined.mean(X, self._on_threads(len(X)))

    def explain(self, X):
        """Who said what about each row: every member's distribution, its vote, and the sum."""
        return self.committee_.explain(self._checked(X))

    def ambiguity(self, X, y, sample_weight=None):
        """The receipts of averaging on these rows: committee loss = mean member loss − ambiguity."""
        X = self._checked(X)
        return self.committee_.ambiguity(X, self._truth(X, y), check.weights(sample_weight, X))


def root_seed(random_state):
    """The root of all randomness of a fit, from an int, a RandomState or Generator (drawn from), or None (fresh)."""
    if random_state is None:
        return randbits(128)
    if isinstance(random_state, kinds.Integral):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    draw = getattr(random_state, "integers", None) or random_state.randint
    return int(draw(0, 2**31 - 1))


class Classifier(ClassifierMixin):
    """The face of an estimator whose answers are classes."""

    def predict(self, X):
        """The most probable class of each row; of equals, the first in `classes_`."""
        X = self._checked(X)
        return self.classes_[np.argmax(self._probs(X), axis=1)]

    def predict_proba(self, X):
        """The probability of each of `classes_`, shape (n, K)."""
        return self._probs(self._checked(X))

    def _probs(self, X):
        joined = self._joined()
        return self._in_blocks(X, lambda dist: dist.probs) if joined is None else joined(X)

    def score(self, X, y, sample_weight=None):
        """Accuracy: the share of rows whose most probable class is theirs."""
        X = self._checked(X)
        said = self.classes_[np.argmax(self._probs(X), axis=1)]
        return score.accuracy(said, self._truth(X, y), check.weights(sample_weight, X))

    def _learn_truth(self, X, y):
        self.classes_, codes = check.classes(self, X, y)
        return self.classes_, codes

    def _truth(self, X, y):
        return check.answers(self, X, y, numeric=False)


class Regressor(RegressorMixin):
    """The face of an estimator whose answers are numbers."""

    def predict(self, X):
        """The mean of each row's predictive."""
        return self._means(self._checked(X))

    def _means(self, X):
        joined = self._joined()
        return self._in_blocks(X, lambda dist: dist.mean) if joined is None else joined(X)[:, 0]

    def score(self, X, y, sample_weight=None):
        """R²: 1 is perfect, 0 as good as the mean of y."""
        X = self._checked(X)
        said = self._means(X)
        return score.r2(said, self._truth(X, y), check.weights(sample_weight, X))

    def predict_interval(self, X, level=0.9):
        """The central interval that holds `level` of the probability, shape (n, 2)."""
        level = fraction(level, "level")
        return self._in_blocks(self._checked(X), lambda dist: dist.interval(level))

    def predict_quantile(self, X, p):
        """The quantiles at p: shape (n,) for a number, (n, k) for k of them."""
        return self._in_blocks(self._checked(X), lambda dist: dist.quantile(p))

    def _learn_truth(self, X, y):
        return None, check.numbers(self, X, y)

    def _truth(self, X, y):
        return check.numbers(self, X, y)
