"""One job, wherever it runs: one thread for its sums, the settings of who asked for it, errors that name it."""

import pickle
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

import cloudpickle
import joblib
from sklearn import config_context

from quorate.run.one_thread import one_thread

HERE, AMONG_OTHERS = "here", "among others"
_where = ContextVar("quorate_where_a_job_runs", default=None)


def in_job():
    """Whether this code runs inside a job: what it fits is part of a larger fit."""
    return _where.get() is not None


def among_others():
    """Whether this code runs inside a job beside which others run, so that it should keep to its one thread."""
    return _where.get() == AMONG_OTHERS


def fit_job(job, data, config=None):
    """The fitted member of a job; `config` is scikit-learn's, given where other jobs run at the same time."""
    with ExitStack() as around:
        around.enter_context(one_thread())
        around.enter_context(_inside(HERE if config is None else AMONG_OTHERS))
        if config is not None:
            around.enter_context(config_context(**config))
            around.enter_context(
                joblib.parallel_config("sequential")
            )  # for members that have n_jobs themselves
        try:
            return job.fit(data)
        except Exception as error:
            name_job(error, job)
            raise


def name_job(error, *jobs):
    """Add to the error which members it is about."""
    said = ", ".join(f"{job.key} ({_short(job.member)})" for job in jobs)
    error.add_note(f"while fitting member{'s' * (len(jobs) > 1)} {said}")


def _short(member):
    said = " ".join(repr(member).split())
    return said if len(said) < 200 else said[:180] + "…"


@contextmanager
def _inside(where):
    token = _where.set(where)
    try:
        yield
    finally:
        _where.reset(token)


# Between processes


def packed(value):
    """The bytes of a value; classes and functions of a script or notebook travel by value."""
    return cloudpickle.dumps(value)


def packed_for(job, value):
    """The bytes of a value; the error names the job where there are none."""
    try:
        return packed(value)
    except Exception as error:
        name_job(error, job)
        raise


def unpacked(blob):
    """The value of `packed` bytes."""
    return pickle.loads(blob)


def portable(error):
    """The error, or a RuntimeError that says the same where the error cannot be pickled and read again."""
    try:
        unpacked(packed(error))
    except Exception:
        copy = RuntimeError(f"{type(error).__name__}: {error}")
        for note in getattr(error, "__notes__", ()):
            copy.add_note(note)
        return copy
    return error
