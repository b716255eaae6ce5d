"""Boosting by filtering: committees of three, each expert taught what the ones before it leave to be learned.

| ask: training weights | tell | vote |
|---|---|---|
| what the filter lets through, one expert at a time | next filter | majority of three, recursive |

Expert 1 is taught examples as they come; expert 2 those that a coin picks, heads the next that expert 1 gets wrong,
tails the next it gets right; expert 3 those on which the two disagree (Schapire, 1990). If each errs with probability ε
on the examples as it meets them, their majority errs with probability

    g(ε) = 3ε² − 2ε³

on examples as they come, and never with more than g of the largest ε. Each of the three may be a committee of three in
turn, which sees the world through the filter above it. Where all three differ, which takes more than two classes, the
third decides: its vote weighs a little more. (For the examples it learned from are those on which the other two differ,
and the bound then holds for any number of classes, as long as no ε is above 1/2.)
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from quorate.committee import Committee
from quorate.learn.content import Slots, folds, hashes
from quorate.learn.loop import MEMBER, Data, Job, Scheme
from quorate.learn.stream import Ended, Silent, Table, Tally, chosen, disputed, right_or_wrong
from quorate.members import Member
from quorate.members.doubt import Doubt
from quorate.vote import Fixed, uniform

COINS, ROWS = 3, 4  # what a path draws beside members
CASTING = 2.0**-20  # by how much the third vote weighs more
EXPERTS = 3


def g(error):
    """3ε² − 2ε³: how often the majority of three errs, if each errs with probability ε on its own examples."""
    return error * error * (3 - 2 * error)


def three(experts, n_classes):
    """The committee of three, or of the first alone; it speaks of codes."""
    vote = uniform(1)
    if len(experts) == EXPERTS:
        w = np.array([1.0, 1.0, 1.0 + CASTING])
        vote = Fixed(np.log(w / w.sum()))
    return Committee(tuple(experts), vote, np.arange(n_classes), rule="majority")


@dataclass(frozen=True, eq=False)
class Lesson(Job):
    """Fit `member` to the examples (X, y) that the job carries: a stream has no weights."""

    examples: Any = None

    def fit(self, data):
        X, y = self.examples
        return self.member.fit(X, y, None, data.rng(*self.key, MEMBER))


@dataclass(frozen=True, eq=False)
class FilterState:
    """The data, examples set aside (X, y, weights), how many an expert is taught, and how far the recursion has come.

    `stack` has the experts of the committees that are not complete, the outermost first; `sources` has what each of
    these committees learns from, and last what the next expert is taught from: `lesson`. `ended` names the committees
    that have one expert only, and why.
    """

    data: Data
    aside: tuple
    n_examples: int
    tally: Tally
    sources: tuple
    stack: tuple
    lesson: Any = None
    root: Committee | None = None
    ended: dict = field(default_factory=dict)

    @property
    def path(self):
        """Where the next expert stands: (2, 3) is the third of the second of three."""
        return tuple(len(experts) + 1 for experts in self.stack)

    @property
    def best(self):
        """The whole committee, or the first expert of the outermost one that has any."""
        first = next((experts[:1] for experts in self.stack if experts), None)
        return self.root if self.root or not first else three(first, len(self.data.classes))

    @property
    def members(self):
        """The committee, and one that doubts it."""
        return (self.best, Doubt(len(self.data.classes))) if self.best else ()


@dataclass(frozen=True)
class Filtering(Scheme):
    """Committees of three, `depth` times nested, each innermost `member` taught `n_examples` (None: as many as rows).

    They come from `opened(data)`: (examples set aside, how many an expert is taught, the tally, a source); by default
    from the rows of the data, of which one of `n_folds` is set aside.
    """

    member: Member
    depth: int
    n_examples: int | None = None
    n_folds: int | None = 5
    opened: Callable | None = None

    def start(self, data):
        aside, n, tally, source = (self.opened or self._table)(data)
        return self._next(FilterState(data, aside, n, tally, (source,), ((),) * self.depth))

    def done(self, state):
        return state.root is not None

    def ask(self, state):
        return [Lesson(state.path or (0,), self.member, examples=state.lesson)]

    def tell(self, state, seats):
        return self._next(self._placed(state, state.path, seats[0].member))

    def expected(self, state=None):
        return EXPERTS**self.depth

    def vote(self, state):
        doubt = doubts(state.best, *state.aside)
        return Fixed(np.log([1 - doubt, doubt]))

    def _table(self, data):
        """The rows of the data as a source, and those set aside."""
        rows, kept = np.arange(len(data)), np.zeros(0, int)
        if self.n_folds is not None:
            fold = folds(data.X, data.y, self.n_folds, data.classes)
            rows, kept = np.flatnonzero(fold != 0), np.flatnonzero(fold == 0)
        slots = Slots(rows, hashes(data.X, data.y), data.weight)
        w = np.ones(len(data)) if data.weight is None else data.weight
        tally = Tally()
        n = len(slots) if self.n_examples is None else self.n_examples
        return (data.X[kept], data.y[kept], w[kept]), n, tally, Table(data.X, data.y, slots, tally)

    def _next(self, state):
        """The state with the next lesson in it, unless all is learned."""
        while state.root is None and state.lesson is None:
            try:
                state = self._filtered(state) if len(state.sources) <= self.depth else self._lesson(state)
            except Silent as silent:
                state = self._alone(state, silent.path)
        return state

    def _filtered(self, state):
        """Put the filter of the next expert before what its committee learns from."""
        source, level = state.sources[-1], len(state.sources)
        experts, path = state.stack[level - 1], state.path[:level]
        if len(experts) == 1:
            source = source.right_or_wrong(experts[0], state.data.rng(*path, COINS), path)
        elif experts:
            source = source.disputed(*experts, path)
        return replace(state, sources=(*state.sources, source))

    def _lesson(self, state):
        try:
            lesson = state.sources[-1].take(state.n_examples, state.data.rng(*state.path, ROWS))
        except Ended as end:
            raise ValueError(self._starved(state, end.found)) from None
        return replace(state, lesson=lesson)

    def _placed(self, state, path, expert):
        """Give the expert its place; the third completes its committee, which is an expert one level up."""
        if not path:
            root = expert if self.depth else three((expert,), len(state.data.classes))
            return replace(state, root=root, lesson=None)
        level = len(path)
        experts = (*state.stack[level - 1], expert)
        stack = (*state.stack[: level - 1], experts, *((),) * (self.depth - level))
        state = replace(state, stack=stack, sources=state.sources[:level], lesson=None)
        return state if len(experts) < EXPERTS else self._complete(state, path[:-1], experts)

    def _complete(self, state, path, experts):
        return self._placed(state, path, three(experts, len(state.data.classes)))

    def _alone(self, state, path):
        """Nothing is left to learn for the expert at this path: the first of its committee speaks alone."""
        experts = state.stack[len(path) - 1]
        few = "expert 1 left too few mistakes", "experts 1 and 2 left too few disagreements"
        why = f"{few[len(experts) - 1]} to learn from"
        state = replace(state, ended={**state.ended, path[:-1]: why})
        return self._complete(state, path[:-1], experts[:1])

    def _starved(self, state, found):
        """What to say when the stream ends too early."""
        counts, path, n = state.tally.counts, state.path, state.n_examples
        read = counts.get((), (0, 0))[1]
        filters = [path[: k + 1] for k in range(len(path)) if path[k] > 1]
        told = [
            f"the filter of {named(p)} let {counts.get(p, (0, 0))[0]} of {counts.get(p, (0, 0))[1]} through"
            for p in filters
        ]
        who = f"{named(path)} (depth {len(path)} of {self.depth}) had {found} of the {n} examples it needs"
        weaker = ", or a weaker estimator, which leaves more mistakes to learn from" if filters else ""
        return (
            f"the stream ended after {read} examples, when {'; '.join([who, *told])}. Give a longer stream, "
            f"n_examples below {n}, depth below {self.depth}{weaker}"
        )


def named(path):
    """What an expert, or the committee that all are experts of, is called."""
    return f"expert {'.'.join(map(str, path))}" if path else "committee"


# How sure the committee is


def doubts(committee, X, y, w):
    """δ in p = (1 − δ) · votes + δ · 1/K that makes answers for examples nobody was taught most probable.

    One sure and one doubtful example more are counted (Laplace), so δ is never 0 or 1, and 1/2 where there are none.
    """
    n_classes = len(committee.classes)
    shares = committee.predict_dist(X).probs[np.arange(len(y)), y] if len(y) else np.zeros(0)

    def slope(doubt):
        p = (1 - doubt) * shares + doubt / n_classes
        return np.sum(w * (1 / n_classes - shares) / p) + 1 / doubt - 1 / (1 - doubt)

    return brentq(slope, 1e-12, 1 - 1e-12, xtol=1e-15)


# Receipts


@dataclass(frozen=True)
class Recursion:
    """What three experts and their majority err, on examples set aside: `measured` ≤ g(largest of `errors`).

    Each expert's error is on examples as *it* meets them, behind its filters; the committee's on those that come to it.
    `limit` carries on g from the innermost experts: g(g(ε)) at depth 2. `rows` is how many examples that rests on. A
    committee of one has one error, which is its limit; an error is NaN where no example got through to be measured.
    """

    errors: tuple
    measured: float
    limit: float
    rows: float

    @property
    def predicted(self):
        """g(max ε), which is reached where all ε are equal."""
        return _carried(self.errors)

    @property
    def standard_error(self):
        """√(p (1 − p) / n) of what was measured."""
        return float(np.sqrt(self.measured * (1 - self.measured) / self.rows)) if self.rows else np.nan


def receipts(committee, X, y, w, path=()):
    """{path: Recursion} of the committee and the committees in it; w are the weights of its examples."""
    if not len(y):
        return {}
    said = [chosen(expert, X) for expert in committee.members]
    met = _met(w, said, y)
    found: dict = {}
    limits = []
    errors = tuple(_share(r, s != y) for r, s in zip(met, said, strict=True))
    for k, (expert, r) in enumerate(zip(committee.members, met, strict=True)):
        inner = receipts(expert, X, y, r, (*path, k + 1)) if isinstance(expert, Committee) else {}
        limits.append(inner[(*path, k + 1)].limit if inner else errors[k])
        found |= inner
    rows = float(w.sum() ** 2 / np.sum(w**2)) if np.any(w) else 0.0
    mine = Recursion(errors, _share(w, chosen(committee, X) != y), _carried(limits), rows)
    return {path: mine, **found}


def _met(w, said, y):
    """The weights with which each expert meets the examples of its committee."""
    if len(said) == 1:
        return [w]
    return [w, right_or_wrong(w, said[0] != y), disputed(w, said[0], said[1])]


def _share(w, wrong):
    """The weight of what is wrong."""
    return float(np.sum(w[wrong]) / np.sum(w)) if np.any(w) else np.nan


def _carried(errors):
    most = float(np.max(errors))
    return g(most) if len(errors) == EXPERTS else most
