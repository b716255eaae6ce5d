"""Rounds of boosting in memory: the same from any number of threads, in parts, and of rows that count or are copied."""

import threading
import time

import numpy as np
import pytest

from quorate import kernels
from quorate.kernels import grow
from quorate.kernels.gain import Packed, Pairs
from quorate.members import losses
from quorate.members.bins import binned
from quorate.members.boosted import Boosted
from quorate.members.families import FAMILIES
from quorate.members.growth import Crew, Growth
from quorate.members.rounds import MOST_ROWS, Rounds

RNG = np.random.default_rng
LOSSES = {
    "binary": losses.TwoClasses(),
    "classes": losses.Classes(4),
    "squared": losses.Squared(),
    "quantiles": losses.Quantiles((0.1, 0.5, 0.9)),
    "huber": losses.Huber(),
    "poisson": losses.Poisson(),
    "gamma": losses.Gamma(),
    "normal": FAMILIES["normal"](),
}
EACH = pytest.mark.parametrize("name", LOSSES)
GROWTH = {"max_leaf_nodes": 8, "min_samples_leaf": 5}


def table(n=300, seed=0, d=3):
    """Numbers that may be missing, and in the last column categories."""
    rng = RNG(seed)
    X = rng.normal(size=(n, d)).round(1)
    X[:, -1] = rng.integers(0, 6, n)
    X[rng.random((n, d)) < 0.1] = np.nan
    return X


def answers(loss, X, seed=0):
    """What depends on two columns: of so few binary digits that means of it are exact."""
    rng, filled = RNG(seed + 50), np.nan_to_num(X)
    signal = np.round(8 * (filled[:, 0] + filled[:, -1] % 2 + rng.normal(size=len(X)))) / 8
    if isinstance(loss, losses.TwoClasses):
        return (signal > 0.5) * 1.0
    if isinstance(loss, losses.Classes):
        return np.digitize(signal, np.linspace(-1, 2, loss.outputs - 1)) * 1.0
    if isinstance(loss, losses.Poisson):
        return np.floor(np.abs(2 * signal))
    return np.abs(signal) + 0.125 if isinstance(loss, losses.Gamma) else signal


def rounds(loss, X, y, threads=1, start=None, **given):
    """Rounds that have not begun, from a constant."""
    growth = Growth(**{**GROWTH, **{k: given.pop(k) for k in list(given) if hasattr(Growth, k)}})
    shared = given.pop("shared", None) or binned(X, given.get("times"), (X.shape[1] - 1,))
    start = np.zeros(loss.outputs) if start is None else start
    f = np.tile(start, (len(y), 1)) if start.ndim == 1 else start
    return Rounds(growth, loss, shared, y, f, threads=threads, **given)


def trees_of(made, n=4):
    """The trees of so many rounds."""
    with made.at_work():
        return [tree for _ in range(n) for tree in made.round()]


def told(trees):
    """All that trees say, and not in which order rows lie, as bytes."""
    asked = [grow.COLUMN, grow.MISSING_LEFT, grow.RIGHT, grow.SUBSET]
    return [
        (ints[:, asked].tobytes(), floats.tobytes(), values.tobytes(), subsets.tobytes(), rows.tobytes())
        for ints, floats, values, subsets, rows in trees
    ]


def sized(trees):
    return sum(len(tree[0]) for tree in trees)


# the same bits


@EACH
@pytest.mark.parametrize("gradients", ["exact", "quantised"])
def test_from_any_number_of_threads(name, gradients):
    """Rows and columns drawn, and trees of a round grown apart where there are many."""
    loss, X = LOSSES[name], table(d=10)
    y, slots = answers(LOSSES[name], X), np.arange(300, dtype=np.uint64)
    given = {"gradients": gradients, "subsample": 0.7, "max_features": 0.6, "slots": slots, "seed": 3}
    one = rounds(loss, X, y, **given)
    trees = told(trees_of(one))
    for threads in (2, 3):
        made = rounds(loss, X, y, threads, **given)
        assert made.apart == (name == "classes" and threads == 2)
        assert told(trees_of(made)) == trees
        assert made.f.tobytes() == one.f.tobytes()


@pytest.mark.parametrize("name", ["binary", "classes", "normal"])
@pytest.mark.parametrize("gradients", ["exact", "quantised"])
def test_many_rows_from_several_threads(name, gradients):
    """So many that all that is done to rows is done piece by piece."""
    X, slots = table(40_000), np.arange(40_000, dtype=np.uint64)
    y, shared = answers(LOSSES[name], X), binned(X, None, (2,))
    given = {"gradients": gradients, "subsample": 0.8, "slots": slots, "shared": shared}
    one, two = (rounds(LOSSES[name], X, y, threads, **given) for threads in (1, 2))
    assert told(trees_of(one, 2)) == told(trees_of(two, 2))
    assert one.f.tobytes() == two.f.tobytes()


