"""The votes of a committee of committees, seen from above."""

from dataclasses import dataclass

import numpy as np

from quorate.vote.base import Vote


@dataclass(frozen=True, eq=False)
class Nested(Vote):
    """w_m(x) · w_{k|m}(x): a member's share of its committee, times that committee's share."""

    outer: Vote
    inner: tuple  # a Vote for each member that is a committee, None for each that is not

    def log_weights(self, X):
        outer = self.outer.log_weights(X)
        columns = [
            outer[:, m : m + 1] + (0.0 if v is None else v.log_weights(X)) for m, v in enumerate(self.inner)
        ]
        rows = max(len(c) for c in columns)
        return np.concatenate([np.broadcast_to(c, (rows, c.shape[1])) for c in columns], axis=1)
