"""BLAS and OpenMP with one thread: sums over two threads differ in their last bits from sums over one."""

import sys
from contextlib import contextmanager
from threading import Lock

import scipy.linalg  # noqa: F401 — brings a BLAS of its own, which can be limited only once it is loaded
import sklearn.utils._openmp_helpers  # noqa: F401 — and scikit-learn its OpenMP
from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0
_before: list = []  # pairs (BLAS library, how many threads it had), in the order in which they were limited
_found: tuple[int, list] = (
    0,
    [],
)  # how many modules there were when libraries were last looked for, and the libraries


@contextmanager
def one_thread():
    """One thread for BLAS and OpenMP, for as long as anyone is inside.

    BLAS has one setting for the whole process, so fits in several Python threads share it: the first one in sets
    it, and the last one out puts it back. OpenMP has a setting for each thread, so each thread sets its own.
    """
    openmp = _limited(_enter(), "openmp")
    try:
        yield
    finally:
        _set(openmp)
        _leave()


def _enter():
    global _users, _found
    with _lock:
        more = (
            len(sys.modules) != _found[0]
        )  # an import may have brought another BLAS; to look for it takes 3 ms
        if more:
            _found = (len(sys.modules), ThreadpoolController().lib_controllers)
        if more or not _users:
            _before.extend(_limited(_found[1], "blas"))
        _users += 1
        return _found[1]


def _leave():
    global _users
    with _lock:
        _users -= 1
        if not _users:
            _set(_before[::-1])
            _before.clear()


def _limited(libraries, kind):
    """Limit the libraries of a kind to one thread; returns pairs (library, how many it had)."""
    before = [(library, library.num_threads) for library in libraries if library.user_api == kind]
    _set([(library, 1) for library, _ in before])
    return before


def _set(wanted):
    for library, n in wanted:
        # threadpoolctl ≥ 3.8 hears one Python thread at a time, and silently ignores the others.
        released = getattr(library, "clear_controlling_thread", lambda force: None)
        released(force=True)
        library.set_num_threads(n)
        released(force=True)
