"""Boosting: round after round, a tree down the slopes of a loss (Friedman, 2001).

| ask: training weights | tell | vote |
|---|---|---|
| those of the data; 0 for rows that judge, or that a chain leaves out | more trees | one member: their sum |

Some rounds are a job. Beside the chain of rounds that is the model, others may leave a fold of the rows out each: what
they say of it are the residuals that the predictive is made of. With early stopping, rows are set aside that judge
after each round; the best round is kept, and it is those rows whose residuals are used.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from quorate.dist import NegativeBinomial, Poisson
from quorate.dist.bandwidth import kernel_bandwidth, smallest_gap
from quorate.learn.content import folds, set_aside
from quorate.learn.loop import Data, Job, Scheme
from quorate.members import Member
from quorate.members.bins import binned
from quorate.members.boosted import Boosted, OfCounts, OfResiduals, place
from quorate.members.growth import Growth
from quorate.members.losses import Loss
from quorate.members.rounds import Rounds
from quorate.run.job import among_others
from quorate.vote import uniform

BLOCK = 20  # rounds of a job
FOLDS, MANY = 5, 2000  # folds to learn residuals from; rows beyond which one is enough
SEED = 5  # what a key draws
SHARE = 1e-6  # of the spread of y, that a scale is not below


@dataclass(frozen=True)
class Stopping:
    """Early stopping: the loss on `share` of the rows, or on those that are given last, must fall within `patience`
    rounds by `tol` of itself.
    """

    patience: int
    tol: float
    share: float
    given: int = 0


@dataclass(frozen=True, eq=False)
class Course:
    """What came of a chain of rounds so far: the model, and the loss on the rows that judge after each round."""

    model: Boosted
    judged: tuple = ()
    ended: bool = False

    @property
    def best(self):
        """How many rounds were best."""
        return 1 + int(np.argmin(self.judged)) if self.judged else self.model.n_rounds


@dataclass(frozen=True, eq=False)
class More(Member):
    """Up to `n_rounds` more rounds after a course.

    `live` holds all scores as they are after it; where it is empty, or has gone on since, the trees find them again.
    """

    growth: Growth
    loss: Loss
    n_rounds: int
    stopping: Stopping | None
    categorical: tuple
    class_weight: tuple
    judges: tuple | None  # (rows that judge, their weights or None)
    slots: Any
    seed: int
    threads: int
    so_far: Course | None
    live: dict = field(default_factory=dict, repr=False)

    @property
    def preparation(self):
        """Bins, shared with all that want the same."""
        return ("bins", self.categorical)

    def prepare(self, X, sample_weight=None):
        return binned(X, sample_weight, self.categorical, self.threads)

    def __getstate__(self):
        return {**vars(self), "live": {}}

    def __setstate__(self, state):
        vars(self).update(state)

    def fit(self, X, y, sample_weight=None, rng=None):
        """The course that follows."""
        so_far = self._begun(X, y, sample_weight) if self.so_far is None else self.so_far
        _same_categories(so_far.model.codes, X.codes)
        rounds = self._live(X, so_far) or self._rounds(X, y, sample_weight, so_far)
        trees: list = []
        judged, ended = list(so_far.judged), False
        with rounds.at_work():
            while not ended and len(trees) < self.n_rounds * rounds.groups:
                trees += rounds.round()
                if self.judges is not None:
                    rows, w = self.judges
                    judged.append(self.loss.mean_risk(rounds.scores(rows), rounds.y[rows], w))
                    ended = self._in_vain(judged)
        self.live["rounds"] = rounds
        return Course(so_far.model.with_trees(trees), tuple(judged), ended)

    def _begun(self, table, y, w):
        """No rounds yet: the best constant."""
        shown = slice(None) if w is None else w > 0
        own = self._weight(y, w)
        start = self.loss.start(y[shown], None if own is None else own[shown])
        groups = self.loss.outputs if self.loss.apart else 1
        return Course(Boosted.of(start, groups, [], table))

    def _weight(self, y, w):
        """Sample weights times class weights."""
        if not self.class_weight:
            return w
        return np.asarray(self.class_weight)[y] * (1.0 if w is None else w)

    def _live(self, table, so_far):
        rounds = self.live.pop("rounds", None)
        same = rounds is not None and rounds.done == so_far.model.n_rounds and rounds.table is table
        return rounds if same else None

    def _rounds(self, table, y, w, so_far):
        """The rounds as the course left them. Whole weights count rows, and others weigh their slopes."""
        times, factor = None, None
        if w is not None:
            whole = np.array_equal(w, np.floor(w))
            times, factor = (w, None) if whole else (w > 0, w)
        if self.class_weight:
            by = np.asarray(self.class_weight)[y]
            factor = by if factor is None else by * factor
        rounds = Rounds(
            self.growth,
            self.loss,
            table,
            y,
            so_far.model.scores(table.X),
            times=times,
            factor=factor,
            slots=self.slots,
            seed=self.seed,
            threads=1 if among_others() else self.threads,
        )
        rounds.done = so_far.model.n_rounds
        return rounds

    def _in_vain(self, judged):
        """Whether the last rounds brought nothing."""
        stop = self.stopping
        if stop is None or len(judged) <= stop.patience:
            return False
        before, since = min(judged[: -stop.patience]), min(judged[-stop.patience :])
        return since >= before - stop.tol * abs(before)


def _same_categories(before, now):
    """Complain where the sets of the trees that are there would speak of other categories."""
    for j in sorted({*before, *now}):
        if not np.array_equal(before.get(j, ()), now.get(j, ())):
            raise ValueError(
                f"the rounds that are there know other categories of column {j} than these data have; "
                f"use warm_start=False"
            )


@dataclass(frozen=True, eq=False)
class Chain:
    """The rows that one course of rounds does not learn from, and what came of it so far."""

    held: np.ndarray
    live: dict
    course: Course | None = None


@dataclass(frozen=True, eq=False)
class BoostState:
    """The data, the chain that is the model, and those that leave rows out."""

    data: Data
    chains: tuple

    @property
    def members(self):
        """The model, when there is one."""
        course = self.chains[0].course
        return () if course is None else (course.model,)


@dataclass(frozen=True)
class Boost(Scheme):
    """`n_rounds` of boosting; residuals of unseen rows from `n_folds` (0: none; None: as many as need be)."""

    growth: Growth
    loss: Loss
    n_rounds: int
    stopping: Stopping | None = None
    n_folds: int | None = 0
    categorical: tuple = ()
    class_weight: tuple = ()
    threads: int = 1

    def start(self, data):
        return BoostState(data, tuple(Chain(np.flatnonzero(held), {}) for held in self._held(data)))

    def resumed(self, data, courses):
        """The state after some courses, whose rounds go on with these data."""
        state = self.start(data)
        chains = zip(state.chains, courses, strict=False)
        going = tuple(replace(chain, course=_going_on(course)) for chain, course in chains)
        return replace(state, chains=going + state.chains[len(going) :])

    def _held(self, data):
        """For each chain, the rows that it does not learn from; those of the first one judge."""
        stop, none = self.stopping, np.zeros(len(data), bool)
        if stop is not None and stop.given:
            return [np.arange(len(data)) >= len(data) - stop.given]
        if stop is not None:
            return [set_aside(data.row_hashes, data.y, stop.share, data.classes)]
        if self.n_folds == 0 or data.copies_only:
            return [none]
        n = self.n_folds or FOLDS
        fold = folds(data.X, data.y, n, data.classes, data.groups)
        once = self.n_folds is None and len(data.slots) > MANY
        return [none, *(fold == k for k in range(1 if once else n) if np.any(fold == k))]

    def done(self, state):
        return all(self._over(chain) for chain in state.chains)

    def _over(self, chain):
        course = chain.course
        return course is not None and (course.ended or course.model.n_rounds >= self.n_rounds)

    def ask(self, state):
        return [self._job(c, chain, state) for c, chain in enumerate(state.chains) if not self._over(chain)]

    def _job(self, c, chain, state):
        data, done = state.data, 0 if chain.course is None else chain.course.model.n_rounds
        judges = None
        if self.stopping is not None:
            judges = (chain.held, None if data.weight is None else data.weight[chain.held])
        member = More(
            self.growth,
            self.loss,
            min(BLOCK, self.n_rounds - done),
            self.stopping,
            self.categorical,
            self.class_weight,
            judges,
            data.slots.first(len(data)) if self.growth.subsample < 1 else None,
            int(data.rng(c, SEED).integers(2**63)),
            self.threads,
            chain.course,
            chain.live,
        )
        return Job((c, done), member, self._weights(chain, data))

    @staticmethod
    def _weights(chain, data):
        if not len(chain.held):
            return None
        w = np.ones(len(data)) if data.weight is None else data.weight.copy()
        w[chain.held] = 0.0
        return w

    def tell(self, state, seats):
        chains = list(state.chains)
        for seat in seats:
            c = seat.job.key[0]
            chains[c] = replace(chains[c], course=seat.member)
        return replace(state, chains=tuple(chains))

    def expected(self, state=None):
        return None

    def vote(self, state):
        return uniform(1)


def _going_on(course):
    """The course, from where more rounds follow."""
    return replace(course, model=replace(course.model, voice=None), ended=False)


def unseen(state, rounds):
    """(rows that a chain did not learn from, the scores it gives them after so many rounds), of all chains."""
    told = [
        (chain.held, chain.course.model.first(rounds).scores(state.data.X[chain.held]))
        for chain in state.chains
        if len(chain.held) and chain.course is not None
    ]
    if not told:
        return np.zeros(0, int), state.members[0].scores(state.data.X[:1])[:0]
    return tuple(np.concatenate(part) for part in zip(*told, strict=True))


# From rows that were not seen to what the scores say of y

MOST = 10_000  # residuals that are kept


def residual_voice(state, of, rounds, means):
    """What scores say of y, by rows that a chain did not learn from; `means`: what they say is the mean of it."""
    data = state.data
    rows, f = unseen(state, rounds)
    if not len(rows):
        raise ValueError(
            f"a predictive distribution needs rows that the model has not seen, but there is 1 sample, and copies of "
            f"it (n_samples={len(data)}); give at least 2 different rows, or set residual_folds=0"
        )
    if len(rows) > MOST:
        some = np.argsort(data.row_hashes[rows], kind="stable")[:MOST]
        rows, f = rows[some], f[some]
    y, w = data.y[rows], np.ones(len(rows)) if data.weight is None else data.weight[rows]
    if of.log and np.array_equal(data.y, np.floor(data.y)) and means == "counts":
        return OfCounts(dispersion(y, np.exp(f[:, 0]), w))
    gap = smallest_gap(data.y)
    smallest = max(gap, SHARE * float(np.std(data.y))) or 1.0
    c, s = place(of, f, smallest)
    r = (y - c) / s
    if means:
        middle = np.average(r, weights=w)
        r = r / middle if of.log and middle > 0 else r - (0.0 if of.log else middle)
    return OfResiduals(of, r, w, kernel_bandwidth(r, w, gap / np.average(s * np.ones(len(r)), weights=w)), smallest,
                       bool(means))  # fmt: skip


def dispersion(y, mean, w):
    """r of the negative binomial with these means that is most probable; infinite where Poisson is."""

    def loss(log_r):
        r = np.exp(log_r)
        return -np.average(NegativeBinomial(r, r / (r + mean)).log_prob(y), weights=w)

    found = minimize_scalar(loss, bounds=(-8.0, 14.0), method="bounded", options={"xatol": 1e-6})
    plain = -np.average(Poisson(mean).log_prob(y), weights=w)
    return float(np.exp(found.x)) if found.fun < plain - 1e-9 * abs(plain) else np.inf
