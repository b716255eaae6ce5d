"""How long `import quorate` takes in a fresh interpreter, beside the libraries it leaves for later.

    python benchmarks/import_time.py

Fails when the best of ten is above .3 s, the target of this project.
"""

import statistics
import subprocess
import sys

import side_by_side

LIMIT = 0.3
REPETITIONS = 10
CLOCK = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def import_seconds(module: str) -> float:
    """Seconds of one import statement, without the interpreter's own start."""
    command = [sys.executable, "-c", CLOCK.format(module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(modules: list[str]) -> list[dict]:
    """Import each module in turn, once to warm the disk and then ten times."""
    taken = {module: [] for module in modules}
    for _ in range(1 + REPETITIONS):
        for module in modules:
            taken[module].append(import_seconds(module))
    return [
        {"import": module, "best s": min(times[1:]), "median s": statistics.median(times[1:])}
        for module, times in taken.items()
    ]


def main() -> None:
    rows = measure(["quorate", "numpy", "sklearn"])
    side_by_side.table(rows)
    side_by_side.write("import_time", rows)
    if rows[0]["best s"] > LIMIT:
        sys.exit(f"import quorate takes {rows[0]['best s']:.3f} s, more than {LIMIT} s")


if __name__ == "__main__":
    main()
