"""The log opinion pool, against its definition."""

import pickle

import numpy as np
import pytest

import quorate as q
from quorate.dist.log_pool import LogPool

TREES = np.array(["ash", "birch", "cedar"])


def pool(w, *tables):
    with np.errstate(divide="ignore"):
        return LogPool(np.log(w), [q.Categorical(table, TREES) for table in tables])


def test_the_normalised_product(rng):
    tables, w = rng.dirichlet(np.ones(3), (4, 6)), np.array([0.3, 1.7, 0.0, 2.0])
    dist = pool(w, *tables)
    p = np.prod(tables ** w[:, None, None], axis=0)
    np.testing.assert_allclose(dist.probs, p / p.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(dist.log_prob(TREES[np.zeros(6, int)]), np.log(dist.probs[:, 0]), rtol=1e-12)
    np.testing.assert_array_equal(dist.mode, TREES[p.argmax(axis=1)])
    np.testing.assert_array_equal(dist.weights, np.broadcast_to(w, (6, 4)))


def test_one_member_is_itself_and_its_copies_share_a_vote(rng):
    table = rng.dirichlet(np.ones(3), 5)
    np.testing.assert_allclose(pool([1.0], table).probs, table, rtol=1e-12)
    np.testing.assert_allclose(pool([0.2, 0.8], table, table).probs, table, rtol=1e-12)
    sure = pool([1.0, 1.0], table, table).probs
    np.testing.assert_allclose(sure, table**2 / np.sum(table**2, axis=1, keepdims=True), rtol=1e-12)


def test_votes_of_each_row(rng):
    tables, w = rng.dirichlet(np.ones(3), (2, 4)), rng.uniform(0.1, 2, (4, 2))
    dist = pool(w, *tables)
    for i in range(4):
        alone = pool(w[i], *tables[:, i : i + 1])
        np.testing.assert_allclose(dist[i].probs, alone.probs, rtol=1e-12)
        np.testing.assert_array_equal(dist[i].weights, w[i : i + 1])


def test_zeros_are_vetoes():
    np.testing.assert_allclose(pool([1, 1], [[0.5, 0.5, 0]], [[0, 0.1, 0.9]]).probs, [[0, 1, 0]])
    np.testing.assert_allclose(pool([1, 0], [[0.5, 0.5, 0]], [[0, 0.1, 0.9]]).probs, [[0.5, 0.5, 0]])


def test_where_every_class_has_met_a_veto():
    """As if every zero were the same tiny number."""
    tables, w = ([[1.0, 0, 0]], [[0, 1.0, 0]], [[0, 0.3, 0.7]]), [1.0, 1.0, 0.5]
    d = 1e-150
    product = np.prod([np.where(np.array(t) > 0, t, d) ** v for t, v in zip(tables, w)], axis=0)
    np.testing.assert_allclose(pool(w, *tables).probs, product / product.sum(), atol=1e-12)
    tied = pool([0.1 + 0.2, 0.3], [[1.0, 0, 0]], [[0, 1.0, 0]])
    np.testing.assert_allclose(tied.probs, [[0.5, 0.5, 0]])


def test_nothing_is_lost_where_votes_are_many(rng):
    table = rng.dirichlet(np.ones(3), 2)
    dist = pool(np.full(500, 3.0), *[table] * 500)
    assert np.all(np.isfinite(dist.log_p))
    assert not np.any(np.isnan(dist.entropy))


def test_it_is_a_distribution_over_classes(rng):
    dist = pool([0.5, 0.5], *rng.dirichlet(np.ones(3), (2, 4)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(dist)).probs, dist.probs)
    share = np.mean(dist.sample(20_000, 0)[0] == "ash")
    assert share == pytest.approx(dist.probs[0, 0], abs=0.02)
    codes = LogPool(dist.log_w, [q.Categorical(part.probs) for part in dist.parts])
    np.testing.assert_array_equal(codes.recode(TREES).classes, TREES)
    np.testing.assert_allclose(codes.recode(TREES).probs, dist.probs)
    assert repr(dist) == "LogPool(2 parts; 3 classes, 4 rows)"


@pytest.mark.parametrize(
    ("log_w", "parts", "what"),
    [
        ([0.0], [], "multiplies probabilities of classes; got nothing"),
        ([0.0], [q.Normal(0.0, 1.0)], "multiplies probabilities of classes; got Normal"),
        ([0.0, 0.0], [q.Categorical([[1.0]]), q.Categorical([[0.5, 0.5]])], "the same classes, and as many rows"),
        ([0.0], [q.Categorical([[1.0]])] * 2, r"log_w must hold 2 votes, .*\(1, 1\)"),
        ([np.nan], [q.Categorical([[1.0]])], "must be finite, and not all of them 0"),
        ([-np.inf], [q.Categorical([[1.0]])], "must be finite, and not all of them 0"),
    ],
)  # fmt: skip
def test_what_is_no_pool(log_w, parts, what):
    with pytest.raises(ValueError, match=what):
        LogPool(log_w, parts)
