"""Losses of boosting: slopes against differences, starts against other constants, slopes as whole numbers."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from quorate import kernels
from quorate.kernels.gain import Packed, Pairs
from quorate.members import losses

RNG = np.random.default_rng
N = 400
ONE = [
    losses.TwoClasses(),
    losses.Squared(),
    losses.Quantiles((0.5,)),
    losses.Quantiles((0.2,)),
    losses.Huber(0.7),
    losses.Poisson(),
    losses.Gamma(),
]
EACH = pytest.mark.parametrize("loss", ONE, ids=str)


def answers(loss, n=N, seed=0):
    """Values of y that a loss is for."""
    rng = RNG(seed)
    if isinstance(loss, losses.TwoClasses):
        return (rng.random(n) < 0.3) * 1.0
    if isinstance(loss, losses.Classes):
        return np.digitize(rng.random(n), np.linspace(0, 1, loss.outputs + 1)[1:-1] ** 2) * 1.0
    if isinstance(loss, losses.Poisson):
        return rng.poisson(2.0, n) * 1.0
    return rng.gamma(2.0, size=n) if isinstance(loss, losses.Gamma) else rng.normal(size=n)


def risk(loss, f, y):
    """The loss of each row, as its slopes are defined: half the squared error, and δ of Huber's as it is."""
    if isinstance(loss, losses.Huber):
        miss, delta = np.abs(f - y), loss.kernel(F, y, None).delta
        return np.where(miss <= delta, 0.5 * miss**2, delta * (miss - 0.5 * delta))
    return loss.risk(f[:, None], y) * (0.5 if isinstance(loss, losses.Squared) else 1.0)


F = RNG(9).normal(size=N)


