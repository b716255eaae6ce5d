"""One row of a table: what each column adds to its score."""

from numbers import Real

import matplotlib.pyplot as plt
import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from quorate.members.boosted import OfClasses
from quorate.members.families import OfFamily
from quorate.plots.importance import names_of

UP, DOWN, REST, INK = "#0f766e", "#b45309", "#94a3b8", "#334155"
WHITE = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
SCORES = {
    "normal": ("μ", "log σ"),
    "laplace": ("μ", "log b"),
    "log_normal": ("μ", "log σ"),
    "student_t": ("μ", "log σ", "log ν"),
    "gamma": ("log mean", "log shape"),
    "poisson": ("log mean",),
    "negative_binomial": ("log mean", "log r"),
}


class ContributionsDisplay:
    """A way from what is expected of all rows to the score of one, a step for each column, the largest first.

    Attributes
    ----------
    ax_ : matplotlib Axes
    bars_ : dict
        The bars, by column, from the top down; "others" is what all the rest add.
    expected_ : float
        Where the way begins.
    score_ : float
        Where it ends.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = q.BoostedRegressor(n_estimators=20, residual_folds=0).fit(X, y)
    >>> display = q.plots.ContributionsDisplay.from_estimator(model, X, row=7, n=3)
    >>> len(display.bars_), bool(np.isclose(display.score_, model.predict(X)[7]))
    (4, True)
    """

    def __init__(self, added, expected, names, what="score"):
        self.added, self.expected_, self.names, self.what = added, expected, names, what

    @classmethod
    def from_estimator(cls, estimator, X, *, row=0, output=None, n=8, ax=None):
        """Draw what the columns add to a row of X, the `n` that do most, by the `contributions` of what is boosted.

        Of several scores, `output` is the number of the one that is drawn: None is that of the class with the highest,
        or the first.
        """
        check_is_fitted(estimator)
        X, cells = _row(X, row)
        told = estimator.contributions(X)[0].reshape(len(cells) + 1, -1)
        if output is None:
            output = int(np.argmax(told.sum(axis=0))) if hasattr(estimator, "classes_") else 0
        cells = zip(names_of(estimator, len(cells)), cells, strict=True)
        names = [f"{name} = {_said(cell)}" for name, cell in cells]
        return cls(told[:-1, output], told[-1, output], names, what_of(estimator, output)).plot(n=n, ax=ax)

    @property
    def score_(self):
        """Where the way ends."""
        return self.expected_ + self.added.sum()

    def plot(self, *, n=8, ax=None):
        """Draw it."""
        names, steps = self._steps(n)
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 1.2 + 0.3 * len(steps)), layout="constrained")
        ends = self.expected_ + np.cumsum(steps)
        self.ax_, places = ax, np.arange(len(steps))
        colours = [UP if step > 0 else DOWN for step in steps]
        bars = ax.barh(places, steps, left=ends - steps, color=colours, height=0.7)
        self.bars_ = dict(zip(names, bars, strict=True))
        said = [f"{step:+.2g}".replace("-", "−") for step in steps]
        ax.bar_label(bars, said, padding=3, fontsize=8, color=INK, bbox=WHITE)
        for at, end in zip(places[:-1], ends[:-1], strict=True):
            ax.plot([end, end], [at - 0.35, at + 1.35], color=REST, lw=0.8, zorder=0)
        self._frame(places, names, ends)
        return self

    def _steps(self, n):
        """(what each step is called, how far it goes)."""
        order = np.argsort(-np.abs(self.added), kind="stable")
        n = n if len(order) > n + 1 else len(order)
        names, steps, rest = [self.names[j] for j in order[:n]], self.added[order[:n]], order[n:]
        if not len(rest):
            return names, steps
        return [*names, "others"], np.append(steps, self.added[rest].sum())

    def _frame(self, places, names, ends):
        """Names, and the two ends of the way."""
        ax, way = self.ax_, np.append(ends, self.expected_)
        ax.set_yticks(places, names, parse_math=False)
        ax.set_ylim(len(places), -1.0)
        margin = 0.2 * (np.ptp(way) or 1.0)
        ax.set_xlim(way.min() - margin, way.max() + margin)
        ends = (self.expected_, -0.7, "all rows"), (self.score_, len(places) - 0.3, "this row")
        for value, at, said in ends:
            ax.axvline(value, color=INK, lw=0.8, ls=":", zorder=0)
            text = f"{said}: {value:.3g}".replace("-", "−")
            ax.text(value, at, text, fontsize=8, color=INK, ha="center", va="center", bbox=WHITE)
        ax.set_xlabel(self.what, parse_math=False)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(left=False)


def what_of(estimator, k):
    """What the k-th score says."""
    voice, classes = estimator.member_.voice, list(getattr(estimator, "classes_", ()))
    if isinstance(voice, OfClasses):
        return f"log weight of {classes[k]}" if len(classes) > 2 else f"log odds of {classes[-1]}"
    if isinstance(voice, OfFamily):
        return SCORES[voice.family.name][k] + (" of y standardised" if voice.scale != 1 else "")
    of = getattr(voice, "of", voice)
    if len(of.levels):
        return f"quantile {of.levels[k]:g} of y"
    return "log of the mean of y" if of.log else "y"


def _row(X, row):
    """(one row of a table, its cells)."""
    if not nw.dependencies.is_into_dataframe(X):
        X = np.asarray(X)[[row]]
        return X, X[0]
    frame = nw.from_native(X, eager_only=True)
    frame = frame[[range(len(frame))[row]]]
    return frame.to_native(), frame.row(0)


def _said(value):
    """A cell as text."""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, Real) else str(value)
