"""Votes that are the same for every row."""

from dataclasses import dataclass

import numpy as np

from quorate.vote.base import Vote


@dataclass(frozen=True, eq=False)
class Fixed(Vote):
    """w_m, whatever the row."""

    log_w: np.ndarray

    def log_weights(self, X):
        return self.log_w[None, :]


@dataclass(frozen=True, eq=False)
class Powers(Vote):
    """w_m of a log pool, whatever the row: powers of probabilities, which need not sum to one."""

    log_w: np.ndarray

    def log_weights(self, X):
        return self.log_w[None, :]


def uniform(n_members):
    """The same vote for every member."""
    return Fixed(np.full(n_members, -np.log(n_members)))
