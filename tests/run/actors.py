"""Members that tell what happens to them, for the tests of this folder; worker processes import them from here."""

import os
import threading
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import get_config
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info

from quorate.dist import Categorical
from quorate.learn import Bootstrap, Data, Job, Resample, learn
from quorate.members import as_member
from quorate.members.base import Fitted, Member
from quorate.run import Watch

TREE = as_member(DecisionTreeClassifier(max_depth=4))


def table(seed=0, n=300, **kwargs):
    X, y = make_classification(n, 8, random_state=seed)
    return Data(X, y, classes=np.array([0, 1]), seed=7, **kwargs)


def fit(executor, data, member=TREE, n=8, **watch):
    """The probabilities of a bagged committee, exactly."""
    return (
        learn(Resample(member, n, Bootstrap()), data, Watch(executor, **watch))[1].predict_dist(data.X).probs
    )


def jobs(members):
    return [Job((m,), member) for m, member in enumerate(members)]


def lines(path):
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


@dataclass(frozen=True)
class Said(Fitted):
    """What a member wants to tell; of rows it says that both classes are as likely."""

    what: object

    def predict_dist(self, X):
        return Categorical(np.full((len(X), 2), 0.5))


@dataclass(frozen=True)
class Logged(Member):
    """`member`, which writes its process into a log before it begins, and takes some time."""

    member: Member
    log: str
    seconds: float = 0.0

    def fit(self, X, y, sample_weight=None, rng=None):
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(self.seconds)
        return self.member.fit(X, y, sample_weight, rng)


@dataclass(frozen=True)
class Where(Member):
    """Tells its process, thread, BLAS and OpenMP threads and scikit-learn's settings."""

    def fit(self, X, y, sample_weight=None, rng=None):
        threads = {info["num_threads"] for info in threadpool_info()}
        return Said((os.getpid(), threading.get_ident(), threads, get_config()["assume_finite"]))


@dataclass(frozen=True)
class Nests(Member):
    """A committee of its own, which asks for two threads."""

    member: Member
    n_jobs: int = 2

    def fit(self, X, y, sample_weight=None, rng=None):
        from quorate.run import executor

        data = Data(X, y, classes=np.array([0, 1]), seed=int(rng.integers(1000)))
        where = executor(self.n_jobs)
        _, committee = learn(Resample(self.member, 3, Bootstrap()), data, Watch(where))
        inner = {m.what[:2] for m in committee.members if isinstance(m, Said)}
        return Said(((os.getpid(), threading.get_ident()), inner, type(where).__name__))


class Odd(Exception):
    """An error that cannot be pickled and read again: it wants two arguments and keeps one."""

    def __init__(self, what, row):
        super().__init__(f"{what} in row {row}")


@dataclass(frozen=True)
class Fails(Member):
    """Raises `error`."""

    error: BaseException

    def fit(self, X, y, sample_weight=None, rng=None):
        raise self.error


@dataclass(frozen=True)
class FailsOddly(Member):
    def fit(self, X, y, sample_weight=None, rng=None):
        raise Odd("too odd", 3)


@dataclass(frozen=True)
class Unreturnable(Member):
    """Learns something that cannot be sent back."""

    def fit(self, X, y, sample_weight=None, rng=None):
        return Said(threading.Lock())


@dataclass(frozen=True)
class Scribbles(Member):
    """Changes the data that others learn from."""

    def fit(self, X, y, sample_weight=None, rng=None):
        X[0, 0] = 0.0
        return Said(None)


@dataclass(frozen=True)
class Warns(Member):
    def fit(self, X, y, sample_weight=None, rng=None):
        warnings.warn("not quite there", ConvergenceWarning, stacklevel=1)
        return Said(None)


@dataclass(frozen=True)
class Dies(Member):
    """Takes its process with it."""

    def fit(self, X, y, sample_weight=None, rng=None):
        os._exit(3)


class Counted(np.ndarray):
    """An array that writes into a log whenever it is pickled: once for each time it is shipped."""

    def __reduce_ex__(self, protocol):
        with open(self.log, "a") as file:
            file.write("pickled\n")
        return np.asarray(self).__reduce_ex__(protocol)
