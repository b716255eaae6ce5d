"""A member that knows nothing."""

from dataclasses import dataclass

import numpy as np

from quorate.dist import Categorical
from quorate.members.base import Fitted


@dataclass(frozen=True)
class Doubt(Fitted):
    """The member that holds all classes equally probable, whatever the row."""

    n_classes: int

    def predict_dist(self, X):
        return Categorical(np.full((X.shape[0], self.n_classes), 1 / self.n_classes))
