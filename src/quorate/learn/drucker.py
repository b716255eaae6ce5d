"""AdaBoost for numbers (R2): rows drawn one sample after the other, those that were missed by far more often.

| ask: training weights | tell | vote |
|---|---|---|
| how often each row was drawn, in proportion to Π_t β_t^{1−L_it} | β_t = L̄_t / (1−L̄_t) | log(1/β_t), normalised |

L_it is how far member t's mean missed row i, of the farthest that it missed any: linear, squared, or 1 − e^{−it}.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from quorate.learn.content import units
from quorate.learn.loop import Data, Job, Scheme
from quorate.learn.resample import InProportion
from quorate.members import Member
from quorate.vote import Fixed

LOSSES: dict[str, Callable] = {
    "linear": lambda miss: miss,
    "square": np.square,
    "exponential": lambda miss: -np.expm1(-miss),
}


@dataclass(frozen=True, eq=False)
class DruckerState:
    """The data, what one copy of each row weighs, and the members with their average losses."""

    data: Data
    weight: np.ndarray
    log_u: np.ndarray
    members: tuple = ()
    losses: tuple = ()
    ended: bool = False

    @property
    def units(self):
        """What one copy of each row weighs, scaled to a mean of one."""
        return units(self.weight, self.log_u)


@dataclass(frozen=True)
class Drucker(Scheme):
    """`n_members` of `member`, until one misses half as far on average as it does at the farthest."""

    member: Member
    n_members: int
    loss: str = "linear"
    learning_rate: float = 1.0

    def start(self, data):
        weight = np.ones(len(data)) if data.weight is None else data.weight
        return DruckerState(data, weight, np.zeros(len(data)))

    def done(self, state):
        return state.ended or len(state.members) >= self.n_members

    def ask(self, state):
        return [Job((len(state.members),), self.member, InProportion(state.units))]

    def tell(self, state, seats):
        member, data = seats[0].member, state.data
        miss = np.abs(data.y - member.predict_dist(data.X).mean)
        loss = LOSSES[self.loss](miss / miss.max()) if miss.max() > 0 else np.zeros(len(miss))
        average = float(np.average(loss, weights=state.weight * state.units))
        if average >= 0.5 and state.members:
            return replace(state, ended=True)
        told = replace(state, members=(*state.members, member), losses=(*state.losses, average))
        if average == 0 or average >= 0.5:
            return replace(told, ended=True)
        step = self.learning_rate * (1.0 - loss) * np.log(beta(average, state.weight))
        return replace(told, log_u=state.log_u + step)

    def expected(self, state=None):
        return None if state is None else self.n_members - len(state.members)

    def vote(self, state):
        log_w = np.log([vote(loss, state.weight) for loss in state.losses])
        return Fixed(log_w - logsumexp(log_w))


def beta(loss, weight):
    """β = L̄ / (1−L̄), where no loss is below that of half a row."""
    loss = max(loss, 0.5 / max(weight.sum(), 2.0))
    return loss / (1 - loss) if loss < 1 else np.inf


def vote(loss, weight):
    """log(1/β): the vote of a member; 1 for one that is kept although it is no good, as there is no other."""
    return 1.0 if loss >= 0.5 else -np.log(beta(loss, weight))
