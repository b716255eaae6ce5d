"""What bagging costs beyond its members: 50 scikit-learn trees by quorate and by scikit-learn, in the same run.

    python benchmarks/bagging_overhead.py

Wall time decides; CPU time (of this process and its children) stands beside it, because machines are shared. Fails
when fitting takes more than 1.1 times as long as scikit-learn's, or when accuracy is worse by more than .005.
"""

import sys
import time
from collections.abc import Callable

import psutil
import side_by_side
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

import quorate as q

LIMIT, WORSE = 1.1, 0.005
REPETITIONS = 4
TRAIN, TEST = 20_000, 10_000


class Timed:
    """A call that also keeps the least CPU seconds it took."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call, self.cpu, self.result = call, float("inf"), None

    def __call__(self) -> None:
        start = cpu_seconds()
        self.result = self.call()
        self.cpu = min(self.cpu, cpu_seconds() - start)


def cpu_seconds() -> float:
    """CPU time of this process and of the workers it has."""
    me = psutil.Process()
    others = sum(sum(child.cpu_times()[:2]) for child in me.children(recursive=True))
    return time.process_time() + others


def row(what: str, n_jobs: int, ours: Timed, peer: Timed) -> dict:
    """Both sides of one piece of work."""
    best = side_by_side.alternate(REPETITIONS, ours=ours, peer=peer)
    return {
        "work": what,
        "n_jobs": n_jobs,
        "quorate s": best["ours"],
        "sklearn s": best["peer"],
        "ratio": best["ours"] / best["peer"],
        "quorate cpu": ours.cpu,
        "sklearn cpu": peer.cpu,
        "cpu ratio": ours.cpu / peer.cpu,
        "compile": "n/a",
    }


def measure(n_jobs: int) -> list[dict]:
    """Fit and predict_proba, with accuracies on rows that neither saw."""
    X, y = make_classification(TRAIN + TEST, 20, n_informative=10, random_state=0)
    train, test = slice(None, TRAIN), slice(TRAIN, None)
    settings = {"n_estimators": 50, "n_jobs": n_jobs, "random_state": 0}
    ours = q.BaggingClassifier(DecisionTreeClassifier(), **settings)
    peer = BaggingClassifier(DecisionTreeClassifier(), **settings)
    fitting = [Timed(lambda model=model: model.fit(X[train], y[train])) for model in (ours, peer)]
    answering = [Timed(lambda model=model: model.predict_proba(X[test])) for model in (ours, peer)]
    rows = [row("fit", n_jobs, *fitting), row("predict_proba", n_jobs, *answering)]
    for each in rows:
        each |= {
            "quorate accuracy": ours.score(X[test], y[test]),
            "sklearn accuracy": peer.score(X[test], y[test]),
        }
    return rows


def main() -> None:
    rows = [row for n_jobs in (1, 2) for row in measure(n_jobs)]
    side_by_side.table(rows)
    side_by_side.write("bagging_overhead", rows)
    slow = [r for r in rows if r["work"] == "fit" and r["ratio"] > LIMIT]
    bad = [r for r in rows if r["quorate accuracy"] < r["sklearn accuracy"] - WORSE]
    for r in slow:
        print(f"fit with n_jobs={r['n_jobs']} takes {r['ratio']:.2f} times scikit-learn's, more than {LIMIT}")
    for r in bad[:1]:
        print(f"accuracy {r['quorate accuracy']:.4f}, scikit-learn's {r['sklearn accuracy']:.4f}")
    if slow or bad:
        sys.exit(1)


if __name__ == "__main__":
    main()
