"""How time and memory grow from 10⁴ to 10⁶ rows of 30 columns: a forest, a tree, AdaBoost of stumps, boosting.

    python benchmarks/growth.py            # 10 000, 100 000 and 1 000 000 rows
    python benchmarks/growth.py --quick    # a trial of 50, 500 and 5 000

Targets: seconds per 100 000 rows stay what they are (full trees need log n levels more), and the working memory, which
is the peak less the interpreter, the table and the fitted model, is at most the table as float32. Each fit has a
process of its own, which has loaded the table and fitted a few rows (so everything is compiled) before its peak is set
to what it holds; the least of three times is shown, and the most memory. The model's size is that of its pickle. There
is no peer, so only these targets are told, and nothing fails. Boosting's slopes are
quantised for any number of rows, as they are for many anyway, so that the few rows compile what all sizes run. Linux
only: the peak is that of /proc/self.
"""

import json
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import side_by_side

FULL, QUICK, REPETITIONS = 1_000_000, 5_000, 3
MODELS = {
    "forest, 20 trees": "q.RandomForestClassifier(20, n_jobs=2, random_state=0)",
    "one tree": "q.TreeClassifier(random_state=0)",
    "AdaBoost, 20 stumps": "q.AdaBoostClassifier(q.TreeClassifier(max_depth=1), 20, n_jobs=2, random_state=0)",
    "boosting, 50 rounds": "q.BoostedClassifier(50, gradients='quantised', n_jobs=2, random_state=0)",
}


def megabytes(what: str) -> float:
    """VmRSS, what this process holds, or VmHWM, its peak (ru_maxrss counts what its parent had, too)."""
    told = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert told
    return int(told[1]) / 1024


def measure(model: str, folder: str) -> dict:
    """One fit, in this process."""
    import quorate as q

    model = eval(model, {"q": q})
    X, y = (np.load(Path(folder, f"{name}.npy")) for name in "Xy")
    model.fit(X[:500], y[:500])
    before = megabytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    taken = side_by_side.seconds(lambda: model.fit(X, y))
    return {
        "fit s": taken,
        "peak MB": megabytes("VmHWM") - before,
        "model MB": len(pickle.dumps(model)) / 2**20,
    }


def tables(rows: int, folder: str) -> None:
    """Write the table, in a process that keeps no memory of it."""
    import sets

    split = sets.million(rows)
    np.save(Path(folder, "X.npy"), split.X)
    np.save(Path(folder, "y.npy"), split.y)


def alone(*arguments: str) -> str:
    """What this script says in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def grown(name: str, rows: int, folder: str) -> dict:
    """A line of the table."""
    runs = [json.loads(alone("measure", MODELS[name], folder)) for _ in range(REPETITIONS)]
    taken, peak, model = min(r["fit s"] for r in runs), max(r["peak MB"] for r in runs), runs[0]["model MB"]
    table = Path(folder, "X.npy").stat().st_size / 2**20
    working = max(peak - model, 0.0)
    return {
        "model": name,
        "rows": rows,
        "fit s": taken,
        "s per 100 000 rows": taken * 1e5 / rows,
        "table MB": table,
        "model MB": model,
        "peak MB": peak,
        "working MB": working,
        "working / table": working / table,
        "memory": side_by_side.verdict(-working, -table),
    }


def growth(rows: list[dict]) -> list[dict]:
    """With each line, how often the last size's seconds and megabytes it took, beside how many times the rows."""
    earlier: dict[str, dict] = {}
    for row in rows:
        last = earlier.get(row["model"])
        if last:
            row["× rows"] = row["rows"] / last["rows"]
            row["× s"] = row["fit s"] / last["fit s"]
            row["× peak"] = row["peak MB"] / last["peak MB"] if last["peak MB"] >= 1 else None
        earlier[row["model"]] = row
    return rows


def main() -> None:
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(*sys.argv[2:])))
        return
    if sys.argv[1:2] == ["tables"]:
        tables(int(sys.argv[2]), sys.argv[3])
        return
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("skipped: there is no /proc/self/clear_refs here to measure a peak with")
    most = side_by_side.size_asked(__doc__, FULL, QUICK)
    rows = []
    for n in (most // 100, most // 10, most):
        with tempfile.TemporaryDirectory() as folder:
            alone("tables", str(n), folder)
            rows += [grown(name, n, folder) for name in MODELS]
    rows = growth(sorted(rows, key=lambda row: list(MODELS).index(row["model"])))
    side_by_side.table(rows)
    side_by_side.write("growth", rows, full=most == FULL)


if __name__ == "__main__":
    main()
