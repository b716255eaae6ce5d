"""The one loop. A scheme says what to fit next, with which weights, and what to make of it; the loop does the rest.

    state = scheme.start(data)
    while not scheme.done(state):
        jobs   = scheme.ask(state)             # [Job(key, unfitted member, weights), …]
        fitted = run.fit_each(jobs, data)      # here, on threads, processes or a cluster
        state  = scheme.tell(state, fitted)
    return Committee(state.members, scheme.vote(state))

Every scheme is two weightings: the training weights r_im that a member is fitted with (they travel in its job), and
the votes w_m(x). Randomness comes from the data's seed and the job's key, never from the order in which jobs run, so
the committee is the same wherever they run. What must not disturb the idea (time, progress, Ctrl-C, checkpoints) is
in `run`.
"""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse

from quorate.committee import Committee
from quorate.learn.content import Slots, hashes
from quorate.members import Fitted, Member

WEIGHTS, MEMBER = 0, 1  # what a job draws randomness for


def settled(values):
    """The array as it would arrive in another process: contiguous, so that sums have the same order everywhere, and
    read-only, so that no member changes what the next one learns from.
    """
    if sparse.issparse(values) and values.format in ("csr", "csc"):
        values = values if values.has_sorted_indices else values.sorted_indices()
        parts = tuple(settled(part) for part in (values.data, values.indices, values.indptr))
        return type(values)(parts, shape=values.shape, copy=False)
    if not isinstance(values, np.ndarray):
        return values
    flat = values.flags.c_contiguous or values.flags.f_contiguous
    values = (values if flat else np.ascontiguousarray(values)).view(np.ndarray)
    values.flags.writeable = False
    return values


@dataclass(frozen=True, eq=False)
class Data:
    """What is learned from: rows X, answers y (numbers, or codes of `classes`), weights, and the root of randomness.

    `rows` are the places of the rows in what was given, where some were left out because they weigh nothing. `groups`
    are codes 0, 1, … of rows that belong together, such as the measurements of one patient.
    """

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    classes: Any = None
    seed: int = 0
    rows: np.ndarray | None = None
    groups: np.ndarray | None = None
    _prepared: Any = field(default=None, init=False, repr=False)

    def __post_init__(self):
        for name in ("X", "y", "weight", "groups"):
            object.__setattr__(self, name, settled(getattr(self, name)))
        object.__setattr__(self, "_prepared", ({}, Lock()))

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_prepared"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__post_init__()  # what was read-only is not always so where it arrives

    def __len__(self):
        return len(self.y)

    @cached_property
    def copies_only(self):
        """Whether there is but one row, and copies of it."""
        return self.are_copies(slice(None))

    def are_copies(self, rows):
        """Whether these rows are copies of one row."""
        h = self._hashes[rows]
        return bool(np.all(h == h[:1]))

    @cached_property
    def slots(self):
        """The rows as slots to draw from."""
        return Slots(np.arange(len(self)), self._hashes, self.weight)

    @cached_property
    def class_slots(self):
        """The slots of each class apart."""
        rows = (np.flatnonzero(self.y == code) for code in range(len(self.classes)))
        return [Slots(mine, self._hashes, self.weight) for mine in rows]

    @cached_property
    def _hashes(self):
        return hashes(self.X, self.y)

    @property
    def row_hashes(self):
        """A number for each row that only its content decides."""
        return self._hashes

    @cached_property
    def _twins(self):
        return np.unique(self._hashes, return_inverse=True)[1]

    def shown(self, weights):
        """Whether a member taught with these weights has seen each row, or a copy of it."""
        return np.bincount(self._twins, weights)[self._twins] > 0

    @property
    def digest(self):
        """What tells these rows and weights from others, in whatever order they come."""
        order = np.argsort(self._hashes, kind="stable")
        told = hashlib.sha256(self._hashes[order].tobytes())
        for values in (self.weight, self.groups):
            told.update(b"" if values is None else values[order].tobytes())
        return told.hexdigest()

    def prepared(self, member):
        """X as the member wants it, prepared once for all members of the same preparation."""
        if member.preparation is None:
            return self.X
        known, lock = self._prepared
        with lock:
            if member.preparation not in known:
                known[member.preparation] = member.prepare(self.X, self.weight)
            return known[member.preparation]

    def rng(self, *key):
        """The Generator of a key."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True, eq=False)
class Job:
    """Fit `member` with `weights`: None (the data's own), an array, or a function of (data, rng) that draws them.

    A function is drawn where the job runs, so that a job stays small, and can be drawn again from its key. `rows`
    leaves the other rows out altogether, for members that take no weights.
    """

    key: tuple
    member: Member
    weights: object = None
    rows: np.ndarray | None = None

    def draw(self, data):
        """The training weights r_i of this job."""
        if callable(self.weights):
            return self.weights(data, data.rng(*self.key, WEIGHTS))
        return data.weight if self.weights is None else self.weights

    def fit(self, data):
        """The fitted member."""
        X, y, weights = data.X, data.y, self.draw(data)
        if self.rows is not None:
            X, y, weights = X[self.rows], y[self.rows], None if weights is None else weights[self.rows]
        else:
            X = data.prepared(self.member)
        return self.member.fit(X, y, weights, data.rng(*self.key, MEMBER))


@dataclass(frozen=True)
class Seat:
    """A fitted member and the job it comes from."""

    job: Job
    member: Fitted


class Scheme(ABC):
    """A way to choose members and votes. States are replaced, not changed."""

    in_parts = (
        False  # True where `tell` can use some of the jobs it asked for (after Ctrl-C or a spent budget)
    )

    rule = "mixture"  # how the committee adds up what its members say

    @abstractmethod
    def start(self, data):
        """The first state."""

    @abstractmethod
    def done(self, state):
        """Whether nothing is left to ask."""

    @abstractmethod
    def ask(self, state):
        """The jobs to fit next."""

    @abstractmethod
    def tell(self, state, seats):
        """The state after these jobs were fitted."""

    def expected(self, state=None):
        """How many jobs are still to come at most, None where nobody knows; for progress bars."""
        return None

    @abstractmethod
    def vote(self, state):
        """The Vote over `state.members`."""


def learn(scheme, data, run, state=None):
    """Run the loop; `state` continues an earlier one. Returns (state, committee)."""
    with run:
        state = scheme.start(data) if state is None else state
        while not (scheme.done(state) or run.stopped):
            with run.turn(state):
                jobs = scheme.ask(state)
                fitted = run.fit_each(jobs, data, scheme.in_parts)
                seats = [Seat(job, fitted[job.key]) for job in jobs if job.key in fitted]
                if len(seats) == len(jobs) or (seats and scheme.in_parts):
                    state = scheme.tell(state, seats)
        run.finish(early=not scheme.done(state))
        return state, committee(scheme, state, data)


def committee(scheme, state, data):
    """The formula, as far as a state goes."""
    return Committee(tuple(state.members), scheme.vote(state), data.classes, rule=scheme.rule)
