"""What a regressor expects, and how far to trust it: intervals along a column, with the answers as points."""

from numbers import Integral

import matplotlib.pyplot as plt
import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

SHADES = ("#93c5fd", "#dbeafe")  # of the narrowest interval, and of all that are wider


class BandsDisplay:
    """Central intervals and medians of the predictive of rows: bands, or where rows share a place, a line for each.

    Attributes
    ----------
    ax_ : matplotlib Axes
    bands_ : dict
        What is drawn of each interval, by its level.
    median_ : matplotlib Line2D
    points_ : matplotlib PathCollection or None
        The answers, where they were given.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = q.DistributionalRegressor(n_estimators=30).fit(X[::2], y[::2])
    >>> display = q.plots.BandsDisplay.from_estimator(model, X[1::2], y[1::2], over="bmi")
    >>> sorted(display.bands_)
    [0.5, 0.9]
    """

    def __init__(self, along, median, intervals, y=None, name=""):
        self.along, self.median, self.intervals, self.y, self.name = along, median, intervals, y, name

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, over=None, levels=(0.5, 0.9), ax=None):
        """Draw what a regressor says of the rows of X, from left to right as `over` says.

        `over` is the number or the name of a column, or an array of a value for each row; None puts the rows in the
        order of their medians. Any regressor with `predict_quantile` will do.
        """
        check_is_fitted(estimator)
        p = [0.5] + [0.5 + sign * level / 2 for level in levels for sign in (-1, 1)]
        said = np.asarray(estimator.predict_quantile(X, p))
        intervals = {level: said[:, 2 * i + 1 : 2 * i + 3] for i, level in enumerate(levels)}
        along, name = _along(X, over, said[:, 0])
        return cls(along, said[:, 0], intervals, None if y is None else np.asarray(y), name).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw them."""
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        order = np.argsort(self.along, kind="stable")
        x, apart = self.along[order], len(np.unique(self.along)) == len(self.along)
        self.ax_, self.bands_, self.points_ = ax, {}, None
        for level in sorted(self.intervals, reverse=True):
            low, high = self.intervals[level][order].T
            self.bands_[level] = self._band(x, low, high, level, apart)
        style = {"ls": "-"} if apart else {"ls": "", "marker": "_", "ms": 4}
        (self.median_,) = ax.plot(x, self.median[order], color="#1e3a8a", lw=1.2, label="median", **style)
        if self.y is not None:
            self.points_ = ax.scatter(x, self.y[order], s=5, color="#b45309", zorder=3, label="y")
        ax.set_xlabel(self.name, parse_math=False)
        ax.set_ylabel("y")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        return self

    def _band(self, x, low, high, level, apart):
        rank = sorted(self.intervals).index(level)
        colour, label = SHADES[min(rank, len(SHADES) - 1)], f"{100 * level:g}%"
        if apart:
            return self.ax_.fill_between(x, low, high, color=colour, lw=0, label=label)
        return self.ax_.vlines(x, low, high, color=colour, lw=2, label=label)


def _along(X, over, median):
    """(where each row is, what that is called)."""
    if over is None:
        return np.argsort(np.argsort(median, kind="stable")), "rows, in the order of their medians"
    if not isinstance(over, Integral | str):
        over = np.asarray(over)
        if over.shape != median.shape:
            raise ValueError(f"over has the shape {over.shape}; give a number for each of {len(median)} rows")
        return over, ""
    if nw.dependencies.is_into_dataframe(X):
        frame = nw.from_native(X, eager_only=True)
        name = over if isinstance(over, str) else frame.columns[int(over)]
        return frame[name].to_numpy(), str(name)
    if isinstance(over, str):
        raise ValueError(f"over={over!r} is a name, and the columns of X have none; give the column's number")
    return np.asarray(X)[:, int(over)], f"x[{over}]"
