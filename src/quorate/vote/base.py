"""What a committee asks of a vote."""

from abc import ABC, abstractmethod


class Vote(ABC):
    """The weights of M members: it owes `log_weights(X)`, shape (1, M), or (n, M) where they depend on the row."""

    @abstractmethod
    def log_weights(self, X):
        """log w_m(x); each row of weights sums to one, unless they are the powers of a log pool."""
