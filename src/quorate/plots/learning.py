"""Boosting, round by round: the loss on rows, and which round was best."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils.validation import check_is_fitted

from quorate.learn import Data
from quorate.members.families import OfFamily

NAMES = {
    "squared_error": "squared error",
    "absolute_error": "half the absolute error",
    "huber": "Huber loss",
    "quantile": "pinball loss",
    "poisson": "Poisson loss",
    "gamma": "Gamma loss",
    "log": "−log score",
    "crps": "CRPS",
}


class LearningDisplay:
    """The loss after each round of boosting, on rows that are given and on those that judge; the best round.

    The loss is what the rounds lower: log loss of classes, the loss of a BoostedRegressor, −log score or CRPS of a
    DistributionalRegressor ("log_normal": of log y).

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : dict
        The lines drawn, by what they show.
    best_ : int or None
        The round in which the rows that judge had the least loss, with early stopping.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = q.BoostedClassifier(early_stopping=True, random_state=0).fit(X[::2], y[::2])
    >>> display = q.plots.LearningDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> sorted(display.lines_)
    ['other rows', 'rows that judge']
    >>> display.best_ == model.n_estimators_
    True
    """

    def __init__(self, curves, best=None, what="loss"):
        self.curves, self.best_, self.what = curves, best, what

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, X_train=None, y_train=None, ax=None):
        """Draw the rounds of what is boosted, on X and y, which it has not seen, and on those that it learned from."""
        check_is_fitted(estimator)
        given = {"training rows": (X_train, y_train), "other rows": (X, y)}
        curves = {
            name: losses_of_rounds(estimator, *rows) for name, rows in given.items() if rows[0] is not None
        }
        judged, best = estimator.receipts_.get("validation_loss"), None
        if judged is not None:
            curves["rows that judge"], best = in_units_of_y(estimator, judged), 1 + int(np.argmin(judged))
        if not curves:
            raise ValueError("there is no loss to draw; give X and y, or fit with early_stopping=True")
        what = NAMES.get(getattr(estimator, "loss", ""), "log loss")
        of = " of log y" if getattr(estimator, "family", "") == "log_normal" else ""
        return cls(curves, best, what + of).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw them."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        styles = {
            "training rows": ("-", "#0f766e"),
            "other rows": ("-", "#1d4ed8"),
            "rows that judge": ("--", "#64748b"),
        }
        self.ax_, self.lines_ = ax, {}
        for name, values in self.curves.items():
            style, colour = styles.get(name, ("-", None))
            rounds = np.arange(1, len(values) + 1)
            (self.lines_[name],) = ax.plot(rounds, values, style, color=colour, label=name)
        if self.best_ is not None:
            label = f"best round: {self.best_}"
            ax.axvline(self.best_, ls=":", color="#b45309", label=label)
        ax.set(xlabel="rounds", ylabel=self.what)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        return self


def losses_of_rounds(estimator, X, y):
    """The mean loss of some rows after the first, second, … round."""
    cells = estimator._checked(X)
    y = seen(estimator, estimator._truth(cells, y))
    data = Data(cells, y, None, getattr(estimator, "classes_", None), 0)
    loss = estimator._loss(data, estimator.member_.voice)
    curve = [np.mean(loss.risk(f, y)) for f in estimator._staged_scores(X)]
    return in_units_of_y(estimator, np.array(curve))


def seen(estimator, y):
    """y as the rounds see it: places among the classes, or numbers in the units of a family."""
    voice = estimator.member_.voice
    if isinstance(voice, OfFamily):
        voice.family.check(y)
        return voice.family.seen(y, voice.loc, voice.scale)
    if not hasattr(estimator, "classes_"):
        return y
    unknown = y[~np.isin(y, estimator.classes_)].tolist()
    if unknown:
        raise ValueError(f"y has the class {unknown[0]!r}, which the model does not know; leave its rows out")
    return np.searchsorted(estimator.classes_, y)


def in_units_of_y(estimator, curve):
    """What the rounds see as losses of a distribution, as losses of that of y, or of log y."""
    voice = estimator.member_.voice
    if not isinstance(voice, OfFamily):
        return curve
    return curve * voice.scale if voice.family.score == "crps" else curve + np.log(voice.scale)
