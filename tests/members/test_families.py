"""Families whose every parameter is boosted: slopes, metrics, starts, floors."""

import numpy as np
import pytest
from scipy.special import expit

from quorate.members import families
from quorate.members.families import FAMILIES, HEARD, RIDGE, natural, trigamma

EVERY = pytest.mark.parametrize("name", sorted(FAMILIES))
BOTH = pytest.mark.parametrize("score", ["log", "crps"])
COUNTS = {"poisson", "negative_binomial"}
AT = {  # columns of f that are neither usual nor at an end
    "normal": (0.3, -0.7),
    "log_normal": (0.3, -0.7),
    "laplace": (0.3, -0.7),
    "student_t": (0.3, -0.7, 1.4),
    "gamma": (0.4, 0.8),
    "poisson": (1.2,),
    "negative_binomial": (1.2, 0.3),
}


def drawn(name, n=400, seed=0):
    """Values of y that the family can have."""
    rng = np.random.default_rng(seed)
    kinds = {
        "log_normal": lambda: np.exp(1 + 2 * rng.normal(size=n)),
        "gamma": lambda: 7 * rng.gamma(2.0, size=n),
        "poisson": lambda: rng.poisson(3.0, n) * 1.0,
        "negative_binomial": lambda: rng.poisson(rng.gamma(0.8, 5.0, n)) * 1.0,
    }
    return kinds.get(name, lambda: 50 + 9 * rng.standard_t(4, n))()


def fitted(name, y, w=None, score="log"):
    """(family, y as rounds see it, loc, scale)."""
    family = FAMILIES[name](score)
    loc, scale = family.inward(y, w)
    seen = family.seen(y, loc, scale)
    return family.above(seen), seen, loc, scale


def gradient(family, f, y, e=1e-5):
    """The slope of the risk down each column, from either side."""
    steps = e * np.eye(f.shape[1])
    return np.stack([(family.risk(f + s, y) - family.risk(f - s, y)) / (2 * e) for s in steps], axis=1)


def places(law, n=3000):
    """(y, probability) so many that sums over them are expectations."""
    if law.discrete:
        y = np.arange(law.quantile(1 - 1e-14)[0] + 1)
        return y, np.exp(law.log_prob(y[None])[0])
    t = (np.arange(n) + 0.5) / n * 60 - 30
    p = expit(t) * expit(-t)
    return law.quantile(expit(t))[0], p / p.sum()


# slopes


@EVERY
@BOTH
def test_g_is_the_gradient_of_the_risk(name, score, monkeypatch):
    """Of a Student's t it is what makes −g / h the natural direction, but for rows that are too loud."""
    monkeypatch.setattr(families, "LOUD", np.inf)
    family, seen, *_ = fitted(name, drawn(name), score=score)
    f = np.random.default_rng(1).normal(AT[name], 0.1, (len(seen), family.outputs))
    g, h = family.slopes(f, seen)
    want = gradient(family, f, seen)
    if name == "student_t":
        want[:, 1], want[:, 2] = natural(want[:, 1], want[:, 2], np.exp(f[:, 2]))[0]
    heard = np.abs(want).max(axis=1) < 30
    assert np.mean(heard) > 0.9
    np.testing.assert_allclose(g[heard], want[heard], rtol=1e-3, atol=3e-4)
    assert np.all(h > 0)


@EVERY
def test_the_metric_is_the_information(name, monkeypatch):
    """E[(g / h) ∇ᵀ] = (F + ridge)⁻¹ F for F = E[∇ ∇ᵀ]: the identity, but for what is known of shapes beforehand."""
    monkeypatch.setattr(families, "LOUD", np.inf)
    family = FAMILIES[name]()
    f = np.array([AT[name]])
    y, p = places(family.law(*family.columns(f)))
    f = np.repeat(f, len(y), axis=0)
    g, h = family.slopes(f, y)
    slope = gradient(family, f, y)
    ridge = np.zeros((family.outputs, family.outputs))
    if name in ("student_t", "negative_binomial"):
        ridge[-1, -1] = RIDGE
    fisher = (slope * p[:, None]).T @ slope
    found = (g / h * p[:, None]).T @ slope
    np.testing.assert_allclose(found, np.linalg.solve(fisher + ridge, fisher), atol=0.02)


