"""Bins against their plain twin, and what they promise."""

import naive
import numpy as np
import pytest

from quorate.members import bins
from quorate.members.bins import BINS, MISSING, binned, coded


def columns(n=1500):
    """Columns of all kinds: few and many values, missing ones, ties, extremes, nothing."""
    rng = np.random.default_rng(0)
    many = rng.normal(size=n)
    return {
        "few": rng.integers(0, 9, n).astype(float),
        "just fits": (np.arange(n) % BINS).astype(float),
        "one too many": (np.arange(n) % (BINS + 1)).astype(float),
        "many": many,
        "missing": np.where(rng.random(n) < 0.3, np.nan, many),
        "ties": np.where(rng.random(n) < 0.5, 0.0, many),
        "steep": np.exp(20 * many),
        "one value": np.full(n, 3.5),
        "nothing": np.full(n, np.nan),
        "neighbours": 1.0 + np.arange(n) * np.finfo(float).eps,
    }


@pytest.mark.parametrize("kind", ["even", "counts", "weights", "zeros"])
def test_bins_are_those_of_the_twin(kind):
    table = columns()
    X = np.column_stack(list(table.values()))
    rng = np.random.default_rng(1)
    weight = {
        "even": None,
        "counts": rng.integers(1, 5, len(X)).astype(float),
        "weights": rng.random(len(X)) + 0.01,
        "zeros": rng.integers(0, 2, len(X)).astype(float),
    }[kind]
    made = binned(X, weight)
    cells = made.cells.reshape(len(X), made.stride)
    for j, name in enumerate(table):
        lows, highs = naive.edges(X[:, j], weight)
        np.testing.assert_array_equal(made.edges[j, 0, : len(lows)], lows, err_msg=name)
        np.testing.assert_array_equal(made.edges[j, 1, : len(highs)], highs, err_msg=name)
        np.testing.assert_array_equal(cells[:, j], naive.place(X[:, j], highs), err_msg=name)


def test_no_bin_parts_equal_values_or_holds_much_more_than_its_share():
    X = np.column_stack(list(columns().values()))
    made = binned(X)
    for j, cells in enumerate(made.cells.reshape(len(X), made.stride)[:, : X.shape[1]].T):
        there = cells != MISSING
        np.testing.assert_array_equal(~there, np.isnan(X[:, j]))
        for b in np.unique(cells[there]):
            values = X[cells == b, j]
            assert values.min() == made.edges[j, 0, b]
            assert values.max() == made.edges[j, 1, b]
            share = len(X) / BINS + np.unique(values, return_counts=True)[1].max()
            assert len(values) <= share


def test_whole_weights_are_repetitions():
    X = np.column_stack(list(columns(700).values()))
    w = np.random.default_rng(2).integers(1, 4, len(X))
    np.testing.assert_array_equal(binned(X, w.astype(float)).edges, binned(np.repeat(X, w, axis=0)).edges)


@pytest.mark.parametrize("weighted", [False, True])
def test_categories_are_those_of_the_twin(weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.integers(-3, 4, 3000),
            np.minimum(rng.geometric(0.01, 3000), 400),
            np.where(rng.random(3000) < 0.2, np.nan, rng.integers(0, 300, 3000)),
            np.full(3000, np.nan),
        ]
    ).astype(float)
    w = rng.random(3000) if weighted else None
    made = binned(X, w, (0, 1, 2, 3))
    new = np.vstack([X[:50], X[:50] + 0.5, np.full((1, 4), np.nan)])
    for j in range(4):
        codes = naive.categories(X[:, j], w)
        np.testing.assert_array_equal(made.codes[j], codes)
        assert len(codes) <= BINS
        np.testing.assert_array_equal(made.cells.reshape(len(X), -1)[:, j], naive.place_codes(X[:, j], codes))
        places = naive.place_codes(new[:, j], codes)
        np.testing.assert_array_equal(
            coded(new, made.codes)[:, j], np.where(places == MISSING, np.nan, places)
        )


def test_of_categories_that_are_too_many_the_rarest_are_missing():
    x = np.concatenate([np.arange(300.0), np.arange(254.0), [299.0]])
    codes = binned(x[:, None], None, (0,)).codes[0]
    assert len(codes) == BINS
    np.testing.assert_array_equal(codes, [*np.arange(254.0), 299.0])


def test_a_table_of_too_many_cells_is_refused(monkeypatch):
    monkeypatch.setattr(bins, "MOST_CELLS", 100)
    with pytest.raises(
        ValueError, match=r"X has 13 rows of 3 columns, 104 cells in bins, and trees take at most 100;"
    ):
        binned(np.zeros((13, 3)))
    assert len(binned(np.zeros((12, 3)))) == 12


@pytest.mark.parametrize("d", [1, 8, 9, 63, 64, 65, 130])
def test_rows_are_as_wide_as_caches_like(d):
    X = np.random.default_rng(0).normal(size=(20, d))
    made = binned(X)
    assert made.stride >= d
    assert made.stride % 8 == 0
    np.testing.assert_array_equal(made.cells.reshape(20, -1)[:, d - 1], np.argsort(np.argsort(X[:, d - 1])))


def test_single_precision_has_the_bins_of_its_values():
    X = np.random.default_rng(0).normal(size=(900, 2)).astype(np.float32)
    one, other = binned(X), binned(X.astype(float))
    np.testing.assert_array_equal(one.cells, other.cells)
    np.testing.assert_array_equal(one.edges, other.edges)
