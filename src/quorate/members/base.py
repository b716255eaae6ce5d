"""What a committee asks of its members, and nothing more."""

from abc import ABC, abstractmethod


class Member(ABC):
    """Something that can learn: it owes `fit`, which returns a `Fitted` and leaves the member as it was.

    A member of a committee of classifiers is taught codes: `y` holds the positions of the committee's classes.
    """

    @abstractmethod
    def fit(self, X, y, sample_weight=None, rng=None):
        """Learn from rows of X and y, weighted; all randomness comes from the Generator `rng`."""


class Fitted(ABC):
    """Something that has learned: it owes `predict_dist`, p_m(y | x) for every row of X."""

    @abstractmethod
    def predict_dist(self, X):
        """A Predictive of as many rows as X; for classes, over the codes the member was taught."""