@EACH
@pytest.mark.parametrize("gradients", ["exact", "quantised"])
def test_in_parts(name, gradients):
    """Rounds go on from what the trees before them say of the rows, as from what is in memory."""
    loss, X = LOSSES[name], table()
    y, slots = answers(loss, X), np.arange(300, dtype=np.uint64)
    given = {"gradients": gradients, "subsample": 0.7, "max_features": 0.6, "slots": slots, "seed": 3}
    whole = rounds(loss, X, y, **given)
    trees = trees_of(whole, 6)
    groups, first = whole.groups, 4 * whole.groups
    before = Boosted.of(np.zeros(loss.outputs), groups, trees[:first], whole.table)
    after = rounds(loss, X, y, start=before.scores(X), shared=whole.table, **given)
    after.done = 4
    assert told(trees_of(after, 2)) == told(trees[first:])
    model = before.with_trees(trees[first:])
    np.testing.assert_array_equal(model.scores(X), whole.scores(np.arange(300)))
    assert model.n_rounds == 6


@pytest.mark.parametrize("name", ["binary", "classes", "squared", "normal"])
def test_a_helper_that_is_early_looks_where_the_leader_does(name, monkeypatch):
    """It waits at the first stage before the leader has drawn any rows."""
    X, there, seen = table(), threading.Event(), {}

    def watched(follow):
        def watching(thread, word, stage, *given):
            arrays = [v.__array_interface__["data"][0] for v in given if isinstance(v, np.ndarray) and v.size]
            seen.setdefault(thread, []).append(arrays)
            if thread:
                there.set()
            follow(thread, word, stage, *given)

        return watching

    for follow in ("follow", "follow_classes", "follow_given", "extent"):
        monkeypatch.setattr(kernels.slopes, follow, watched(getattr(kernels.slopes, follow)))
    slots = np.arange(len(X), dtype=np.uint64)
    made = rounds(LOSSES[name], X, answers(LOSSES[name], X), 2, subsample=0.5, slots=slots)
    draw = made._draw
    monkeypatch.setattr(made, "_draw", lambda: (there.wait(5), draw()))
    trees_of(made, 1)
    assert seen[1][0] == seen[0][0]


@EACH
@pytest.mark.parametrize("subsample", [1.0, 0.6])
def test_rows_that_count_several_times_are_copies(name, subsample):
    """To the last bit, also where copies are drawn."""
    loss, X = LOSSES[name], table(200)
    y, times = answers(loss, X), RNG(1).integers(1, 4, 200)
    first = (np.cumsum(times) - times).astype(np.uint64)
    one = rounds(loss, X, y, times=times, slots=first, subsample=subsample)
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    copies = rounds(loss, X, y, slots=np.arange(len(y), dtype=np.uint64), subsample=subsample)
    trees = trees_of(one)
    assert told(trees) == told(trees_of(copies))
    assert sized(trees) > 4 * one.groups
    np.testing.assert_array_equal(np.repeat(one.f, times, axis=1), copies.f)


@EACH
def test_in_any_order_of_the_rows(name):
    loss, X, order = LOSSES[name], table(), RNG(2).permutation(300)
    y, slots = answers(loss, X), RNG(3).permutation(300).astype(np.uint64)
    one = rounds(loss, X, y, slots=slots, subsample=0.8)
    other = rounds(loss, X[order], y[order], slots=slots[order], subsample=0.8)
    assert told(trees_of(one)) == told(trees_of(other))
    np.testing.assert_array_equal(one.f[:, order], other.f)


# what leaves say


def leaves(tree):
    """(numbers of the leaves, their values, the weight of their rows)."""
    ints, _, values, _, rows = tree
    leaf = np.flatnonzero(ints[:, grow.COLUMN] < 0)
    return leaf, values[leaf], rows[leaf]


def leaf_rows(made, X, tree):
    """The rows of each leaf of the first tree, told by the model's walk."""
    model = Boosted.of(np.zeros(made.wide), 1, [tree], made.table)
    numbered = np.arange(len(tree[0]), dtype=float)[:, None]
    at = Boosted(**{**vars(model), "values": numbered, "start": np.zeros(1)}).scores(X)[:, 0]
    return [np.flatnonzero(at == leaf) for leaf in leaves(tree)[0]]


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (2.0, 3.0)])
def test_a_leaf_is_newtons_step(l1, l2):
    X = table()
    y, factor = answers(losses.TwoClasses(), X), np.where(np.arange(300) % 2, 0.75, 1.25)
    made = rounds(losses.TwoClasses(), X, y, learning_rate=0.3, l1=l1, l2=l2, factor=factor)
    tree = trees_of(made, 1)[0]
    g, h = factor * (0.5 - y), factor * 0.25
    for rows, value, weight in zip(leaf_rows(made, X, tree), *leaves(tree)[1:]):
        G, H = g[rows].sum(), h[rows].sum()
        assert value[0] == pytest.approx(-0.3 * np.sign(G) * max(abs(G) - l1, 0) / (H + l2))
        assert weight == pytest.approx(factor[rows].sum())


