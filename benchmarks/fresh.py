"""Fresh interpreters: what the first calls cost there, when nothing has been compiled before."""

import json
import os
import subprocess
import sys
import tempfile

STEPS = ("import", "table", "fit", "answer", "answer of one row")
CALLS = """
import json, sys, time
model, asked, classes, dtype, rows = sys.argv[1:]
times = [time.perf_counter()]
lap = lambda: times.append(time.perf_counter())
import quorate as q
model = eval(model)
import numba  # else loaded by the first fit
lap()
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(int(rows), 10)).astype(dtype)
y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X))
y = np.digitize(y, np.quantile(y, np.arange(1, int(classes)) / int(classes))) if int(classes) else y
lap()
for _ in range(2):
    model.fit(X, y); lap()
    getattr(model, asked)(X); lap()
    getattr(model, asked)(X[:1]); lap()
print(json.dumps(np.diff(times).tolist()))
"""


def first_calls(
    model: str, cache: str, classes: int = 2, dtype: str = "float32", rows: int = 500
) -> dict[str, float]:
    """Seconds of the first steps in a new process, for a table of 10 columns, and of the later ones ("fit again" …).

    `model` is an expression; `cache` the folder where Numba keeps what it compiles; 0 classes are numbers.
    """
    asked = "predict_proba" if classes else "predict"
    command = [sys.executable, "-c", CALLS, model, asked, str(classes), dtype, str(rows)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"NUMBA_CACHE_DIR": cache}
    )
    if done.returncode:
        sys.exit(f"the first calls of {model} failed:\n{done.stderr}")
    return dict(zip((*STEPS, *(f"{step} again" for step in STEPS[2:])), json.loads(done.stdout)))


def compile_seconds(model: str, classes: int = 2, dtype: str = "float32", rows: int = 500) -> float:
    """What compilation adds to the first fit and the first answers."""
    with tempfile.TemporaryDirectory() as cache:
        told = first_calls(model, cache, classes, dtype, rows)
    return sum(told[step] - told[f"{step} again"] for step in STEPS[2:])
