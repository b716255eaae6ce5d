"""Forests, extra-trees and bagged trees beside scikit-learn's: seconds to fit, and AUC on rows that neither saw.

    python benchmarks/forests.py            # "hundred": 100 000 rows × 30
    python benchmarks/forests.py --quick    # a trial of 3 000

Targets, in times scikit-learn's speed with the same two threads: forest of 100 full trees 15 (floor 10), 100
extra-trees 4, 20 bagged full trees that look at all columns 25. What we need to compile is apart. Every fit has another
seed, the AUC is the mean over them. Fails where ours is worse than scikit-learn's by more than .001; a missed target is
said and does not fail. A peer that takes longer than 20 s runs twice only.
"""

from dataclasses import dataclass

import fresh
import sets
import side_by_side
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import quorate as q

QUICK = 3_000
REPETITIONS, WORSE = 3, 0.001


@dataclass(frozen=True)
class Work:
    """One line of the table."""

    id: str
    name: str
    ours: str  # an expression, for a fresh process evaluates it, too
    peer: object
    target: float
    floor: float | None = None


WORKS = [
    Work(
        "P1",
        "forest, 100 full trees",
        "q.RandomForestClassifier(100, n_jobs=2)",
        RandomForestClassifier(100, n_jobs=2),
        15,
        10,
    ),
    Work(
        "P2",
        "extra-trees, 100",
        "q.ExtraTreesClassifier(100, n_jobs=2)",
        ExtraTreesClassifier(100, n_jobs=2),
        4,
    ),
    Work(
        "P3",
        "bagging, 20 full trees, all columns",
        "q.BaggingClassifier(q.TreeClassifier(), 20, n_jobs=2)",
        BaggingClassifier(DecisionTreeClassifier(), 20, n_jobs=2),
        25,
    ),
]


def measure(work: Work, split: sets.Split) -> dict:
    """Both sides of one piece of work."""
    model = eval(work.ours, {"q": q})
    model.fit(split.X[:500], split.y[:500])  # compiled before the clock runs
    ours, peer = sets.Fits(model, split), sets.Fits(work.peer, split)
    taken = side_by_side.in_turns(REPETITIONS, side_by_side.PATIENCE, ours=ours, peer=peer)
    best = {side: min(times) for side, times in taken.items()}
    ratio = best["peer"] / best["ours"]
    return {
        "id": work.id,
        "work": work.name,
        "quorate s": best["ours"],
        "sklearn s": best["peer"],
        "sklearn runs": len(taken["peer"]),
        "times faster": ratio,
        "target": work.target,
        "speed": side_by_side.verdict(ratio, work.target, work.floor),
        "quorate AUC": ours.auc(),
        "sklearn AUC": peer.auc(),
        "AUC allowed": -split.allowed(WORSE),
        "compile s": fresh.compile_seconds(work.ours),
    }


def main() -> None:
    n = side_by_side.size_asked(__doc__, sets.HUNDRED, QUICK)
    split = sets.hundred(n)
    rows = [measure(work, split) for work in WORKS]
    side_by_side.table(rows)
    side_by_side.write("forests", rows, full=n == sets.HUNDRED)
    side_by_side.fail_where(
        [
            f"{row['id']} {row['work']}: AUC {row['quorate AUC']:.4f}, scikit-learn's {row['sklearn AUC']:.4f}"
            for row in rows
            if row["quorate AUC"] < row["sklearn AUC"] + row["AUC allowed"]
        ]
    )


if __name__ == "__main__":
    main()
