"""A member that sees some of the columns only."""

from dataclasses import dataclass

import numpy as np

from quorate.members.base import Fitted, Member


@dataclass(frozen=True)
class Columns(Member):
    """`member`, taught on `columns` of X."""

    member: Member
    columns: np.ndarray

    def fit(self, X, y, sample_weight=None, rng=None):
        return OnColumns(self.member.fit(X[:, self.columns], y, sample_weight, rng), self.columns)


@dataclass(frozen=True)
class OnColumns(Fitted):
    """A fitted member that answers from `columns` of X."""

    member: Fitted
    columns: np.ndarray

    def predict_dist(self, X):
        return self.member.predict_dist(X[:, self.columns])