def test_the_leaf_of_a_quantile_is_the_quantile_of_its_rows():
    X = table()
    y, levels = answers(losses.Squared(), X), (0.1, 0.5, 0.9)
    made = rounds(losses.Quantiles(levels), X, y, learning_rate=0.5)
    for level, tree in zip(levels, trees_of(made, 1)):
        for rows, value, _ in zip(leaf_rows(made, X, tree), *leaves(tree)[1:]):
            assert value[0] == 0.5 * losses.quantile(y[rows], level)


@pytest.mark.parametrize("name", ["squared", "huber", "gamma", "quantiles"])
@pytest.mark.parametrize("least", [1, 2, 7, 40])
def test_no_leaf_has_fewer_rows_where_all_curve_alike(name, least):
    """Exactly so many are enough, however slopes are added up."""
    X = RNG(0).normal(size=(300, 2))
    given = {"min_samples_leaf": least, "max_leaf_nodes": 1000}
    made = rounds(LOSSES[name], X, np.exp(3 * X[:, 0]), shared=binned(X), **given)
    assert all(leaves(tree)[2].min() >= least for tree in trees_of(made, 3))
    for gradients in ("exact", "quantised"):
        sizes = []
        for n in (2 * least, 2 * least - 1):
            X, y = np.arange(n)[:, None] * 1.0, 1.0 + (np.arange(n) >= n // 2)
            start = np.full(LOSSES[name].outputs, np.log(1.5) if name == "gamma" else 1.5)
            few = rounds(LOSSES[name], X, y, 1, start, shared=binned(X), gradients=gradients, **given)
            sizes += [len(tree[0]) for tree in trees_of(few, 1)]
        assert sizes == [3] * few.groups + [1] * few.groups


def test_rows_that_are_not_learned_from_go_down_the_tree_as_well():
    X = table()
    y, times = answers(losses.Squared(), X), (np.arange(300) % 3 > 0) * 1
    made = rounds(losses.Squared(), X, y, times=times)
    trees = trees_of(made)
    model = Boosted.of(np.zeros(1), 1, trees, made.table)
    np.testing.assert_array_equal(made.scores(np.arange(300)), model.scores(X))
    assert all(tree[4][0] == times.sum() for tree in trees)


def test_rows_that_are_not_learned_from_where_only_missing_ones_go_right():
    """Values beyond all that a node has seen go left with them, in memory as in the model."""
    x, times = np.append(np.arange(20.0), [np.nan] * 10), np.ones(30, int)
    times[5:15] = 0
    made = rounds(losses.Squared(), x[:, None], np.isnan(x) * 1.0, times=times, shared=binned(x[:, None]))
    tree = trees_of(made, 1)[0]
    assert tree[1][0, grow.THRESHOLD] == np.inf
    model = Boosted.of(np.zeros(1), 1, [tree], made.table)
    np.testing.assert_array_equal(made.scores(np.arange(30)), model.scores(x[:, None]))
    times[5:15], times[15:20] = 1, 0
    made = rounds(losses.Squared(), x[:, None], np.isnan(x) * 1.0, times=times, shared=binned(x[:, None]))
    model = Boosted.of(np.zeros(1), 1, trees_of(made, 1), made.table)
    np.testing.assert_array_equal(made.scores(np.arange(30)), model.scores(x[:, None]))


def test_each_round_draws_its_own_rows():
    X, y, slots = table(2000), np.zeros(2000), np.arange(2000, dtype=np.uint64)
    made = rounds(losses.Squared(), X, y + RNG(0).normal(size=2000), subsample=0.3, slots=slots)
    seen = []
    with made.at_work():
        for _ in range(3):
            made.round()
            seen.append(np.isin(np.arange(2000), made.rows))
    assert np.mean(seen, axis=1) == pytest.approx(0.3, abs=0.04)
    assert np.mean(seen[0] & seen[1]) == pytest.approx(0.09, abs=0.03)
    alone = rounds(losses.Squared(), X[:1], y[:1], subsample=1e-9, slots=slots[:1])
    assert trees_of(alone, 1)[0][4][0] == 1  # where none are drawn, all are


# whole numbers


@pytest.mark.parametrize("gradients", ["exact", "quantised"])
@pytest.mark.parametrize("total", [300, 10**5, 1 << 24, 1 << 30])
def test_no_sum_is_too_large_for_its_place(gradients, total):
    """Whatever the slopes and however often rows count: all of one sign, as large as they can be, rounded up."""
    X, n = table(), 300
    times = np.full(n, total // n)
    for loss, start in ((losses.TwoClasses(), 0.0), (losses.TwoClasses(), 30.0), (losses.Squared(), 1e30)):
        y = np.zeros(n)
        y[0] = isinstance(loss, losses.TwoClasses)
        made = rounds(loss, X, y, times=times, gradients=gradients, start=np.array([start]))
        tree, packed = trees_of(made, 1)[0], gradients == "quantised" and total <= MOST_ROWS
        sums, places = made.totals.sum(axis=0), (31, 32) if packed else (61, 61)
        assert isinstance(made.kind, Packed if packed else Pairs)
        assert abs(int(sums[0])) < 2 ** places[0]
        assert 0 <= int(sums[1]) < 2 ** places[1]
        g = (1 / (1 + np.exp(-start)) if start < 1e3 else start) * total
        assert sums[0] / made.per[0] == pytest.approx(g, rel=0.01)
        assert np.all(np.isfinite(tree[2]))


def test_packed_where_rows_are_many_and_slopes_alike():
    def kind(loss, y, **given):
        return type(rounds(loss, X[: len(y)], y, shared=binned(X[: len(y)]), **given).kind)

    X = table(1 << 13)
    y = answers(losses.Squared(), X)
    assert kind(losses.Squared(), y[:-1]) is Pairs
    assert kind(losses.Squared(), y) is Packed
    assert kind(losses.TwoClasses(), (y > 0) * 1.0) is Packed
    assert kind(losses.Squared(), np.append(y[:-1], 1e9)) is Pairs
    assert kind(losses.Squared(), np.zeros(len(y))) is Pairs
    assert kind(losses.Squared(), y, times=np.full(len(y), 1 << 12)) is Pairs
    assert kind(FAMILIES["normal"](), y) is Pairs


def test_the_sums_of_packed_slopes_are_right_on_average():
    """The first leaves of many seeds have the mean values of exact ones."""
    X = RNG(0).integers(0, 2, (500, 1)).astype(float)
    y, shared = X[:, 0] + RNG(1).normal(size=500), binned(X)
    exact = leaves(trees_of(rounds(losses.Squared(), X, y, shared=shared), 1)[0])[1]
    given = {
        "shared": shared,
        "times": np.full(500, 1 << 15),
        "gradients": "quantised",
    }  # which leaves few digits
    made = [rounds(losses.Squared(), X, y, seed=seed, **given) for seed in range(100)]
    drawn = [leaves(trees_of(one, 1)[0])[1] for one in made]
    assert 1e-4 < np.std(drawn, axis=0).max() < 0.1
    np.testing.assert_allclose(np.mean(drawn, axis=0), exact, atol=5 * np.std(drawn, axis=0).max() / 10)


# threads


@pytest.mark.parametrize("name", ["squared", "classes"])
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_end_with_the_rounds(name, threads, monkeypatch):
    """Also where a round fails in the leader's hands."""
    X = table()
    before, y = threading.active_count(), answers(LOSSES[name], X)
    made = rounds(LOSSES[name], X, y, threads)
    trees_of(made, 2)
    assert threading.active_count() == before

    def fails(*_):
        raise LookupError("mine")

    monkeypatch.setattr(made, "_slopes", fails)
    with pytest.raises(LookupError, match="mine"):
        trees_of(made, 1)
    assert threading.active_count() == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_helper_that_fails_ends_the_rounds(monkeypatch):
    """Its error is the leader's, who does not wait for what will never be done."""
    X, outcome = table(), []
    made, plainly = rounds(LOSSES["classes"], X, answers(LOSSES["classes"], X), 2), Rounds._decide

    def decide(self, k, grower):
        if threading.current_thread() is not leader:
            raise LookupError("mine")
        time.sleep(0.01)  # so that there is something left for a helper
        plainly(self, k, grower)

    def fit():
        try:
            trees_of(made, 20)
        except LookupError as error:
            outcome.append(str(error))

    monkeypatch.setattr(Rounds, "_decide", decide)
    leader = threading.Thread(target=fit, daemon=True)
    leader.start()
    leader.join(5)
    kernels.crew.leave(made.crew.word)
    assert outcome == ["mine"]


def test_a_crew_of_one_has_no_threads():
    before = threading.active_count()
    with Crew(1, []):
        assert threading.active_count() == before
