"""Dirichlet: K shares that add up to one."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Numbers, Parametric, check_positive, generator
from quorate.dist.beta import Beta
from quorate.dist.gammas import LOG_SQRT_2PI, deviance, log_less_digamma, stirling_error

TOLERANCE = 1e-6  # how far shares may miss a sum of one


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(Parametric):
    """The Dirichlet distribution over shares y_1 … y_K: p(y) ∝ Π_k y_k^(alpha_k − 1); `alpha` is (K,) or (n, K).

    A place y is a row of K shares: `log_prob` takes (K,) or (n, K) and answers (n,), or (n, m, K) or (1, m, K) and
    answers (n, m). The mode is (alpha_k − 1) / Σ (alpha_j − 1) where no alpha is below 1, and nan else.

    >>> import quorate as q
    >>> d = q.Dirichlet([2.0, 3.0, 5.0])
    >>> d.mean
    array([[0.2, 0.3, 0.5]])
    >>> d.marginal(2)
    Beta(a=5, b=5)
    """

    alpha: Numbers

    def __post_init__(self):
        alpha = check_positive("alpha", self.alpha)
        if alpha.ndim not in (1, 2) or alpha.shape[-1] < 2:
            raise ValueError(f"alpha must have shape (K,) or (n, K) with K at least 2, got {alpha.shape}")
        self._hold(alpha=np.atleast_2d(alpha))

    # density

    def log_prob(self, y):
        y = np.asarray(y, dtype=float)
        n, k = self.alpha.shape
        if y.shape[-1:] != (k,) or y.ndim > 3 or (y.ndim > 1 and n != 1 and len(y) not in (1, n)):
            raise ValueError(f"y must be shares of shape ({k},), ({n}, {k}) or ({n}, m, {k}), got {y.shape}")
        alpha = self.alpha[:, None, :] if y.ndim == 3 else self.alpha
        shares = np.all(y >= 0, axis=-1) & (np.abs(y.sum(axis=-1) - 1) < TOLERANCE)
        with np.errstate(all="ignore"):
            value = _log_norm(alpha) - _misses(alpha, np.maximum(y, 0.0)).sum(axis=-1)
        return np.where(np.isnan(y).any(axis=-1), np.nan, np.where(shares, value, -np.inf))

    # moments

    @property
    def _total(self):
        return self.alpha.sum(axis=1, keepdims=True)

    @property
    def mean(self):
        """E y_k, shape (n, K)."""
        return self.alpha / self._total

    @property
    def variance(self):
        """The variance of each share, shape (n, K)."""
        mean = self.mean
        return mean * (1 - mean) / (self._total + 1)

    @property
    def mode(self):
        """The most probable shares, shape (n, K)."""
        above = self.alpha - 1
        with np.errstate(invalid="ignore", divide="ignore"):
            peak = above / above.sum(axis=1, keepdims=True)
        even = np.all(above == 0, axis=1, keepdims=True)
        peak = np.where(even, 1 / self.alpha.shape[1], peak)
        return np.where(np.all(above >= 0, axis=1, keepdims=True), peak, np.nan)

    @property
    def entropy(self):
        alpha, total, k = self.alpha, self._total[:, 0], self.alpha.shape[1]
        slopes = np.sum((alpha - 1) * log_less_digamma(alpha), axis=1) - (total - k) * log_less_digamma(total)
        return np.log(alpha).sum(axis=1) - k * np.log(total) - _log_norm(alpha) + slopes

    # marginals

    def marginal(self, k):
        """The law of share k: Beta(alpha_k, Σ of the others)."""
        return Beta(self.alpha[:, k], np.delete(self.alpha, k, axis=1).sum(axis=1))

    @property
    def marginals(self):
        """The laws of the K shares, one batch of n rows each."""
        return [self.marginal(k) for k in range(self.alpha.shape[1])]

    # draws

    def sample(self, k=1, rng=None):
        """k draws a row, shape (n, k, K)."""
        rng = generator(rng)
        # Γ(a) is the law of Γ(a + 1) · U^(1/a): in logs, shares of tiny alphas do not all underflow to 0 / 0.
        shape = (len(self), k, self.alpha.shape[1])
        alpha = self.alpha[:, None, :]
        log_draws = np.log(rng.standard_gamma(alpha + 1, shape)) - rng.standard_exponential(shape) / alpha
        return special.softmax(log_draws, axis=2)


def _log_norm(alpha):
    """log p(y) but for `_misses`: what Stirling's formula leaves over of Γ(Σ alpha) / Π Γ(alpha_k)."""
    total, k = alpha.sum(axis=-1), alpha.shape[-1]
    errors = stirling_error(total) - stirling_error(alpha).sum(axis=-1)
    return errors + 0.5 * (np.log(alpha).sum(axis=-1) - np.log(total)) - (k - 1) * LOG_SQRT_2PI


def _misses(alpha, y):
    """D(alpha_k, y_k Σ alpha) + log y_k for each share, by its limit where a share is 0."""
    total = alpha.sum(axis=-1, keepdims=True)
    at_zero = np.where(alpha < 1, -np.inf, np.where(alpha > 1, np.inf, -np.log(total) - 1))
    return np.where(y > 0, deviance(alpha, y * total) + np.log(y), at_zero)
