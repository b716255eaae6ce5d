"""Beta: a number between 0 and 1."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from quorate.dist.base import Numbers, Parametric, Real, beside, check_positive, generator
from quorate.dist.gammas import LOG_SQRT_2PI, half_step, log_binomial, log_less_digamma, stirling_error
from quorate.dist.invert import EPS
from quorate.dist.tails import beta_above, beta_below, log_beta


@dataclass(frozen=True, eq=False, repr=False)
class Beta(Parametric, Real):
    """The Beta distribution: p(y) ∝ y^(a − 1) (1 − y)^(b − 1).

    The mode is (a − 1) / (a + b − 2) where that is a maximum, and else the end with the higher density: 0 if a < b
    and 1 if a > b where both are below 1, 0 if they are equal; ½ for a = b = 1.

    >>> import quorate as q
    >>> q.Beta(8.0, 4.0).interval(0.9).round(3)
    array([[0.436, 0.865]])
    """

    a: Numbers
    b: Numbers

    support = (0, 1)

    def __post_init__(self):
        self._set(a=check_positive("a", self.a), b=check_positive("b", self.b))

    # density

    def log_prob(self, y):
        y, a, b = self._at(y)
        inside = (y > 0) & (y < 1)
        x = np.where(inside, y, 0.5)
        norm = np.log(a) + np.log(b) - np.log(a + b)
        value = norm - np.log(x) - np.log1p(-x) + log_binomial(a, a + b, x, 1 - x)
        edge = np.where(y == 0, _at_end(a, b), np.where(y == 1, _at_end(b, a), -np.inf))
        return np.where(np.isnan(y), np.nan, np.where(inside, value, edge))

    # probabilities

    def cdf(self, y):
        y, a, b = self._at(y)
        return beta_below(a, b, np.clip(y, 0, 1))

    def sf(self, y):
        y, a, b = self._at(y)
        return beta_above(a, b, np.clip(y, 0, 1))

    def _log_tails(self, y):
        y, a, b = self._at(y)
        return log_beta(a, b, np.clip(y, 0, 1))

    def _quantile(self, p):
        return special.betaincinv(self.a[:, None], self.b[:, None], p)

    # moments

    @property
    def mean(self):
        return self.a / (self.a + self.b)

    @property
    def variance(self):
        total = self.a + self.b
        return self.a / total * (self.b / total) / (total + 1)

    @property
    def mode(self):
        a, b = self.a, self.b
        with np.errstate(all="ignore"):
            inner = (a - 1) / (a + b - 2)
        hill = (a > 1) & (b > 1)
        return np.where(hill, inner, np.where((a == 1) & (b == 1), 0.5, np.where(a > b, 1.0, 0.0)))

    @property
    def entropy(self):
        a, b, total = self.a, self.b, self.a + self.b
        logs = 0.5 * (np.log(a) + np.log(b)) - 1.5 * np.log(total) + LOG_SQRT_2PI
        errors = stirling_error(a) + stirling_error(b) - stirling_error(total)
        slopes = (a - 1) * log_less_digamma(a) + (b - 1) * log_less_digamma(b)
        return logs + errors + slopes - (total - 2) * log_less_digamma(total)

    # scores

    def distance(self, y):
        y, a, b = self._at(y)
        x = np.clip(y, 0, 1)
        _, mean, rest = beside(y, len(self), self.mean, self.b / (self.a + self.b))
        middle = beta_below(a, b, x) - beta_above(a, b, x)
        # E|Y − y| grows by 2 ∫ (mean − t) p(t) dt = 2 x (1 − x) p(x) / (a + b) over (y − mean) (2F − 1)
        bump = mean * rest * np.exp(log_binomial(a, a + b, x, 1 - x))
        return (y - mean) * middle + 2 * bump

    def half_distance(self):
        """2 B(2a, 2b) / ((a + b) B(a, b)²), with Γ(2x) = 2^(2x−1) Γ(x) Γ(x + ½) / √π."""
        a, b = self.a, self.b
        ratio = half_step(a) + half_step(b) - half_step(a + b)
        return np.exp(ratio) / (np.sqrt(np.pi) * (a + b))

    # closure

    def _affine(self, shift, factor):
        """1 − Y is Beta(b, a), in which no digits of what is near 1 are lost."""
        if not np.allclose(shift, -factor, rtol=4 * EPS, atol=0):
            return super()._affine(shift, factor)
        turned = Beta(self.b, self.a)
        return turned if np.all(factor == -1) else Real._affine(turned, 0.0, -factor)

    # draws

    def sample(self, k=1, rng=None):
        return generator(rng).beta(self.a[:, None], self.b[:, None], (len(self), k))


def _at_end(a, b):
    """log p(0)."""
    return np.where(a < 1, np.inf, np.where(a > 1, -np.inf, np.log(b)))
