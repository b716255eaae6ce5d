"""What every benchmark shares: its size, alternating timings, verdicts, an aligned table, a JSON file, the data."""

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    "quorate",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "joblib",
    "distributed",
    "lightgbm",
    "xgboost-cpu",
    "catboost",
    "ngboost",
)
PATIENCE = 20.0  # seconds, beyond which a peer runs twice only
REST = 0.1  # seconds between turns, in which waiting threads of the last one stop spinning


def size_asked(doc: str | None, full: int, quick: int, of: str = "rows") -> int:
    """How many rows the command line asks for: `full`, `quick` with --quick, or as many as --rows says."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(f"--{of}", dest="size", type=int, default=full, help=f"instead of {full}")
    parser.add_argument("--quick", dest="size", action="store_const", const=quick, help=f"{quick} {of}")
    return parser.parse_args().size


def works_asked(doc: str | None, names: list[str]) -> tuple[list[str], bool]:
    """(those of `names` that the command line lists, or all; whether it says --quick)."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", help=f"some of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    asked = parser.parse_args()
    unknown = [name for name in asked.works if name not in names]
    if unknown:
        parser.error(f"there is no {unknown[0]}; choose from {', '.join(names)}")
    return [name for name in names if name in (asked.works or names)], asked.quick


def alternate(repetitions: int, **callables: Callable[[], object]) -> dict[str, float]:
    """The best seconds of each, taken in turns so that a noisy minute falls on all of them."""
    return {name: min(taken) for name, taken in in_turns(repetitions, math.inf, **callables).items()}


def in_turns(repetitions: int, patience: float, **callables: Callable[[], object]) -> dict[str, list[float]]:
    """The seconds of every call, taken in turns; who took longer than `patience` has a second turn, and no third.

    The first is quorate, and has all its turns.
    """
    taken: dict[str, list[float]] = {name: [] for name in callables}
    ours = next(iter(callables))
    for turn in range(repetitions):
        for name, call in callables.items():
            if name == ours or turn < 2 or max(taken[name]) <= patience:
                time.sleep(REST)
                taken[name].append(seconds(call))
    return taken


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def verdict(value: float, target: float, floor: float | None = None) -> str:
    """What to say of a value that should be at least `target`, or else not below the floor."""
    if value >= target:
        return "met"
    return "missed" if floor is None or value < floor else "missed, above the floor"


def fail_where(worse: list[str]) -> None:
    """End with an error that lists what is worse than allowed, if anything is."""
    if worse:
        sys.exit("\n".join(["", "WORSE THAN ALLOWED", *worse]))


def table(rows: list[dict]) -> None:
    """Print rows as an aligned table: a column for each key, numbers to the right."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, *([_text(row.get(column)) for column in columns] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines)]
    right = [any(isinstance(row.get(column), int | float) for row in rows) for column in columns]
    for line in lines:
        cells = (cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right))
        print("  ".join(cells).rstrip())


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(name: str, rows: list[dict], full: bool = True) -> Path:
    """Save rows as benchmarks/results/<name>.json beside what is needed to read them a year later.

    What is not of full size is a trial, and has a file of its own.
    """
    path = ROOT / "benchmarks" / "results" / f"{name if full else f'{name}_trial'}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**_circumstances(), "rows": rows}, indent=2) + "\n", encoding="utf-8")
    return path


def _circumstances() -> dict:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "libraries": {library: _version(library) for library in LIBRARIES},
    }


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def data(name: str) -> Path:
    """Where a data file lies: data("adult") is adult.parquet in QUORATE_DATA, or in ../shared/data."""
    folder = Path(os.environ.get("QUORATE_DATA") or ROOT.parent / "shared" / "data")
    path = folder / (name if Path(name).suffix else f"{name}.parquet")
    if not path.exists():
        sys.exit(f"no {path.name} in {folder}: set QUORATE_DATA to the folder that holds the tables")
    return path
