"""Boosting of whole distributions beside NGBoost: seconds to fit, and −log p(y) of rows that neither saw.

    python benchmarks/distributional.py             # all works
    python benchmarks/distributional.py P6          # the one with a target
    python benchmarks/distributional.py --quick     # a trial on 600 rows of each, and 20 rounds

P6: a Normal, 200 rounds, 35 000 rows of uci_protein × 9, the other 10 730 to test. Also, with 100 rounds, a LogNormal
of diamonds' prices, a Laplace of California's house values and a Poisson of claims (a fifth to test; categories are
numbers, as NGBoost takes only those).

NGBoost has its defaults but for the rounds: the log score, natural gradient, learning rate .01, all rows and columns
each round, a line search, and for each parameter a tree of depth 3 with leaves of one row or more. It knows one thread.
Ours has its defaults too: learning rate .1, trees of up to 16 leaves of 20 rows that move all parameters; two threads.
P6 also shows ours on one thread, ours with trees of depth 3, and NGBoost at our learning rate.

Target of P6: 40 times NGBoost's speed; a missed one is said and does not fail. Fails where our −log p is higher than
that of the better NGBoost by three standard errors of the difference between rows. Who takes longer than 20 s runs
twice only. What we need to compile, the same for all families, is
apart, and not looked at in a trial.
"""

from dataclasses import dataclass

import fresh
import numpy as np
import sets
import side_by_side
from ngboost import NGBRegressor
from ngboost.distns import Laplace, LogNormal, Normal, Poisson

import quorate as q

QUICK, QUICK_ROUNDS = 600, 20
REPETITIONS, STANDARD_ERRORS = 3, 3
THEIRS = {"normal": Normal, "log_normal": LogNormal, "laplace": Laplace, "poisson": Poisson}


@dataclass(frozen=True)
class Work:
    """A family, the table it is of, how many rounds, how many rows at most, and how many of them to learn from."""

    family: str
    table: str
    rounds: int = 100
    most: int = 100_000
    train: int | None = None
    target: float | None = None


WORKS = {
    "P6": Work("normal", "uci_protein", 200, train=35_000, target=40),
    "log_normal": Work("log_normal", "diamonds"),
    "laplace": Work("laplace", "california_housing"),
    "poisson": Work("poisson", "fremtpl2_freq"),
}


def numbers(work: Work, quick: bool) -> sets.Split | None:
    """The table as numbers, a category its place in their order."""
    told = sets.native(work.table, QUICK if quick else work.most)
    if told is None:
        return None
    X, y = told
    columns = [X[name].cat.codes if X[name].dtype == "category" else X[name] for name in X]
    return sets.fifth(np.column_stack(columns).astype(np.float32), y, None if quick else work.train)


def sides(work: Work, rounds: int) -> dict:
    """{name: estimator}, ours first."""
    ours = {"family": work.family, "n_estimators": rounds}
    theirs = {"Dist": THEIRS[work.family], "n_estimators": rounds, "verbose": False}
    told = {"quorate": q.DistributionalRegressor(**ours, n_jobs=2), "NGBoost": NGBRegressor(**theirs)}
    if work.target is None:
        return told
    return told | {
        "quorate, one thread": q.DistributionalRegressor(**ours),
        "quorate, depth 3": q.DistributionalRegressor(**ours, max_depth=3, n_jobs=2),
        "NGBoost, rate .1": NGBRegressor(**theirs, learning_rate=0.1),
    }


def nats(model, split: sets.Split) -> np.ndarray:
    """−log p(y) of each row to test."""
    if isinstance(model, NGBRegressor):
        law = model.pred_dist(split.X_test).dist
        return -(law.logpmf if hasattr(law, "logpmf") else law.logpdf)(split.y_test)
    return -model.predict_dist(split.X_test).log_prob(split.y_test)


def over(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """(by how much ours is higher on average, its standard error)."""
    apart = ours - theirs
    return float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart)))


def measure(name: str, work: Work, split: sets.Split, quick: bool) -> list[dict]:
    """A line for each side."""
    models = sides(work, QUICK_ROUNDS if quick else work.rounds)
    fits = {side: sets.Fits(model, split) for side, model in models.items()}
    q.DistributionalRegressor(work.family, n_estimators=2).fit(split.X[:500], split.y[:500])  # compiled
    taken = side_by_side.in_turns(REPETITIONS, side_by_side.PATIENCE, **fits)
    best = {side: min(times) for side, times in taken.items()}
    lost = {side: told.mean(nats) for side, told in fits.items()}
    rows = [
        {
            "work": name,
            "family": work.family,
            "table": work.table,
            "rows": len(split.y),
            "rounds": models[side].n_estimators,
            "side": side,
            "s": best[side],
            "runs": len(taken[side]),
            "times faster": best[side] / best["quorate"],
            "NLL": float(lost[side].mean()),
        }
        for side in models
    ]
    rows[0] |= standing(work, best["NGBoost"] / best["quorate"], lost)
    if work.target and not quick:
        rows[0]["compile s"] = fresh.compile_seconds(f"q.DistributionalRegressor({work.family!r})", 0)
    return rows


def standing(work: Work, ratio: float, lost: dict[str, np.ndarray]) -> dict:
    """What is said of ours: its speed, and how its −log p stands to that of the better NGBoost."""
    better = min((side for side in lost if side.startswith("NGBoost")), key=lambda side: lost[side].mean())
    apart, se = over(lost["quorate"], lost[better])
    said = {} if work.target is None else {"speed": side_by_side.verdict(ratio, work.target)}
    return {
        "than NGBoost": ratio,
        "target": work.target,
        **said,
        "NLL over better": apart,
        "its SE": se,
        "NLL is": "WORSE" if apart > STANDARD_ERRORS * se else "no worse",
    }


def main() -> None:
    names, quick = side_by_side.works_asked(__doc__, list(WORKS))
    rows = []
    for name in names:
        split = numbers(WORKS[name], quick)
        if split is not None:
            told = measure(name, WORKS[name], split, quick)
            side_by_side.table(told)
            print(flush=True)
            rows += told
    topic = "distributional" if len(names) == len(WORKS) else "_".join(["distributional", *names])
    side_by_side.write(topic, rows, full=not quick)
    side_by_side.fail_where(
        [
            f"{row['work']}: NLL {row['NLL']:.4f} is {row['NLL over better']:.4f} over NGBoost's"
            for row in rows
            if row.get("NLL is") == "WORSE"
        ]
    )


if __name__ == "__main__":
    main()
