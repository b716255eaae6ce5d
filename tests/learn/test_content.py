"""Draws and folds that depend on what the rows say."""

import numpy as np
import pytest
from scipy import sparse, stats

from quorate.learn.content import NEVER, Slots, folds, hashes
from quorate.learn.loop import Data
from quorate.learn.resample import BayesianBootstrap, Bootstrap, Subsample

DRAWS = [
    Bootstrap(),
    Bootstrap(0.5),
    Bootstrap(7),
    Bootstrap(stratified=True),
    Bootstrap(20, stratified=True),
    Subsample(0.6),
    Subsample(7),
    Subsample(0.6, stratified=True),
    BayesianBootstrap(),
]


@pytest.fixture
def rows(rng):
    """(X, y codes of three classes, whole weights)."""
    return rng.normal(size=(40, 3)), rng.integers(0, 3, 40), rng.integers(1, 4, 40).astype(float)


def data(X, y, weight=None):
    return Data(X, y, weight, np.arange(y.max() + 1))


def drawn(draw, data, seed=0):
    return draw(data, np.random.default_rng(seed))


# Content


def test_equal_rows_have_equal_hashes(rows):
    X, y, _ = rows
    h = hashes(np.vstack([X, X[::-1]]), np.append(y, y[::-1]))
    np.testing.assert_array_equal(h[:40], h[40:][::-1])
    assert len(np.unique(h)) == 40


@pytest.mark.parametrize("bump", [np.s_[3, 0], np.s_[3, 2]])
def test_the_least_difference_is_another_hash(rows, bump):
    X, y, _ = rows
    other = X.copy()
    other[bump] = np.nextafter(X[bump], np.inf)
    assert np.flatnonzero(hashes(X, y) != hashes(other, y)).tolist() == [3]


def test_columns_are_not_exchangeable(rng):
    X = rng.normal(size=(5, 2))
    assert not np.any(hashes(X, np.zeros(5)) == hashes(X[:, ::-1], np.zeros(5)))


def test_hashes_do_not_see_how_a_table_is_kept(rows):
    X, y, _ = rows
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32)
    expected = hashes(X.astype(float), y)
    for same in (
        X,
        np.asfortranarray(X),
        np.where(X == 0, -0.0, X),
        sparse.csr_array(X),
        sparse.csr_array(X.astype(float)),
    ):
        np.testing.assert_array_equal(hashes(same, y), expected)


def test_sparse_hashes_of_empty_rows():
    X = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(hashes(sparse.csr_array(X), np.arange(4)), hashes(X, np.arange(4)))
    assert len(np.unique(hashes(sparse.csr_array((4, 2)), np.zeros(4)))) == 1


def test_hashes_scatter():
    h = hashes(np.arange(10_000.0)[:, None], np.zeros(10_000))
    assert len(np.unique(h)) == 10_000
    assert abs(np.mean(h > np.uint64(2**63)) - 0.5) < 0.02
    assert abs(stats.spearmanr(h, np.arange(10_000)).statistic) < 0.05


# Draws


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_a_weight_is_so_many_rows_to_every_draw(rows, draw):
    X, y, w = rows
    many = np.repeat(np.arange(40), w.astype(int))
    copies = drawn(draw, data(X[many], y[many]))
    np.testing.assert_allclose(drawn(draw, data(X, y, w)), np.bincount(many, copies), rtol=1e-12)


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_draws_do_not_see_the_order_of_rows(rows, rng, draw):
    X, y, w = rows
    order = rng.permutation(40)
    np.testing.assert_array_equal(
        drawn(draw, data(X[order], y[order], w[order])), drawn(draw, data(X, y, w))[order]
    )


@pytest.mark.parametrize(("draw", "number"), list(zip(DRAWS[:-1], [40, 20, 7, 40, 20, 24, 7, 24])), ids=repr)
def test_so_many_rows_are_drawn(rows, draw, number):
    X, y, _ = rows
    assert abs(drawn(draw, data(X, y)).sum() - number) <= (1 if draw.stratified else 0)


@pytest.mark.parametrize("draw", [d for d in DRAWS if getattr(d, "stratified", False)], ids=repr)
def test_stratified_draws_have_as_much_of_each_class(rows, draw):
    X, y, w = rows
    out = drawn(draw, data(X, y, w))
    share = draw.size if isinstance(draw.size, float) else draw.size / w.sum()
    np.testing.assert_allclose(np.bincount(y, out), share * np.bincount(y, w), atol=0.51)


def test_a_rare_class_is_in_every_stratified_draw(rng):
    y = np.array([0] * 39 + [1])
    rare = data(rng.normal(size=(40, 2)), y)
    assert all(drawn(Bootstrap(0.5, stratified=True), rare, seed)[39] >= 1 for seed in range(20))
    assert any(drawn(Bootstrap(0.5), rare, seed)[39] == 0 for seed in range(20))


