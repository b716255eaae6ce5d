"""Categorical: one probability a class."""

from abc import abstractmethod
from functools import cached_property

import numpy as np

from quorate.dist.base import Predictive, as_rows, check_places, frozen, generator


class Classes(Predictive):
    """A batch of distributions over the same K classes: owes `log_p` (n, K) and `classes`."""

    classes: np.ndarray

    @property
    @abstractmethod
    def log_p(self):
        """log probabilities, shape (n, K)."""

    @property
    def probs(self):
        """Probabilities, shape (n, K); every row sums to one."""
        return np.exp(self.log_p)

    @property
    def mode(self):
        """The most probable class of each row; of equals, the first in `classes`."""
        return self.classes[np.argmax(self.probs, axis=1)]

    @property
    def entropy(self):
        """−Σ p log p, one a row."""
        p = self.probs
        return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=1)

    @property
    def variance(self):
        """Σ_k p_k (1 − p_k): the variance of the class indicators, summed (Gini)."""
        p = self.probs
        return np.sum(p * (1 - p), axis=1)


class Categorical(Classes):
    """Probabilities `probs` (n, K) of K `classes` (0 … K−1 if not told).

    >>> import quorate as q
    >>> candy = q.Categorical([[0.25, 0.75]], classes=["cherry", "lime"])
    >>> candy.mode
    array(['lime'], dtype='<U6')
    """

    def __init__(self, probs, classes=None):
        probs = np.atleast_2d(np.asarray(probs, dtype=float))
        total = probs.sum(axis=1, keepdims=True)
        if not (probs.min(initial=0.0) >= 0 and np.abs(total - 1).max(initial=0.0) < 1e-6):
            row = np.flatnonzero(~((probs >= 0).all(axis=1) & (np.abs(total[:, 0] - 1) < 1e-6)))[0]
            raise ValueError(f"probabilities must be ≥ 0 and sum to 1; row {row} has {probs[row]}")
        self._fill("_probs", probs if np.all(total == 1) else probs / total, classes)

    @classmethod
    def of_probs(cls, probs, classes=None):
        """From rows of probabilities that are known to add up to one, taken as they are."""
        new = object.__new__(cls)
        new._fill("_probs", probs, classes)
        return new

    @classmethod
    def from_log(cls, log_p, classes=None):
        """From log probabilities, taken as they are."""
        new = object.__new__(cls)
        new._fill("_log_p", np.atleast_2d(np.asarray(log_p, dtype=float)), classes)
        return new

    def _fill(self, name, values, classes):
        """Keep the table as it was given; the other of `probs` and `log_p` is made when it is asked for."""
        classes = np.arange(values.shape[1]) if classes is None else np.asarray(classes)
        if values.ndim != 2 or len(classes) != values.shape[1]:
            raise ValueError(f"{len(classes)} classes for probabilities of shape {values.shape}")
        if len(set(classes.tolist())) != len(classes):
            raise ValueError(f"classes repeat: {classes.tolist()}")
        self._hold(**{name: values, "classes": classes})

    @cached_property
    def _log_p(self):
        with np.errstate(divide="ignore"):
            return frozen(np.log(self._probs))

    @cached_property
    def _probs(self):
        return frozen(np.exp(self._log_p))

    @property
    def log_p(self):
        """Log probabilities, shape (n, K)."""
        return self._log_p

    @property
    def probs(self):
        """Probabilities, shape (n, K)."""
        return self._probs

    def __len__(self):
        return len(self.__dict__["_probs"] if "_probs" in self.__dict__ else self.__dict__["_log_p"])

    def __getitem__(self, rows):
        new = object.__new__(Categorical)
        for name in self.__dict__.keys() & {"_probs", "_log_p"}:
            new._fill(name, self.__dict__[name][as_rows(rows, len(self))], self.classes)
        return new

    def recode(self, classes):
        """The same probabilities over more classes, of which this batch's classes are the positions."""
        new = object.__new__(Categorical)
        if np.array_equal(self.classes, np.arange(len(classes))):
            for name in self.__dict__.keys() & {"_probs", "_log_p"}:
                new._fill(name, self.__dict__[name], classes)
        else:
            table = np.zeros((len(self), len(classes)))
            table[:, self.classes] = self.probs
            new._fill("_probs", table, classes)
        return new

    def __repr__(self):
        return f"Categorical({len(self.classes)} classes, {len(self)} rows)"

    def log_prob(self, y):
        """log P(Y = y); −∞ for a class that is not among `classes`."""
        y = check_places(np.asarray(y), len(self))
        column, known = self._named(y) if self.classes.dtype == object else self._ranked(y)
        rows = np.arange(len(self)).reshape((-1,) + (1,) * max(y.ndim - 1, 0))
        return np.where(known, self.log_p[rows, column], -np.inf)

    def _named(self, y):
        """(column of each y, whether it is a class), for classes that have no order."""
        at = {label: k for k, label in enumerate(self.classes.tolist())}
        column = np.array([at.get(label, -1) for label in y.ravel().tolist()], dtype=int).reshape(y.shape)
        return column, column >= 0

    def _ranked(self, y):
        """(column of each y, whether it is a class), by bisection."""
        order = np.argsort(self.classes, kind="stable")
        ranked = self.classes[order]
        try:
            at = np.clip(np.searchsorted(ranked, y), 0, len(ranked) - 1)
        except TypeError as error:
            raise ValueError(f"y holds {y.dtype} where the classes are {self.classes.dtype}") from error
        return order[at], ranked[at] == y

    def sample(self, k=1, rng=None):
        cumulative = np.cumsum(self.probs, axis=1)
        u = generator(rng).random((len(self), k)) * cumulative[:, -1:]
        draws = (u[:, :, None] >= cumulative[:, None, :]).sum(axis=2)
        return self.classes[np.minimum(draws, len(self.classes) - 1)]
