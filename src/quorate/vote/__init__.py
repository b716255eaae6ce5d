"""w_m(x): how a committee weighs its members, and the rules by which votes become a decision."""

from quorate.vote.base import Vote
from quorate.vote.fixed import Fixed, Powers, uniform
from quorate.vote.nested import Nested
from quorate.vote.rules import RULES, answer, pool

__all__ = ["RULES", "Fixed", "Nested", "Powers", "Vote", "answer", "pool", "uniform"]
