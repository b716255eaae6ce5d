"""w_m(x): how a committee weighs its members, and the rules by which votes become a decision."""

from quorate.vote.base import Vote
from quorate.vote.fixed import Fixed, uniform
from quorate.vote.nested import Nested
from quorate.vote.rules import RULES, answer

__all__ = ["RULES", "Fixed", "Nested", "Vote", "answer", "uniform"]