@EVERY
def test_the_metric_of_the_crps_is_half_its_curvature_in_expectation(name):
    """2 ∫ (∂F)² where that has a closed form, and as much but for a factor of two or so elsewhere."""
    family, e = FAMILIES[name]("crps"), 1e-5
    f = np.array([AT[name]])
    law = family.law(*family.columns(f))
    low, high = law.quantile([1e-9, 1 - 1e-9])[0]
    y = np.arange(high + 1) if law.discrete else np.linspace(low, high, 200_001)
    unit = 1.0 if law.discrete else y[1] - y[0]
    h = family.slopes(f, np.array([1.0]))[1][0]
    for k, step in enumerate(e * np.eye(family.outputs)):
        up, down = (family.law(*family.columns(f + s)).cdf(y[None])[0] for s in (step, -step))
        exact = 2 * unit * np.sum(np.square((up - down) / (2 * e)))
        closed = name in ("normal", "log_normal", "laplace", "poisson") or (name, k) == ("gamma", 0)
        assert h[k] == pytest.approx(exact, rel=1e-4) if closed else 0.4 < h[k] / exact < 1.5


def test_trigamma():
    np.testing.assert_allclose(trigamma(np.array([1.0, 0.5])), [np.pi**2 / 6, np.pi**2 / 2], rtol=1e-10)


def test_one_row_is_heard_as_a_thousand_at_most():
    g, _ = FAMILIES["normal"]().slopes(np.zeros((3, 2)), np.array([2.0, 1e3, -1e9]))
    np.testing.assert_allclose(g, [[-2, -3], [-np.sqrt(HEARD), 1 - HEARD], [np.sqrt(HEARD), 1 - HEARD]])


@pytest.mark.parametrize(
    ("name", "want"), [("normal", np.log(3.0)), ("poisson", np.log(9.0)), ("laplace", np.log(5.0))]
)
def test_a_long_step_up_ends_where_the_likelihood_is_highest(name, want):
    """Leaves of rows that are all the same but for the last column move it to log √E z², log mean, log E|z|."""
    family = FAMILIES[name]()
    y = {"normal": [-3.0, 3.0], "poisson": [8.0, 10.0], "laplace": [-5.0, 5.0]}[name]
    g, h = family.slopes(np.zeros((2, family.outputs)), np.array(y))
    step = family.leaf(-g.sum(axis=0, keepdims=True) / h.sum(axis=0))
    assert step[0, -1] == pytest.approx(want)


# starts


@EVERY
@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_gained_from_other_constants(name, score, weighted):
    y = drawn(name)
    w = np.random.default_rng(2).random(len(y)) + 0.1 if weighted else None
    family, seen, *_ = fitted(name, y, w, score)
    f = np.tile(family.start(seen, w), (len(y), 1))
    g, _ = family.slopes(f, seen)
    assert f.shape == (len(y), family.outputs)
    # A median may stand on a row; then the sum of signs is not 0 but for that row.
    least = 2 * (1 if w is None else w.max()) / len(y) if name == "laplace" and score == "log" else 1e-4
    assert np.all(np.abs(np.average(g, axis=0, weights=w)) <= least)


@EVERY
@BOTH
def test_whole_weights_are_repetition(name, score):
    y = drawn(name, 60)
    w = np.random.default_rng(3).integers(0, 4, len(y))
    family, seen, loc, scale = fitted(name, y, w.astype(float), score)
    other, again, *place = fitted(name, np.repeat(y, w), None, score)
    np.testing.assert_allclose((loc, scale), place, rtol=1e-12)
    np.testing.assert_allclose(family.start(seen, w), other.start(again, None), rtol=1e-9, atol=1e-9)


def test_a_start_from_parts_of_many_rows():
    y = np.random.default_rng(0).standard_t(3, 20_000)
    family, seen, *_ = fitted("student_t", y, None, "crps")
    g, h = family.slopes(np.tile(family.start(seen, None), (len(y), 1)), seen)
    assert np.all(np.abs(g.mean(axis=0) / h.mean(axis=0)) < 0.05)


# what f says of y


