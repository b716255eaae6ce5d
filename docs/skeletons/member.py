"""A member to copy: a Normal around the mean of the rows on the same side of one column's median.

A member owes two classes: one that can learn (`Member`: `fit` returns something fitted and leaves itself as it
was), and one that has learned (`Fitted`: `predict_dist` answers every row with a distribution). Both are frozen
dataclasses of what they need to know, and all randomness comes from the `rng` they are handed.
"""

from dataclasses import dataclass

import numpy as np

import quorate as q
from quorate.learn import Bootstrap, Data, Resample, learn
from quorate.members import Fitted, Member
from quorate.run import Here, Watch


@dataclass(frozen=True)
class TwoHalves(Member):
    """Split the rows at the median of one column, drawn at random; say N(mean, variance) of each half."""

    def fit(self, X, y, sample_weight=None, rng=None):
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        column = rng.integers(X.shape[1])
        at = np.median(X[w > 0, column])
        right = X[:, column] > at
        means, stds = np.empty(2), np.empty(2)
        for side in (0, 1):
            share = w * (right == side)
            share = share if share.sum() > 0 else w
            means[side] = np.average(y, weights=share)
            stds[side] = np.sqrt(np.average((y - means[side]) ** 2, weights=share)) + 1e-6
        return FittedTwoHalves(column, at, means, stds)


@dataclass(frozen=True, eq=False)
class FittedTwoHalves(Fitted):
    """p_m(y | x) = N(mean, std²) of the half that x falls into."""

    column: int
    at: float
    means: np.ndarray
    stds: np.ndarray

    def predict_dist(self, X):
        side = (X[:, self.column] > self.at).astype(int)
        return q.Normal(self.means[side], self.stds[side])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=300)

    # Any scheme can now seat it on a committee: here thirty of them, each taught its own bootstrap sample.
    scheme = Resample(TwoHalves(), 30, Bootstrap())
    _, committee = learn(scheme, Data(X, y, seed=0), Watch(Here()))
    alone = TwoHalves().fit(X, y, rng=np.random.default_rng(0))
    print(committee)
    print("log score, committee:", committee.predict_dist(X).log_prob(y).mean().round(3))
    print("log score, one alone:", alone.predict_dist(X).log_prob(y).mean().round(3))
    assert committee.ambiguity(X, y)["squared_error"].gap < 1e-12
