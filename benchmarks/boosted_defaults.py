"""Default settings on fifteen open tables: ours beside LightGBM, XGBoost, CatBoost and scikit-learn's HGB.

    python benchmarks/boosted_defaults.py                  # all tables
    python benchmarks/boosted_defaults.py adult diamonds   # some of them
    python benchmarks/boosted_defaults.py --quick          # a trial: one split of at most 300 rows, 10 rounds

Log-loss of classes and RMSE of numbers, the mean over five folds, the same for all (stratified by class), or over the
first three of them where a table has more than 10 000 rows; of larger ones 25 000 are drawn once, so that 20 000 learn
and 5 000 are tested on. Everyone has the same data frame, with categories as such and missing values as they are
(CatBoost gets categories as texts, a missing one is "nan"), two threads, and otherwise what it comes with: ours,
LightGBM and HGB 100 rounds of 31 leaves at .1, HGB alone stopping early beyond 10 000 rows; XGBoost 100 of depth 6 at
.3; CatBoost 1000 of depth 6 at a rate of its own choice. No fnlwgt (a survey weight) in adult, no name, ticket or cabin
in titanic, no diamond twice, and the date of a flight as month, day, weekday and minute.

Target: our mean rank over the tables is first or second; all tables with a worse one is a failure. Seconds are those of
all fits, one after another, and only say how long this takes.
"""

import warnings
from functools import partial

import boosters
import numpy as np
import sets
import side_by_side
from scipy.stats import rankdata
from sklearn.model_selection import KFold, StratifiedKFold

QUICK, MOST, LARGE = 300, 25_000, 10_000
FOLDS, FEWER = 5, 3
QUICK_ROUNDS = 10
TABLES = {
    "adult": True,
    "credit_default_taiwan": True,
    "german_credit": True,
    "spambase": True,
    "titanic": True,
    "covertype_93k": True,
    "letter": True,
    "satellite": True,
    "soybean": True,
    "splice": True,
    "ames_housing": False,
    "california_housing": False,
    "diamonds": False,
    "flights_1m": False,
    "uci_protein": False,
}  # whether it has classes
BEST = 2  # the rank that the mean rank must have at least


def splits(X, y: np.ndarray, classes: bool, quick: bool):
    """The folds, as splits."""
    folder = (StratifiedKFold if classes else KFold)(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # few rows may have fewer of a class than there are folds
        folds = list(folder.split(X, y))
    for learn, test in folds[: 1 if quick else FEWER if len(y) > LARGE else FOLDS]:
        split = sets.Split(X.iloc[learn], y[learn], X.iloc[test], y[test])
        yield known(split) if classes else split


def known(split: sets.Split) -> sets.Split:
    """Without rows to test of a class that none learned from (in a trial), and no gaps in the classes' numbers."""
    names, y = np.unique(split.y, return_inverse=True)
    there = np.isin(split.y_test, names)
    return sets.Split(split.X, y, split.X_test[there], np.searchsorted(names, split.y_test[there]))


def judged(split: sets.Split, classes: bool, seed: int, quick: bool) -> dict[str, tuple[float, float]]:
    """{side: (loss, seconds)}."""
    told, judge = {}, sets.log_loss if classes else sets.rmse
    names = list(split.X.select_dtypes("category").columns)
    texts = sets.Split(boosters.texts(split.X), split.y, boosters.texts(split.X_test), split.y_test)
    for side, model in boosters.defaults(classes, names).items():
        seen = texts if side == "CatBoost" else split
        model.set_params(random_state=seed)
        if quick:
            model.set_params(**{"max_iter" if side == "sklearn HGB" else "n_estimators": QUICK_ROUNDS})
        taken = side_by_side.seconds(partial(model.fit, seen.X, seen.y))
        told[side] = judge(model, seen), taken
    return told


def line(name: str, X, y: np.ndarray, quick: bool) -> dict:
    """A row of the table: the mean loss of each side, our rank and how far we are from the best."""
    classes = TABLES[name]
    told = [judged(split, classes, seed, quick) for seed, split in enumerate(splits(X, y, classes, quick))]
    loss = {side: float(np.mean([one[side][0] for one in told])) for side in told[0]}
    return {
        "table": name,
        "rows": len(y),
        "columns": X.shape[1],
        "classes": len(np.unique(y)) if classes else None,
        "folds": len(told),
        "loss": "log-loss" if classes else "RMSE",
        **loss,
        "our rank": int(rankdata(list(loss.values()), "min")[0]),
        "ours / best": loss["quorate"] / min(loss.values()),
        "seconds": {side: sum(one[side][1] for one in told) for side in loss},
        "each": {side: [one[side][0] for one in told] for side in loss},
    }


def summary(rows: list[dict]) -> list[dict]:
    """The mean rank of each side, the geometric mean of its loss over the best one's, and its seconds."""
    sides = list(rows[0]["seconds"])
    loss = np.array([[row[side] for side in sides] for row in rows])
    told = {
        "mean rank": rankdata(loss, axis=1).mean(axis=0),
        "loss / best, geometric mean": np.exp(np.log(loss / loss.min(axis=1, keepdims=True)).mean(axis=0)),
        "seconds": np.array([[row["seconds"][side] for side in sides] for row in rows]).sum(axis=0),
    }
    return [{"table": what, **dict(zip(sides, values.tolist()))} for what, values in told.items()]


def place(ranks: dict) -> int:
    """1 if our mean rank is the best."""
    return 1 + sum(ranks[side] < ranks["quorate"] for side in ranks if side != "table")


def shown(row: dict) -> dict:
    return {key: value for key, value in row.items() if not isinstance(value, dict)}


def main() -> None:
    names, quick = side_by_side.works_asked(__doc__, list(TABLES))
    rows = []
    for name in names:
        told = sets.native(name, QUICK if quick else MOST)
        if told is not None:
            rows.append(line(name, *told, quick))
            print(
                f"{name}: rank {rows[-1]['our rank']}, {rows[-1]['ours / best']:.4f} of the best", flush=True
            )
    if not rows:
        return
    ends = summary(rows)
    ends[0]["our rank"] = place(ends[0])
    print()
    side_by_side.table([shown(row) for row in rows] + ends)
    whole = len(rows) == len(TABLES)
    topic = "boosted_defaults" if whole else "_".join(["boosted_defaults", *names])
    side_by_side.write(topic, rows + ends, full=not quick)
    if whole and not quick and ends[0]["our rank"] > BEST:
        side_by_side.fail_where([f"our mean rank is {ends[0]['quorate']:.2f}, place {ends[0]['our rank']}"])


if __name__ == "__main__":
    main()
