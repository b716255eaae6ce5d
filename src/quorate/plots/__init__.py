"""Pictures, in scikit-learn's manner: `XDisplay.from_estimator(model, …)` draws, and keeps what it drew on."""

from quorate.plots.rounds import RoundsDisplay
from quorate.plots.tree import TreeDisplay

__all__ = ["RoundsDisplay", "TreeDisplay"]
