"""What a committee asks of its members, and nothing more."""

from abc import ABC, abstractmethod

import numpy as np


class Member(ABC):
    """Something that can learn: it owes `fit`, which returns a `Fitted` and leaves the member as it was.

    A member of a committee of classifiers is taught codes: `y` holds the positions of the committee's classes.
    """

    @abstractmethod
    def fit(self, X, y, sample_weight=None, rng=None):
        """Learn from rows of X, or of `prepare(X)`, and y, weighted; all randomness comes from the Generator `rng`."""

    @property
    def preparation(self):
        """Members of equal preparation can be taught the same prepared table; None prepares nothing."""
        return None

    def prepare(self, X, sample_weight=None):
        """What can be made of X once for a whole committee, without a look at y: bins, say."""
        return X


class Fitted(ABC):
    """Something that has learned: it owes `predict_dist`, p_m(y | x) for every row of X."""

    @abstractmethod
    def predict_dist(self, X):
        """A Predictive of as many rows as X; for classes, over the codes the member was taught."""


def choices(member, X):
    """argmax_y p_m(y | x) as codes, of equals the first; a member that knows a short way to them has `choices(X)`."""
    if hasattr(member, "choices"):
        return member.choices(X)
    dist = member.predict_dist(X)
    return dist.classes[np.argmax(dist.probs, axis=1)]
