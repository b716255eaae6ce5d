"""The first fit in a fresh process with an empty cache of compiled kernels, and with a full one.

    python benchmarks/compile_time.py            # the best of three
    python benchmarks/compile_time.py --quick    # once

A table of 500 rows × 10, as float64. "wait" is import and first fit together, which is what whoever runs a script waits
for; the answers come on top. Fails where the forest of classes or the boosting of two lets wait longer than 8 s.
Slopes of 500 rows are exact; those of many rows are quantised, by kernels of their own.
"""

import tempfile

import fresh
import side_by_side

LIMIT, REPETITIONS = 8.0, 3
MODELS = {
    "RandomForestClassifier": ("q.RandomForestClassifier(10)", 2),
    "the same, 3 classes": ("q.RandomForestClassifier(10)", 3),
    "the same, a column of categories": ("q.RandomForestClassifier(10, categorical_features=[0])", 2),
    "RandomForestRegressor": ("q.RandomForestRegressor(10)", 0),
    "ExtraTreesClassifier": ("q.ExtraTreesClassifier(10)", 2),
    "AdaBoostClassifier, stumps": ("q.AdaBoostClassifier(q.TreeClassifier(max_depth=1), 10)", 2),
    "BoostedClassifier": ("q.BoostedClassifier(10)", 2),
    "the same, quantised slopes": ("q.BoostedClassifier(10, gradients='quantised')", 2),
    "BoostedClassifier, 3 classes": ("q.BoostedClassifier(10)", 3),
    "BoostedRegressor": ("q.BoostedRegressor(n_estimators=10)", 0),
    "DistributionalRegressor": ("q.DistributionalRegressor(n_estimators=10)", 0),
}
LIMITED = ["RandomForestClassifier", "BoostedClassifier", "the same, quantised slopes"]
SHOWN = {
    "import": "import s",
    "fit": "first fit s",
    "answer": "first answer s",
    "answer of one row": "of one row s",
}


def waits(model: str, classes: int) -> tuple[dict, dict]:
    """(the first calls with an empty cache, with a full one)."""
    with tempfile.TemporaryDirectory() as cache:
        empty, full = (fresh.first_calls(model, cache, classes, "float64") for _ in range(2))
    return empty, full


def line(name: str, cache: str, told: list[dict]) -> dict:
    """The best of each step."""
    best = {shown: min(run[step] for run in told) for step, shown in SHOWN.items()}
    wait = min(run["import"] + run["fit"] for run in told)
    return {
        "model": name,
        "cache": cache,
        **best,
        "wait s": wait,
        "fit again s": min(run["fit again"] for run in told),
    }


def main() -> None:
    times = side_by_side.size_asked(__doc__, REPETITIONS, 1, of="repetitions")
    told = {name: list(zip(*(waits(*model) for _ in range(times)))) for name, model in MODELS.items()}
    rows = [
        line(name, cache, told[name][at]) for at, cache in enumerate(("empty", "full")) for name in MODELS
    ]
    limited = [row for row in rows if row["model"] in LIMITED and row["cache"] == "empty"]
    for row in limited:
        row |= {"limit s": LIMIT, "": "kept" if row["wait s"] <= LIMIT else "NOT KEPT"}
    side_by_side.table(rows)
    side_by_side.write("compile_time", rows, full=times == REPETITIONS)
    side_by_side.fail_where(
        [
            f"{row['model']}: import and first fit take {row['wait s']:.2f} s, more than {LIMIT:g} s"
            for row in limited
            if row["wait s"] > LIMIT
        ]
    )


if __name__ == "__main__":
    main()
