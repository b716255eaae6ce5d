"""Rounds of boosting: slopes, a tree down them, a step (Friedman, 2001); second order (Chen and Guestrin, 2016).

    f ← f + ν · tree(x),     leaves −G / (H + λ),     G = Σ g, H = Σ h over the rows of a leaf

`Rounds` is all that goes on in memory: the scores of all rows, and a crew of threads that share the kernels. The same
bits come from any number of threads, and from rounds that are done in parts.
"""

from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from quorate import kernels
from quorate.members.growth import Crew, Grower
from quorate.members.losses import Classes, Given, Huber, Quantiles, TwoClasses, quantile

MANY = 1 << 13  # rows from which slopes are packed
DIGITS = 5  # binary digits that the mean slope must have left when packed
SPIKE = 8  # binary digits that the mean slope may be below the largest
MOST_ROWS = 1 << 24  # that words have digits for


class Rounds:
    """A boosted model in the making: `f` (groups, n, outputs of a tree) are the scores of all rows.

    `times` says how often each row counts (0: it is not learned from; None: all do once), `factor` what its slopes are
    multiplied by (None: 1), and `slots` number its copies for draws.
    """

    failed: Any = None  # what went wrong in a thread that helps

    def __init__(
        self, growth, loss, table, y, start, *, times=None, factor=None, slots=None, seed=0, threads=1
    ):
        self.growth, self.loss, self.table, self.slots, self.seed = growth, loss, table, slots, seed
        self.y = np.ascontiguousarray(y, dtype=float)
        n = len(y)
        if times is None and growth.subsample < 1:
            times = np.ones(n)
        # Helpers may look before the leader does, so what they are shown is made once, and written over.
        self.times = np.zeros(0, np.int64) if times is None else times.astype(np.int64)
        self.counts = self.times.copy()
        self.factor = np.zeros(0) if factor is None else factor
        self.groups: int = loss.outputs if loss.apart else 1
        self.wide: int = 1 if loss.apart else loss.outputs
        self.f = np.ascontiguousarray(start.T.reshape(self.groups, self.wide, n).transpose(0, 2, 1))
        self.unseen, self.n_unseen = np.zeros(n, np.uint32), np.zeros(1, np.int64)
        self._share(self.times)
        pieces = -(-n // kernels.slopes.PIECE)
        self.extents = np.zeros((pieces, 3))
        self.kind = self._kind()
        words = 1 if isinstance(self.kind, kernels.gain.Packed) else 2 * self.wide
        self.values = np.zeros((self.groups, n * words), np.int64)
        self.per, self.key = np.ones(2 * self.wide), np.zeros(1, np.uint64)
        self.totals = np.zeros((pieces, 2 * self.wide * (self.groups if self._softmax else 1)), np.int64)
        self.odds = np.empty((threads, -(-self.groups // 8) * 8))
        if isinstance(loss, Given):
            self.given = np.empty((n, self.wide)), np.empty((n, self.wide))
        columns = table.columns
        self.apart = self.groups >= 2 * threads and threads > 1
        made = (self.kind, table, columns, growth.monotone)
        self.growers = [
            Grower(growth, *made, 1 if self.apart else threads, len(self.rows))
            for _ in range(threads if self.apart else 1)
        ]
        self.threads, self.steps = threads, self._steps()
        self.crew = Crew(1, self.steps)
        self.done = 0  # rounds

    @contextmanager
    def at_work(self):
        """With a crew."""
        self.crew = Crew(self.threads, self.steps)
        with self.crew:
            yield

    def scores(self, rows):
        """The scores of some rows, (n, outputs)."""
        return self.f[:, rows].transpose(1, 0, 2).reshape(len(rows), self.groups * self.wide)

    # what does not change

    @property
    def _softmax(self):
        return isinstance(self.loss, Classes)

    @property
    def _total(self):
        """How many rows are learned from, each as often as it counts."""
        return len(self.y) if not len(self.times) else int(self.times.sum(dtype=np.int64))

    def _share(self, times):
        """Part the rows into those that are learned from and those that are not."""
        if not len(times):
            self.rows: np.ndarray = np.arange(len(self.y), dtype=np.uint32)
            return
        there = times > 0
        self.rows, unseen = (np.flatnonzero(part).astype(np.uint32) for part in (there, ~there))
        self.unseen[: len(unseen)], self.n_unseen[0] = unseen, len(unseen)

    def _kind(self):
        """Packed where that is asked for, or rows are many and words have digits enough; else Pairs."""
        packed, pairs = kernels.gain.Packed(1), kernels.gain.Pairs(self.wide)
        asked = self.growth.gradients
        if self.wide > 1 or asked == "exact" or isinstance(self.loss, Given) or self._total > MOST_ROWS:
            return pairs
        if asked == "quantised":
            return packed
        if len(self.rows) < MANY:
            return pairs
        most, _, mean = self._extent_alone()
        digits, below = 31 - np.log2(max(self._total, 1)), np.log2(most / mean) if mean > 0 else np.inf
        return packed if below <= SPIKE and digits - below >= DIGITS else pairs

    def _steps(self):
        """What the crew does each round, stage by stage."""
        groups = range(self.groups)
        if self._softmax:
            first = [self._follow_classes]
        elif isinstance(self.loss, Given):
            first = [self._follow_given]
        elif self._moving:
            first = []
        elif self.loss.bounded:
            first = [partial(self._follow, k) for k in groups]
        else:
            first = [self._extent, partial(self._follow, 0)]
        if self.apart:
            return [*first, self._trees]
        steps = [
            [partial(self._grow, k), partial(self._step, k), partial(self._step_unseen, k)] for k in groups
        ]
        return [*first, *(step for three in steps for step in three)]

    @property
    def _moving(self):
        """Whether the loss itself changes from round to round, so that the leader alone knows it."""
        return isinstance(self.loss, Huber)

    # stages

    def _follow(self, k, thread, stage, word=None, loss=None):
        slopes, loss = kernels.slopes, self._kernel(k) if loss is None else loss
        slopes.follow(
            thread, self.crew.word if word is None else word, stage, self.kind, loss, self.f[k, :, 0], self.y,
            self.factor, self.times, self.per, self.key, self.values[k], self.totals,
        )  # fmt: skip

    def _kernel(self, k):
        return self.loss.kernel(self.f[k, :, 0], self.y, None, k)

    def _extent(self, thread, stage):
        self._extent_of(thread, self.crew.word, stage)

    def _extent_of(self, thread, word, stage):
        kernels.slopes.extent(
            thread,
            word,
            stage,
            self._kernel(0),
            self.f[0, :, 0],
            self.y,
            self.factor,
            self.times,
            self.extents,
        )

    def _follow_classes(self, thread, stage):
        kernels.slopes.follow_classes(
            thread, self.crew.word, stage, self.kind, self.f[:, :, 0], self.y, self.factor, self.times, self.per,
            self.key, self.values, self.totals, self.odds,
        )  # fmt: skip

    def _follow_given(self, thread, stage):
        kernels.slopes.follow_given(
            thread, self.crew.word, stage, self.given[0], self.given[1], self.times, self.per, self.values[0],
            self.totals,
        )  # fmt: skip

    def _grow(self, k, thread, stage):
        self.growers[0].grow(thread, stage, self.crew.word, self.values[k])

    def _step(self, k, thread, stage, grower=None, word=None):
        g = grower or self.growers[0]
        count = g.plan[kernels.boost.NODES : kernels.boost.NODES + 1]
        word = self.crew.word if word is None else word
        kernels.slopes.step(thread, word, stage, self.f[k], g.rows.at, g.nodes.ints, count, g.values)

    def _step_unseen(self, k, thread, stage, grower=None, word=None):
        g = grower or self.growers[0]
        word = self.crew.word if word is None else word
        kernels.slopes.step_unseen(
            thread, word, stage, self.f[k], self.unseen, self.n_unseen, g.table.columns, g.nodes.ints, g.leaves.ints,
            g.nodes.subsets, g.values,
        )  # fmt: skip

    def _trees(self, thread, stage):
        """All groups' trees, each grown by one thread."""
        crew, word = kernels.crew, self.crew.word
        if thread == 0:
            crew.open_phase(word, self.groups)
        while (k := crew.take(thread, word, stage)) >= 0:
            try:
                self._tree_alone(k, self.growers[thread])
            except BaseException as error:  # the leader, who may not be here, is told
                self.failed = error
            finally:
                crew.done(word)

    def _tree_alone(self, k, grower):
        grower.word[:] = 0
        self._begin(k, grower)
        grower.grow(0, 0, grower.word, self.values[k])
        self._decide(k, grower)
        self._step(k, 0, 1, grower, grower.word)
        if self.n_unseen[0]:
            self._step_unseen(k, 0, 2, grower, grower.word)

    # a round

    def round(self):
        """The trees of the next round, one for each group."""
        self.key[0], crew = _mixed(self.seed, self.done), self.crew
        if self.growth.subsample < 1:
            self._draw()
        self._slopes()
        self.trees: list = [None] * self.groups
        if self.apart:
            crew.lead()
            if self.failed is not None:
                raise self.failed
        for k in () if self.apart else range(self.groups):
            grower = self.growers[0]
            self._begin(k, grower)
            crew.lead()
            self._decide(k, grower)
            crew.lead()
            crew.lead() if self.n_unseen[0] else crew.skip()
        self.done += 1
        return self.trees

    def _draw(self):
        """Which rows are shown, and how often: each copy by lot."""
        slopes, args = kernels.slopes, (self.slots, self.counts, self.growth.subsample, self.key)
        slopes.draw_times(*args, self.times)
        if not self.times.any():
            self.times[:] = self.counts
        self._share(self.times)

    def _slopes(self):
        """Find the units of this round, and the slopes of all rows in them."""
        crew, total, loss = self.crew, self._total, self.loss
        if isinstance(loss, Given):
            for own, found in zip(self.given, loss.slopes(self.f[0], self.y), strict=True):
                own[:] = found * self.factor[:, None] if len(self.factor) else found
            shown = slice(None) if not len(self.times) else self.times > 0
            most = np.stack([np.abs(s[shown]).max(axis=0) for s in self.given], axis=1).ravel()
            self._set_units(most, total)
            crew.lead()
        elif self._moving:
            own, weight = kernels.crew.crew(), self._weight_of(self.rows)
            now = loss.kernel(self.f[0, self.rows, 0], self.y[self.rows], weight)
            self._set_units(np.array([now.delta, 1.0]) * self._largest, total)
            self._follow(0, 0, 0, own, now)
        elif self._softmax:
            self._set_units(np.array([1.0, 0.25 * loss.outputs / (loss.outputs - 1)]) * self._largest, total)
            crew.lead()
        elif loss.bounded:
            steep = np.array([1.0, 0.25 if isinstance(loss, TwoClasses) else 1.0])
            self._set_units(steep * self._largest, total)
            self._sums = []
            for _ in range(self.groups):
                crew.lead()
                self._sums.append(self.totals.sum(axis=0))
        else:
            crew.lead()
            self._set_units(self.extents.max(axis=0)[:2], total)
            crew.lead()

    @property
    def _largest(self):
        return float(self.factor.max()) if len(self.factor) else 1.0

    def _weight_of(self, rows):
        """The weights of some rows, or None where all weigh the same."""
        if not (len(self.times) or len(self.factor)):
            return None
        return (self.times[rows] if len(self.times) else 1) * (self.factor[rows] if len(self.factor) else 1.0)

    def _extent_alone(self):
        """(largest |g|, largest h, mean |g|) of the scores as they are."""
        if self._softmax or isinstance(self.loss, TwoClasses | Quantiles):
            return 1.0, 1.0, 1.0
        if self._moving:
            return 1.0, 1.0, 0.25
        self._extent_of(0, kernels.crew.crew(), 0)
        g, h, _ = self.extents.max(axis=0)
        return g, h, self.extents[:, 2].sum() / max(len(self.rows), 1)

    def _set_units(self, most, total):
        """Powers of two, so large that no sum of `total` rows, each up to `most`, is too large for its place."""
        packed = isinstance(self.kind, kernels.gain.Packed)
        for c, m in enumerate(most):
            room = 2.0 ** ((31 if c % 2 == 0 else 32) if packed else 61)
            m = max(float(m), float(np.finfo(float).tiny))
            digits = min(np.floor(np.log2(room / total) - np.log2(m)), 1000.0)
            while packed and (m * 2.0**digits + 1.0) * total >= room:
                digits -= 1
            self.per[c] = 2.0**digits
        for grower in self.growers:
            grower.scale.unit[:] = 1.0 / self.per

    def _begin(self, k, grower):
        """Tell a grower which rows and slopes there are, and what is required of leaves."""
        growth, size = self.growth, self.wide
        if self._softmax:
            totals = self.totals[:, 2 * k : 2 * k + 2].sum(axis=0)
        elif self.groups > 1:
            totals = self._sums[k]
        else:
            totals = self.totals.sum(axis=0)
        # min_samples_leaf means: as much curvature as so many rows have on average.
        mean = np.maximum(totals[1::2] * grower.scale.unit[1::2], np.finfo(float).tiny) / self._total
        least = growth.min_samples_leaf * mean * size
        if size == 1:
            least = np.maximum(least, growth.min_child_weight)
        grower.scale.need[:size] = 1.0 / least * (1 + 1e-9)
        of_categories = np.array([growth.l2_categories, growth.rare, growth.between])
        grower.scale.need[size:] = of_categories * mean.mean()
        grower.begin(self.rows, totals, _mixed(int(self.key[0]), k))

    def _decide(self, k, grower):
        """The value of each node: Newton's step, or a quantile; times the learning rate."""
        n, level = grower.count, self.loss.levels[k] if isinstance(self.loss, Quantiles) else None
        steps = self.loss.leaf(grower.steps())
        if level is not None:
            steps = self._quantiles(k, grower, level, steps)
        grower.values[:n] = self.growth.learning_rate * steps
        ints, floats, values, subsets = grower.tree()
        self.trees[k] = (ints, floats, values, subsets, self._weigh(grower, ints))

    def _weigh(self, grower, ints):
        """The weight of the rows of each node."""
        first, last = ints[:, kernels.grow.FIRST], ints[:, kernels.grow.LAST]
        w = self._weight_of(grower.rows.at[: len(self.rows)])
        if w is None:
            return (last - first).astype(float)
        total = np.concatenate([[0.0], np.cumsum(w, dtype=float)])
        return np.maximum(total[last] - total[first], float(np.finfo(float).tiny))

    def _quantiles(self, k, grower, level, steps):
        """Leaves as the quantile of what is left of their rows."""
        g = kernels.grow
        at = grower.rows.at[: len(self.rows)]
        left = self.y[at] - self.f[k, at, 0]
        w = self._weight_of(at)
        for i in np.flatnonzero(grower.nodes.ints[: grower.count, g.COLUMN] < 0):
            own = slice(grower.nodes.ints[i, g.FIRST], grower.nodes.ints[i, g.LAST])
            steps[i, 0] = quantile(left[own], level, None if w is None else w[own])
        return steps


def _mixed(seed, i):
    """64 bits of a seed and a number."""
    z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)
