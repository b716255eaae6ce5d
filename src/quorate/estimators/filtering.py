"""Boosting by filtering: committees of three, taught from a stream what the experts before leave to be learned.

g(ε) = 3ε² − 2ε³,     what the majority of three errs if each errs ε on its own filtered examples
"""

from dataclasses import replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, _fit_context, is_classifier
from sklearn.callback import with_callbacks
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval

from quorate.estimators import check
from quorate.estimators.base import Classifier, OfCommittee, or_as_before, root_seed
from quorate.estimators.tree import TreeClassifier
from quorate.learn import Data
from quorate.learn.filter import EXPERTS, Filtering, named, receipts
from quorate.learn.stream import Ended, Stream, Tally
from quorate.members import Member
from quorate.members.wrap import as_decider, is_estimator, last_step, predictor, takes_missing

N_EXAMPLES = 1000  # that an expert is taught from a stream, if nothing else is said


class FilteringClassifier(MetaEstimatorMixin, Classifier, OfCommittee):
    """Committees of three experts, each taught what the ones before it leave to be learned (boosting by filtering).

        g(ε) = 3ε² − 2ε³,     p(y | x, D) = (1 − δ) 1/3 Σ_k 1{f_k(x) = y} + δ/K

    Expert 1 is taught examples as they come, expert 2 as many that it gets wrong as right (a coin decides), expert 3
    those on which the two disagree. If each errs ε on its own examples, their majority errs g(ε), and never more than
    g of the largest. At depth 2 each expert is such a committee itself, and so on. Where all three differ, the third
    decides. How much to doubt the votes, δ, is learned from examples that are set aside.

    `fit_stream` learns from blocks of examples that need not fit in memory, each used once. `fit` learns from a table
    as from an endless stream of its rows, drawn with replacement; a row of whole weight w is w rows.

    A committee has one expert only where nothing is left to learn: expert 1 makes no mistakes, or experts 1 and 2
    never disagree, or hardly ever. `ended_` says so. A learner that remembers its rows (a fully grown tree) ends like
    that on a table.

    Parameters
    ----------
    estimator : classifier, default=TreeClassifier(max_depth=3)
        The innermost expert: any classifier, of which only the decisions count.
    depth : int, default=1
        How often committees of three are nested: 3**depth experts are taught. 0 teaches one.
    n_examples : int, default=None
        How many examples each of them is taught. None is as many as a table has rows to learn from; 1000 of a stream.
    validation_fraction : float, default=0.2
        The share of a table's rows (the nearest 1/k), or so many examples for each that is taught from a stream, that
        are set aside for `receipts_` and δ. With 0 there are no receipts, and δ is 1/2.
    patience : int, default=10000
        After how many examples of a stream that it does not let through a filter gives up: what it seeks is then rarer
        than 3/patience (with 95% confidence).
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int and stream give the same model, however the stream is cut into blocks.

    Attributes
    ----------
    committee_ : Committee
        The committee of three, and a member that doubts it; `predict_dist` is its answer.
    experts_ : tuple
        The members of the committee of three.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    receipts_ : dict
        For the committee and each expert that is one: what its experts err on their own examples, the g(ε) that this
        predicts, and what it errs, all on examples set aside.
    consumed_ : dict
        For "stream" and the filter of each expert, such as "expert 2.3": (examples let through, examples looked at).
        For a table: what a stream of its rows would have had to offer, on average.
    ended_ : dict
        Which committees have one expert only, and why.
    interrupted_ : bool
        Whether the fit was ended early and has fewer members than it should.

    References
    ----------
    R. E. Schapire (1990). The strength of weak learnability. Machine Learning 5.
    H. Drucker, R. Schapire, P. Simard (1993). Boosting performance in neural networks. IJPRAI 7.

    Examples
    --------
    >>> import numpy as np, quorate as q
    >>> rng = np.random.default_rng(0)
    >>> def blocks():
    ...     while True:
    ...         X = rng.uniform(-1, 1, size=(1000, 2))
    ...         yield X, X[:, 0] * X[:, 1] > 0
    >>> model = q.FilteringClassifier(n_examples=2000, random_state=0).fit_stream(blocks())
    >>> receipt = model.receipts_["committee"]
    >>> receipt.measured <= receipt.predicted
    True
    """

    n_jobs = None  # experts follow each other

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit"]), None],
        "depth": [Interval(Integral, 0, None, closed="left")],
        "n_examples": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 0.5, closed="both")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        depth=1,
        n_examples=None,
        *,
        validation_fraction=0.2,
        patience=10000,
        random_state=None,
    ):
        self.estimator = estimator
        self.depth = depth
        self.n_examples = n_examples
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    @or_as_before
    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Teach the experts from a table, whose rows are drawn with replacement as often as is needed."""
        member = self._expert()
        data = self._data(X, y, sample_weight, root_seed(self.random_state))
        n_folds = round(1 / self.validation_fraction) if self.validation_fraction else None
        return self._taught(Filtering(member, self.depth, self.n_examples, n_folds), data)

    @_fit_context(prefer_skip_nested_validation=False)
    @or_as_before
    @with_callbacks
    def fit_stream(self, blocks, classes=None):
        """Teach the experts from a stream: an iterable of blocks (X, y) of any size, read as far as is needed.

        The classes are those of the first block, if not told. A stream that ends too early is an error, which says
        whose filter had let how many examples through.
        """
        if any(hasattr(callback, "recall") for callback in getattr(self, "_skl_callbacks", ())):
            raise ValueError("a checkpoint cannot tell one stream from another; fit_stream without one")
        member, tally = self._expert(), Tally()
        stream = Stream(self._read(blocks, classes), self.patience, tally)
        n = N_EXAMPLES if self.n_examples is None else self.n_examples
        n_aside = round(self.validation_fraction * n * EXPERTS**self.depth)
        X, y = self._aside(stream, n_aside)
        data = Data(X[:1], y[:1], None, self.classes_, root_seed(self.random_state))
        aside = (X[:n_aside], y[:n_aside], np.ones(n_aside))
        return self._taught(Filtering(member, self.depth, opened=lambda _: (aside, n, tally, stream)), data)

    def _taught(self, scheme, data):
        state, committee, self.interrupted_ = self._learn(scheme, data)
        self.committee_ = replace(committee, names=("experts", "doubt"))
        self.receipts_ = {named(path): r for path, r in receipts(state.best, *state.aside).items()}
        self.consumed_ = {
            named(path) if path else "stream": tuple(round(c) for c in counts)
            for path, counts in state.tally.counts.items()
        }
        self.ended_ = {named(path): why for path, why in state.ended.items()}
        return self

    # what is learned

    @staticmethod
    def _default_estimator():
        return TreeClassifier(max_depth=3)

    def _member(self):
        return self._default_estimator() if self.estimator is None else self.estimator

    def _expert(self):
        """The innermost expert as a Member, which must be a classifier that can be taught."""
        member = self._member()
        if isinstance(member, Member):
            return member
        name = type(member).__name__
        if not is_classifier(predictor(member)):
            raise TypeError(f"FilteringClassifier needs a classifier, and {name} is none")
        if isinstance(last_step(member), FrozenEstimator):
            raise TypeError(
                "a FrozenEstimator learns nothing from what filters let through, so all experts would be the same; "
                "give the estimator inside it"
            )
        return as_decider(member)

    @property
    def experts_(self):
        """The members of the committee of three."""
        return self.committee_.members[0].members

    # what is learned from

    def _read(self, blocks, classes):
        """The blocks of a stream, checked: tables and codes."""
        if classes is not None:
            self.classes_ = np.unique(
                check.answers(self, np.empty((len(classes), 0)), classes, numeric=False)
            )
        for number, block in enumerate(blocks):
            try:
                X, y = _pair(block)
                X = self._checked(X, reset=number == 0)
                if number == 0 and classes is None:
                    self.classes_ = check.classes(self, X, y)[0]
                yield X, self._codes(X, y)
            except (ValueError, TypeError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"block {number} of the stream: {error}") from error

    def _codes(self, X, y):
        """The places of the answers among the classes."""
        y = check.answers(self, X, y, numeric=False)
        place = {label: code for code, label in enumerate(self.classes_.tolist())}
        unique, inverse = np.unique(y, return_inverse=True)
        codes = np.array([place.get(label, -1) for label in unique.tolist()])[inverse]
        if np.any(codes < 0):
            row = np.argmax(codes < 0)
            raise ValueError(
                f"row {row} of y has {y.tolist()[row]!r}, and the classes are {self.classes_.tolist()}; where the "
                f"first block does not hold them all, name them: fit_stream(blocks, classes=[...])"
            )
        return codes

    def _aside(self, stream, n):
        """The first n examples of a stream, or a look at the first one."""
        try:
            return stream.take(n) if n else stream.look()
        except Ended as end:
            raise ValueError(
                f"the stream ended after {end.found} examples, all of them to be set aside: that takes {n}; give a "
                f"longer stream, fewer n_examples, or a smaller validation_fraction"
                if n
                else "the stream holds no examples; give at least one block (X, y)"
            ) from None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if is_estimator(self._member()):
            inner = get_tags(self._member())
            tags.input_tags.allow_nan = takes_missing(self._member())
            tags.input_tags.sparse = inner.input_tags.sparse
        return tags


def _pair(block):
    """X and y of a block."""
    if isinstance(block, (tuple, list)) and len(block) == 2:
        return block
    raise TypeError(f"should be a pair (X, y), not a {type(block).__name__}")
