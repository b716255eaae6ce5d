"""A member that decides, made to say how sure it is."""

from dataclasses import dataclass

import numpy as np

from quorate.dist import Categorical
from quorate.dist.log_pool import normalised
from quorate.members.base import Fitted, choices


@dataclass(frozen=True, eq=False)
class Softened(Fitted):
    """p(y | x) ∝ e^{2α} for the class the member decides for, 1 for each other.

    With α = ½ [ln((1−ε)/ε) + ln(K−1)] these are 1−ε, and ε/(K−1) for each other. A log pool of such members decides
    for the class with the largest Σ α_t 1{h_t(x) = y}: the weighted vote of AdaBoost.
    """

    member: Fitted
    alpha: float
    n_classes: int

    def predict_dist(self, X):
        scores = np.zeros((X.shape[0], self.n_classes))
        self.add_scores(X, 1.0, scores)
        return Categorical.from_log(normalised(scores))

    def choices(self, X):
        """The codes that the member decides for."""
        return choices(self.member, X)

    def add_scores(self, X, w, scores):
        """Add w log p(y | x), up to a constant for each row, to the scores (n, K)."""
        scores[np.arange(len(scores)), self.choices(X)] += w * 2.0 * self.alpha
