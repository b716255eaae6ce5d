"""The log opinion pool of classes: p(y) = Π_m p_m(y)^{w_m} / C, in log space.

Its votes w_m need not sum to one: twice the votes say the same twice as firmly.

A member with a vote that holds a class impossible has a veto. Where every class has met one, those are left that the
least votes were against, which is what the pool tends to as all zeros are replaced by the same δ → 0.
"""

import numpy as np
from scipy.special import logsumexp

from quorate.dist.base import as_rows
from quorate.dist.categorical import Categorical, Classes

SAME = 1e-9  # of all votes: how much vetoes may differ and be equal


class LogPool(Classes):
    """Π_m p_m^{w_m} / C for M batches over the same classes; `log_w` has shape (M,), (1, M), or (n, M).

    >>> import numpy as np, quorate as q
    >>> from quorate.dist.log_pool import LogPool
    >>> LogPool(np.log([0.5, 0.5]), [q.Categorical([[0.5, 0.5]]), q.Categorical([[0.1, 0.9]])]).probs.round(2)
    array([[0.25, 0.75]])
    """

    log_w: np.ndarray
    parts: tuple
    law: Categorical

    def __init__(self, log_w, parts):
        parts, log_w = tuple(parts), np.atleast_2d(np.asarray(log_w, dtype=float))
        _check(log_w, parts)
        law = Categorical.from_log(pooled(np.exp(log_w), (part.log_p for part in parts)), parts[0].classes)
        self._hold(log_w=log_w, parts=parts, law=law, classes=law.classes)

    def __len__(self):
        return len(self.law)

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        log_w = self.log_w if len(self.log_w) == 1 else self.log_w[rows]
        return LogPool(log_w, [part[rows] for part in self.parts])

    def __repr__(self):
        return f"LogPool({len(self.parts)} parts; {len(self.classes)} classes, {len(self)} rows)"

    @property
    def log_p(self):
        return self.law.log_p

    @property
    def probs(self):
        """Probabilities, shape (n, K)."""
        return self.law.probs

    @property
    def weights(self):
        """w_m(x), shape (n, M)."""
        return np.broadcast_to(np.exp(self.log_w), (len(self), len(self.parts)))

    def log_prob(self, y):
        return self.law.log_prob(y)

    def sample(self, k=1, rng=None):
        return self.law.sample(k, rng)

    def recode(self, classes):
        """Every part over more classes, of which this batch's classes are the positions."""
        return LogPool(self.log_w, [part.recode(classes) for part in self.parts])


def pooled(weights, tables):
    """log p of the pool, (n, K), from the votes (1 or n, M) and a table of log p_m for each member."""
    total, vetoes = np.zeros((1, 1)), np.zeros((1, 1))
    for w, log_p in zip(weights.T[:, :, None], tables, strict=True):
        possible = log_p > -np.inf
        total = total + w * np.where(possible, log_p, 0.0)
        vetoes = vetoes + w * ~possible
    allowed = vetoes <= vetoes.min(axis=1, keepdims=True) + SAME * weights.sum(axis=1, keepdims=True)
    return normalised(np.where(allowed, total, -np.inf))


def normalised(scores):
    """log softmax of each row: of log probabilities up to a constant, themselves."""
    return scores - logsumexp(scores, axis=1, keepdims=True)


def _check(log_w, parts):
    if not parts or not all(isinstance(part, Classes) for part in parts):
        names = ", ".join(sorted({type(part).__name__ for part in parts})) or "nothing"
        raise ValueError(f"a log pool multiplies probabilities of classes; got {names}")
    classes, n = parts[0].classes, {len(part) for part in parts}
    if any(not np.array_equal(part.classes, classes) for part in parts) or len(n) > 1:
        raise ValueError("the parts of a log pool must be about the same classes, and as many rows")
    if log_w.shape[1] != len(parts) or len(log_w) not in (1, *n):
        raise ValueError(f"log_w must hold {len(parts)} votes, for all rows or each; got {log_w.shape}")
    if np.any(np.isnan(log_w) | (log_w == np.inf)) or np.any(np.all(log_w == -np.inf, axis=1)):
        raise ValueError("the votes of a log pool must be finite, and not all of them 0")
