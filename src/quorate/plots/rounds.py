"""AdaBoost, round by round: its training error, and what that can never be above."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils.validation import check_is_fitted


class RoundsDisplay:
    """Training error, the bound Π Z on it, the members' own errors, and the error on other rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : dict
        The lines drawn, by what they show.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = q.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X[::2], y[::2])
    >>> display = q.plots.RoundsDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> sorted(display.lines_)
    ['bound', 'each member, on its weights', 'other rows', 'training rows']
    """

    def __init__(self, receipts, other=None):
        self.receipts, self.other = receipts, other

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, ax=None):
        """Draw the rounds of an AdaBoostClassifier; with X and y, which it has not seen, their errors too."""
        check_is_fitted(estimator)
        other = None if X is None else 1 - np.array(list(estimator.staged_score(X, y)))
        return cls(estimator.receipts_, other).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw them."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        shown = {
            "training rows": (self.receipts["training_error"], "-", "#0f766e"),
            "bound": (self.receipts.get("bound"), "--", "#64748b"),
            "each member, on its weights": (self.receipts["error"], ":", "#b45309"),
            "other rows": (self.other, "-", "#1d4ed8"),
        }
        self.ax_, self.lines_ = ax, {}
        for name, (values, style, colour) in shown.items():
            if values is not None:
                rounds = np.arange(1, len(values) + 1)
                (self.lines_[name],) = ax.plot(rounds, values, style, color=colour, label=name)
        ax.set(xlabel="rounds", ylabel="error", ylim=(0, None))
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return self
