"""Pictures, in scikit-learn's manner: `XDisplay.from_estimator(model, …)` draws, and keeps what it drew on."""

from quorate.plots.bands import BandsDisplay
from quorate.plots.contributions import ContributionsDisplay
from quorate.plots.importance import ImportanceDisplay
from quorate.plots.learning import LearningDisplay
from quorate.plots.rounds import RoundsDisplay
from quorate.plots.tree import TreeDisplay

__all__ = [
    "BandsDisplay",
    "ContributionsDisplay",
    "ImportanceDisplay",
    "LearningDisplay",
    "RoundsDisplay",
    "TreeDisplay",
]
