"""A scheme to copy: members that each miss one block of the rows, and votes by what they say of the block they missed.

A scheme owes five methods, and is described by two weightings: the training weights that `ask` puts into its jobs,
and the votes that `vote` returns. Its state is replaced, never changed. Where jobs run, Ctrl-C, time budgets and
checkpoints are none of its business.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.naive_bayes import GaussianNB

from quorate.learn import Data, Job, Scheme, learn
from quorate.members import Member, as_member
from quorate.run import Here, Watch
from quorate.vote import Fixed


@dataclass(frozen=True, eq=False)
class Missed:
    """The data, which block each row is in, and the members so far."""

    data: Data
    block: np.ndarray
    members: tuple = ()


@dataclass(frozen=True)
class Jackknife(Scheme):
    """One member a block, taught all rows but the block's; w_m ∝ exp(mean log p_m of the block it missed)."""

    member: Member
    n_blocks: int

    def start(self, data):
        return Missed(data, data.rng(0).integers(self.n_blocks, size=len(data)))

    def done(self, state):
        return len(state.members) == self.n_blocks

    def ask(self, state):
        # A job's key decides its randomness, so that the answer is the same wherever and whenever it runs.
        return [Job((1, m), self.member, rows=np.flatnonzero(state.block != m)) for m in range(self.n_blocks)]

    def tell(self, state, seats):
        return replace(state, members=tuple(seat.member for seat in seats))

    def vote(self, state):
        said = np.array([self._log_score(state, m) for m in range(self.n_blocks)])
        return Fixed(said - np.logaddexp.reduce(said))

    def _log_score(self, state, m):
        missed = state.block == m
        dist = state.members[m].predict_dist(state.data.X[missed])
        return dist.log_prob(state.data.y[missed]).mean()


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    member = as_member(GaussianNB())
    state, committee = learn(
        Jackknife(member, 5), Data(X, y, classes=np.array([0, 1]), seed=1), Watch(Here())
    )
    print(committee, "votes:", np.exp(committee.vote.log_weights(X)).round(3))
    accuracy = (committee.predict_dist(X).mode == y).mean()
    print("accuracy on the rows it learned from:", accuracy)
    assert accuracy > 0.8
