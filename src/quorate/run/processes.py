"""Jobs on processes: the data is written once to a file that every process maps, and a job is a few kilobytes."""

import mmap
import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
import warnings
import weakref
from collections import Counter, deque
from concurrent.futures import Future, wait
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path

import cloudpickle
from joblib.externals.loky import ProcessPoolExecutor, process_executor
from joblib.externals.loky.process_executor import BrokenProcessPool
from sklearn import get_config

from quorate.run.executors import as_done
from quorate.run.job import fit_job, name_job, packed_for, portable, unpacked

TRIES = 3  # how often a member may be under way when a process dies
IDLE = 300  # seconds after which a process without work ends
PATIENCE = 0.5  # seconds that processes are given to be done with work that is of no use any more
HANDOVER = (
    10  # seconds, at most, until loky's manager has sent what it was given: a guard, for a busy machine
)
WATCH = 1  # seconds between looks at whether the parent is there
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMBA")
}
_shown: dict = {}  # which warnings of members were shown already


class Processes:
    """On `n` processes (joblib's loky). A killed process costs the jobs under way: they are sent again."""

    def __init__(self, n):
        self.width = n
        self._sent: weakref.WeakKeyDictionary = (
            weakref.WeakKeyDictionary()
        )  # data → the folder it was written to

    def each(self, jobs, data):
        """Pairs (job, fitted member) as they are done."""
        folder = self._folder(data)
        left = {job.key: job for job in jobs}
        deaths: Counter = Counter()
        while left:
            under_way: dict = {}
            try:
                with closing(self._round(left.values(), folder, under_way)) as done:
                    for job, answer in done:
                        del left[job.key]
                        yield job, _answer(answer)
            except BrokenProcessPool as error:
                deaths.update(under_way.keys())
                killers = [job for job in under_way.values() if deaths[job.key] == TRIES]
                if killers:
                    name_job(error, *killers)
                    raise

    def _round(self, jobs, folder, under_way):
        """Pairs (job, packed answer) until all are done, or a process dies; `under_way` are then the jobs to blame."""
        waiting, config, died = deque(jobs), get_config(), None

        def submit(job):
            sent.append(_submitted(pool, folder, packed_for(job, (job, config))))
            if not sent[-1].done():
                under_way[job.key] = job
            return sent[-1]

        with _pool(self.width) as (pool, sent):
            for job, future in as_done(submit, waiting, self.width):
                if isinstance(future.exception(), BrokenProcessPool):
                    died = future.exception()
                    waiting.clear()  # but others that are done are still to come
                    continue
                under_way.pop(job.key, None)
                yield job, future.result()
            if died is not None:
                raise died

    def _folder(self, data):
        if data not in self._sent:
            folder = tempfile.mkdtemp(prefix="quorate-")
            weakref.finalize(data, shutil.rmtree, folder, ignore_errors=True)
            _write(data, Path(folder))
            self._sent[data] = folder
        return self._sent[data]


def _submitted(pool, *arguments):
    try:
        return pool.submit(_fit, *arguments)
    except BrokenProcessPool as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def _answer(path):
    """The member in an answer; the warnings that came with it are given here, where the user's filters are."""
    member, told = unpacked(Path(path).read_bytes())
    os.unlink(path)
    for message, category, filename, lineno in told:
        warnings.warn_explicit(message, category, filename, lineno, registry=_shown)
    return member


# Pools: one for each fit at a time, because a death breaks all of a pool; the last one is kept for the next fit.

_lock = threading.Lock()
_idle: tuple | None = None  # (process that may use it, number of workers, pool)


@contextmanager
def _pool(n):
    """A pool of n processes, and a list for the futures of what is sent to it."""
    pool = _taken(n) or _new_pool(n)
    sent: list[Future] = []
    free = False
    try:
        yield pool, sent
        free = True
    except (BrokenProcessPool, KeyboardInterrupt):
        raise
    except BaseException:
        free = not wait(sent, timeout=PATIENCE).not_done
        raise
    finally:
        if free:
            _kept(n, pool)
        else:
            _end(pool, sent)  # what its processes are at is of no use any more


def _new_pool(n):
    return ProcessPoolExecutor(n, timeout=IDLE, initializer=_begin, initargs=(os.getpid(),), env=ONE_THREAD)


def _end(pool, sent):
    """End the processes at once; loky's manager stumbles over jobs that it was given but has not sent yet."""
    latest = time.monotonic() + HANDOVER
    while time.monotonic() < latest and not all(future.running() or future.done() for future in sent):
        time.sleep(1e-3)
    pool.shutdown(wait=True, kill_workers=True)


def _taken(n):
    global _idle
    with _lock:
        if _idle is None or _idle[:2] != (os.getpid(), n):
            return None
        pool, _idle = _idle[2], None
        return pool


def _kept(n, pool):
    global _idle
    with _lock:
        former, _idle = _idle, (os.getpid(), n, pool)
    if former is not None and former[0] == os.getpid():
        former[2].shutdown(wait=False)


# In the process


def _begin(parent):
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the parent decides
    process_executor._USE_PSUTIL = False  # loky would take data that is mapped for the first time for a leak


def _end_with(parent):
    """End when the parent has ended, however it ended: who is killed can tell nobody."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(1)


def _fit(folder, blob):
    try:
        job, config = unpacked(blob)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            member = fit_job(job, _read(folder), config)
        told = [(w.message, w.category, w.filename, w.lineno) for w in caught]
        return _written(packed_for(job, (member, told)), folder)
    except BaseException as error:
        failure = portable(error)
    raise failure


def _written(answer, folder):
    """The path of a file with the answer. A process killed while it fills a pipe would stop its reader for ever."""
    file, path = tempfile.mkstemp(dir=folder)
    with open(file, "wb") as out:
        out.write(answer)
    return path


# The data: its arrays in one file to be mapped, read-only, and everything else pickled around them


def _write(data, folder):
    buffers: list = []
    places = []  # (first byte, size) of each array; arrays begin at multiples of 64 bytes
    head = cloudpickle.dumps(data, protocol=5, buffer_callback=buffers.append)
    with open(folder / "arrays", "wb") as file:
        for buffer in buffers:
            raw = buffer.raw()
            places.append((file.tell(), raw.nbytes))
            file.write(raw)
            file.write(bytes(-raw.nbytes % 64))
        file.write(b"\0")  # an empty file cannot be mapped
    (folder / "rest").write_bytes(pickle.dumps((head, places)))


@lru_cache(maxsize=1)
def _read(folder):
    head, places = pickle.loads((Path(folder) / "rest").read_bytes())
    with open(Path(folder) / "arrays", "rb") as file:
        arrays = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return pickle.loads(head, buffers=[arrays[start : start + size] for start, size in places])
