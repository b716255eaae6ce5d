"""What every benchmark shares: alternating timings, an aligned table, a JSON file, the data."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("quorate", "numpy", "scipy", "scikit-learn", "joblib", "distributed")


def alternate(repetitions: int, **callables: Callable[[], object]) -> dict[str, float]:
    """The best seconds of each, taken in turns so that a noisy minute falls on all of them."""
    best = dict.fromkeys(callables, float("inf"))
    for _ in range(repetitions):
        for name, call in callables.items():
            best[name] = min(best[name], seconds(call))
    return best


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


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


def write(name: str, rows: list[dict]) -> Path:
    """Save rows as benchmarks/results/<name>.json beside what is needed to read them a year later."""
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
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
