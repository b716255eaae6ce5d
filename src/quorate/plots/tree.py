"""A tree, from its root down: questions, and what leaves answer."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.utils.validation import check_is_fitted

from quorate.members.text import answer, question

INK, PALE, LEAF = "#334155", "#f1f5f9", "#dcfce7"


class TreeDisplay:
    """A drawn tree.

    Attributes
    ----------
    ax_ : matplotlib Axes
    places_ : dict
        Node number to its (x, y).

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=False)
    >>> model = q.TreeClassifier(max_depth=2).fit(X, y)
    >>> display = q.plots.TreeDisplay.from_estimator(model)
    >>> len(display.places_)
    5
    """

    def __init__(self, tree, names=None, labels=None, levels=None):
        self.tree, self.names, self.labels, self.levels = tree, names, labels, levels

    @classmethod
    def from_estimator(cls, estimator, *, max_depth=3, decimals=2, ax=None):
        """Draw a TreeClassifier, a TreeRegressor, or the first tree of a forest, down to `max_depth` questions."""
        check_is_fitted(estimator)
        tree = getattr(estimator, "tree_", None)
        tree = estimator.estimators_[0] if tree is None else tree
        names, labels = getattr(estimator, "feature_names_in_", None), getattr(estimator, "classes_", None)
        levels = getattr(estimator, "_levels", {})
        return cls(tree, names, labels, levels).plot(max_depth=max_depth, decimals=decimals, ax=ax)

    def plot(self, *, max_depth=3, decimals=2, ax=None):
        """Draw it."""
        self.places_ = self._placed(max_depth)
        wide = max(x for x, _ in self.places_.values()) + 1
        if ax is None:
            size = (max(4.0, 1.9 * wide), 1.3 * (1 + max(-y for _, y in self.places_.values())))
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_ = ax
        for i in self.places_:
            self._draw(i, decimals)
        ax.set_xlim(-0.7, wide - 0.3)
        ax.set_ylim(min(y for _, y in self.places_.values()) - 0.4, 0.4)
        ax.set_axis_off()
        return self

    def _placed(self, max_depth):
        """Leaves side by side, and each question above the middle of what follows from it."""
        places: dict = {}
        self._place(0, 0, max_depth, places, [0])
        return places

    def _place(self, i, depth, max_depth, places, used):
        if self.tree.is_leaf[i] or depth == max_depth:
            places[i] = (float(used[0]), float(-depth))
            used[0] += 1
            return
        children = (i + 1, int(self.tree.right[i]))
        for child in children:
            self._place(child, depth + 1, max_depth, places, used)
        places[i] = (float(np.mean([places[c][0] for c in children])), float(-depth))

    def _draw(self, i, decimals):
        x, y = self.places_[i]
        leaf, text = self.tree.is_leaf[i], answer(self.tree, i, self.labels, decimals)
        inner = not leaf and i + 1 in self.places_
        if inner:
            text = question(self.tree, i, self.names, self.levels, decimals)[0] + "?"
            for child, says in ((i + 1, "yes"), (int(self.tree.right[i]), "no")):
                self._line((x, y), self.places_[child], says)
        elif not leaf:
            text = "…\n" + text
        style = {"boxstyle": "round,pad=0.35", "facecolor": PALE if inner else LEAF, "edgecolor": INK, "lw": 0.8}
        said = text.replace(" (", "\n(")
        self.ax_.text(x, y, said, ha="center", va="center", fontsize=8, color=INK, bbox=style, parse_math=False)

    def _line(self, start, end, says):
        (x0, y0), (x1, y1) = start, end
        self.ax_.plot([x0, x1], [y0, y1], color=INK, lw=0.8, zorder=0)
        middle = (x0 + 0.55 * (x1 - x0), y0 + 0.55 * (y1 - y0))
        self.ax_.annotate(
            says, middle, fontsize=7, color=INK, ha="center", va="center", backgroundcolor="white"
        )
