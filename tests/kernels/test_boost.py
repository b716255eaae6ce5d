"""Trees of boosting against their plain twin, and the same bits from one thread or several."""

import threading

import naive
import numpy as np
import pytest

from quorate.kernels import crew as crews, grow
from quorate.kernels.gain import Packed, Pairs, goodness, value
from quorate.members.bins import binned
from quorate.members.growth import Crew, Grower, Growth

RNG = np.random.default_rng
UNIT = 64.0  # slopes are so many parts of 1, so that sums are exact
KINDS = pytest.mark.parametrize("kind", [Packed(1), Pairs(1), Pairs(2), Pairs(3)], ids=str)


def table(seed, n=160, d=3, missing=0.0, levels=0):
    """A table of few values, so that each has a bin; the last column of categories, where there are any."""
    rng = RNG(seed)
    X = rng.normal(size=(n, d)).round(1)
    if levels:
        X[:, -1] = rng.integers(0, levels, n)
    if missing:
        X[rng.random((n, d)) < missing] = np.nan
    return X


def slopes(seed, X, size):
    """Slopes that depend on the first and the last column, each output in its way."""
    rng, filled = RNG(seed + 1000), np.where(np.isnan(X), 1.0, X)
    phase = np.arange(size)
    g = filled[:, :1] * np.cos(phase) + np.sin(3 * filled[:, -1:] + phase) + rng.normal(size=(len(X), size))
    return np.rint(UNIT * g) / UNIT, rng.integers(4, 64, size=g.shape) / UNIT


def words(kind, g, h):
    """Slopes as kernels want them."""
    a, b = (UNIT * g).astype(np.int64), (UNIT * h).astype(np.int64)
    return ((a << 32) + b).ravel() if isinstance(kind, Packed) else np.stack([a, b], axis=2).ravel()


def grown(kind, X, g, h, how, threads=1, rows=None, **given):
    """A Grower when it is done."""
    bins = binned(X, None, how.categorical)
    growth = Growth(
        max_leaf_nodes=int(min(how.max_leaves, len(X))),
        max_depth=None if np.isinf(how.max_depth) else how.max_depth,
        by_level=how.by_level,
        l1=how.l1,
        l2=how.l2,
        monotone=how.signs,
        **given,
    )
    grower = Grower(growth, kind, bins, bins.columns, how.signs, threads, len(X))
    grower.scale.unit[:] = 1 / UNIT
    grower.scale.need[:] = (*how.need, how.l2_categories, how.rare, how.apart)
    rows, values = np.arange(len(X)) if rows is None else rows, words(kind, g, h)
    sums = np.stack([g[rows].sum(axis=0), h[rows].sum(axis=0)], axis=1) * UNIT
    grower.begin(rows.astype(np.uint32), sums.ravel().astype(np.int64), 7)
    crew = Crew(threads, [lambda thread, stage: grower.grow(thread, stage, crew.word, values)])
    with crew:
        crew.lead()
    grower.values[: grower.count] = grower.steps()
    return grower


def need(size):
    """Of equal outputs, together at least 4 of curvature."""
    return (0.25 / size,) * size if size != 3 else (0.125, 0.0625, 0.0625)


# the twin


def in_table(t, x):
    """A threshold is in the middle of two values of the whole column."""
    if not np.isfinite(t):
        return t
    x = x[~np.isnan(x)]
    return 0.5 * x[x <= t].max() + 0.5 * x[x > t].min()


