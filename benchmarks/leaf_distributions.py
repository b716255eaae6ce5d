"""What leaves that keep whole distributions are worth: a forest's own answer beside Normals around the same mean.

    python benchmarks/leaf_distributions.py            # the first five of the standard splits of the uci_* tables
    python benchmarks/leaf_distributions.py --quick    # a trial: one split, at most 400 rows to learn from

One forest of 100 trees with leaves of at least five rows (as Meinshausen's), and three answers: what its leaves hold;
Normal(mean, s) with s the standard deviation of its out-of-bag residuals, the same for every row; and
Normal(mean, s(x)) with the forest's own standard deviation of each row. CRPS (smaller is better) and the share of test
rows in the central 90% intervals. Fails where the leaves' CRPS, as the geometric mean of ratios over the tables, is not
below that of each Normal; where it is above on a single table the line says so.
"""

import numpy as np
import sets
import side_by_side

import quorate as q

FULL, QUICK = 1_000_000, 400
SPLITS, TREES, LEAF, LEVEL = 5, 100, 5, 0.9


def answers(X, y, train, test) -> tuple[dict, np.ndarray]:
    """({name: predictive of the test rows}, their mean)."""
    forest = q.RandomForestRegressor(TREES, min_samples_leaf=LEAF, oob_score=True, n_jobs=2, random_state=0)
    forest.fit(X[train], y[train])
    own = forest.predict_dist(X[test])
    mean, std = own.mean, own.std
    residuals = y[train][forest.oob_rows_] - forest.oob_dist_.mean
    least = np.diff(np.unique(y[train])).min() / np.sqrt(12)  # no narrower than y is written down
    return {
        "leaves": own,
        "Normal, s": q.Normal(mean, np.full(len(test), residuals.std())),
        "Normal, s(x)": q.Normal(mean, np.maximum(std, least)),
    }, mean


def judged(X, y, test, most: int) -> dict[str, float]:
    """Scores on one split."""
    train = np.setdiff1d(np.arange(len(y)), test)
    train, test = train[sets.some(len(train), most)], test[sets.some(len(test), most)]
    dists, mean = answers(X, y, train, test)
    crps = {f"CRPS {name}": q.score.crps(dist, y[test]) for name, dist in dists.items()}
    held = {f"in 90% {name}": q.score.coverage(dist, y[test], level=LEVEL) for name, dist in dists.items()}
    return {**crps, **held, "RMSE": q.score.rmse(mean, y[test])}


def line(name: str, X, y, tests, most: int) -> dict:
    """Means over the splits, and the leaves' CRPS as a share of each Normal's."""
    told = [judged(X, y, test, most) for test in tests[: SPLITS if most == FULL else 1]]
    mean = {key: float(np.mean([row[key] for row in told])) for key in told[0]}
    ratios = {
        f"leaves / {normal}": mean["CRPS leaves"] / mean[f"CRPS {normal}"]
        for normal in ("Normal, s", "Normal, s(x)")
    }
    over = [key.removeprefix("leaves / ") for key, ratio in ratios.items() if ratio >= 1]
    return {
        "table": name,
        "rows": len(y),
        "splits": len(told),
        **mean,
        **ratios,
        "leaves are": f"worse than {' and '.join(over)}" if over else "better",
    }


def main() -> None:
    most = side_by_side.size_asked(__doc__, FULL, QUICK)
    found = {name: sets.uci(name) for name in sets.UCI}
    rows = [line(name, *told, most) for name, told in found.items() if told is not None]
    if not rows:
        return
    keys = [key for key in rows[0] if key.startswith("leaves / ")]
    geometric = {key: float(np.exp(np.mean([np.log(row[key]) for row in rows]))) for key in keys}
    rows.append({"table": "geometric mean", **geometric})
    side_by_side.table(rows)
    side_by_side.write("leaf_distributions", rows, full=most == FULL)
    side_by_side.fail_where([f"{key}: CRPS ratio {r:.4f}" for key, r in geometric.items() if r >= 1])


if __name__ == "__main__":
    main()
