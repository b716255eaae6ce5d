"""One tree: each leaf answers with what its training rows said (Breiman et al., 1984)."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from quorate.dist.bandwidth import smallest_gap
from quorate.estimators import columns
from quorate.estimators.base import Classifier, Regressor, or_as_before, root_seed
from quorate.estimators.categories import TakesCategories
from quorate.learn.content import folds
from quorate.members.leaves import best_bandwidth
from quorate.members.tree import UNSEEN, Tree

FOLDS = 5
SCOUT = 3  # what a key draws beside weights, member and columns
REGRESSION = {"squared_error", "absolute_error", "poisson"}
CLASSES = {"gini", "entropy", "log_loss"}


class OfTrees(TakesCategories):
    """From parameters to a `Tree`: what single trees and forests share."""

    criterion: str
    max_depth: int | None
    max_features: Any
    max_leaf_nodes: int | None
    max_leaf_values: int
    min_samples_split: float
    min_samples_leaf: float
    ccp_alpha: float
    monotonic_cst: Any

    _parameter_constraints: ClassVar[dict] = {
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [Interval(Real, 2, None, closed="left")],
        "min_samples_leaf": [Interval(Real, 1, None, closed="left")],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2", "log2+1"}),
            None,
        ],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "monotonic_cst": ["array-like", dict, None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "random_state": ["random_state"],
    }

    def _tree(self, data, **more):
        """The member that these parameters describe, for such data."""
        d, n_classes = data.X.shape[1], None if data.classes is None else len(data.classes)
        self._no_negative_counts(data)
        categorical = self._numbers_of(d)
        if n_classes is None:
            more["max_leaf_values"] = self.max_leaf_values
        return Tree(
            criterion=self.criterion,
            classifies=n_classes is not None,
            n_classes=n_classes,
            max_features=self._n_columns(d),
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            ccp_alpha=self.ccp_alpha,
            monotone=self._signs(d, n_classes, categorical),
            categorical=categorical,
            class_weight=columns.class_weights(getattr(self, "class_weight", None), data),
            **more,
        )

    def _no_negative_counts(self, data):
        if self.criterion == "poisson" and np.min(data.y) < 0:
            i = np.argmin(data.y)
            row = i if data.rows is None else data.rows[i]
            raise ValueError(
                f'criterion="poisson" is for counts, and y is {data.y[i]:g} in row {row}; '
                f'use criterion="squared_error", or drop the row'
            )

    def _n_columns(self, d):
        """How many columns a node draws; None is all."""
        given = self.max_features
        if given is None:
            return None
        if given == "log2+1":
            return min(d, int(np.log2(d)) + 1)
        if isinstance(given, str):
            return max(1, int({"sqrt": np.sqrt, "log2": np.log2}[given](d)))
        if isinstance(given, Integral) and given > d:
            raise ValueError(f"max_features={given} is more than the {d} columns of X")
        return int(given) if isinstance(given, Integral) else max(1, int(given * d))

    def _signs(self, d, n_classes, categorical):
        """−1, 0 or 1 for each column, or nothing where all are free."""
        found = columns.signs(self, d, n_classes, categorical)
        if self.criterion == "absolute_error" and any(found):
            raise ValueError(
                'monotonic_cst is about means, and criterion="absolute_error" about medians; '
                'use criterion="squared_error"'
            )
        return found


class _OneTree(OfTrees):
    """What the two share."""

    @_fit_context(prefer_skip_nested_validation=True)
    @or_as_before
    def fit(self, X, y, sample_weight=None):
        """Grow the tree; whole-number weights count rows, others weigh them."""
        seed = root_seed(self.random_state)
        data = self._data(X, y, sample_weight, seed)
        self.tree_ = self._grown(data)
        self.receipts_, self.interrupted_ = {}, False
        return self

    @property
    def feature_importances_(self):
        """The share of all gain in the criterion that each column brought."""
        return self.tree_.importances()

    def apply(self, X):
        """The number of the leaf each row ends in."""
        return self.tree_.leaves(self._checked(X))

    def get_depth(self):
        """How many questions lead to the deepest leaf."""
        return int(self.tree_.depths.max())

    def get_n_leaves(self):
        """How many leaves there are."""
        return int(self.tree_.is_leaf.sum())

    def export_text(self, max_depth=10, decimals=2):
        """The tree as text: a question a line, and what a leaf answers."""
        from quorate.members.text import as_text

        names = getattr(self, "feature_names_in_", None)
        labels = getattr(self, "classes_", None)
        return as_text(self.tree_, names, labels, self._levels, max_depth, decimals)

    def cost_complexity_pruning_path(self, X, y, sample_weight=None):
        """(ccp_alphas, leaves left): at which α branches go, for the tree grown to its end."""
        own = clone(self)  # what this one has learned stays as it is
        own._validate_params()
        data = own._data(X, y, sample_weight, root_seed(self.random_state))
        member = own._tree(data)
        path = member.path(data.prepared(member), data.y, data.weight, data.rng(0))
        return np.array([a for a, _ in path]), np.array([n for _, n in path])


class TreeClassifier(Classifier, _OneTree):
    """A decision tree: the probabilities of the classes are their shares in the leaf.

        p(y | x) = Σ_i w_i 1{x_i in the leaf of x} 1{y_i = y} / Σ_i w_i 1{x_i in the leaf of x}

    A tree that is grown to its end holds all impossible but one class; `min_samples_leaf`, `ccp_alpha`, a forest or
    `Probabilistic` make its probabilities honest. Values are looked at in at most 255 bins a column, missing values go
    where they gain most, and a split of categories is a set of them.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers; "log_loss" is "entropy".
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default=None
        How many columns a node draws to choose from; None is all. More are drawn where those can not split it.
    max_leaf_nodes : int, default=None
        With it the tree grows where it gains most, until it has so many leaves.
    ccp_alpha : float, default=0.0
        Branches that lower the impurity by less than this for each leaf are cut.
    class_weight : dict or "balanced", default=None
        A weight for each class, that of the rows is multiplied by.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the second class's probability may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    random_state : int, RandomState or None, default=None
        Which columns are drawn.

    Attributes
    ----------
    tree_ : FittedTree
        The nodes.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    receipts_ : dict
        Empty.
    interrupted_ : bool
        False.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.
    W. D. Fisher (1958). On grouping for maximum homogeneity. JASA 53.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=False)
    >>> model = q.TreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    3
    >>> model.predict_dist(X[:1]).probs
    array([[1., 0., 0.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        **OfTrees._parameter_constraints,
        "criterion": [StrOptions(CLASSES)],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        criterion="gini",
        *,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=None,
        max_leaf_nodes=None,
        ccp_alpha=0.0,
        class_weight=None,
        monotonic_cst=None,
        categorical_features=None,
        random_state=None,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _grown(self, data):
        member = self._tree(data)
        return member.fit(data.prepared(member), data.y, data.weight, data.rng(0))

    def _predict_dist(self, X):
        return self.tree_.predict_dist(X).recode(self.classes_)

    def as_member(self):
        """The tree as a member of a committee, which learns from bins that all members share."""
        return _as_member(self, True)


class TreeRegressor(Regressor, _OneTree):
    """A regression tree that answers with the whole law of y in the leaf.

        p(y | x) = Σ_i w_i 1{x_i in the leaf of x} k((y − y_i) / h) / h / Σ_i w_i 1{x_i in the leaf of x}

    Quantiles, moments and scores are those of the values themselves; the density needs a kernel k, whose width h is
    what best foretells rows the tree has not seen. Values of x are looked at in at most 255 bins a column, missing
    values go where they gain most, and a split of categories is a set of them.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        What a split lowers. "absolute_error" is slower; its splits put categories in the order of their means.
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default=None
        How many columns a node draws to choose from; None is all. More are drawn where those can not split it.
    max_leaf_nodes : int, default=None
        With it the tree grows where it gains most, until it has so many leaves.
    max_leaf_values : int, default=128
        Of more values than this a leaf keeps the means of so many parts of equal weight.
    ccp_alpha : float, default=0.0
        Branches that lower the error by less than this for each leaf are cut.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the mean may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    random_state : int, RandomState or None, default=None
        Which columns are drawn.

    Attributes
    ----------
    tree_ : FittedTree
        The nodes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    receipts_ : dict
        Empty.
    interrupted_ : bool
        False.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.
    N. Meinshausen (2006). Quantile regression forests. JMLR 7.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.TreeRegressor(min_samples_leaf=40, random_state=0).fit(X, y)
    >>> dist = model.predict_dist(X[:1])
    >>> low, high = dist.interval(0.8)[0]
    >>> bool(low < dist.mean[0] < high)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **OfTrees._parameter_constraints,
        "criterion": [StrOptions(REGRESSION)],
        "max_leaf_values": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        criterion="squared_error",
        *,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=None,
        max_leaf_nodes=None,
        max_leaf_values=128,
        ccp_alpha=0.0,
        monotonic_cst=None,
        categorical_features=None,
        random_state=None,
    ):
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.max_leaf_values = max_leaf_values
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _grown(self, data):
        """The width of the kernels is learned by a tree that does not see a fifth of the rows."""
        member = self._tree(data, bandwidth=1.0)
        tree = member.fit(data.prepared(member), data.y, data.weight, data.rng(0))
        return tree.with_bandwidth(scouted_width(data, member, [tree]))

    def _predict_dist(self, X):
        return self.tree_.predict_dist(X)

    def as_member(self):
        """The tree as a member of a committee, which learns from bins that all members share."""
        return _as_member(self, False)


def scouted_width(data, member, trees):
    """The width of kernels that best foretells a fifth of the rows, by trees that are grown for this on the others."""
    held = folds(data.X, data.y, FOLDS) == 0
    rows, weight = np.zeros(0, int), None
    if not held.all():
        w = np.where(held, 0.0, np.ones(len(data)) if data.weight is None else data.weight)
        table = data.prepared(member)
        trees = [member.fit(table, data.y, w, data.rng(i, SCOUT)) for i in range(len(trees))]
        rows, weight = some_rows(held, data)
    return best_bandwidth(trees, data.X[rows], data.y[rows], smallest_gap(data.y), weight=weight)


def some_rows(chosen, data):
    """(at most UNSEEN distinct ones of the chosen rows, the weight of each and its copies), in whichever order."""
    rows = np.flatnonzero(chosen)
    _, first, twin = np.unique(data.row_hashes[rows], return_index=True, return_inverse=True)
    weight = np.bincount(twin, None if data.weight is None else data.weight[rows])
    return rows[first[:UNSEEN]], weight[:UNSEEN]


def _as_member(estimator, classifies):
    """A `Tree`, where its parameters can be told before the columns are known; else None."""
    plain = estimator.max_features is None and estimator.monotonic_cst is None
    if not plain or estimator.categorical_features is not None or getattr(estimator, "class_weight", None):
        return None
    names = ("criterion", "max_depth", "max_leaf_nodes", "min_samples_split", "min_samples_leaf", "ccp_alpha")
    more = {} if classifies else {"max_leaf_values": estimator.max_leaf_values}
    return Tree(classifies=classifies, **{name: getattr(estimator, name) for name in names}, **more)
