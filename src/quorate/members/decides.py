"""A member that only decides: it names a class and gives no probabilities."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from quorate.dist import Categorical
from quorate.members.base import Fitted, Member
from quorate.members.wrap import of_codes, taught


@dataclass(frozen=True)
class Decides(Member):
    """A clone of a scikit-learn classifier, of which only the decisions count."""

    estimator: BaseEstimator

    def fit(self, X, y, sample_weight=None, rng=None):
        return Decided(of_codes(taught(self.estimator, X, y, sample_weight, rng), y))


@dataclass(frozen=True)
class Decided(Fitted):
    """A fitted classifier that puts all on the class it names."""

    estimator: BaseEstimator

    def choices(self, X):
        """The classes it names, as codes."""
        return self.estimator.predict(X)

    def predict_dist(self, X):
        classes = self.estimator.classes_
        return Categorical(np.eye(len(classes))[np.searchsorted(classes, self.choices(X))], classes)


@dataclass(frozen=True)
class Doubt(Fitted):
    """The member that holds all classes equally probable, whatever the row."""

    n_classes: int

    def predict_dist(self, X):
        return Categorical(np.full((X.shape[0], self.n_classes), 1 / self.n_classes))
