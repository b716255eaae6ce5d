"""Answers of forests, one row at a time and a million at once, and of boosted trees, beside other libraries'.

    python benchmarks/prediction.py            # "hundred": 100 000 rows × 30
    python benchmarks/prediction.py --quick    # a trial of 3 000

- One row (P12): the whole call of `predict_proba` for a float32 row, the rows in turn, 500 trees that learned from a
  fifth of the rows (20 000). Target: a median of at most 200 µs. One thread each.
- A batch (P13): 1 000 000 rows (ten times as many as learned from: test rows and noise) by 100 full trees, two threads
  each. Target: faster than each peer. LightGBM's forest has no limit that binds (131 072 leaves, one row a leaf, no
  least hessian or gain), bagging_fraction .632 each tree and √30 columns a node; XGBoost's neither (max_depth 0,
  min_child_weight 0), subsample .632 and √30 columns a node. The table says how many leaves a tree has, and how
  deep its deepest is.
- The same rows by 100 rounds of 31 leaves at a learning rate of .1, beside LightGBM, XGBoost (hist, lossguide) and
  scikit-learn's HGB, two threads each. Target: faster than each peer.

Compilation is apart. Fails where our AUC is worse than scikit-learn's (the forest of as many trees, and HGB) by more
than .001; a missed target is said and does not fail.
"""

import json
import re
import time
from collections.abc import Callable

import boosters
import fresh
import numpy as np
import sets
import side_by_side
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBRFClassifier

import quorate as q

QUICK = 3_000
REPETITIONS, WORSE = 3, 0.001
ONE_ROW_TREES, TARGET, CALLS, PEER_CALLS, WARM = 500, 200.0, 2_000, 100, 20
BATCH_TREES, TIMES = 100, 10

# one row


def microseconds(model, X: np.ndarray, calls: int) -> np.ndarray:
    """Of each call, the rows in turn."""
    taken = np.empty(calls)
    for i in range(calls):
        at = i % len(X)
        row = X[at : at + 1]
        start = time.perf_counter()
        model.predict_proba(row)
        taken[i] = time.perf_counter() - start
    return 1e6 * taken


def one_row(split: sets.Split) -> list[dict]:
    """Median and mean of the best repetition, in turns."""
    n = len(split.y) // 5
    part = sets.Split(split.X[:n], split.y[:n], split.X_test, split.y_test)
    sides = {
        "quorate": (q.RandomForestClassifier(ONE_ROW_TREES, random_state=0), CALLS),
        "sklearn": (RandomForestClassifier(ONE_ROW_TREES, random_state=0), PEER_CALLS),
    }
    told: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for model, _ in sides.values():
        microseconds(model.fit(part.X, part.y), part.X_test, WARM)
    for _ in range(REPETITIONS):
        for name, (model, calls) in sides.items():
            taken = microseconds(model, part.X_test, calls)
            told[name].append((float(np.median(taken)), float(np.mean(taken))))
    best = {name: np.min(pairs, axis=0) for name, pairs in told.items()}
    return [
        {
            "id": "P12",
            "work": f"one row, {ONE_ROW_TREES} trees of {n} rows",
            "library": name,
            "median µs": float(best[name][0]),
            "mean µs": float(best[name][1]),
            "calls": f"{REPETITIONS} × {calls}",
            "times faster": float(best[name][0] / best["quorate"][0]),
            "target": f"≤ {TARGET:g} µs" if name == "quorate" else None,
            "speed": side_by_side.verdict(-best[name][0], -TARGET) if name == "quorate" else None,
            "AUC": sets.auc(model, part),
        }
        for name, (model, calls) in sides.items()
    ]


# a batch


def forests(d: int) -> dict:
    """The same forest four times, as comparably deep as the libraries let us."""
    share = float(np.sqrt(d) / d)
    return {
        "quorate": q.RandomForestClassifier(BATCH_TREES, n_jobs=2, random_state=0),
        "sklearn": RandomForestClassifier(BATCH_TREES, n_jobs=2, random_state=0),
        "LightGBM rf": LGBMClassifier(
            boosting_type="rf",
            n_estimators=BATCH_TREES,
            num_leaves=131_072,
            min_child_samples=1,
            min_child_weight=0.0,
            subsample=0.632,
            subsample_freq=1,
            feature_fraction_bynode=share,
            n_jobs=2,
            random_state=0,
            verbose=-1,
        ),
        "XGBoost rf": XGBRFClassifier(
            n_estimators=BATCH_TREES,
            max_depth=0,
            max_leaves=0,
            min_child_weight=0.0,
            subsample=0.632,
            colsample_bynode=share,
            tree_method="hist",
            n_jobs=2,
            random_state=0,
        ),
    }


def many_rows(X: np.ndarray, n: int) -> np.ndarray:
    """n rows like those of X, no two the same."""
    rng = np.random.default_rng(0)
    return X[rng.integers(0, len(X), n)] + rng.normal(scale=0.05, size=(n, X.shape[1])).astype(np.float32)


