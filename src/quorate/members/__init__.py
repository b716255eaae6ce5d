"""p_m: who sits on a committee. A `Member` learns; what it becomes is `Fitted`."""

from quorate.members.base import Fitted, Member, choices
from quorate.members.columns import Columns, OnColumns
from quorate.members.wrap import FittedEstimator, FromEstimator, as_member, seated

__all__ = [
    "Columns",
    "Fitted",
    "FittedEstimator",
    "FromEstimator",
    "Member",
    "OnColumns",
    "as_member",
    "choices",
    "seated",
]