def test_without_replacement_a_row_is_drawn_once_or_as_often_as_it_counts(rows):
    X, y, w = rows
    assert set(drawn(Subsample(0.5), data(X, y))) <= {0.0, 1.0}
    assert np.all(drawn(Subsample(0.9), data(X, y, w)) <= w)
    np.testing.assert_array_equal(drawn(Subsample(1.0), data(X, y, w)), w)


def test_without_replacement_other_weights_go_with_their_rows(rows):
    X, y, w = rows
    out = drawn(Subsample(0.5), data(X, y, w + 0.5))
    assert np.count_nonzero(out) == 20
    np.testing.assert_array_equal(out[out > 0], (w + 0.5)[out > 0])


def _mean(draw, data, times=2000):
    return np.mean([drawn(draw, data, seed) for seed in range(times)], axis=0)


def test_the_bootstrap_draws_as_weights_say(rng):
    X, y, w = rng.normal(size=(5, 1)), np.zeros(5, int), np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    np.testing.assert_allclose(_mean(Bootstrap(), data(X, y, w)), w, atol=0.15)
    np.testing.assert_allclose(
        _mean(Bootstrap(), data(X, y, w + 0.5)), 5 * (w + 0.5) / (w + 0.5).sum(), atol=0.15
    )


@pytest.mark.parametrize("shift", [0.0, 0.5], ids=["counts", "ratios"])
def test_the_bayesian_bootstrap_is_gamma(rng, shift):
    X, y, w = rng.normal(size=(3, 1)), np.zeros(3, int), np.array([1.0, 2.0, 4.0]) + shift
    out = np.array([drawn(BayesianBootstrap(), data(X, y, w), seed) for seed in range(2000)])
    for column, weight in zip(out.T, w):
        assert stats.kstest(column, stats.gamma(weight).cdf).pvalue > 1e-3


def test_a_draw_of_one_row_alone_is_drawn_again(rng):
    """Two rows make four bootstraps, of which two hold copies of one row."""
    two = data(rng.normal(size=(2, 1)), np.array([0, 1]))
    assert all(np.count_nonzero(drawn(Bootstrap(), two, seed)) == 2 for seed in range(50))
    assert all(np.count_nonzero(drawn(Bootstrap(1), two, seed)) == 1 for seed in range(20))
    copies = data(np.ones((5, 1)), np.zeros(5, int))
    assert drawn(Bootstrap(), copies).sum() == 5


def test_slots_are_as_many_as_rows_count(rows):
    X, y, w = rows
    h = hashes(X, y)
    assert len(Slots(np.arange(40), h)) == 40
    assert len(Slots(np.arange(40), h, w)) == w.sum()
    assert len(Slots(np.arange(40), h, w + 0.5)) == 40
    with pytest.raises(ValueError, match=r"adds up to 4e\+11.*count rows"):
        Slots(np.arange(40), h, np.full(40, 1e10))


# Folds


def test_equal_rows_share_a_fold(rng):
    X = np.repeat(rng.normal(size=(20, 2)), 5, axis=0)
    fold = folds(X, np.zeros(100), 5).reshape(20, 5)
    assert np.all(fold == fold[:, :1])
    assert np.bincount(fold[:, 0]).tolist() == [4] * 5


def test_folds_do_not_see_the_order_of_rows(rows, rng):
    X, y, _ = rows
    order = rng.permutation(40)
    np.testing.assert_array_equal(
        folds(X[order], y[order], 4, np.arange(3)), folds(X, y, 4, np.arange(3))[order]
    )


@pytest.mark.parametrize("n_folds", [2, 3, 5, 10])
def test_folds_of_every_class_are_even(rows, n_folds):
    X, y, _ = rows
    fold = folds(X, y, n_folds, np.arange(3))
    for sizes in [
        np.bincount(fold, minlength=n_folds),
        *(np.bincount(fold[y == k], minlength=n_folds) for k in range(3)),
    ]:
        assert sizes.max() - sizes.min() <= 1


def test_a_class_of_one_row_is_never_held_out(rng):
    X, y = rng.normal(size=(12, 2)), np.array([0] * 6 + [1] * 5 + [2])
    assert np.flatnonzero(folds(X, y, 3, np.arange(3)) == NEVER).tolist() == [11]
    X[6:11] = X[6]  # copies of one row are one row
    assert np.flatnonzero(folds(X, y, 3, np.arange(3)) == NEVER).tolist() == [6, 7, 8, 9, 10, 11]


def test_more_folds_than_rows(rng):
    assert sorted(folds(rng.normal(size=(3, 1)), np.arange(3.0), 5)) == [0, 1, 2]
