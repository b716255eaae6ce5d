"""scikit-learn's faces: each estimator validates its input, calls `learn`, and keeps `committee_`."""

from quorate.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from quorate.estimators.bagging import BaggingClassifier, BaggingRegressor
from quorate.estimators.boosted import BoostedClassifier, BoostedRegressor
from quorate.estimators.distributional import DistributionalRegressor
from quorate.estimators.filtering import FilteringClassifier
from quorate.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from quorate.estimators.probabilistic import Probabilistic
from quorate.estimators.tree import TreeClassifier, TreeRegressor
from quorate.estimators.why import bias_variance, majority_error

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoostedClassifier",
    "BoostedRegressor",
    "DistributionalRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FilteringClassifier",
    "Probabilistic",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "TreeClassifier",
    "TreeRegressor",
    "bias_variance",
    "majority_error",
]
