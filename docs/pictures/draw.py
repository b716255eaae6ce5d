"""Draws the pictures of docs/trees.md beside this file: python docs/pictures/draw.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_iris

import quorate as q

HERE = Path(__file__).parent

iris = load_iris()
tree = q.TreeClassifier(max_depth=3, random_state=0).fit(iris.data, iris.target_names[iris.target])
q.plots.TreeDisplay.from_estimator(tree)
plt.savefig(HERE / "tree.png", dpi=80)

X, y = load_breast_cancer(return_X_y=True)
boosted = q.AdaBoostClassifier(n_estimators=100, random_state=0).fit(X[::2], y[::2])
q.plots.RoundsDisplay.from_estimator(boosted, X[1::2], y[1::2])
plt.savefig(HERE / "rounds.png", dpi=80)
