"""Resampling: the same member taught many samples of the same rows (bagging, random subspaces, Bayesian bootstrap).

| ask: training weights | tell | vote |
|---|---|---|
| how often each row was drawn, all members at once | keep | uniform |
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.dist import Mixture
from quorate.learn.loop import Data, Job, Scheme
from quorate.members import Columns, Member
from quorate.vote import uniform

COLUMNS = 2  # what a key draws beside weights and member
TRIES = 100


@dataclass(frozen=True)
class Bootstrap:
    """Rows drawn with replacement: `size` is their number, or a share of the rows."""

    size: float | int = 1.0
    stratified: bool = False

    def leaves_out(self, data):
        """Whether rows may be left out."""
        return True

    def __call__(self, data, rng):
        return _drawn(self, data, lambda slots, n, out: slots.with_replacement(n, rng, out))


@dataclass(frozen=True)
class Subsample:
    """Rows drawn without replacement."""

    size: float | int = 1.0
    stratified: bool = False

    def leaves_out(self, data):
        """Whether some rows are left out."""
        parts = data.class_slots if self.stratified else [data.slots]
        return any(_number(_share(self, data), len(slots)) < len(slots) for slots in parts)

    def __call__(self, data, rng):
        return _drawn(self, data, lambda slots, n, out: slots.without_replacement(n, rng, out))


@dataclass(frozen=True)
class All:
    """All rows, as they are."""

    def leaves_out(self, data):
        """Nobody is left out."""
        return False

    def __call__(self, data, rng):
        return np.ones(len(data)) if data.weight is None else data.weight


@dataclass(frozen=True)
class BayesianBootstrap:
    """Every row keeps a random weight r_i ~ Gamma(w_i, 1): a Dirichlet before it is normalised (Rubin, 1981)."""

    def leaves_out(self, data):
        """Nobody is left out."""
        return False

    def __call__(self, data, rng):
        out = np.zeros(len(data))
        data.slots.bayesian(rng, out)
        return out


@dataclass(frozen=True, eq=False)
class InProportion:
    """Rows drawn with replacement, each copy of a row as likely as its unit; those of unit 0 never.

    Where next to nothing but copies of one row can be drawn, of which nothing can be learned, all are alike.
    """

    units: np.ndarray

    def __call__(self, data, rng):
        for _ in range(TRIES):
            out = np.zeros(len(data))
            data.slots.in_proportion(self.units, rng, out)
            if data.copies_only or not data.are_copies(out > 0):
                return out
        out = np.zeros(len(data))
        data.slots.in_proportion((self.units > 0).astype(float), rng, out)
        return out


def _drawn(draw, data, pick):
    """A draw of several rows; where all are copies of one, of which nothing can be learned, it is drawn again."""
    n = _number(draw.size, len(data.slots))
    for _ in range(TRIES):
        out = _drawn_once(draw, data, n, pick)
        if n == 1 or data.copies_only or not data.are_copies(out > 0):
            break
    return out


def _drawn_once(draw, data, n, pick):
    """Draw from all slots, or from each class's apart, so that every sample has as much of a class as the data."""
    out = np.zeros(len(data))
    if not draw.stratified:
        pick(data.slots, n, out)
        return out
    for slots in data.class_slots:
        pick(slots, _number(_share(draw, data), len(slots)), out)
    return out


def _share(draw, data):
    """Which share of the rows is drawn."""
    return draw.size if isinstance(draw.size, float) else draw.size / len(data.slots)


def _number(size, n):
    """How many to draw of n."""
    return max(1, round(size * n)) if isinstance(size, float) else size


@dataclass(frozen=True)
class ResampleState:
    """The data and the members so far, in the order of their keys."""

    data: Data
    seats: tuple = ()

    @property
    def members(self):
        """The fitted members."""
        return [seat.member for seat in self.seats]


@dataclass(frozen=True)
class Resample(Scheme):
    """`n_members` copies of `member`, each taught its own draw of rows (and of columns)."""

    member: Member
    n_members: int
    draw: object
    n_columns: int | None = None  # None: all of them, in their order
    columns_again: bool = False  # whether a column may be drawn twice

    in_parts = True

    def start(self, data):
        return ResampleState(data)

    def done(self, state):
        return len(state.seats) >= self.n_members

    def ask(self, state):
        done = {seat.job.key for seat in state.seats}
        return [self._job(m, state.data) for m in range(self.n_members) if (m,) not in done]

    def _job(self, m, data):
        if self.n_columns is None:
            return Job((m,), self.member, self.draw)
        rng = data.rng(m, COLUMNS)
        columns = rng.choice(data.X.shape[1], self.n_columns, replace=self.columns_again)
        return Job((m,), Columns(self.member, np.sort(columns)), self.draw)

    def tell(self, state, seats):
        return replace(state, seats=tuple(sorted((*state.seats, *seats), key=lambda seat: seat.job.key)))

    def expected(self, state=None):
        return self.n_members - (0 if state is None else len(state.seats))

    def vote(self, state):
        return uniform(len(state.seats))


def out_of_bag(seats, data, classes=None):
    """The predictive of each row from the members that did not see it (nor a copy), and the rows that have any.

    Returns (rows, Mixture over those rows): the votes of members that saw a row are zero there.
    """
    unseen = np.stack([~data.shown(seat.job.draw(data)) for seat in seats], axis=1)
    rows = np.flatnonzero(unseen.any(axis=1))
    if not rows.size:
        return rows, None
    with np.errstate(divide="ignore"):
        log_w = np.log(unseen[rows].astype(float))
    parts = [seat.member.predict_dist(data.X[rows]) for seat in seats]
    return rows, Mixture(log_w, parts if classes is None else [part.recode(classes) for part in parts])
