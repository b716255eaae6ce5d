"""p_m: who sits on a committee. A `Member` learns; what it becomes is `Fitted`."""

from quorate.members.base import Fitted, Member, choices
from quorate.members.columns import Columns, OnColumns
from quorate.members.softened import Softened
from quorate.members.wrap import (
    Decided,
    Deciding,
    FittedEstimator,
    FromEstimator,
    as_decider,
    as_member,
    seated,
)

__all__ = [
    "Columns",
    "Decided",
    "Deciding",
    "Fitted",
    "FittedEstimator",
    "FromEstimator",
    "Member",
    "OnColumns",
    "Softened",
    "as_decider",
    "as_member",
    "choices",
    "seated",
]