def who_goes_left(ints, subset, X):
    """The rows that a question about categories sends left, of all in the table."""
    codes = naive.categories(X[:, ints[grow.COLUMN]])
    bins = naive.place_codes(X[:, ints[grow.COLUMN]], codes)
    return np.array([bool(int(subset[b // 64]) >> (b % 64) & 1) for b in bins.tolist()])


def check_question(ints, floats, subsets, node, X, h):
    """That a node asks what the twin asks; who was not there goes where most of the curvature goes."""
    gain, j, left, t = node["split"]
    rows, x = node["rows"], X[:, j]
    assert ints[grow.COLUMN] == j
    assert floats[grow.GAIN] == pytest.approx(gain, rel=1e-9)
    most_left = 2 * h[rows[left], 0].sum() >= h[rows, 0].sum()
    gone = left[np.isnan(x[rows])]
    assert ints[grow.MISSING_LEFT] == (gone[0] if len(gone) else most_left)
    if np.isnan(t):
        goes = who_goes_left(ints, subsets[ints[grow.SUBSET]], X)
        np.testing.assert_array_equal(goes[rows], left)
        absent = ~np.isin(np.nan_to_num(x, nan=-1), np.nan_to_num(x[rows], nan=-1))
        assert np.all(goes[absent] == most_left)
    else:
        assert floats[grow.THRESHOLD] == in_table(t, x)


def check(grower, X, g, h, how):
    """That the kernel's tree is the twin's."""
    nodes = naive.preorder(naive.descended(X, g, h, how))
    ints, floats, values, subsets = grower.tree()
    assert len(ints) == len(nodes)
    for i, node in enumerate(nodes):
        at = grower.rows.at[ints[i, grow.FIRST] : ints[i, grow.LAST]]
        np.testing.assert_array_equal(np.sort(at), node["rows"])
        np.testing.assert_allclose(values[i], node["values"], rtol=1e-12, atol=1e-15)
        if "children" in node:
            assert ints[i, grow.RIGHT] == i + len(naive.preorder(node["children"][0])) + 1
            check_question(ints[i], floats[i], subsets, node, X, h)
        else:
            assert ints[i, grow.COLUMN] == -1
    return len(nodes)


HOW = {
    "best first": {"max_leaves": 9},
    "to the end": {},
    "by level": {"by_level": True, "max_leaves": 7},
    "not deep": {"max_depth": 3, "l2": 2.0},
    "with L1": {"l1": 3.0, "l2": 0.5},
}


@KINDS
@pytest.mark.parametrize("name", HOW)
def test_whole_trees(kind, name):
    """Numbers and categories, some of them missing."""
    for seed, (missing, levels) in enumerate([(0.0, 0), (0.2, 0), (0.0, 5), (0.2, 12)]):
        X = table(seed, missing=missing, levels=levels)
        g, h = slopes(seed, X, kind.size)
        names = {
            "categorical": (2,) * (levels > 0),
            "rare": 1.5,
            "apart": 8.0 * (seed == 3),
            "l2_categories": 2.0,
        }
        how = naive.Descent(need(kind.size), **names, **HOW[name])
        assert check(grown(kind, X, g, h, how), X, g, h, how) > 4


@pytest.mark.parametrize("kind", [Packed(1), Pairs(1)], ids=str)
@pytest.mark.parametrize("signs", [(1, 0, 0), (-1, 1, 0), (1, -1, 0)])
def test_monotone_trees(kind, signs):
    for seed in range(3):
        X = table(seed, missing=0.1 * (seed == 1), levels=5)
        g, h = slopes(seed, X, 1)
        how = naive.Descent(signs=signs, categorical=(2,), max_leaves=14, l1=0.5 * (seed == 2), rare=1.0)
        assert check(grown(kind, X, g, h, how), X, g, h, how) > 6


@KINDS
def test_few_values_and_some_missing(kind):
    """Each cut of so few is the best now and then, missing values on either side of it, or alone."""
    for seed in range(25):
        X = RNG(seed).integers(0, 3, size=(60, 2)).astype(float)
        X[RNG(seed + 50).random(X.shape) < 0.3] = np.nan
        g, h = slopes(seed, X, kind.size)
        how = naive.Descent(need(kind.size), max_leaves=5, categorical=(1,) * (seed % 2), rare=1.0)
        check(grown(kind, X, g, h, how), X, g, h, how)


def test_a_child_may_have_just_what_it_needs():
    X = np.arange(8.0)[:, None]
    g, h = np.repeat([[-1.0], [1.0]], 4, axis=0), np.ones((8, 1))
    for kind in (Packed(1), Pairs(1)):
        assert grown(kind, X, g, h, naive.Descent((0.25,))).count == 3
        assert grown(kind, X, g, h, naive.Descent((0.2499,))).count == 1


def test_a_split_that_gains_nothing_is_none():
    X = np.arange(8.0)[:, None]
    same = np.ones((8, 1))
    for kind in (Packed(1), Pairs(1)):
        assert grown(kind, X, same, same, naive.Descent((1.0,))).count == 1
        assert grown(kind, X, 0 * same, same, naive.Descent((1.0,))).count == 1
        assert grown(kind, X, np.sign(X - 2.5), same, naive.Descent((1.0,)), min_gain=1e3).count == 1


def test_the_best_value_of_a_leaf():
    """No other value within the bounds is better, and the goodness is what it lowers twice the loss by."""
    rng, v = RNG(0), np.linspace(-30, 30, 60_001)
    for _ in range(50):
        g, h, l1, l2 = rng.normal(0, 5), rng.random(), rng.random() * 4, rng.random()
        lo, hi = np.sort(rng.normal(0, 3, 2)) if rng.random() < 0.5 else (-np.inf, np.inf)
        loss = 2 * g * v + (h + l2) * v**2 + 2 * l1 * np.abs(v)
        best = value(g, h, l1, l2, lo, hi)
        at = 2 * g * best + (h + l2) * best**2 + 2 * l1 * abs(best)
        assert at <= loss[(v >= lo) & (v <= hi)].min(initial=np.inf) + 1e-12
        assert best == naive.best_value(g, h, l1, l2, lo, hi)
        assert lo <= best <= hi
        assert goodness(g, h, l1, l2, lo, hi) == pytest.approx(-at, rel=1e-12)


# some of the rows, some of the columns


@KINDS
def test_some_of_the_rows(kind):
    """Bins are those of the whole table, slopes those of the rows that are there."""
    X, rows = table(3, missing=0.1), np.arange(0, 160, 3)
    g, h = slopes(3, X, kind.size)
    how = naive.Descent(need(kind.size), max_leaves=6)
    grower = grown(kind, X, g, h, how, rows=rows)
    nodes = naive.preorder(naive.descended(X[rows], g[rows], h[rows], how))
    ints, _, values, _ = grower.tree()
    assert len(ints) == len(nodes)
    for i, node in enumerate(nodes):
        at = np.sort(grower.rows.at[ints[i, grow.FIRST] : ints[i, grow.LAST]])
        np.testing.assert_array_equal(at, rows[node["rows"]])
        np.testing.assert_allclose(values[i], node["values"], rtol=1e-12)


def test_columns_are_drawn_for_each_node():
    X = table(5, n=400, d=6)
    g, h = slopes(5, X, 1)
    asked = []
    for share in (0.34, 1.0):
        grower = grown(Pairs(1), X, g, h, naive.Descent(max_leaves=30), max_features=share)
        ints = grower.tree()[0]
        asked.append(len(set(ints[ints[:, grow.COLUMN] >= 0, grow.COLUMN].tolist())))
        assert grower.count > 20
    assert asked[0] == 6


# threads


def bits(grower):
    """All that came of it."""
    ints, floats, values, subsets = grower.tree()
    at, sums = grower.rows.at, grower.nodes.sums[: grower.count]
    return tuple(part.tobytes() for part in (ints, floats, values, subsets, at, sums))


@KINDS
def test_the_same_bits_from_any_number_of_threads(kind):
    """Also where columns are drawn, and are so many that their blocks are tasks."""
    X = table(1, n=500, d=20, missing=0.1, levels=9)
    g, h = slopes(1, X, kind.size)
    how = naive.Descent(need(kind.size), categorical=(19,), rare=1.0, max_leaves=25)
    for share in (1.0, 0.3):
        one = bits(grown(kind, X, g, h, how, max_features=share))
        for threads in (2, 3):
            assert bits(grown(kind, X, g, h, how, threads, max_features=share)) == one


@pytest.mark.parametrize("kind", [Packed(1), Pairs(2)], ids=str)
def test_rows_that_are_parted_and_counted_piece_by_piece(kind):
    """More rows than a leader parts or a thread counts alone: the same bits, and the twin's tree."""
    rng = RNG(2)
    X = rng.integers(0, 12, size=(40_000, 3)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    g, h = slopes(2, X, kind.size)
    how = naive.Descent(need(kind.size), categorical=(1,), max_leaves=6, rare=10.0)
    one = grown(kind, X, g, h, how)
    check(one, X, g, h, how)
    for threads in (2, 3):
        assert bits(grown(kind, X, g, h, how, threads)) == bits(one)


def test_columns_that_say_nothing_change_nothing():
    """Of tables so wide that histograms are counted in parts; alone, and piece by piece."""
    rng, where = RNG(4), [0, 35, 69]
    X = rng.integers(0, 9, size=(20_000, 3)).astype(float)
    wide = np.zeros((20_000, 70))
    wide[:, where] = X
    g, h = slopes(4, X, 1)
    how = naive.Descent(max_leaves=6)
    ints, *rest = grown(Packed(1), X, g, h, how).tree()
    for threads in (1, 2):
        asked, *told = grown(Packed(1), wide, g, h, how, threads).tree()
        inner = ints[:, grow.COLUMN] >= 0
        np.testing.assert_array_equal(asked[inner, grow.COLUMN], np.take(where, ints[inner, grow.COLUMN]))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(told, rest))


# the crew


def test_each_task_is_done_once():
    """By whoever comes first; helpers that come late find nothing to do, and all leave in the end."""
    done, stages = [], 30

    def step(thread, stage):
        if thread == 0:
            crews.open_phase(crew.word, stage % 5)
        while (task := crews.take(thread, crew.word, stage)) >= 0:
            done.append((stage, task))
            crews.done(crew.word)

    before, crew = threading.active_count(), Crew(3, [step])
    with crew:
        for _ in range(stages):
            crew.lead()
    assert sorted(done) == [(stage, task) for stage in range(stages) for task in range(stage % 5)]
    assert threading.active_count() == before


def test_a_crew_whose_leader_fails_goes_home():
    def step(thread, stage):
        if thread == 0:
            raise KeyError("mine")
        crews.take(thread, crew.word, stage)

    before, crew = threading.active_count(), Crew(3, [step])
    with pytest.raises(KeyError, match="mine"), crew:
        crew.lead()
    assert threading.active_count() == before


def test_a_stage_that_is_left_out():
    done = []

    def first(thread, stage):
        raise AssertionError("it is left out")

    def second(thread, stage):
        if thread == 0:
            crews.open_phase(crew.word, 2)
        while (task := crews.take(thread, crew.word, stage)) >= 0:
            done.append(task)
            crews.done(crew.word)

    crew = Crew(1, [first, second])
    with crew:
        for _ in range(3):
            crew.skip()
            crew.lead()
    assert done == [0, 1] * 3
