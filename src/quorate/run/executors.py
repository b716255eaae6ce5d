"""Where jobs run. An executor owes `each(jobs, data)`: pairs (job, fitted member), in any order, as they are done.

A job draws its randomness from its key and computes with one thread, so every executor gives the same bits; `fit_job`
sees to the latter. When `each` is closed before its end, what has not begun is dropped.

A job inside a job (a committee of committees) runs in its parent's thread where others run beside it.
"""

from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral

import joblib
from sklearn import get_config

from quorate.run.job import among_others, fit_job

_chosen = ContextVar("quorate_executor", default=None)


@contextmanager
def on(where, n_jobs=None):
    """Fit committees `where`, whatever estimator asks: "here", "threads", "processes", a Dask client, or an executor.

    It holds for the Python thread that says so. Without `n_jobs`, threads and processes are as many as there are cores.

    >>> import quorate as q
    >>> with q.run.on("threads", n_jobs=2):
    ...     pass  # est.fit(X, y)
    """
    token = _chosen.set(_named(where, n_jobs))
    try:
        yield
    finally:
        _chosen.reset(token)


def executor(n_jobs=None):
    """The executor in force: beside other jobs the job's own thread, else what `on` chose, else `n_jobs` threads."""
    if among_others():
        return Here()
    if _chosen.get() is not None:
        return _chosen.get()
    n = workers(n_jobs)
    return Here() if n == 1 else Threads(n)


def workers(n_jobs):
    """How many at once, as scikit-learn counts: None is 1 (or joblib's context), −1 all cores, −2 all but one."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral)):
        raise TypeError(f"n_jobs must be a whole number or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use 1 for no parallelism, or -1 for all cores")
    return joblib.effective_n_jobs(n_jobs)


def _named(where, n_jobs):
    if isinstance(where, str) and where in ("here", "threads", "processes"):
        n = workers(-1 if n_jobs is None else n_jobs)
        return Here() if where == "here" else Threads(n) if where == "threads" else _processes(n)
    given = not isinstance(where, type)
    is_executor = given and hasattr(where, "each")
    is_client = given and hasattr(where, "submit") and hasattr(where, "scatter")
    if not (is_executor or is_client):
        raise ValueError(
            f'where must be "here", "threads", "processes", a Dask client or an executor, got {where!r}'
        )
    if n_jobs is not None:
        raise ValueError(
            f"n_jobs={n_jobs} is for threads and processes; {where!r} has its own number of workers"
        )
    return where if is_executor else _dask(where)


def _processes(n):
    from quorate.run.processes import Processes

    return Processes(n)


def _dask(client):
    from quorate.run.dask import Dask

    return Dask(client)


class Here:
    """One after the other, in this thread."""

    width = 1

    def each(self, jobs, data):
        """Pairs (job, fitted member) as they are done."""
        for job in jobs:
            yield job, fit_job(job, data)


class Threads:
    """On `n` threads of this process; the data is not copied."""

    def __init__(self, n):
        self.width = n
        self._idle: ThreadPoolExecutor | None = (
            None  # kept for the next round; its threads end with this object
        )

    def __getstate__(self):
        return {"width": self.width, "_idle": None}

    def each(self, jobs, data):
        """Pairs (job, fitted member) as they are done."""
        if min(self.width, len(jobs)) <= 1:
            yield from Here().each(jobs, data)  # a job alone may use threads itself
            return
        config, done, orderly = get_config(), False, True
        pool, self._idle = self._idle or ThreadPoolExecutor(self.width, thread_name_prefix="quorate"), None
        try:
            for job, future in as_done(
                lambda job: pool.submit(fit_job, job, data, config), deque(jobs), self.width
            ):
                yield job, future.result()
            done = True
        except GeneratorExit:
            raise
        except BaseException:
            orderly = False  # nobody who sees an error, or who pressed Ctrl-C, wants to wait for the others
            raise
        finally:
            if done:
                self._idle = pool
            else:
                pool.shutdown(wait=orderly, cancel_futures=True)


def as_done(submit, waiting, width):
    """Pairs (job, future) as they are done, from a deque of jobs.

    Few are under way at a time, so that there is little to drop or to repeat.
    """
    running: dict = {}
    while waiting or running:
        while waiting and len(running) < 2 * width:  # a worker that is done must not wait for the next
            job = waiting.popleft()
            running[submit(job)] = job
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future
