"""Boosting by filtering: what g promises, what filters let through, and what they say when they starve."""

from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest

import quorate as q
from benchmarks.filtering import N_TEST, STANDARD_ERRORS, Errs, blocks, examples, measured, predicted
from quorate.learn.content import Slots, hashes
from quorate.learn.filter import Recursion, doubts, g, receipts, three
from quorate.learn.stream import Ended, Silent, Stream, Table, Tally, disputed, right_or_wrong
from quorate.members import Fitted
from quorate.vote import uniform


class Says(Fitted):
    """An expert whose decision stands in a column."""

    def __init__(self, column, n_classes=2):
        self.column, self.n_classes = column, n_classes

    def choices(self, X):
        return X[:, self.column].astype(int)

    def predict_dist(self, X):
        return q.Categorical(np.eye(self.n_classes)[self.choices(X)])


def said(rng, n, errors, n_classes=2):
    """(X, y): each column of X is what an expert says, wrong as often as its error; mistakes come together."""
    y = rng.integers(0, n_classes, n)
    together = rng.random(n)
    columns = []
    for error in errors:
        wrong = np.where(rng.random(n) < 0.5, together, rng.random(n)) < error
        columns.append((y + wrong * rng.integers(1, n_classes, n)) % n_classes)
    return np.column_stack(columns).astype(float), y


def cut(X, y, sizes):
    """The rows in blocks of these sizes, the last of what is left."""
    ends = np.minimum(np.cumsum(list(islice(sizes, len(y)))), len(y))
    starts = np.append(0, ends[:-1])
    return [(X[a:b], y[a:b]) for a, b in zip(starts, ends) if a < b]


def stream(X, y, size=64, patience=10**6):
    sizes = (size for _ in count())
    return Stream(cut(X, y, sizes), patience, Tally())


def table(X, y, weight=None):
    slots = Slots(np.arange(len(y)), hashes(X, y), weight)
    return Table(X, y, slots, Tally())


# g


def test_g_is_the_majority_of_three():
    errors = np.linspace(0, 1, 11)
    np.testing.assert_allclose(g(errors), [q.majority_error(3, e) for e in errors], atol=1e-12)


@pytest.mark.parametrize(("depth", "error"), [(0, 0.2), (1, 0.1), (1, 0.2), (1, 0.4), (2, 0.2), (2, 0.35)])
def test_the_committee_errs_as_g_says(depth, error):
    row = measured(error, depth, seed=1)
    assert abs(row["apart"]) < STANDARD_ERRORS
    assert row["predicted"] == pytest.approx([error, g(error), g(g(error))][depth])


