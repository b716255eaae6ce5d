"""Forests: trees that each see a sample of the rows, and at each node a sample of the columns (Breiman, 2001).

p(y | x, D) = 1/M Σ_m p(y | leaf_m(x))
"""

from dataclasses import replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from quorate.dist.bandwidth import smallest_gap
from quorate.estimators.bagging import _Bagging
from quorate.estimators.base import Classifier, Regressor
from quorate.estimators.tree import CLASSES, REGRESSION, OfTrees, scouted_width, some_rows
from quorate.learn import Bootstrap, Resample
from quorate.learn.resample import All
from quorate.members.leaves import best_bandwidth
from quorate.members.tree import UNSEEN

SCOUTS = 10  # trees that a bandwidth is learned from where all trees have seen all rows


class _Forest(OfTrees, _Bagging):
    """From parameters to a Resample scheme of trees."""

    drawn: ClassVar[bool] = False  # whether cuts are drawn, not searched

    _parameter_constraints: ClassVar[dict] = {
        **OfTrees._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="right"),
            None,
        ],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def fit(self, X, y, sample_weight=None):
        """Grow `n_estimators` trees; whole-number weights count rows, others weigh them."""
        return super().fit(X, y, sample_weight)

    def _voter(self):
        return None  # a tree is told how many columns and classes there are

    def _scheme(self, member, data):
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples says how many rows are drawn, and bootstrap=False draws none")
        member = self._tree(data, drawn=self.drawn, **({"bandwidth": 1.0} if data.classes is None else {}))
        draw = Bootstrap(1.0 if self.max_samples is None else self.max_samples) if self.bootstrap else All()
        return Resample(member, self.n_estimators, draw)

    @property
    def feature_importances_(self):
        """The share of all gain in the criterion that each column brought, on average over the trees."""
        return np.mean([tree.importances() for tree in self.estimators_], axis=0)

    def apply(self, X):
        """The number of the leaf each row ends in, in each tree: shape (n, M)."""
        X = self._checked(X)
        return np.stack([tree.leaves(X) for tree in self.estimators_], axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags

    def _member(self):
        return None


class _ForestClassifier(Classifier, _Forest):
    _parameter_constraints: ClassVar[dict] = {
        **_Forest._parameter_constraints,
        "criterion": [StrOptions(CLASSES)],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features="sqrt",
        max_leaf_nodes=None,
        ccp_alpha=0.0,
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        class_weight=None,
        monotonic_cst=None,
        categorical_features=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _oob_score(dist, truth, weight):
        return float(np.average(dist.mode == truth, weights=weight))


class _ForestRegressor(Regressor, _Forest):
    _parameter_constraints: ClassVar[dict] = {
        **_Forest._parameter_constraints,
        "criterion": [StrOptions(REGRESSION)],
        "max_leaf_values": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=1.0,
        max_leaf_nodes=None,
        max_leaf_values=128,
        ccp_alpha=0.0,
        bootstrap=True,
        max_samples=None,
        oob_score=False,
        monotonic_cst=None,
        categorical_features=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.max_leaf_values = max_leaf_values
        self.ccp_alpha = ccp_alpha
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @staticmethod
    def _oob_score(dist, truth, weight):
        from sklearn.metrics import r2_score

        return float(r2_score(truth, dist.mean, sample_weight=weight))

    def _keep(self, state, committee):
        """Give all trees one width of kernels: what best foretells rows that those which answer have not seen."""
        width = self._bandwidth(state)
        seats = tuple(replace(seat, member=seat.member.with_bandwidth(width)) for seat in state.seats)
        members = tuple(seat.member for seat in seats)
        return super()._keep(replace(state, seats=seats), replace(committee, members=members))

    def _bandwidth(self, state):
        data, seats = state.data, state.seats[:UNSEEN]
        trees = [seat.member for seat in seats]
        if not self.bootstrap:
            return scouted_width(data, self._tree(data, drawn=self.drawn, bandwidth=1.0), trees[:SCOUTS])
        unseen = np.stack([~data.shown(seat.job.draw(data)) for seat in seats], axis=1)
        rows, weight = some_rows(unseen.any(axis=1), data)
        with np.errstate(divide="ignore"):
            log_w = np.log(unseen[rows].astype(float)) if len(rows) else None
        return best_bandwidth(trees, data.X[rows], data.y[rows], smallest_gap(data.y), log_w, weight)


class RandomForestClassifier(_ForestClassifier):
    """Trees that each see a bootstrap sample of the rows, and at each node some of the columns.

        p(y | x, D) = 1/M Σ_m p(y | leaf_m(x))

    Values are looked at in at most 255 bins a column, missing values go where they gain most, and a split of
    categories is a set of them. A row of whole weight w is w rows, to the last draw.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers; "log_loss" is "entropy".
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default="sqrt"
        How many columns a node draws to choose from; "log2+1" is Breiman's. More are drawn where those can not split.
    max_leaf_nodes : int, default=None
        With it a tree grows where it gains most, until it has so many leaves.
    ccp_alpha : float, default=0.0
        Branches that lower the impurity by less than this for each leaf are cut.
    bootstrap : bool, default=True
        Whether each tree sees rows drawn with replacement; else all of them.
    max_samples : int or float, default=None
        How many rows are drawn, or which share of them; None is as many as there are.
    oob_score : bool, default=False
        Whether to answer for the rows from the trees that did not see them.
    class_weight : dict or "balanced", default=None
        A weight for each class, that of the rows is multiplied by.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the second class's probability may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees and adds to them. 5 + 5 trees are the same as 10.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same forest, wherever it is grown.

    Attributes
    ----------
    committee_ : Committee
        Trees and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted trees.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    oob_score_ : float
        Accuracy of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some tree did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer trees than it should.

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = q.RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.94  # of rows that the trees who answered had not seen
    True
    """


class ExtraTreesClassifier(_ForestClassifier):
    """Trees whose cuts are drawn, one for each of some columns, and the best of these taken.

        p(y | x, D) = 1/M Σ_m p(y | leaf_m(x))

    A cut is uniform between the node's least and greatest value of a column; each category is drawn a side. Trees see
    all rows, and differ by their draws.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split lowers; "log_loss" is "entropy".
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default="sqrt"
        How many columns a node draws to choose from. More are drawn where those can not split it.
    max_leaf_nodes : int, default=None
        With it a tree grows where it gains most, until it has so many leaves.
    ccp_alpha : float, default=0.0
        Branches that lower the impurity by less than this for each leaf are cut.
    bootstrap : bool, default=False
        Whether each tree sees rows drawn with replacement; else all of them.
    max_samples : int or float, default=None
        How many rows are drawn, or which share of them; None is as many as there are.
    oob_score : bool, default=False
        Whether to answer for the rows from the trees that did not see them (`bootstrap=True`).
    class_weight : dict or "balanced", default=None
        A weight for each class, that of the rows is multiplied by.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the second class's probability may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees and adds to them. 5 + 5 trees are the same as 10.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same forest, wherever it is grown.

    Attributes
    ----------
    committee_ : Committee
        Trees and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted trees.
    classes_ : ndarray
        The classes, in order.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    oob_score_ : float
        Accuracy of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some tree did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer trees than it should.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = q.ExtraTreesClassifier(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    drawn = True

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features="sqrt",
        max_leaf_nodes=None,
        ccp_alpha=0.0,
        bootstrap=False,
        max_samples=None,
        oob_score=False,
        class_weight=None,
        monotonic_cst=None,
        categorical_features=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)


class RandomForestRegressor(_ForestRegressor):
    """Regression trees that each see a bootstrap sample of the rows; the answer is the whole law of y.

        p(y | x, D) = 1/M Σ_m Σ_i w_i 1{x_i in leaf_m(x)} δ(y − y_i) / Σ_i w_i 1{x_i in leaf_m(x)}

    Leaves keep what their rows said, so quantiles, intervals and scores need no second model (Meinshausen, 2006). The
    density needs kernels, whose width is what best foretells rows from the trees that have not seen them.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        What a split lowers. "absolute_error" is slower.
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default=1.0
        How many columns a node draws to choose from. More are drawn where those can not split it.
    max_leaf_nodes : int, default=None
        With it a tree grows where it gains most, until it has so many leaves.
    max_leaf_values : int, default=128
        Of more values than this a leaf keeps the means of so many parts of equal weight.
    ccp_alpha : float, default=0.0
        Branches that lower the error by less than this for each leaf are cut.
    bootstrap : bool, default=True
        Whether each tree sees rows drawn with replacement; else all of them.
    max_samples : int or float, default=None
        How many rows are drawn, or which share of them; None is as many as there are.
    oob_score : bool, default=False
        Whether to answer for the rows from the trees that did not see them.
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the mean may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees and adds to them. 5 + 5 trees are the same as 10.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same forest, wherever it is grown.

    Attributes
    ----------
    committee_ : Committee
        Trees and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted trees.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    oob_score_ : float
        R² of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some tree did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer trees than it should.

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45.
    N. Meinshausen (2006). Quantile regression forests. JMLR 7.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.RandomForestRegressor(n_estimators=50, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> low, high = model.predict_interval(X[:1], 0.9)[0]
    >>> bool(low < model.predict(X[:1])[0] < high)
    True
    """


class ExtraTreesRegressor(_ForestRegressor):
    """Regression trees whose cuts are drawn, one for each column, and the best of these taken.

        p(y | x, D) = 1/M Σ_m Σ_i w_i 1{x_i in leaf_m(x)} δ(y − y_i) / Σ_i w_i 1{x_i in leaf_m(x)}

    A cut is uniform between the node's least and greatest value of a column; each category is drawn a side. Trees see
    all rows, and differ by their draws.

    Parameters
    ----------
    n_estimators : int, default=100
        How many trees.
    criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
        What a split lowers. "absolute_error" is slower.
    max_depth : int, default=None
        The most questions to a leaf.
    min_samples_split : float, default=2
        The rows (their weight) that a node must have to be split.
    min_samples_leaf : float, default=1
        The rows (their weight) that each child must have; 1 is any row.
    max_features : int, float or {"sqrt", "log2", "log2+1"}, default=1.0
        How many columns a node draws to choose from. More are drawn where those can not split it.
    max_leaf_nodes : int, default=None
        With it a tree grows where it gains most, until it has so many leaves.
    max_leaf_values : int, default=128
        Of more values than this a leaf keeps the means of so many parts of equal weight.
    ccp_alpha : float, default=0.0
        Branches that lower the error by less than this for each leaf are cut.
    bootstrap : bool, default=False
        Whether each tree sees rows drawn with replacement; else all of them.
    max_samples : int or float, default=None
        How many rows are drawn, or which share of them; None is as many as there are.
    oob_score : bool, default=False
        Whether to answer for the rows from the trees that did not see them (`bootstrap=True`).
    monotonic_cst : array-like or dict, default=None
        1 for columns with which the mean may only rise, −1 for those it may only fall with.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees and adds to them. 5 + 5 trees are the same as 10.
    n_jobs : int, default=None
        Threads to fit and answer on: None is 1, −1 all cores.
    random_state : int, RandomState or None, default=None
        The root of all randomness; the same int gives the same forest, wherever it is grown.

    Attributes
    ----------
    committee_ : Committee
        Trees and vote; `predict_dist` is its answer.
    estimators_ : list
        The fitted trees.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where all have one.
    feature_importances_ : ndarray
        The share of all gain that each column brought.
    oob_score_ : float
        R² of the out-of-bag answers (`oob_score=True`).
    oob_rows_ : ndarray of int
        The rows that some tree did not see.
    oob_dist_ : Mixture
        Their out-of-bag answers.
    receipts_ : dict
        The ambiguity identity on the out-of-bag rows, where asked for.
    interrupted_ : bool
        Whether the fit was ended early and has fewer trees than it should.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.ExtraTreesRegressor(n_estimators=50, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> model.predict_quantile(X[:1], [0.1, 0.9]).shape
    (1, 2)
    """

    drawn = True

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        max_features=1.0,
        max_leaf_nodes=None,
        max_leaf_values=128,
        ccp_alpha=0.0,
        bootstrap=False,
        max_samples=None,
        oob_score=False,
        monotonic_cst=None,
        categorical_features=None,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        given = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        super().__init__(**given)
