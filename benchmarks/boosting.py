"""Gradient boosting beside LightGBM, XGBoost and scikit-learn: seconds to fit, and the loss on rows that none saw.

    python benchmarks/boosting.py                    # all works
    python benchmarks/boosting.py hundred million    # some of them
    python benchmarks/boosting.py --quick            # a trial on 3 000 rows of each, one turn of 20 rounds

100 rounds of 31 leaves at a learning rate of .1, two threads each: LightGBM as it comes and with use_quantized_grad,
XGBoost (hist, lossguide, max_leaves 31, max_depth 0), and scikit-learn's HistGradientBoosting without early stopping.
hundred and million (two classes) are arrays; the open tables are data frames whose categories each side takes as such,
from their dtype, and any conversion counts: covertype_93k (7 classes), letter (26), flights_1m (its date as month, day,
weekday and minute) and diamonds (no row twice), a fixed random fifth of each to test. "as arrays" is ours alone, with
categories that are numbers already, for what the conversion takes. All take turns, each turn has another seed, the
least seconds count, and the loss is the mean over the turns. What we need to compile is apart, and left out of a trial.

Target: twice the speed of the fastest peer (floor 1.5 for million, 1.2 for hundred); a missed one is said and does not
fail. Fails where our loss is worse than the best peer's by more than .5%, or, with less than 20 000 rows to test, by
more than as many can tell; a trial, whose few rounds compare nothing, does not fail.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import boosters
import fresh
import sets
import side_by_side
from sklearn.base import clone

QUICK, QUICK_ROUNDS = 3_000, 20
TARGET, WORSE = 2.0, 0.005
COMPILED_ON = 50_000  # rows, at most: slopes of many rows have kernels of their own
FEW_ROUNDS = 2  # that compile


@dataclass(frozen=True)
class Work:
    """One piece of work: a set of at most so many rows, how many classes there are, and how many turns."""

    split: Callable[[int], sets.Split | None]
    rows: int
    classes: int = 2  # 0 are numbers
    turns: int = 3
    floor: float | None = None


def table(name: str, most: int) -> sets.Split | None:
    """An open table."""
    told = sets.native(name, most)
    return None if told is None else sets.fifth(*told)


WORKS = {
    "hundred": Work(sets.hundred, sets.HUNDRED, turns=5, floor=1.2),
    "million": Work(sets.million, sets.MILLION, floor=1.5),
    "covertype_93k": Work(partial(table, "covertype_93k"), 92_962, 7),
    "letter": Work(partial(table, "letter"), 20_000, 26),
    "flights_1m": Work(partial(table, "flights_1m"), 1_000_000, 0),
    "diamonds": Work(partial(table, "diamonds"), 53_940, 0, turns=5),
}


def as_arrays(split: sets.Split) -> tuple[sets.Split, list[int]]:
    """(the same as arrays of numbers, which columns hold categories)."""
    names = split.X.select_dtypes("category").columns
    X, X_test = (
        part.assign(**{name: part[name].cat.codes.astype("float32") for name in names})
        for part in (split.X, split.X_test)
    )
    places = [split.X.columns.get_loc(name) for name in names]
    return sets.Split(X.to_numpy("float32"), split.y, X_test.to_numpy("float32"), split.y_test), places


def fits(work: Work, split: sets.Split, rounds: int) -> dict[str, sets.Fits]:
    """Every side, ours first and compiled."""
    classes, frame = work.classes > 0, hasattr(split.X, "columns")
    ours = boosters.ours(classes, frame, rounds)
    told = {"quorate": sets.Fits(ours, split)}
    if frame and len(split.X.select_dtypes("category").columns):
        numbers, places = as_arrays(split)
        told["quorate, as arrays"] = sets.Fits(clone(ours).set_params(categorical_features=places), numbers)
    for side in told.values():
        clone(side.estimator).set_params(n_estimators=FEW_ROUNDS).fit(side.split.X, side.split.y)
    return told | {
        name: sets.Fits(peer, split) for name, peer in boosters.alike(classes, frame, rounds).items()
    }


def measure(name: str, work: Work, split: sets.Split, quick: bool) -> list[dict]:
    """A line for each side."""
    sides = fits(work, split, QUICK_ROUNDS if quick else boosters.ROUNDS)
    taken = side_by_side.in_turns(1 if quick else work.turns, math.inf, **sides)
    best = {side: min(times) for side, times in taken.items()}
    loss = {
        side: float(told.mean(sets.log_loss if work.classes else sets.rmse)) for side, told in sides.items()
    }
    peers = [side for side in sides if not side.startswith("quorate")]
    least = min(loss[side] for side in peers)
    rows = [
        {
            "work": name,
            "rows": len(split.y),
            "side": side,
            "s": best[side],
            "times faster": best[side] / best["quorate"],
            "loss": "log-loss" if work.classes else "RMSE",
            "on test rows": loss[side],
            "% over best peer": 100 * (loss[side] / least - 1),
        }
        for side in sides
    ]
    fastest = min(peers, key=best.__getitem__)
    rows[0] |= standing(work, best[fastest] / best["quorate"]) | {
        "fastest peer": fastest,
        "% allowed": 100 * max(WORSE, split.allowed(WORSE)),
        "compile s": None if quick else compile_seconds(work, len(split.y)),
    }
    return rows


def standing(work: Work, ratio: float) -> dict:
    """What is said of how much faster ours is."""
    said = side_by_side.verdict(ratio, TARGET, work.floor)
    return {"than fastest": ratio, "target": TARGET, "floor": work.floor, "speed": said}


def compile_seconds(work: Work, rows: int) -> float:
    """What compilation adds to the first fit and answers, of as many rows."""
    return fresh.compile_seconds(
        boosters.expression(work.classes > 0, FEW_ROUNDS), work.classes, rows=min(rows, COMPILED_ON)
    )


def main() -> None:
    names, quick = side_by_side.works_asked(__doc__, list(WORKS))
    rows = []
    for name in names:
        work = WORKS[name]
        split = work.split(QUICK if quick else work.rows)
        if split is not None:
            told = measure(name, work, split, quick)
            side_by_side.table(told)
            print(flush=True)
            rows += told
    topic = "boosting" if len(names) == len(WORKS) else "_".join(["boosting", *names])
    side_by_side.write(topic, rows, full=not quick)
    if quick:
        return
    side_by_side.fail_where(
        [
            f"{row['work']}: {row['loss']} {row['on test rows']:.4g} is {row['% over best peer']:.2f}% over the "
            f"best peer's"
            for row in rows
            if row["side"] == "quorate" and row["% over best peer"] > row["% allowed"]
        ]
    )


if __name__ == "__main__":
    main()
