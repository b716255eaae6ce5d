"""Boosting of whole distributions: every parameter of a family, by natural gradient."""

from dataclasses import replace
from typing import ClassVar

from sklearn.utils._param_validation import StrOptions

from quorate.estimators.base import Regressor
from quorate.estimators.boosted import OfRounds
from quorate.members.families import FAMILIES, OfFamily

LEAST = 1e-140  # a unit whose square, and that of a number in it, is one
POSITIVE = {"log_normal", "gamma", "poisson", "negative_binomial"}


class DistributionalRegressor(Regressor, OfRounds):
    """Gradient boosting of a distribution: trees whose leaves move all its parameters at once, down the log score.

        p(y | x) = family(y; f(x)),     f(x) = f_0 + ν Σ_t tree_t(x),     leaves −Σ g / Σ h for each parameter

    g are the first derivatives of −log p(y | x), or of the CRPS, and h the diagonal of its metric, which for −log p is
    Fisher's information: a step down the natural gradient (Duan et al., 2020), and Newton's on average. The splits
    gain most for all parameters together, in nats. y is standardised inside, and no σ is narrower than the grid on
    which y is written.

    The model is the same, bit for bit, for any `n_jobs`, and with `warm_start` 10 + 10 rounds are the same as 20.

    Parameters
    ----------
    family : {"normal", "student_t", "laplace", "log_normal", "gamma", "poisson", "negative_binomial"}, \
            default="normal"
        Whose parameters are boosted. "log_normal" and "gamma" are for y > 0, the last two for counts.
    loss : {"log", "crps"}, default="log"
        What is lowered: −log p(y), or the continuous ranked probability score (of log y for "log_normal").
    n_estimators : int, default=100
        How many rounds, at most with early stopping.
    learning_rate : float, default=0.1
        ν, what each tree's step is multiplied by.
    max_leaf_nodes : int, default=16
        The most leaves of a tree.
    max_depth : int, default=None
        The most questions to a leaf.
    growth : {"leaf", "level"}, default="leaf"
        Whether the leaf that gains most is split next, or all of a level before those of the next.
    min_samples_leaf : float, default=20
        A leaf has at least as much information as so many rows have on average.
    l1_regularization : float, default=0.0
        What |Σ g| is lessened by.
    l2_regularization : float, default=0.0
        What is added to Σ h.
    subsample : float, default=1.0
        The share of rows that each round draws, each row by lot.
    max_features : float, default=1.0
        The share of columns that each node draws to choose from.
    categorical_features : array-like or "from_dtype", default=None
        Columns whose values are names: their numbers, names, or a mask; "from_dtype" for a data frame's.
    early_stopping : bool, default=False
        Whether to stop when the score of rows set aside, or of `X_val`, falls no more; the best round is kept.
    validation_fraction : float, default=0.1
        The share of rows set aside to judge.
    n_iter_no_change : int, default=10
        The rounds within which the score must fall.
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
    T. Duan et al. (2020). NGBoost: natural gradient boosting for probabilistic prediction. ICML.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = q.DistributionalRegressor(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    >>> dist = model.predict_dist(X[1::2])
    >>> bool(dist.log_prob(y[1::2]).mean() > -5.6)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in OfRounds._parameter_constraints.items()
            if name not in ("gradients", "monotonic_cst", "min_child_weight")
        },
        "family": [StrOptions(set(FAMILIES))],
        "loss": [StrOptions({"log", "crps"})],
    }

    monotonic_cst = None  # of which parameter?
    min_child_weight = 0.0
    gradients = "exact"

    def __init__(
        self,
        family="normal",
        *,
        loss="log",
        n_estimators=100,
        learning_rate=0.1,
        max_leaf_nodes=16,
        max_depth=None,
        growth="leaf",
        min_samples_leaf=20,
        l1_regularization=0.0,
        l2_regularization=0.0,
        subsample=1.0,
        max_features=1.0,
        categorical_features=None,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=0.0,
        warm_start=False,
        n_jobs=None,
        random_state=None,
    ):
        self.family = family
        self.loss = loss
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.growth = growth
        self.min_samples_leaf = min_samples_leaf
        self.l1_regularization = l1_regularization
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _no_answer_out_of_range(self, y, rows):
        FAMILIES[self.family](self.loss).check(y, rows)

    def _prepared(self, data, learned, earlier):
        """(the data with y as rounds see it, the voice); a warm start keeps the units that are there."""
        family = FAMILIES[self.family](self.loss)
        if earlier is None:
            loc, scale = family.inward(learned.y, learned.weight)
            scale = max(float(scale), LEAST)
            family = family.above(family.seen(learned.y, loc, scale))
            return replace(data, y=family.seen(data.y, loc, scale)), OfFamily(family, float(loc), scale)
        voice = self.member_.voice
        if (voice.family.name, voice.family.score) != (family.name, family.score):
            raise ValueError(
                f"the rounds that are there are of family={voice.family.name!r} and loss={voice.family.score!r}; "
                f"use warm_start=False"
            )
        return replace(data, y=family.seen(data.y, voice.loc, voice.scale)), voice

    def _loss(self, data, voice):
        return voice.family

    def _voice(self, state, scheme, voice):
        return voice

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family in POSITIVE
        return tags

    def _means(self, X):
        return self.member_.voice.point(self._scores(X))

    def staged_predict_dist(self, X):
        """The predictive after the first, second, … round."""
        for f in self._staged_scores(X):
            yield self.member_.voice.dist(f)
