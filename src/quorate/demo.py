"""`quorate demo`: two committees on real tables, and what their answers are good for."""

import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import quorate as q

FORMULA = "p(y | x, D) = Σ_m  w_m(x) · p_m(y | x)"


def run(seed=0):
    """Train, measure on rows held out, and print."""
    console = Console(highlight=False, soft_wrap=True)
    started = time.perf_counter()
    console.print(f"[bold]quorate[/]: a committee of models, and its whole answer.\n\n   {FORMULA}\n")
    _diabetes(console, seed)
    _tumours(console, seed)
    console.print(f"All of this took {time.perf_counter() - started:.1f} s. The code is src/quorate/demo.py.")


def _diabetes(console, seed):
    """A number to predict: how far to trust each prediction, and how far the members differ."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    console.print("[bold]1. A number.[/] How far has a patient's diabetes progressed after a year?")
    console.print(
        f"   {len(X_train)} patients to learn from, {len(X_test)} held out, {X.shape[1]} columns.\n"
    )

    one = q.Probabilistic(DecisionTreeRegressor(min_samples_leaf=5), random_state=seed).fit(X_train, y_train)
    member = q.Probabilistic(DecisionTreeRegressor(min_samples_leaf=5))
    committee = q.BaggingRegressor(member, n_estimators=30, random_state=seed).fit(X_train, y_train)
    guess = q.Empirical(y_train)[np.zeros(len(y_test), dtype=int)]

    table = _table("on held-out rows", "RMSE", "CRPS", "log score", "in 90% interval")
    bagged = committee.predict_dist(X_test)
    for name, dist in {
        "all of y": guess,
        "one tree": one.predict_dist(X_test),
        "30 bagged trees": bagged,
    }.items():
        scores = (q.score.rmse(dist, y_test), q.score.crps(dist, y_test), q.score.log_score(dist, y_test))
        table.add_row(name, *(f"{s:.3f}" for s in scores), f"{q.score.coverage(dist, y_test, level=0.9):.0%}")
    console.print(table)
    _receipt(console, committee.committee_, X_test, y_test)
    _who_said_what(console, committee, X_test, "the patient the trees differ on most")


def _tumours(console, seed):
    """A class to predict: probabilities that can be believed, and the cases to look at again."""
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    console.print("\n[bold]2. A class.[/] Is a tumour benign or malignant?")
    console.print(f"   {len(X_train)} tumours to learn from, {len(X_test)} held out, {X.shape[1]} columns.\n")

    tree = DecisionTreeClassifier(min_samples_leaf=3, random_state=seed)
    bag = q.BaggingClassifier(tree, n_estimators=100, oob_score=True, random_state=seed)
    models = {
        "one tree": q.Probabilistic(tree, random_state=seed),
        "100 bagged trees": bag,
        "the same, calibrated": q.Probabilistic(bag, random_state=seed),
    }

    table = _table("on held-out rows", "accuracy", "Brier score", "log score", "ECE")
    for name, model in models.items():
        dist = model.fit(X_train, y_train).predict_dist(X_test)
        scores = (
            q.score.accuracy(dist, y_test),
            q.score.brier(dist, y_test),
            q.score.log_score(dist, y_test),
        )
        table.add_row(name, *(f"{s:.3f}" for s in scores), f"{q.score.calibration_error(dist, y_test):.3f}")
    console.print(table)
    console.print(
        "\n   When all trees agree they leave nothing to chance, and a log score of −∞ is what that costs"
    )
    console.print("   when they are wrong. Calibration on rows they had not seen mends it.")
    console.print(f"   Out-of-bag accuracy, from the training rows alone: {bag.oob_score_:.3f}.")
    dist = bag.predict_dist(X_test)
    unsure = np.argsort(-dist.uncertainty().total, kind="stable")[: len(y_test) // 10]
    wrong = dist.mode != y_test
    found = f"{np.sum(wrong[unsure])} of its {np.sum(wrong)} mistakes"
    console.print(f"   The tenth of the cases it is least sure of holds {found}.\n")


def _table(*columns):
    table = Table(box=None, pad_edge=True, padding=(0, 2, 0, 2))
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    return table


def _receipt(console, committee, X, y):
    """Why averaging works, checked on these rows."""
    r = committee.ambiguity(X, y)["squared_error"]
    console.print(
        f"\n   Why it works: the committee's squared error ({r.committee:.0f}) is its members' mean "
        f"({r.members:.0f})\n   less what they differ by ({r.ambiguity:.0f}); the books balance to {r.gap:.0e}."
    )


def _who_said_what(console, model, X, who):
    """One row's answer, taken apart."""
    u = model.predict_dist(X).uncertainty()
    row = int(np.argmax(u.between))
    dist = model.predict_dist(X[[row]])
    low, high = dist.interval(0.9)[0]
    told = np.sort([part.mean[0] for part in dist.parts])
    console.print(
        f"   For {who}: {dist.mean[0]:.0f}, with 90% between {low:.0f} and {high:.0f}.\n"
        f"   The members say from {told[0]:.0f} to {told[-1]:.0f}; {u.between[row] / u.total[row]:.0%} of the variance "
        f"is their disagreement,\n   the rest what each is unsure of itself.\n"
    )