def test_without_filters_the_same_learners_do_not():
    """What the filters are for: mistakes that come together do not cancel."""
    rng = np.random.default_rng(0)
    experts = [Errs(0.2).fit(*examples(rng, 20_000), rng=rng) for _ in range(3)]
    X, y = examples(rng, N_TEST)
    errs = np.mean(three(experts, 2).predict_dist(X).mode != y)
    goal, standard_error = predicted(0.2, 1)
    assert errs > goal + 10 * standard_error


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_never_above_g_of_the_largest(n_classes):
    """Exactly so on any examples, since all errors are measured on the same: an inequality of sums."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = said(rng, 300, rng.uniform(0.02, 0.45, 3), n_classes)
        committee = three([Says(k, n_classes) for k in range(3)], n_classes)
        receipt = receipts(committee, X, y, rng.uniform(0.5, 2.0, len(y)))[()]
        if np.max(receipt.errors) <= 0.5:
            assert receipt.measured <= receipt.predicted + 1e-12


def test_never_above_g_of_the_largest_on_new_examples():
    rng = np.random.default_rng(5)
    for errors in ((0.1, 0.3, 0.2), (0.3, 0.1, 0.1), (0.05, 0.1, 0.3)):
        made = iter(Errs(error) for error in errors)
        model = q.FilteringClassifier(Each(made), 1, 5000, random_state=0).fit_stream(blocks(rng))
        errs = 1 - model.score(*examples(rng, 50_000))
        assert errs < g(max(errors))


class Each(Errs):
    """Another learner each time."""

    def __init__(self, made):
        object.__setattr__(self, "made", made)

    def fit(self, X, y, sample_weight=None, rng=None):
        return next(self.made).fit(X, y, sample_weight, rng)


def test_nested_receipts_carry_g_on(rng):
    X, y = said(rng, 20_000, np.full(9, 0.3))
    inner = [three([Says(3 * k + j) for j in range(3)], 2) for k in range(3)]
    found = receipts(three(inner, 2), X, y, np.ones(len(y)))
    assert set(found) == {(), (1,), (2,), (3,)}
    whole = found[()]
    assert whole.errors == tuple(found[k,].measured for k in (1, 2, 3))
    assert whole.limit == g(max(found[k,].limit for k in (1, 2, 3)))
    assert whole.measured <= whole.predicted <= whole.limit
    assert whole.rows == len(y)
    assert whole.standard_error == pytest.approx(np.sqrt(whole.measured * (1 - whole.measured) / len(y)))


def test_a_committee_of_one_promises_what_it_errs(rng):
    X, y = said(rng, 100, [0.2])
    receipt = receipts(three([Says(0)], 2), X, y, np.ones(len(y)))[()]
    assert receipt.errors == (receipt.measured,)
    assert receipt.predicted == receipt.limit == receipt.measured


def test_with_more_classes_the_bound_needs_the_third_to_decide():
    """Where the first of the classes that differ decides instead, some experts err more than g."""
    above = []
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        X, y = said(rng, 12, [0.35, 0.35, 0.35], 3)
        ours = three([Says(k, 3) for k in range(3)], 3)
        by_order = replace(ours, vote=uniform(3))
        mine, other = (receipts(c, X, y, np.ones(12))[()] for c in (ours, by_order))
        if np.max(mine.errors) <= 0.5:
            assert mine.measured <= mine.predicted + 1e-12
            above.append(other.measured - other.predicted)
    assert max(above) > 0.01


def test_what_no_example_shows_is_not_measured(rng):
    y = rng.integers(0, 2, 50)
    X = np.column_stack([y, y, 1 - y]).astype(float)
    receipt = receipts(three([Says(k) for k in range(3)], 2), X, y, np.ones(50))[()]
    assert receipt.errors[0] == receipt.measured == 0.0
    assert np.isnan(receipt.errors[1:]).all()
    assert np.isnan(receipt.predicted)
    assert receipts(three([Says(0)], 2), X[:0], y[:0], np.ones(0)) == {}
    assert isinstance(receipt, Recursion)


def test_the_third_decides_where_all_differ():
    X = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 2.0], [1.0, 2.0, 1.0]])
    dist = three([Says(k, 3) for k in range(3)], 3).predict_dist(X)
    np.testing.assert_array_equal(dist.mode, [0, 2, 0, 1])
    np.testing.assert_allclose(dist.probs[0], 1 / 3, atol=1e-6)


# Filters


def by_hand(X, y, coins):
    """What the first filter lets through, an example at a time."""
    at, out = 0, []
    for coin in coins:
        while at < len(y) and (X[at, 0] != y[at]) != coin:
            at += 1
        if at == len(y):
            return out, at
        out.append(at)
        at += 1


@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_the_coin_decides_whether_right_or_wrong(rng, size):
    X, y = said(rng, 3000, [0.2, 0.2])
    X = np.column_stack([X, np.arange(len(y))])
    coins = np.random.default_rng(3).random(5000) < 0.5
    rows, _ = by_hand(X, y, coins)
    source = stream(X, y, size)
    first = source.right_or_wrong(Says(0), np.random.default_rng(3), (2,)).take(100)[0]
    np.testing.assert_array_equal(first[:, 2], rows[:100])
    assert source.tally.counts[2,] == (100, rows[99] + 1)
    assert source.look()[0][0, 2] == rows[99] + 1  # the next reader begins where this one stopped


@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_disputes(rng, size):
    X, y = said(rng, 3000, [0.2, 0.2])
    X = np.column_stack([X, np.arange(len(y))])
    rows = np.flatnonzero(X[:, 0] != X[:, 1])
    source = stream(X, y, size).disputed(Says(0), Says(1), (3,))
    np.testing.assert_array_equal(source.take(50)[0][:, 2], rows[:50])
    np.testing.assert_array_equal(source.take(50)[0][:, 2], rows[50:100])
    with pytest.raises(Ended) as end:
        source.take(len(rows))
    assert end.value.found == len(rows) - 100


@pytest.mark.parametrize("size", [1, 3, 10, 64])
def test_patience_ends_at_the_same_example_however_the_stream_is_cut(size):
    wrong = np.zeros(400, bool)
    wrong[[5, 30, 60, 200]] = True  # the last after 139 others
    y = np.zeros(400, int)
    X = np.column_stack([wrong, np.zeros(400)]).astype(float)
    source = stream(X, y, size, patience=100)
    source_of_wrong = source.disputed(Says(0), Says(1), (3,))
    source_of_wrong.take(3)
    with pytest.raises(Silent) as silent:
        source_of_wrong.take(1)
    assert silent.value.path == (3,)
    assert source.tally.counts[()] == (161, 161)


def test_a_filter_on_a_filter(rng):
    X, y = said(rng, 20_000, [0.3, 0.3, 0.3])
    outer = stream(X, y).right_or_wrong(Says(0), np.random.default_rng(0), (2,))
    inner = outer.disputed(Says(1), Says(2), (2, 3))
    X, y = inner.take(1000)
    assert np.all(X[:, 1] != X[:, 2])
    counts = outer.tally.counts
    assert counts[2, 3][0] == 1000
    assert counts[2, 3][1] == counts[2,][0]
    assert counts[2,][1] == counts[()][0]


def test_a_filtered_table_is_a_filtered_stream_of_its_rows(rng):
    """The same law, and on average the same number of rows looked at."""
    X, y = said(rng, 400, [0.2, 0.3, 0.3])
    X = np.column_stack([X, np.arange(400)])
    w = rng.integers(1, 4, 400).astype(float)
    rows = rng.choice(400, 400_000, p=w / w.sum())
    flow, known = stream(X[rows], y[rows], 10_000), table(X, y, w)
    shares = []
    for source in (flow, known):
        outer = source.right_or_wrong(Says(0), np.random.default_rng(1), (2,))
        taken = outer.disputed(Says(1), Says(2), (2, 3)).take(20_000, np.random.default_rng(2))[0]
        shares.append(np.bincount(taken[:, 3].astype(int), minlength=400) / 20_000)
    assert np.abs(shares[0] - shares[1]).max() < 6 * np.sqrt(shares[1].max() * 2 / 20_000)
    for path, (passed, looked) in known.tally.counts.items():
        np.testing.assert_allclose((passed, looked), flow.tally.counts[path], rtol=0.05)


def test_half_of_all_weight_is_wrong(rng):
    r = rng.random(50)
    wrong = rng.random(50) < 0.2
    tilted = right_or_wrong(r, wrong)
    assert tilted[wrong].sum() == pytest.approx(0.5)
    assert tilted.sum() == pytest.approx(1.0)
    assert not right_or_wrong(r, np.zeros(50, bool)).any()
    assert not disputed(r, wrong, wrong).any()


def test_a_table_is_silent_where_nothing_is_left_to_learn(rng):
    X, y = said(rng, 50, [0.0, 0.2])
    with pytest.raises(Silent):
        table(X, y).right_or_wrong(Says(0), rng, (2,))
    with pytest.raises(Silent):
        table(X, y).disputed(Says(1), Says(1), (3,))


# How sure


def test_doubt_is_what_unseen_examples_leave(rng):
    X, y = said(rng, 5000, [0.2, 0.2, 0.2])
    committee = three([Says(k) for k in range(3)], 2)
    best = doubts(committee, X, y, np.ones(len(y)))
    shares = committee.predict_dist(X).probs[np.arange(len(y)), y]

    def log_p(doubt):
        return np.sum(np.log((1 - doubt) * shares + doubt / 2)) + np.log(doubt) + np.log(1 - doubt)

    grid = np.linspace(0.001, 0.999, 999)
    assert log_p(best) >= max(map(log_p, grid))
    assert doubts(committee, X[:0], y[:0], np.ones(0)) == pytest.approx(0.5)
    assert 0 < doubts(three([Says(0)], 2), y[:, None], y, np.ones(len(y))) < 0.001
