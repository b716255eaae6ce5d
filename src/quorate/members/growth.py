"""How trees of boosting are grown: what is asked of them, the threads that grow them, and the memory that takes."""

import threading
from dataclasses import dataclass

import numpy as np

from quorate import kernels


@dataclass(frozen=True)
class Growth:
    """How trees of boosting are grown, and what is shown to each."""

    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    max_depth: int | None = None
    by_level: bool = False
    min_samples_leaf: float = 20
    min_child_weight: float = 1e-3
    l1: float = 0.0
    l2: float = 0.0
    min_gain: float = 0.0
    subsample: float = 1.0
    max_features: float = 1.0
    monotone: tuple = ()
    rare: float = (
        10.0  # rows of a category that is too rare; as many are added, with a slope of 0, to all others
    )
    between: float = 30.0  # rows between two cuts of categories that are tried
    l2_categories: float = 10.0  # rows that λ is more
    gradients: str = "auto"


class Crew:
    """Threads that go through the same stages again and again: `steps`, functions of (thread, stage)."""

    def __init__(self, threads, steps):
        self.word, self.stage, self.steps = kernels.crew.crew(), 0, steps
        self._helpers = [threading.Thread(target=self._help, args=(t,)) for t in range(1, threads)]

    def __enter__(self):
        self.word[:] = 0
        self.stage = 0
        for helper in self._helpers:
            helper.start()
        return self

    def __exit__(self, *error):
        kernels.crew.leave(self.word)
        for helper in self._helpers:
            helper.join()

    def _help(self, thread):
        stage = 0
        while stage < kernels.crew.FOREVER:
            self.steps[stage % len(self.steps)](thread, stage)
            # Who is late need not see what is over.
            stage = max(stage + 1, int(self.word[kernels.crew.STAGE]))

    def lead(self):
        """Do the next stage."""
        self.steps[self.stage % len(self.steps)](0, self.stage)
        self.stage += 1

    def skip(self):
        """Leave the next stage out."""
        self.stage += 1
        self.word[kernels.crew.STAGE] = self.stage