def followed(kind, loss, f, y, per, key=1, factor=(), times=()):
    """(whole g, whole h) of each row, and their totals."""
    n, words = len(y), np.zeros(2 * len(y), np.int64)
    totals, word = np.zeros((-(-n // kernels.slopes.PIECE), 2), np.int64), kernels.crew.crew()
    kernels.slopes.follow(
        0, word, 0, kind, loss, f, y, np.array(factor, float), np.array(times, np.int64), np.array(per),
        np.array([key], np.uint64), words, totals,
    )  # fmt: skip
    packed = words[:n]
    g, h = (packed >> 32, packed & 0xFFFFFFFF) if isinstance(kind, Packed) else (words[::2], words[1::2])
    return g, h, totals.sum(axis=0)


# slopes


@EACH
def test_slopes_are_derivatives(loss):
    """Where h is another's, it is said so: 1 for what has no curvature, and the mean of Gamma's."""
    y, e, per = answers(loss), 1e-4, 2.0**40
    g, h, totals = followed(Pairs(1), loss.kernel(F, y, None), F, y, [per, per])
    up, here, down = (risk(loss, F + d, y) for d in (e, 0.0, -e))
    np.testing.assert_allclose(g / per, (up - down) / (2 * e), rtol=1e-5, atol=e / 2)
    np.testing.assert_array_equal(totals, [g.sum(), h.sum()])
    if isinstance(loss, losses.TwoClasses | losses.Squared | losses.Poisson):
        np.testing.assert_allclose(h / per, (up - 2 * here + down) / e**2, rtol=1e-4, atol=1e-6)
    else:
        np.testing.assert_array_equal(h / per, 1.0)


def test_the_curvature_of_gamma_is_one_on_average():
    f = np.full(20_000, 0.7)
    y = np.exp(0.7) * RNG(0).standard_gamma(3.0, 20_000) / 3.0
    e = 1e-4
    up, here, down = (losses.Gamma().risk((f + d)[:, None], y) for d in (e, 0.0, -e))
    assert np.mean((up - 2 * here + down) / e**2) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("k", [3, 5])
def test_slopes_of_the_softmax(k):
    loss, per, n = losses.Classes(k), 2.0**40, 50
    y, f, e = answers(loss, n), RNG(1).normal(size=(n, k)), 1e-5
    words, totals = np.zeros((k, 2 * n), np.int64), np.zeros((1, 2 * k), np.int64)
    no, key = np.zeros(0), np.ones(1, np.uint64)
    kernels.slopes.follow_classes(
        0, kernels.crew.crew(), 0, Pairs(1), np.ascontiguousarray(f.T), y, no, no.astype(int),
        np.array([per, per]), key, words, totals, np.empty((1, k)),
    )  # fmt: skip
    for c, step in enumerate(e * np.eye(k)):
        want = (loss.risk(f + step, y) - loss.risk(f - step, y)) / (2 * e)
        np.testing.assert_allclose(words[c, ::2] / per, want, rtol=1e-5, atol=1e-7)
        p = softmax(f, axis=1)[:, c]
        np.testing.assert_allclose(words[c, 1::2] / per, p * (1 - p) * k / (k - 1), rtol=1e-9)
    np.testing.assert_array_equal(totals[0].reshape(k, 2), words.reshape(k, n, 2).sum(axis=1))


def test_slopes_far_out():
    """Scores that no model has: all is finite, and what says the contrary of y is as steep as can be."""
    f, y = np.array([-800.0, 800.0, -800.0, 800.0]), np.array([0.0, 0.0, 1.0, 1.0])
    g, h, _ = followed(Pairs(1), kernels.slopes.Logistic(), f, y, [1024.0, 1024.0])
    np.testing.assert_array_equal(g, [0, 1024, -1024, 0])
    np.testing.assert_array_equal(h, 0)
    assert np.all(np.isfinite(losses.TwoClasses().risk(f[:, None], y)))


# starts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "loss", [*(l for l in ONE if not isinstance(l, losses.Huber)), losses.Classes(4)], ids=str
)
def test_no_other_constant_is_better(loss, weighted):
    y = answers(loss)
    w = RNG(2).random(N) + 0.1 if weighted else None
    start = loss.start(y, w)
    assert start.shape == (loss.outputs,)

    def mean(f):
        return np.average(loss.risk(np.tile(f, (N, 1)), y), weights=w)

    for step in 1e-3 * np.eye(loss.outputs):
        assert mean(start) <= min(mean(start + step), mean(start - step)) + 1e-12


def test_several_quantiles_start_where_each_would():
    levels = (0.1, 0.5, 0.9)
    y = answers(losses.Squared())
    alone = [losses.Quantiles((level,)).start(y, None)[0] for level in levels]
    np.testing.assert_array_equal(losses.Quantiles(levels).start(y, None), alone)
    assert losses.Quantiles(levels).outputs == 3


def test_huber_starts_at_the_median_and_knows_how_far_is_far():
    y = answers(losses.Squared())
    loss = losses.Huber(0.9)
    assert loss.start(y, None)[0] == losses.quantile(y, 0.5)
    delta = loss.kernel(np.zeros(N), y, None).delta
    assert np.mean(np.abs(y) <= delta) == pytest.approx(0.9, abs=1 / N)
    assert loss.kernel(y, y, None).delta > 0


@pytest.mark.parametrize("loss", [*ONE, losses.Classes(3)], ids=str)
def test_a_start_counts_whole_weights_as_repetition(loss):
    y = answers(loss, 60)
    w = RNG(3).integers(1, 5, 60)
    np.testing.assert_allclose(
        loss.start(y, w * 1.0), loss.start(np.repeat(y, w), None), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize(
    ("loss", "y"),
    [
        (losses.TwoClasses(), np.ones(3)),
        (losses.TwoClasses(), np.zeros(3)),
        (losses.TwoClasses(), np.ones(1)),
        (losses.Classes(3), np.array([0.0, 0.0, 1.0])),
        (losses.Poisson(), np.zeros(5)),
        (losses.Gamma(), np.full(3, 1e-300)),
        (losses.Huber(), np.zeros(4)),
        (losses.Quantiles((0.01, 0.99)), np.ones(1)),
    ],
    ids=str,
)
def test_a_start_is_finite(loss, y):
    f = loss.start(y, None)
    assert np.all(np.isfinite(f))
    assert np.all(np.isfinite(loss.risk(np.tile(f, (len(y), 1)), y)))


def test_the_quantile_of_weighted_values():
    """The least value that at least so much of the weight is not above."""
    rng = RNG(4)
    for _ in range(40):
        y, w, level = rng.integers(0, 9, 12) * 1.0, rng.integers(0, 4, 12) * 1.0, rng.random()
        w[0] = 1.0
        want = min(v for v in y[w > 0] if w[y <= v].sum() >= level * w.sum() - 1e-9)
        assert losses.quantile(y, level, w) == want
        assert losses.quantile(np.repeat(y, w.astype(int)), level) == want


def test_a_long_step_up_of_a_logarithm_is_shortened():
    steps = np.array([[-2.0], [0.0], [1e-9], [5.0]])
    np.testing.assert_allclose(losses.Poisson().leaf(steps), [[-2.0], [0.0], [1e-9], [np.log(6.0)]])
    assert losses.Squared().leaf(steps) is steps


# whole numbers


def test_packed_words_are_right_on_average():
    """Each is rounded up or down by a lot of its own; the mean over many keys is what was rounded."""
    y = answers(losses.TwoClasses())
    p, per, keys = expit(F), [6.0, 20.0], 600
    g, h = np.zeros(N), np.zeros(N)
    for key in range(keys):
        a, b, totals = followed(Packed(1), kernels.slopes.Logistic(), F, y, per, key)
        assert np.all(np.abs(a - per[0] * (p - y)) < 1)
        assert np.all(np.abs(b - per[1] * p * (1 - p)) < 1)
        np.testing.assert_array_equal(totals, [a.sum(), b.sum()])
        g, h = g + a, h + b
    np.testing.assert_allclose(g / keys, per[0] * (p - y), atol=4.5 * 0.5 / np.sqrt(keys))
    np.testing.assert_allclose(h / keys, per[1] * p * (1 - p), atol=4.5 * 0.5 / np.sqrt(keys))
    assert abs(g.sum() / keys - per[0] * (p - y).sum()) < 4 * 0.5 * np.sqrt(N / keys)


def test_lots_of_neighbours_are_not_alike():
    """Rows, keys and both halves of a word draw their lots apart."""
    y, half = np.zeros(N), [1.0, 2.0]
    zero = np.zeros(N)
    drawn = [followed(Packed(1), kernels.slopes.Logistic(), zero, y, half, key)[:2] for key in (1, 2, 10**12)]
    bits = np.array([part for both in drawn for part in both], float)
    assert np.all(np.abs(bits.mean(axis=1) - [0.5] * 6) < 0.1)
    assert np.all(np.abs(np.corrcoef(bits) - np.eye(6)) < 0.2)
    assert np.all(np.abs([np.corrcoef(b[1:], b[:-1])[0, 1] for b in bits]) < 0.2)


@pytest.mark.parametrize("kind", [Packed(1), Pairs(1)], ids=str)
def test_a_row_that_counts_thrice_is_three_rows(kind):
    """Whole numbers of one, times three; factors weigh before they are rounded."""
    y, times = answers(losses.Squared()), RNG(5).integers(0, 4, N)
    one = followed(kind, kernels.slopes.Squared(), F, y, [64.0, 64.0])
    some = followed(kind, kernels.slopes.Squared(), F, y, [64.0, 64.0], times=times)
    np.testing.assert_array_equal(some[0], times * one[0])
    np.testing.assert_array_equal(some[1], times * one[1])
    factor = np.full(N, 0.25)
    less = followed(kind, kernels.slopes.Squared(), F, y, [256.0, 256.0], factor=factor)
    np.testing.assert_array_equal(less[0], one[0])


def test_copies_are_drawn_each_by_a_lot_of_its_own():
    """A row of three copies has the lots of three rows, wherever it stands; of very many rows no more than a share."""
    draw, key = kernels.slopes.draw_times, np.array([5], np.uint64)
    alone, ones = np.empty(3000, np.int64), np.ones(3000, np.int64)
    draw(np.arange(3000, dtype=np.uint64), ones, 0.3, key, alone)
    assert alone.mean() == pytest.approx(0.3, abs=0.03)
    together = np.empty(1000, np.int64)
    draw(3 * np.arange(1000, dtype=np.uint64), np.full(1000, 3), 0.3, key, together)
    np.testing.assert_array_equal(together, alone.reshape(1000, 3).sum(axis=1))
    many = np.empty(2000, np.int64)
    draw(np.arange(2000, dtype=np.uint64), np.full(2000, 10**6 + 1), 0.5, key, many)
    assert set(many.tolist()) == {500_000, 500_001}
    assert many.mean() == pytest.approx(500_000.5, abs=0.05)
    draw(np.arange(2000, dtype=np.uint64), np.zeros(2000, np.int64), 0.5, key, many)
    assert not many.any()
