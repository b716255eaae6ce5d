"""AdaBoost of stumps: its speed beside scikit-learn's, its test error on a known problem, and its bound at every round.

    python benchmarks/adaboost.py            # "hundred": 100 000 rows × 30
    python benchmarks/adaboost.py --quick    # a trial of 3 000

- Speed (P4): 100 stumps, target 100 times scikit-learn's. That has no `n_jobs`, so what counts is our fit on one
  thread; on two (the second teaches the members that the temperature is learned from) it is shown below. Fails where
  our AUC is worse by more than .001.
- The Elements of Statistical Learning, (10.2): ten columns N(0, 1), y = 1 where Σ x² > 9.34, 400 stumps, 2000 rows to
  learn and 10 000 to test, five draws. Fails where our mean error is above scikit-learn's by more than .005.
- The bound: on 15 open tables (those that are there) and five made ones, of at most 2000 rows, the training error is
  at most Π K √(ε(1−ε)/(K−1)), and of two classes at most exp(−2 Σ γ²), after each of 100 rounds. Fails where not.
"""

import fresh
import numpy as np
import sets
import side_by_side
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

import quorate as q

QUICK = 3_000
REPETITIONS, TARGET, WORSE = 3, 100, 0.001
DRAWS, ESL_TRAIN, ESL_TEST, ESL_STUMPS, ESL_WORSE = 5, 2_000, 10_000, 400, 0.005
OPEN, MADE, MOST, ROUNDS, ROUNDING = 15, 5, 2_000, 100, 1e-12
OURS = "q.AdaBoostClassifier(q.TreeClassifier(max_depth=1), 100, n_jobs={})"


def ours(n_estimators: int, n_jobs: int = 1, **more) -> q.AdaBoostClassifier:
    return q.AdaBoostClassifier(q.TreeClassifier(max_depth=1, **more), n_estimators, n_jobs=n_jobs)


def peer(n_estimators: int) -> AdaBoostClassifier:
    return AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=n_estimators)


# speed


def speed(split: sets.Split) -> list[dict]:
    """Our fit on one thread and on two, and scikit-learn's."""
    ours(100).fit(split.X[:3000], split.y[:3000])  # compiled before the clock runs
    one, two, theirs = (sets.Fits(model, split) for model in (ours(100), ours(100, 2), peer(100)))
    # Ours first, because the first of those in turn has all its turns.
    taken = side_by_side.in_turns(REPETITIONS, side_by_side.PATIENCE, one=one, two=two, peer=theirs)
    return [
        {
            "id": "P4",
            "work": "AdaBoost, 100 stumps",
            "threads": f"{threads}, sklearn 1",
            "quorate s": min(taken[side]),
            "sklearn s": min(taken["peer"]),
            "sklearn runs": len(taken["peer"]),
            "times faster": min(taken["peer"]) / min(taken[side]),
            "target": TARGET,
            "speed": side_by_side.verdict(min(taken["peer"]) / min(taken[side]), TARGET),
            "quorate AUC": fits.auc(),
            "sklearn AUC": theirs.auc(),
            "AUC allowed": -split.allowed(WORSE),
            "compile s": fresh.compile_seconds(OURS.format(threads)),
        }
        for threads, side, fits in ((1, "one", one), (2, "two", two))
    ]


# The Elements of Statistical Learning, (10.2)


def chi_square(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(X, y): 9.34 is the median of χ² with ten degrees of freedom."""
    X = rng.normal(size=(n, 10)).astype(np.float32)
    return X, (np.sum(X.astype(float) ** 2, axis=1) > 9.34).astype(int)


def of_book(draw: int, stumps: int, n_test: int) -> dict:
    """Test errors on one draw."""
    rng = np.random.default_rng((10, 2, draw))
    train, test = chi_square(ESL_TRAIN, rng), chi_square(n_test, rng)
    models = {
        "one stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "quorate": ours(stumps).set_params(random_state=draw),
        "sklearn": peer(stumps).set_params(random_state=draw),
    }
    errors = {name: 1 - model.fit(*train).score(*test) for name, model in models.items()}
    return {"draw": draw, **{f"{name} error": error for name, error in errors.items()}}


def book(full: bool) -> list[dict]:
    """All draws, and their mean."""
    rows = [of_book(draw, ESL_STUMPS if full else 50, ESL_TEST) for draw in range(DRAWS if full else 2)]
    mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "draw"}
    return [*rows, {"draw": "mean", **mean}]


# the bound


def tables(most: int):
    """(name, X, y, columns of categories) of the open tables and the made ones."""
    for name, target in list(sets.of_catalogue({"binary", "multiclass"}).items())[:OPEN]:
        frame = sets.frame(name)
        if frame is not None:
            X, y, categorical = sets.coded(frame.iloc[sets.some(len(frame), most)], target)
            yield name, X, y, categorical
    for k in range(MADE):
        X, y = make_classification(
            most, 10 + 5 * k, n_informative=5 + k, n_classes=2 + k, flip_y=0.1 * k, random_state=k
        )
        yield f"made, {2 + k} classes", X, y, []


def bounded(name: str, X, y, categorical) -> dict:
    """How near the training error comes to the bounds, over all rounds."""
    model = ours(ROUNDS, categorical_features=categorical or None).set_params(random_state=0).fit(X, y)
    told, bounds = model.receipts_, ("bound", "exponential_bound")
    nearest = {key: float(np.min(told[key] - told["training_error"])) for key in bounds if key in told}
    return {
        "table": name,
        "rows": len(y),
        "classes": len(model.classes_),
        "rounds": len(told["bound"]),
        "training error": float(told["training_error"][-1]),
        "bound": float(told["bound"][-1]),
        **{f"{key} − error, least": value for key, value in nearest.items()},
        "holds": "yes" if min(nearest.values()) >= -ROUNDING else "NO",
    }


def main() -> None:
    n = side_by_side.size_asked(__doc__, sets.HUNDRED, QUICK)
    full = n == sets.HUNDRED
    fast = speed(sets.hundred(n))
    errors = book(full)
    bounds = [bounded(*table) for table in tables(min(n // 5, MOST))]
    for rows in (fast, errors, bounds):
        side_by_side.table(rows)
        print()
    side_by_side.write("adaboost", [*fast, *errors, *bounds], full)
    mean = errors[-1]
    worse = [
        f"AUC {row['quorate AUC']:.4f}, scikit-learn's {row['sklearn AUC']:.4f}"
        for row in fast
        if row["quorate AUC"] < row["sklearn AUC"] + row["AUC allowed"]
    ]
    if mean["quorate error"] > mean["sklearn error"] + ESL_WORSE:
        worse.append(f"(10.2): error {mean['quorate error']:.4f}, scikit-learn's {mean['sklearn error']:.4f}")
    worse += [
        f"{row['table']}: the training error is above its bound" for row in bounds if row["holds"] == "NO"
    ]
    side_by_side.fail_where(worse)


if __name__ == "__main__":
    main()
