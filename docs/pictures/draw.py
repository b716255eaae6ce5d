"""Draws the pictures of docs/trees.md and docs/boosting.md beside this file: python docs/pictures/draw.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import PartialDependenceDisplay

import quorate as q

HERE = Path(__file__).parent


def keep(name):
    """Write the picture that was drawn last."""
    plt.savefig(HERE / f"{name}.png", dpi=80)
    plt.close()


# trees.md

iris = load_iris()
tree = q.TreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])
q.plots.TreeDisplay.from_estimator(tree)
keep("tree")

X, y = load_breast_cancer(return_X_y=True)
boosted = q.AdaBoostClassifier(n_estimators=100, random_state=0).fit(X[::2], y[::2])
q.plots.RoundsDisplay.from_estimator(boosted, X[1::2], y[1::2])
keep("rounds")

# boosting.md

tumours = load_breast_cancer(as_frame=True)
X, y = tumours.data, tumours.target_names[tumours.target]
model = q.BoostedClassifier(n_estimators=300, early_stopping=True, validation_fraction=0.2, random_state=0)
model.fit(X[::2], y[::2])
q.plots.LearningDisplay.from_estimator(model, X[1::2], y[1::2], X_train=X[::2], y_train=y[::2])
keep("learning")

model = q.BoostedClassifier(n_estimators=60, random_state=0).fit(X[::2], y[::2])
q.plots.ContributionsDisplay.from_estimator(model, X, row=1)
keep("contributions")
q.plots.ImportanceDisplay.from_estimator(model, X[1::2], y[1::2], n=8, scoring="neg_log_loss")
keep("importance")

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 3000)
y = np.abs(rng.normal(5 + 3 * np.sin(x), 0.2 + 0.1 * x))
model = q.DistributionalRegressor("normal", n_estimators=200, early_stopping=True, random_state=0)
model.fit(x[:2000, None], y[:2000])
q.plots.BandsDisplay.from_estimator(model, x[2000:2300, None], y[2000:2300], over=0)
keep("bands")

X, y = load_diabetes(return_X_y=True, as_frame=True)
rising = q.BoostedRegressor(
    n_estimators=60, learning_rate=0.05, monotonic_cst={"bmi": 1}, residual_folds=0, random_state=0
).fit(X, y)
_, axes = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained", sharey=True)
few = {"kind": "both", "subsample": 40, "random_state": 0}
PartialDependenceDisplay.from_estimator(rising, X, ["bmi", "s5"], **few, ax=axes)
keep("dependence")
