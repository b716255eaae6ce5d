"""What boosting lowers: a loss of y and a score f(x), where it begins, and what a score says.

A `Loss` owes `start(y, w)`, the best constant; `risk(f, y)`, the loss of each row; and `kernel(f, y, w)`, the slopes of
kernels/slopes.py, or where it is `Given`, `slopes(f, y)`. `leaf(step)` is the step that is taken where Newton's is
`step`.

| | one output | K outputs |
|---|---|---|
| trees of a round | one | `apart`: one for each; else one, with K values in a leaf |
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp, xlogy

from quorate import kernels

LEAST = 0.5  # rows that a class, or all events, are counted for at least


def weighted(y, w):
    """Mean of y, weighted."""
    return float(np.average(y, weights=w))


def quantile(y, level, w=None):
    """The least value that at least `level` of the weight is not above."""
    if w is None:
        k = min(max(int(np.ceil(level * len(y))) - 1, 0), len(y) - 1)
        return float(np.partition(y, k)[k])
    order = np.argsort(y, kind="stable")
    total = np.cumsum(w[order])
    at = np.searchsorted(total, level * total[-1] * (1 - 1e-12))
    return float(y[order[min(at, len(y) - 1)]])


class Loss(ABC):
    """See above."""

    outputs: Any = 1
    apart = False
    bounded = True  # whether slopes are

    @abstractmethod
    def start(self, y, w):
        """The score of all rows before the first round, shape (outputs,)."""

    @abstractmethod
    def risk(self, f, y):
        """The loss of each row, whose scores are f (n, outputs)."""

    def mean_risk(self, f, y, w):
        """The mean of it, weighted."""
        return float(np.average(self.risk(f, y), weights=w))

    def kernel(self, f, y, w, k=0) -> Any:
        """The slopes of output k, as kernels know them."""
        return None

    def leaf(self, step):
        """What to do where Newton would do `step`."""
        return step


class Given(Loss):
    """A loss whose slopes are found in Python: `slopes(f, y)` → (g, h), of shape (n, outputs) each."""

    bounded = False

    @abstractmethod
    def slopes(self, f, y):
        """(g, h)."""


@dataclass(frozen=True)
class TwoClasses(Loss):
    """Logistic loss: f is the log odds of the second class."""

    def start(self, y, w):
        total = len(y) if w is None else w.sum()
        ones = float(np.clip(total * weighted(y, w), LEAST, max(total - LEAST, LEAST)))
        return np.array([np.log(ones) - np.log(max(total - ones, LEAST))])

    def kernel(self, f, y, w, k=0):
        return kernels.slopes.Logistic()

    def risk(self, f, y):
        return np.logaddexp(0.0, np.where(y > 0, -f[:, 0], f[:, 0]))


@dataclass(frozen=True)
class Classes(Loss):
    """Log loss of the softmax of a score for each class."""

    outputs: Any

    apart = True

    def start(self, y, w):
        counts = np.bincount(y.astype(int), w, minlength=self.outputs)
        return np.log(np.maximum(counts, LEAST) / counts.sum())

    def risk(self, f, y):
        return logsumexp(f, axis=1) - f[np.arange(len(f)), y.astype(int)]


@dataclass(frozen=True)
class Squared(Loss):
    """Squared error: f is the mean."""

    bounded = False

    def start(self, y, w):
        return np.array([weighted(y, w)])

    def kernel(self, f, y, w, k=0):
        return kernels.slopes.Squared()

    def risk(self, f, y):
        return np.square(f[:, 0] - y)


@dataclass(frozen=True)
class Quantiles(Loss):
    """Pinball loss: f is a quantile, or there is one f for each of several levels. Leaves are quantiles themselves."""

    levels: tuple = (0.5,)

    apart = True

    @property
    def outputs(self):
        """A score for each level."""
        return len(self.levels)

    def start(self, y, w):
        return np.array([quantile(y, level, w) for level in self.levels])

    def kernel(self, f, y, w, k=0):
        return kernels.slopes.Quantile(float(self.levels[k]))

    def risk(self, f, y):
        miss = y[:, None] - f
        return np.sum(np.maximum(miss * self.levels, miss * (np.array(self.levels) - 1)), axis=1)


@dataclass(frozen=True)
class Huber(Loss):
    """Squared error up to δ, absolute error beyond; δ is the `alpha` quantile of how far rows are missed."""

    alpha: float = 0.9

    def start(self, y, w):
        return np.array([quantile(y, 0.5, w)])

    def kernel(self, f, y, w, k=0):
        far = quantile(np.abs(y - f), self.alpha, w)
        return kernels.slopes.Huber(max(far, float(np.finfo(float).tiny)))

    def risk(self, f, y, w=None):
        miss = np.abs(f[:, 0] - y)
        delta = max(quantile(miss, self.alpha, w), float(np.finfo(float).tiny))
        return np.where(miss <= delta, 0.5 * miss**2, delta * (miss - 0.5 * delta))

    def mean_risk(self, f, y, w):
        return float(np.average(self.risk(f, y, w), weights=w))


class _Logarithmic(Loss):
    """f is the log of the mean, so a long step up is too long."""

    bounded = False

    def start(self, y, w):
        total = len(y) if w is None else w.sum()
        mean = weighted(y, w)
        smallest = y[y > 0].min() if np.any(y > 0) else 1.0
        return np.array([np.log(max(mean, LEAST * smallest / total))])

    def leaf(self, step):
        """The mean of the leaf is multiplied by 1 + step, where that is more than before."""
        return np.where(step > 0, np.log1p(np.maximum(step, 0.0)), step)


@dataclass(frozen=True)
class Poisson(_Logarithmic):
    """Poisson deviance, of counts or rates."""

    def kernel(self, f, y, w, k=0):
        return kernels.slopes.Poisson()

    def risk(self, f, y):
        return np.exp(f[:, 0]) - xlogy(y, np.exp(f[:, 0]))


@dataclass(frozen=True)
class Gamma(_Logarithmic):
    """Gamma deviance, of positive numbers."""

    def kernel(self, f, y, w, k=0):
        return kernels.slopes.Gamma()

    def risk(self, f, y):
        return f[:, 0] + y * np.exp(-f[:, 0])
