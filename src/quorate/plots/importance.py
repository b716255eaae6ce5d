"""What the columns are good for: the gain that each brought, and what is lost without it."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted


class ImportanceDisplay:
    """Shares of all gain, the largest on top; beside them what the score of other rows loses by a shuffled column.

    Attributes
    ----------
    ax_ : matplotlib Axes
    lost_ax_ : matplotlib Axes or None
        Where the losses are, if they were asked for.
    bars_ : dict
        The bars of shares, by column, from the top down.
    lost_ : dict
        The bars of losses.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = q.BoostedClassifier(n_estimators=10).fit(X, y)
    >>> display = q.plots.ImportanceDisplay.from_estimator(model, n=2)
    >>> list(display.bars_)
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(self, names, shares, lost=None, what="score"):
        self.names, self.shares, self.lost, self.what = names, shares, lost, what

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, n=10, scoring=None, n_repeats=5, random_state=0, ax=None
    ):
        """Draw the `feature_importances_` of the `n` columns that have most.

        With X and y, which the model has not seen, each column of them is shuffled `n_repeats` times, too; `scoring`
        is scikit-learn's, None is the model's own `score`. Then `ax` is two of them.
        """
        check_is_fitted(estimator)
        shares, lost = estimator.feature_importances_, None
        if X is not None:
            how = {"scoring": scoring, "n_repeats": n_repeats, "random_state": random_state}
            lost = permutation_importance(estimator, X, y, **how).importances
        what = f"score ({scoring})" if isinstance(scoring, str) else "score"
        return cls(names_of(estimator, len(shares)), shares, lost, what).plot(n=n, ax=ax)

    def plot(self, *, n=10, ax=None):
        """Draw it."""
        most = np.argsort(-self.shares, kind="stable")[:n]
        self.ax_, self.lost_ax_ = self._places(len(most), ax)
        self.bars_ = self._bars(self.ax_, most, self.shares[most], None, "#0f766e")
        self.ax_.set(xlabel="share of all gain")
        self.ax_.invert_yaxis()
        self.lost_ = {}
        if self.lost_ax_ is not None:
            mean, std = self.lost[most].mean(axis=1), self.lost[most].std(axis=1)
            self.lost_ = self._bars(self.lost_ax_, most, mean, std, "#b45309")
            self.lost_ax_.set(xlabel=f"{self.what} lost when shuffled")
            self.lost_ax_.invert_yaxis()
            self.lost_ax_.axvline(0.0, color="#334155", lw=0.8)
            self.lost_ax_.tick_params(left=False, labelleft=False)
            self.lost_ax_.spines["left"].set_visible(False)
            self.lost_ax_.locator_params(axis="x", nbins=5)
        return self

    def _places(self, n, ax):
        """The axes of shares, and of losses where there are some."""
        wide = 1 if self.lost is None else 2
        if ax is None:
            size = (3.0 + 2.5 * wide, 1.0 + 0.28 * n)
            ax = plt.subplots(1, wide, figsize=size, layout="constrained", squeeze=False)[1]
        axes = np.ravel(ax)
        if len(axes) != wide:
            raise ValueError(f"ax must be {wide} of matplotlib's Axes, and is {len(axes)}")
        return axes[0], axes[1] if wide == 2 else None

    def _bars(self, ax, columns, values, error, colour):
        places, names = np.arange(len(columns)), [self.names[j] for j in columns]
        bars = ax.barh(places, values, xerr=error, color=colour, ecolor="#334155", height=0.7)
        ax.set_yticks(places, names, parse_math=False)
        ax.spines[["top", "right"]].set_visible(False)
        return dict(zip(names, bars, strict=True))


def names_of(estimator, d):
    """The names of d columns."""
    return [str(name) for name in getattr(estimator, "feature_names_in_", [f"x[{j}]" for j in range(d)])]