def boosted() -> dict:
    """The same boosting by each library; LightGBM's quantised slopes would be the same trees to walk."""
    peers = {name: peer for name, peer in boosters.alike(True).items() if name != "LightGBM quantised"}
    return {
        name: model.set_params(random_state=0)
        for name, model in [("quorate", boosters.ours(True)), *peers.items()]
    }


def batch(unfitted: dict, split: sets.Split, trees: str) -> tuple[list[dict], dict]:
    """(a line for each model: predict_proba of all rows, in turns; the fitted models)."""
    models = {name: model.fit(split.X, split.y) for name, model in unfitted.items()}
    X = many_rows(split.X_test, TIMES * len(split.y))
    for model in models.values():
        model.predict_proba(X[:500])
    asked = {name: _asking(model, X) for name, model in models.items()}
    taken = side_by_side.in_turns(REPETITIONS, side_by_side.PATIENCE, **asked)
    best = {name: min(times) for name, times in taken.items()}
    rows = [
        {
            "id": "P13",
            "work": f"{len(X)} rows, {trees} of {len(split.y)} rows",
            "library": name,
            "s": best[name],
            "rows/s": float(f"{len(X) / best[name]:.4g}"),
            "runs": len(taken[name]),
            "times faster": best[name] / best["quorate"],
            "AUC": sets.auc(model, split),
        }
        for name, model in models.items()
    ]
    peers = min(best[name] for name in models if name != "quorate")
    rows[0] |= {
        "target": "faster than each",
        "speed": side_by_side.verdict(peers / best["quorate"], 1.0),
    }
    return rows, models


def _asking(model, X: np.ndarray) -> Callable[[], object]:
    return lambda: model.predict_proba(X)


# how deep the trees are


def shape(name: str, model) -> dict[str, float]:
    """Leaves a tree, and the depth of its deepest, on average."""
    pairs = {"quorate": of_ours, "sklearn": of_sklearn, "LightGBM rf": of_lightgbm, "XGBoost rf": of_xgboost}
    leaves, deepest = np.mean(list(pairs[name](model)), axis=0)
    return {"leaves a tree": round(float(leaves)), "deepest": float(deepest)}


def of_ours(model):
    return [(tree.is_leaf.sum(), tree.depths.max()) for tree in model.estimators_]


def of_sklearn(model):
    return [(tree.get_n_leaves(), tree.get_depth()) for tree in model.estimators_]


def of_lightgbm(model):
    """From the text of the model: children are numbers of nodes, leaves are negative."""
    text = model.booster_.model_to_string()
    sides = [
        [np.array(line.split(), int) for line in re.findall(rf"^{side}_child=(.*)$", text, re.MULTILINE)]
        for side in ("left", "right")
    ]
    return [(len(left) + 1, deepest(left, right)) for left, right in zip(*sides)]


def of_xgboost(model):
    """From the model as JSON: a leaf's children are −1."""
    told = json.loads(model.get_booster().save_raw("json"))
    trees = told["learner"]["gradient_booster"]["model"]["trees"]
    sides = [(np.array(tree["left_children"]), np.array(tree["right_children"])) for tree in trees]
    return [(np.sum(left < 0), deepest(left, right)) for left, right in sides]


def deepest(left: np.ndarray, right: np.ndarray) -> int:
    """How many questions the longest path has; the root is node 0, and a negative child none that asks."""
    depth, nodes, asks = 0, np.array([0]), left != right  # both −1: a leaf
    while len(nodes := nodes[nodes >= 0]) and asks[nodes].any():
        nodes, depth = np.concatenate([left[nodes], right[nodes]]), depth + 1
    return depth


def worse(rows: list[dict], allowed: float) -> list[str]:
    """Where our AUC is below scikit-learn's."""
    told = {row["library"].split()[0]: row["AUC"] for row in rows}
    if told["quorate"] >= told["sklearn"] - allowed:
        return []
    what = f"{rows[0]['id']}, {rows[0]['work']}"
    return [f"{what}: AUC {told['quorate']:.4f}, scikit-learn's {told['sklearn']:.4f}"]


def main() -> None:
    n = side_by_side.size_asked(__doc__, sets.HUNDRED, QUICK)
    split = sets.hundred(n)
    compiled = {"compile s": fresh.compile_seconds("q.RandomForestClassifier(10)")}
    single = one_row(split)
    many, models = batch(forests(split.X.shape[1]), split, f"{BATCH_TREES} trees")
    rounds, _ = batch(boosted(), split, f"{boosters.ROUNDS} rounds")
    single[0] |= compiled
    for row in many:
        row |= shape(row["library"], models[row["library"]])
    tables = single, many, rounds
    for rows in tables:
        side_by_side.table(rows)
        print()
    side_by_side.write("prediction", [row for rows in tables for row in rows], full=n == sets.HUNDRED)
    side_by_side.fail_where([line for rows in tables for line in worse(rows, split.allowed(WORSE))])


if __name__ == "__main__":
    main()