@EVERY
def test_the_law_of_y_is_the_law_of_what_is_seen(name):
    y = drawn(name)
    family, seen, loc, scale = fitted(name, y)
    f = np.random.default_rng(1).normal(AT[name], 0.5, (len(y), family.outputs))
    law = family.dist(f, loc, scale)
    rise = 0.0 if name in COUNTS else np.log(scale) + (np.log(y) if name == "log_normal" else 0.0)
    np.testing.assert_allclose(law.log_prob(y), -family.risk(f, seen) - rise, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(family.means(f, loc, scale), law.mean, rtol=1e-12)


@EVERY
def test_the_law_follows_the_units_of_y(name):
    y = drawn(name)
    laws = []
    for factor in (1.0, 1.0 if name in COUNTS else 1e4):
        family, seen, loc, scale = fitted(name, y * factor)
        laws.append((family.dist(family.start(seen, None)[None], loc, scale), factor))
    np.testing.assert_allclose(*(law.quantile([0.1, 0.5, 0.9]) / factor for law, factor in laws), rtol=1e-4)


@pytest.mark.parametrize("name", ["normal", "log_normal", "laplace", "student_t", "gamma"])
@BOTH
def test_no_law_is_narrower_than_the_gaps_of_y(name, score):
    y = np.repeat([2.0, 2.5, 3.5, 6.0], 5)
    family, seen, *_ = fitted(name, y, score=score)
    f = np.zeros((len(y), family.outputs))
    f[:, 1] = 40.0 if name == "gamma" else -40.0
    law = family.law(*family.columns(f))
    least = np.diff(np.unique(seen)).min() / np.sqrt(12)
    np.testing.assert_allclose(law.std if name == "gamma" else law.scale, least)
    g, _ = family.slopes(f, seen)
    assert np.all(g[:, 1] >= 0 if name == "gamma" else g[:, 1] <= 0)
    assert np.any(g[:, 1] != 0)


HOSTILE = {
    "constant": [3.0, 3.0, 3.0],
    "one": [5.0],
    "none": [0.0, 0.0, 0.0],
    "outlier": [1.0, 2.0, 1.0, 3.0, 1e6],
    "halves": [1.0] * 30 + [4.0],
    "tiny": [1.0, 2.0, 1e-300],
    "huge": [1e280, 2e280, 5e280],
}


@EVERY
@BOTH
@pytest.mark.parametrize("kind", HOSTILE)
def test_all_is_finite_whatever_y(name, score, kind):
    y = np.array(HOSTILE[kind])
    if name in {"tiny": COUNTS, "none": {"gamma", "log_normal"}}.get(kind, ()):
        return
    if kind == "huge":
        y = np.floor(y / 1e270) if name in COUNTS else y
    family, seen, loc, scale = fitted(name, y, score=score)
    start = family.start(seen, None)
    for shift in (0.0, -50.0, 50.0):
        f = np.tile(start + shift, (len(y), 1))
        assert all(
            np.all(np.isfinite(part)) for part in (*family.slopes(f, seen), family.means(f, loc, scale))
        )
        law = family.dist(f, loc, scale)
        if name != "log_normal" or shift <= 0:  # whose median may be e^1000 else
            assert np.all(np.isfinite([law.quantile(0.5), law.log_prob(y)]))
    assert np.all(family.risk(np.tile(start, (len(y), 1)), seen) < np.inf)


def test_a_lone_value_is_known_to_a_thousandth():
    family, seen, loc, scale = fitted("normal", np.full(3, 50.0))
    law = family.dist(family.start(seen, None)[None], loc, scale)
    assert (law.loc[0], law.scale[0]) == (50.0, pytest.approx(0.05))


# complaints


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("poisson", [1.0, -2.0], "whole numbers ≥ 0, but y has -2 in row 7"),
        ("negative_binomial", [1.0, 0.5], "whole numbers ≥ 0, but y has 0.5 in row 7"),
        ("gamma", [1.0, 0.0], "positive numbers, but y has 0 in row 7"),
        ("log_normal", [1.0, -1.0], "positive numbers, but y has -1 in row 7"),
    ],
)
def test_y_that_can_not_be(name, y, words):
    family = FAMILIES[name]()
    with pytest.raises(ValueError, match=words):
        family.check(np.array(y), np.array([3, 7]))
    with pytest.raises(ValueError, match="row 1; take that row out, or choose a family over all numbers"):
        family.check(np.array(y))
    family.check(np.array([1.0, 2.0]))


def test_an_unknown_score():
    with pytest.raises(ValueError, match="score must be 'log' or 'crps', got 'mse'"):
        FAMILIES["normal"]("mse")