class Grower:
    """The memory in which trees are grown from slopes, for `threads` that share it."""

    def __init__(self, growth, kind, table, columns, monotone, threads, n_rows):
        split = kernels.gain
        d, size, words = table.shape[1], kind.size, table.stride // 8
        leaves = min(growth.max_leaf_nodes, max(n_rows, 2))
        bins, most = words * 8 * 256, 2 * leaves + 1
        per_bin = 1 if isinstance(kind, split.Packed) else 2 * size
        b, self.kind, self.threads, n = kernels.boost, kind, threads, len(table)
        meaning = np.zeros((d, 3), np.int64)
        meaning[list(table.codes), 0] = 1
        meaning[:, 1] = growth.monotone or 0
        meaning[:, 2] = np.isfinite(table.edges[:, 0, : split.MISSING]).sum(axis=1)
        for j, codes in table.codes.items():
            meaning[j, 2] = len(codes)
        self.rules = split.Rules(
            leaves,
            1 << 30 if growth.max_depth is None else growth.max_depth,
            int(growth.by_level),
            max(1, round(growth.max_features * d)),
            float(growth.l1),
            float(growth.l2),
            max(float(growth.min_gain), float(np.finfo(float).tiny)),
        )
        self.ways = (kernels.split.Mixed if table.codes else kernels.split.Numbers)(1)
        self.plan = np.zeros(b.PLAN, np.int64)
        self.slots = np.arange(leaves, -1, -1) * bins
        self.table = b.Table(table.cells.view(np.uint64), table.columns, words, table.edges, meaning)
        self.scale = b.Scale(np.ones(2 * size), np.ones(size + 3))
        self.rows = b.Rows(
            np.zeros(n, np.uint32),
            np.empty(2 * n, np.uint32),
            np.empty((n // b.PIECE + 1, 3), np.int64),
            np.zeros(257, np.uint8),
        )
        self.nodes = b.Tree(
            np.empty((most, 6), np.int64),
            np.empty((most, 2)),
            np.empty((most, 2 * size), np.int64),
            np.empty((most, 4), np.uint64),
        )
        self.leaves = b.Leaves(
            np.empty((most, 7), np.int64),
            np.empty((most, 4)),
            np.empty((most, 2 * size), np.int64),
            np.empty((most, 8), np.uint64),
            np.empty_like(self.slots),
        )
        self.hists = b.Histograms(
            np.zeros((leaves + 1 + threads) * bins * per_bin, np.int64),
            (leaves + 1 + np.arange(threads)) * bins,
            np.zeros(threads, np.int64),
        )
        self.found = b.Found(
            np.empty((words, 2, 4), np.int64),
            np.empty((words, 2, 2 * size), np.int64),
            np.empty((words, 2, 8), np.uint64),
            np.empty((words, 2)),
        )
        self.draws = b.Draws(
            np.ones((2, d + 1), np.uint8), np.arange(d, dtype=np.uint32), np.zeros(1, np.uint64)
        )
        self.rooms = [split.room_for(kind) for _ in range(threads)]
        self.values = np.zeros((most, size))
        self.word = kernels.crew.crew()

    def begin(self, rows, totals, key):
        """Be ready to grow a tree of some rows, whose slopes have these totals."""
        k, plan, n = kernels.boost, self.plan, len(rows)
        self.rows.at[:n] = rows
        self.leaves.free[:], self.hists.used[:] = self.slots, 0
        self.draws.order[:], self.draws.state[0] = np.arange(len(self.draws.order)), key
        plan[:] = 0
        plan[k.LEAVES] = plan[k.NODES] = 1
        plan[k.FREE], plan[k.SMALL], plan[k.LARGE] = len(self.slots) - 1, 0, -1
        plan[k.SMALL_SLOT] = self.slots[-1]
        self.leaves.ints[0] = self.slots[-1], 0, -1, -1, 0, 0, 0
        self.leaves.floats[0] = -np.inf, np.inf, -1.0, np.nan
        self.nodes.ints[0] = -1, 0, -1, 0, n, -1
        self.nodes.floats[0] = np.nan, 0.0
        self.nodes.sums[0] = totals

    def grow(self, thread, stage, word, values):
        """Take part in growing it."""
        kernels.boost.grow(
            thread,
            self.threads,
            word,
            stage,
            self.kind,
            self.ways,
            self.table,
            self.rules,
            self.scale,
            self.plan,
            self.hists,
            self.rows,
            values,
            self.nodes,
            self.leaves,
            self.found,
            self.draws,
            self.rooms[thread],
        )

    @property
    def count(self):
        """How many nodes there are."""
        return int(self.plan[kernels.boost.NODES])

    def steps(self):
        """Newton's step of each node, within its bounds: −G / (H + λ)."""
        n, rules = self.count, self.rules
        sums = self.nodes.sums[:n] * self.scale.unit
        g, h = sums[:, ::2], sums[:, 1::2] + rules.l2
        t = np.sign(g) * np.maximum(np.abs(g) - rules.l1, 0.0) if rules.l1 else g
        with np.errstate(divide="ignore", invalid="ignore"):
            v = np.where(h > 0, -t / h, 0.0)
        bounds = self.leaves.floats[:n]
        return np.clip(v, bounds[:, :1], bounds[:, 1:2]) if self.table.meaning[:, 1].any() else v

    def tree(self):
        """(ints, floats, values, subsets) of the tree, its nodes in preorder."""
        n, k = self.count, int(self.plan[kernels.boost.SUBSETS])
        out = np.empty((n, 6), np.int32), np.empty((n, 2)), np.empty((n, self.values.shape[1]))
        room = np.zeros((n + 1, 2), np.int64)
        kernels.grow.in_preorder(
            self.nodes.ints, self.nodes.floats, self.values, self.leaves.ints, room, *out
        )
        return *out, self.nodes.subsets[:k].copy()
