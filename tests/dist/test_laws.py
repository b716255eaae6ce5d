"""The laws of probability, for every family, every closure of families and every kind of mixture.

Integrals are taken here by Gauss-Legendre over pieces between quantiles, values and the place asked about: another
road than the library's own.
"""

import pickle

import numpy as np
import pytest

from quorate.dist import (
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Empirical,
    Gamma,
    Laplace,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Truncated,
)
from quorate.dist.samples import Samples

LOG = np.log([0.3, 0.7])
ROW_VOTES = np.log([[0.2, 0.8], [0.5, 0.5]])
LEAVES = ([1.0, 2.0, 5.0, 3.0, 3.0, 9.0, 4.0], [1, 2, 1, 1, 1, 0.5, 2], [0, 3, 6, 7], [1, 0])


def _nested():
    inner = Mixture(LOG, [Normal([0.0, 1.0]), StudentT(4.0, [3.0, 2.0])])
    return Mixture(ROW_VOTES, [Mixture(LOG, [inner, Laplace([0.0, 5.0])]), LogNormal([0.0, 0.5], 0.5)])


SMOOTH = {
    "normal": Normal([0.0, -300.0, 1e6], [1.0, 0.01, 5.0]),
    "student": StudentT([3.0, 2.5, 1e7], [0.0, 5.0, 1.0], [1.0, 0.1, 3.0]),
    "student heavy": StudentT([0.8, 1.0, 1.5], [0.0, 1.0, 2.0], 2.0),
    "laplace": Laplace([0.0, 10.0], [1.0, 0.3]),
    "lognormal": LogNormal([0.0, 1.0, -3.0], [0.5, 1.2, 0.01]),
    "gamma": Gamma([0.4, 1.0, 3.0, 5e4], [1.0, 2.0, 0.1, 1.0]),
    "beta": Beta([0.5, 3.0, 1.0, 400.0], [0.7, 2.0, 1.0, 900.0]),
    "truncated normal": Truncated(Normal([0.0, 0.0, 1.0]), [10.0, -12.0, 0.5], [12.0, -10.0, np.inf]),
    "truncated narrow": Truncated(Normal([0.0, 0.0]), [1.0, -3e-7], [1.0 + 1e-5, 2e-7]),
    "truncated far": Truncated(Normal([-50.0, 40.0]), [0.0, -np.inf], [np.inf, 0.0]),
    "truncated gamma": Truncated(Gamma([0.4, 4.0]), [0.1, 9.0], [3.0, np.inf]),
    "truncated beta": Truncated(Beta([0.5, 2.0], [0.5, 5.0]), [0.2, 0.0], [0.7, 0.3]),
    "affine gamma": Gamma([0.6, 4.0]).affine([1.0, -2.0], [-2.0, 3.0]),
    "affine truncated": Truncated(Gamma([1.5, 4.0]), 0.5, 3.0).affine(1.0, -2.0),
    "truncated affine": Truncated(Gamma([1.5, 4.0]).affine(10.0, -1.0), 6.0, 9.5),
    "kernels": Empirical([1.0, 2.0, 2.0, 10.0], loc=[0.0, 100.0], scale=[1.0, 0.1]).smooth,
    "mixture of normals": Mixture(LOG, [Normal([0.0, 1.0], [1.0, 2.0]), Normal([5.0, -5.0], [0.01, 1.0])]),
    "mixture unlike": Mixture(ROW_VOTES, [Normal([0.0, 1.0]), StudentT(3.0, [2.0, 3.0])]),
    "mixture one row": Mixture(ROW_VOTES, [Normal(0.0, 1.0), Gamma(2.0, 3.0)]),
    "mixture nested": _nested(),
    "mixture far apart": Mixture(LOG, [Normal([0.0, 0.0], 1e-3), Normal([1e4, 50.0], [1.0, 1e-3])]),
    "truncated mixture": Truncated(_nested(), [0.5, -1.0], [4.0, 6.0]),
    "affine mixture": _nested().affine(2.0, [-1.0, 0.5]),
}
COUNTS = {
    "poisson": Poisson([0.3, 40.0, 0.0, 1e4]),
    "negative binomial": NegativeBinomial([0.5, 6.0, 3.0, 20.0], [0.1, 0.4, 1.0, 0.01]),
    "binomial": Binomial([10, 3, 5, 0, 2000], [0.3, 0.9, 1.0, 0.5, 0.5]),
    "truncated poisson": Truncated(Poisson([3.0, 40.0, 5.0]), [0.5, 60.0, 2.0], [np.inf, 70.0, 2.0]),
    "truncated binomial": Truncated(Binomial(50, [0.5, 0.02]), [40, 10], [50, 11.5]),
    "mixture of counts": Mixture(LOG, [Poisson([3.0, 40.0]), Binomial([10, 100], 0.5)]),
    "truncated mixture of counts": Truncated(
        Mixture(LOG, [Poisson([3.0, 4.0]), Binomial(9, 0.5)]), 2, [7, 30]
    ),
}
SAMPLES = {
    "empirical": Empirical([1.0, 2.0, 2.0, 10.0], loc=[0.0, 100.0], scale=[1.0, 0.1]),
    "empirical weighted": Empirical([0.3, 0.1, 0.2], [0.1, 0.7, 0.2], loc=1e4),
    "empirical rows": Empirical([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]], [1.0, 2.0, 3.0], bandwidth=0.5),
    "empirical ragged": Empirical.ragged(*LEAVES, loc=[0.0, -7.0], scale=[1.0, 3.0]),
    "empirical many": Empirical(np.random.default_rng(1).normal(size=300)),
    "empirical turned": -Empirical.ragged(*LEAVES, loc=[0.0, -7.0], scale=[1.0, 3.0]),
    "truncated empirical": Truncated(Empirical(np.arange(9.0), loc=[0.0, 1.0]), [1.5, 3.0], [5.0, np.inf]),
    "mixture of empiricals": Mixture(
        LOG, [Empirical([1.0, 2.0, 10.0], loc=[0.0, 100.0]), Empirical.ragged(*LEAVES, loc=[0.0, 100.0])]
    ),
    "affine poisson": Poisson([3.0, 40.0]).affine(0.3, [0.1, -0.1]),
    "truncated affine poisson": Truncated(Poisson([3.0, 40.0]).affine(0.3, -0.1), -3.5, [0.1, 0.0]),
    "mixture of affine counts": Mixture(LOG, [Poisson([3.0, 4.0]), Poisson([2.0, 3.0])]) * 0.1,
}
MIXED = {
    "mixture with values": Mixture(
        LOG, [Empirical([1.0, 2.0, 10.0], loc=[0.0, 100.0]), Normal([3.0, 90.0], 2.0)]
    ),
    "mixture with counts": Mixture(ROW_VOTES, [Poisson([3.0, 40.0]), Normal([0.0, 30.0], [1.0, 9.0])]),
    "mixture of all": Mixture(
        np.log([0.2, 0.3, 0.5]),
        [Poisson([3.0, 4.0]), Empirical.ragged(*LEAVES), Mixture(LOG, [Normal([1.0, 2.0]), Gamma(2.0)])],
    ),
    "mixture without": Mixture(
        [[-np.inf, 0.0], [0.0, -np.inf]], [Empirical([1.0, 2.0, 10.0]), Normal([3.0, 90.0], 2.0)]
    ),
}
ALL = SMOOTH | COUNTS | SAMPLES | MIXED
CLASSES = {
    "categorical": Categorical([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]], classes=["a", "b", "c"]),
    "mixture of classes": Mixture(
        ROW_VOTES, [Categorical([[0.25, 0.75], [0.5, 0.5]]), Categorical([[1.0, 0.0], [0.1, 0.9]])]
    ),
}
SHARES = {
    "dirichlet": Dirichlet([[2.0, 3.0, 5.0], [1.0, 1.5, 0.5]]),
    "mixture of dirichlets": Mixture(
        LOG,
        [Dirichlet([[2.0, 3.0], [9.0, 1.0]]), Mixture(LOG, [Dirichlet([1.0, 2.0]), Dirichlet([3.0, 2.0])])],
    ),
}
NO_MEAN = {"student heavy"}  # rows with infinite moments
P = np.array([0.001, 0.03, 0.2, 0.5, 0.8, 0.97, 0.999])


def over(laws):
    return pytest.mark.parametrize("d", laws.values(), ids=laws.keys())


# The other road to an integral.

GAUSS, WEIGHT = np.polynomial.legendre.leggauss(16)
TAILS = 10.0 ** -np.arange(1, 13.5, 0.25)
LEVELS = np.concatenate([TAILS[::-1], np.linspace(0.11, 0.89, 61), 1 - TAILS])


def pieces(d, *more):
    """Ends of pieces in which a row's cdf is smooth."""
    places = [d.quantile(LEVELS)[0], d.flat_atoms()[1], d.smooth.quantile(LEVELS)[0], *map(np.ravel, more)]
    if hasattr(d, "samples"):
        places.append(np.ravel(d.loc[:, None] + d.scale[:, None] * d.samples.atoms))
    if isinstance(d, Mixture):
        places += [pieces(p if len(p) == 1 else p[0]) for p in d.parts]
    places = np.unique(np.concatenate(places))
    return places[np.isfinite(places)]


def integral(f, ends):
    half = 0.5 * np.diff(ends)
    z = 0.5 * (ends[1:] + ends[:-1])[:, None] + half[:, None] * GAUSS
    value = f(z.ravel()).reshape(z.shape)
    return np.sum(half * (np.where(np.isfinite(value), value, 0.0) @ WEIGHT))


def expectation(d, g):
    """E g(Y) of one row, by its parts, its values or its density."""
    if isinstance(d, Mixture):
        parts = zip(d.weights[0], d.parts, strict=True)
        return sum(w * expectation(part, g) for w, part in parts if w > 0)
    if d.atoms:
        _, values, p = d.flat_atoms()
        return np.sum(p * g(values))
    return integral(lambda z: g(z) * np.exp(d.log_prob(z)), pieces(d))


def scale_of(d):
    """A length to measure errors by, one a row."""
    q = d.quantile([0.01, 0.99])
    return np.maximum(q[:, 1] - q[:, 0], 1e-12)


# Probabilities.


@over(ALL)
def test_cdf_of_quantile(d):
    y = d.quantile(P)
    reached = d.cdf(y)
    if d.atoms:
        assert np.all(reached >= P - 1e-12)
        assert np.all(d.cdf_below(y) <= P + 1e-12)
    else:
        # y itself is a rounded number
        exact = 1e-7 if np.any(scale_of(d) < 1e-4 * np.abs(d.median)) else 1e-9
        np.testing.assert_allclose(reached, np.broadcast_to(P, reached.shape), rtol=exact, atol=0)
        np.testing.assert_allclose(d.sf(y), np.broadcast_to(1 - P, reached.shape), rtol=exact, atol=1e-15)


@over(ALL)
def test_quantile_of_cdf(d):
    y = np.sort(d.sample(5, 0), axis=1)
    back = d.quantile(d.cdf(y))
    room = 1e-9 * (scale_of(d)[:, None] + np.abs(y))
    assert np.all(back <= y + room)
    flat = d.cdf(np.minimum(back + room, y)) - d.cdf(back)  # where it falls short, nothing lies between
    assert np.all(np.abs(flat) <= 1e-7)


@over(ALL)
def test_no_levels(d):
    assert d.quantile([]).shape == (len(d), 0)


@over(ALL)
def test_quantile_of_the_ends(d):
    lo, hi = d.bounds()
    np.testing.assert_array_equal(d.quantile([0.0, 1.0]), np.stack([lo, hi], axis=1))
    assert np.all(d.cdf(lo - 1e-9 * (1 + np.abs(lo))) == 0)
    np.testing.assert_allclose(d.cdf(hi), 1.0, rtol=1e-15)


@over(ALL)
def test_cdf_rises_from_0_to_1(d):
    grid = np.sort(np.concatenate([d.quantile(LEVELS), d.quantile(P) + 0.1], axis=1), axis=1)
    for f in (d.cdf(grid), -d.sf(grid)):
        assert np.all(np.diff(f, axis=1) >= -1e-14)
    np.testing.assert_allclose(d.cdf(np.inf), 1, rtol=1e-15)  # votes are rounded
    assert np.all(d.cdf(-np.inf) == 0)
    assert np.all(d.sf(np.inf) == 0)
    np.testing.assert_allclose(d.sf(-np.inf), 1, rtol=1e-15)


@over(ALL)
def test_complements(d):
    y = np.concatenate([d.quantile(P), d.mode[:, None], d.quantile([0.5]) + 0.05], axis=1)
    np.testing.assert_allclose(d.sf(y), 1 - d.cdf(y), atol=1e-12)
    np.testing.assert_allclose(d.sf_from(y), 1 - d.cdf_below(y), atol=1e-12)
    np.testing.assert_allclose(np.exp(d.log_cdf(y)), d.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(np.exp(d.log_sf(y)), d.sf(y), rtol=1e-12, atol=1e-300)
    for one, other in ((d.log_cdf, d.sf), (d.log_sf, d.cdf)):
        small = other(y) < 0.4
        np.testing.assert_allclose(one(y)[small], np.log1p(-other(y)[small]), rtol=1e-9)
    jump = d.cdf(y) - d.cdf_below(y)
    if not d.atoms:
        assert np.all(jump == 0)
    elif d.discrete:
        np.testing.assert_allclose(jump, np.exp(d.log_prob(y)), rtol=1e-9, atol=1e-13)


@over(ALL)
def test_nan_is_answered_with_nan(d):
    for answer in (d.cdf(np.nan), d.log_prob(np.nan)):
        assert np.all(np.isnan(answer))


@over(ALL)
def test_log_tails_go_on_where_tails_end(d):
    """A tail that is 0 in numbers is not in logs, unless it is beyond the support."""
    (lo, hi), middle = d.bounds(), d.median[:, None]
    out = np.array([2.0, 30.0, 400.0, 1e5]) * scale_of(d)[:, None]
    below, above = d.log_cdf(middle - out), d.log_sf(middle + out)
    for log_p in (below, above):
        assert np.all(log_p[:, 1:] <= log_p[:, :-1])
    at_least = np.greater_equal if d.atoms else np.greater
    np.testing.assert_array_equal(below > -np.inf, at_least(middle - out, lo[:, None]))
    np.testing.assert_array_equal(above > -np.inf, middle + out < hi[:, None])


@over(SMOOTH | SAMPLES)
def test_density_adds_up_to_one(d):
    for row in d:
        if d.discrete:
            values = np.unique(row.flat_atoms()[1].round(9))
            assert np.sum(np.exp(row.log_prob(values))) == pytest.approx(1, abs=1e-9)
        else:
            p = integral(lambda z, row=row: np.exp(row.log_prob(z)), pieces(row))
            assert p == pytest.approx(1, abs=1e-7 if isinstance(d, Mixture) else 1e-8)


@over(COUNTS)
def test_probabilities_add_up_to_one(d):
    rows, values, p = d.flat_atoms()
    np.testing.assert_allclose(np.bincount(rows, p), 1.0, atol=1e-11)
    np.testing.assert_allclose(np.bincount(rows, np.exp(d[rows].log_prob(values))), 1.0, atol=1e-11)
    assert np.all(d.log_prob(0.5) == -np.inf)
    np.testing.assert_array_equal(d.cdf([[3.5]]), d.cdf([[3.0]]))
    np.testing.assert_array_equal(d.cdf_below([[3.5]]), d.cdf([[3.0]]))
    np.testing.assert_array_equal(d.cdf_below([[3.0]]), d.cdf([[2.5]]))


@over(SMOOTH)
def test_density_is_the_slope_of_the_cdf(d):
    y = d.quantile([0.11, 0.3, 0.62, 0.93])
    # As far as a slope can be seen: a step that is a small change of the cdf.
    with np.errstate(over="ignore"):
        h = np.maximum(1e-5 / np.exp(d.log_prob(y)), 1e-13 * np.abs(y))
    rise = np.where(y < d.median[:, None], d.cdf(y + h) - d.cdf(y - h), d.sf(y - h) - d.sf(y + h))
    with np.errstate(invalid="ignore"):
        even = np.abs(d.log_prob(y + h) - d.log_prob(y - h)) < 0.1
    assert even.sum() > 0.6 * even.size
    np.testing.assert_allclose((rise / ((y + h) - (y - h)))[even], np.exp(d.log_prob(y))[even], rtol=1e-3)


@over(ALL)
def test_interval_covers(d):
    lower, upper = d.interval(0.8).T
    held = d.cdf(upper) - d.cdf_below(lower)
    assert np.all(held >= 0.8 - 1e-9)
    if not d.atoms:
        np.testing.assert_allclose(held, 0.8, rtol=1e-9)
    np.testing.assert_array_equal(d.median, d.quantile([0.5])[:, 0])


# Moments.


@over({name: d for name, d in ALL.items() if name not in NO_MEAN})
def test_moments(d):
    for i, row in enumerate(d):
        unit, middle = scale_of(row)[0], row.median[0]
        mean = middle + expectation(row, lambda y, m=middle: y - m)
        assert d.mean[i] == pytest.approx(mean, rel=1e-12, abs=1e-7 * unit)
        if np.isfinite(row.variance[0]) and not (isinstance(d, StudentT) and d.df[i] < 3):
            variance = expectation(row, lambda y, m=mean: (y - m) ** 2)
            tolerance = 3e-4 if "Student" in repr(d) else 1e-6  # the far tail beyond 1e-13 weighs
            assert row.variance[0] == pytest.approx(variance, rel=tolerance, abs=1e-14 * unit**2)
    np.testing.assert_allclose(d.std, np.sqrt(d.variance), rtol=1e-12)


@over(SMOOTH | SAMPLES | MIXED)
@pytest.mark.parametrize("unit", [1e-170, 1e170])
def test_std_of_any_size(d, unit):
    """Squares of which are no numbers."""
    np.testing.assert_allclose((unit * d).std, unit * d.std, rtol=1e-9)


@over({name: d for name, d in ALL.items() if name not in NO_MEAN})
def test_draws(d):
    k = 4000
    draws = d.sample(k, 7)
    assert draws.shape == (len(d), k)
    np.testing.assert_array_equal(draws, d.sample(k, np.random.default_rng(7)))
    finite = np.isfinite(d.std)
    error = np.abs(draws.mean(axis=1) - d.mean)[finite]
    assert np.all(error <= 4.5 * d.std[finite] / np.sqrt(k) + 1e-12 * np.abs(d.mean[finite]))
    for q in d.quantile([0.1, 0.5, 0.8]).T:
        for place in (q - 1e-9 * (1 + np.abs(q)), q + 1e-9 * (1 + np.abs(q))):
            below, f = draws <= place[:, None], d.cdf(place)
            assert np.all(np.abs(below.mean(axis=1) - f) <= 4.5 * np.sqrt(f * (1 - f) / k) + 1e-9)


def test_heavy_tails_have_no_mean():
    d = SMOOTH["student heavy"]
    assert np.isnan(d.mean[:2]).all()
    assert d.mean[2] == 2
    assert np.isnan(d.variance[:2]).all()
    assert d.variance[2] == np.inf
    assert np.isinf(d.distance(0.0)[:2]).all()
    assert np.isinf(d.half_distance()[:2]).all()
    mixture = Mixture(np.zeros(2), [d, Normal(0.0)])
    assert np.isnan(mixture.mean[0])
    assert mixture.crps(3.0)[0] < d.crps(3.0)[0]


@over(ALL)
def test_mode_beats_the_rest(d):
    mode = d.mode
    top = d.log_prob(mode)[:, None]
    grid = np.concatenate(
        [d.quantile(np.linspace(0.001, 0.999, 203)), d.quantile(P), mode[:, None] * (1 + 1e-6)], axis=1
    )
    assert np.all(d.log_prob(grid) <= top + 1e-8)


@over(ALL)
def test_entropy(d):
    kinks = not d.atoms and not isinstance(d, Mixture)
    for i, row in enumerate(d):
        if isinstance(d, Mixture) and d.atoms and not d.discrete:
            continue  # below
        law = row.smooth

        def information(y, law=law):
            log_p = law.log_prob(y)
            return np.where(log_p > -np.inf, -log_p, 0.0)

        if d.discrete:
            values = np.unique(row.flat_atoms()[1].round(9))
            p = np.exp(law.log_prob(values))
            expected = np.sum(np.where(p > 0, p, 0.0) * information(values))
        else:
            expected = integral(lambda z: information(z) * np.exp(law.log_prob(z)), pieces(row))  # noqa: B023
        heavy = "student" in repr(d).lower()
        tolerance = 1e-6 if heavy or not kinks else 1e-8
        assert d.entropy[i] == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_entropy_of_a_mixture_with_values():
    values, normal = Empirical([1.0, 2.0, 10.0]), Normal(3.0, 2.0)
    mixed, smooth = (Mixture(LOG, [first, normal]) for first in (values, values.smooth))
    np.testing.assert_allclose(mixed.entropy, smooth.entropy)
    np.testing.assert_array_equal(mixed.log_prob([1.0, 5.0]), smooth.log_prob([1.0, 5.0]))


def test_entropy_keeps_counts_and_densities_apart():
    d = Mixture(LOG, [Poisson(3.0), Normal(0.0)])
    split = 0.3 * Poisson(3.0).entropy + 0.7 * Normal(0.0).entropy - np.exp(LOG) @ LOG
    np.testing.assert_allclose(d.entropy, split, rtol=1e-10)


# Scores.


@over(ALL)
def test_crps_is_the_integral_of_the_squared_miss(d):
    unit = scale_of(d)[:, None]
    y = d.quantile([0.3, 0.5, 0.999]) + unit * [0.0, 0.3, 2.0]
    scores = d.crps(y)
    for i, row in enumerate(d):
        ends = pieces(row)
        ends = np.concatenate([ends[:1] - 1e-9 * unit[i], ends, ends[-1:] + 1e-9 * unit[i]])
        for place, score in zip(y[i], scores[i], strict=True):

            def miss(z, row=row, place=place):
                return (row.cdf(z) - (place <= z)) ** 2

            expected = integral(miss, np.sort(np.append(ends, place)))
            assert score == pytest.approx(expected, rel=3e-8, abs=3e-8 * unit[i, 0])


@over({name: d for name, d in ALL.items() if name not in NO_MEAN})
def test_distance(d):
    for i, row in enumerate(d):
        unit = scale_of(row)[0]
        y = row.quantile(0.7)[0] + 0.01 * unit
        expected = expectation(row, lambda z, y=y: np.maximum(z - y, 0.0) + np.maximum(y - z, 0.0))
        # The corner at y costs the oracle digits.
        assert d.distance(np.full(len(d), y))[i] == pytest.approx(expected, rel=1e-3, abs=1e-9 * unit)
    far = d.median + 1e12 * scale_of(d)
    np.testing.assert_allclose(d.distance(far), far - d.mean, rtol=1e-12)
    np.testing.assert_allclose(d.distance(-far), far + d.mean, rtol=1e-12)
    np.testing.assert_allclose(d.crps(far), d.distance(far) - d.half_distance(), rtol=1e-12)


# Closure.


@over(ALL)
@pytest.mark.parametrize(("shift", "factor"), [(2.0, 3.0), (-1.0, -0.5)])
def test_affine(d, shift, factor):
    a = d.affine(shift, factor)
    y = d.quantile([0.2, 0.5, 0.9]) + (0.0 if d.atoms else 1e-3 * scale_of(d)[:, None])
    z = shift + factor * y
    unit = abs(factor) * scale_of(d)
    np.testing.assert_allclose(a.mean, shift + factor * d.mean, rtol=1e-9, atol=1e-9 * unit.max())
    np.testing.assert_allclose(a.std, abs(factor) * d.std, rtol=1e-9)
    np.testing.assert_allclose(a.half_distance(), abs(factor) * d.half_distance(), rtol=1e-8)
    np.testing.assert_allclose(a.crps(z), abs(factor) * d.crps(y), rtol=1e-7, atol=1e-9 * unit.max())
    if not d.atoms:
        np.testing.assert_allclose(a.log_prob(z), d.log_prob(y) - np.log(abs(factor)), rtol=1e-6, atol=1e-5)
    elif d.discrete:
        np.testing.assert_allclose(a.log_prob(z), d.log_prob(y), rtol=1e-9)
    if d.atoms:
        # The last digit of z may fall on either side of a value.
        above, below = (shift + factor * (y + side * 1e-7) for side in (1, -1))
        at = (a.cdf(above), d.cdf(y + 1e-7)) if factor > 0 else (a.cdf(below), d.sf_from(y - 1e-7))
        np.testing.assert_allclose(*at, atol=1e-12)
    else:
        np.testing.assert_allclose(a.cdf(z), d.cdf(y) if factor > 0 else d.sf(y), rtol=1e-6)
        level = P if factor > 0 else 1 - P
        np.testing.assert_allclose(
            a.quantile(level), shift + factor * d.quantile(P), rtol=1e-8, atol=1e-8 * unit.max()
        )
    draws = a.sample(3, 5)
    assert draws.shape == (len(d), 3)


def test_operators_take_numbers():
    for operate in (lambda d: d + d, lambda d: d - d, lambda d: d * d, lambda d: d / d):
        with pytest.raises(TypeError, match="unsupported operand"):
            operate(Normal(0.0))
    with pytest.raises(TypeError, match="loc takes numbers, got Gamma"):
        Normal(Gamma(2.0))
    with pytest.raises(TypeError, match="shift takes numbers, got Normal"):
        Normal(0.0).affine(Normal(0.0))


def test_turning_samples_twice_costs_no_room():
    d = Empirical.ragged(*LEAVES)
    turned = -d
    for _ in range(4):
        turned = -turned
    assert len(turned.samples.atoms) == len(d.samples.atoms)
    np.testing.assert_array_equal(turned.mean, -d.mean)
    mixed = d * [1.0, -1.0]
    assert len(mixed.samples.atoms) == 2 * len(d.samples.atoms)
    np.testing.assert_array_equal(mixed.mean, d.mean * [1.0, -1.0])


def test_affine_keeps_the_family_where_it_can():
    for d in (Normal(1.0), StudentT(3.0, 1.0), Laplace(1.0), SAMPLES["empirical ragged"]):
        assert type(-3.0 * d + 1.0) is type(d)
        assert type(1.0 - d / 2.0) is type(d)
    for d in (LogNormal(1.0), Gamma(2.0)):
        assert type(2.0 * d) is type(d)
        assert type(np.float64(2.0) * d) is type(d)
    assert repr(1.0 - (1.0 - Gamma(2.0))) == repr(Gamma(2.0))
    np.testing.assert_allclose((Truncated(Normal(0.0), 1.0, 2.0) * -2.0).bounds(), [[-4.0], [-2.0]])
    moved = Normal(0.0) + np.arange(3.0)
    assert len(moved) == 3
    assert repr(Gamma(2.0) + 1.0) == "1 + 1 · Gamma(a=2, scale=1)"


@over({name: d for name, d in ALL.items() if name not in NO_MEAN})
def test_truncation(d):
    lo, hi = d.quantile([0.25, 0.8]).T + (np.array([[-0.1], [0.1]]) if d.atoms else 0.0)
    t = Truncated(d, lo, hi)
    held = d.cdf(hi) - d.cdf_below(lo)
    y = t.quantile([0.2, 0.5, 0.7])
    assert np.all((y >= lo[:, None]) & (y <= hi[:, None]))
    np.testing.assert_allclose(t.cdf(y), (d.cdf(y) - d.cdf_below(lo)[:, None]) / held[:, None], atol=1e-7)
    if d.discrete or not d.atoms:
        np.testing.assert_allclose(t.log_prob(y), d.log_prob(y) - np.log(held)[:, None], rtol=1e-6, atol=1e-5)
    assert np.all(t.log_prob(lo - 1e-3 * (1 + np.abs(lo))) == -np.inf)
    assert np.all(t.log_prob(hi + 1e-3 * (1 + np.abs(hi))) == -np.inf)
    assert np.all((t.mean >= lo) & (t.mean <= hi))
    assert np.all((t.mode >= lo) & (t.mode <= hi))
    assert np.all(t.std <= (hi - lo) * (1 + 1e-9))
    everything = Truncated(d)
    np.testing.assert_allclose(everything.cdf(y), d.cdf(y), rtol=1e-12)
    twice = Truncated(Truncated(d, lo, np.inf), -np.inf, hi)
    np.testing.assert_allclose(twice.cdf(y), t.cdf(y), rtol=1e-9)


# Rows, shapes, state.


@over(ALL)
def test_rows(d):
    y = d.quantile([0.3, 0.9])
    mask = np.arange(len(d)) % 2 == 0
    pick = [len(d) - 1, 0, 0]
    for method in ("log_prob", "cdf", "cdf_below", "sf", "crps"):
        whole = getattr(d, method)(y)
        for rows in (slice(1, None), mask, pick):
            np.testing.assert_allclose(getattr(d[rows], method)(y[rows]), whole[rows], rtol=1e-9, atol=1e-12)
        single = np.concatenate([getattr(row, method)(y[i : i + 1]) for i, row in enumerate(d)])
        np.testing.assert_allclose(single, whole, rtol=1e-9, atol=1e-12)
    for name in ("mean", "variance", "mode", "entropy"):
        np.testing.assert_allclose(getattr(d[pick], name), getattr(d, name)[pick], rtol=1e-7)
    np.testing.assert_allclose(d[pick].quantile(0.3), y[pick, 0], rtol=1e-9)
    assert len(d[mask]) == mask.sum()
    assert len(d[-1]) == len(d[0]) == 1
    with pytest.raises(IndexError):
        d[len(d)]


@over(ALL)
def test_no_rows(d):
    for empty in (d[:0], d[[]], d[np.zeros(len(d), dtype=bool)]):
        assert len(empty) == 0
        assert empty.mean.shape == (0,)
        assert empty.cdf(0.0).shape == (0,)
        assert empty.sample(3, 0).shape == (0, 3)


@over(ALL)
def test_shapes(d):
    n = len(d)
    y = d.quantile([0.2, 0.6, 0.9])
    assert d.quantile(0.5).shape == (n,)
    assert d.quantile([0.5, 0.7]).shape == (n, 2)
    assert d.quantile(np.full((n, 4), 0.3)).shape == (n, 4)
    assert d.interval().shape == (n, 2)
    assert d.sample(rng=1).shape == (n, 1)
    assert d.sample(0).shape == (n, 0)
    for name in ("mean", "variance", "std", "median", "mode", "entropy"):
        assert getattr(d, name).shape == (n,)
    for method in ("log_prob", "cdf", "sf", "crps", "distance"):
        f = getattr(d, method)
        assert f(1.5).shape == (n,)
        assert f(y[:, 0]).shape == (n,)
        assert f(y).shape == (n, 3)
        assert f(y[:1]).shape == (n, 3)
        np.testing.assert_allclose(f(y)[:, 1], f(y[:, 1]), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(f(y[:1])[0], d[0].__getattribute__(method)(y[0]), rtol=1e-9, atol=1e-12)
        if n > 1:
            with pytest.raises(ValueError, match=f"y has {n + 3} values for {n} rows"):
                f(np.zeros(n + 3))


def arrays(thing, seen=()):
    """Every array an object holds."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, tuple):
        for part in thing:
            yield from arrays(part)
    elif hasattr(thing, "__dict__"):
        for value in vars(thing).values():
            yield from arrays(value)


@over(ALL | CLASSES | SHARES)
def test_frozen(d):
    with pytest.raises(AttributeError):
        d.loc = 3.0
    with pytest.raises(AttributeError):
        d.anything = 3.0
    for law in (d, d[[0, 0]], d[:1], pickle.loads(pickle.dumps(d))):
        held = list(arrays(law))
        assert held
        assert not any(a.flags.writeable for a in held)
    for value in (d.mean, d.variance) if hasattr(d, "mean") else (d.probs,):
        before = value.copy()
        if value.flags.writeable:
            value += 1
        again = d.mean if hasattr(d, "mean") else d.probs
        assert again is not value or np.array_equal(before, again, equal_nan=True)


@over(ALL | CLASSES | SHARES)
def test_pickle(d):
    twin = pickle.loads(pickle.dumps(d))
    assert type(twin) is type(d)
    assert repr(twin) == repr(d)
    np.testing.assert_array_equal(twin.sample(3, 0), d.sample(3, 0))
    np.testing.assert_array_equal(twin[0].sample(3, 0), d[0].sample(3, 0))
    y = d.sample(1, 0)[:, 0]
    np.testing.assert_array_equal(twin.log_prob(y), d.log_prob(y))


# Mixtures.


def mixtures(laws):
    return over({name: d for name, d in laws.items() if isinstance(d, Mixture)})


@mixtures(ALL | CLASSES)
def test_nested_is_flattened(d):
    other = d[:].parts[0]
    nested = Mixture(np.log([0.6, 0.4]), [d, other])
    flat = nested.flatten()
    assert not any(isinstance(p, Mixture) for p in flat.parts)
    y = d.sample(4, 3)
    np.testing.assert_allclose(flat.log_prob(y), nested.log_prob(y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(flat.weights.sum(axis=1), 1, rtol=1e-14)
    if hasattr(d, "cdf"):
        for name in ("mean", "variance"):
            np.testing.assert_allclose(getattr(flat, name), getattr(nested, name), rtol=1e-12)
        for method in ("cdf", "cdf_below"):
            np.testing.assert_allclose(getattr(flat, method)(y), getattr(nested, method)(y), atol=1e-12)
        np.testing.assert_allclose(flat.quantile(P), nested.quantile(P), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(flat.crps(y), nested.crps(y), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(flat.entropy, nested.entropy, rtol=1e-7)


@mixtures(ALL)
def test_a_mixture_is_the_sum_of_its_parts(d):
    w = d.weights.T
    y = d.quantile([0.2, 0.7])
    for method in ("cdf", "sf", "distance"):
        parts = sum(v[:, None] * getattr(p, method)(y) for v, p in zip(w, d.parts, strict=True))
        np.testing.assert_allclose(getattr(d, method)(y), parts, rtol=1e-9)
    joint = d.log_joint(y)
    assert joint.shape == (len(d.parts), *y.shape)
    np.testing.assert_allclose(np.logaddexp.reduce(joint, axis=0), d.log_prob(y), rtol=1e-12)
    mean = sum(v * p.mean for v, p in zip(w, d.parts, strict=True))
    np.testing.assert_allclose(d.mean, mean, rtol=1e-12)
    square = sum(v * (p.variance + p.mean**2) for v, p in zip(w, d.parts, strict=True))
    np.testing.assert_allclose(d.variance, square - mean**2, rtol=1e-7, atol=1e-12 * np.max(square))


@mixtures(ALL | CLASSES)
@pytest.mark.parametrize("kind", ["variance", "entropy"])
def test_uncertainty_adds_up(d, kind):
    u = d.uncertainty(kind)
    assert u.kind == kind
    assert np.all(u.between >= 0)
    np.testing.assert_array_equal(u.total, u.within + u.between)
    np.testing.assert_allclose(sum(u.levels), u.total, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(u.total, getattr(d, kind), rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(u.levels[0], u.between)
    assert u.within.shape == u.between.shape == (len(d),)


def test_uncertainty_goes_down_the_levels():
    u = SMOOTH["mixture nested"].uncertainty()
    assert len(u.levels) == 4
    agreed = Mixture(np.zeros(3), [Normal([1.0, 2.0])] * 3)
    for kind in ("variance", "entropy"):
        np.testing.assert_allclose(agreed.uncertainty(kind).between, 0, atol=1e-9)
    with pytest.raises(ValueError, match="kind"):
        agreed.uncertainty("surprise")


PEAKED = {
    "gamma": Gamma([0.3, 0.1, 0.01, 3.0]),
    "beta": Beta([0.2, 0.01, 2.0, 5.0], [0.2, 0.1, 0.2, 0.3]),
    "affine beta": 10.1 + 5.3 * Beta([0.2, 0.1], [0.2, 3.0]),
    "affine gamma": 5.0 - 2.0 * Gamma([0.1, 0.4]),
    "lognormal": LogNormal([0.0, 1.0, 2.0], [4.0, 10.0, 30.0]),
}
HEAVY = {
    "student": StudentT([0.6, 1.001, 1.02, 1.5]),
    "lognormal": LogNormal(0.0, [10.0, 20.0]),
    "counts": NegativeBinomial([0.01, 1e-4], 1e-9),
}


@over(SMOOTH | PEAKED)
def test_agreed_density(d):
    """What all members say is what the mixture says, though it is summed in another way."""
    agreed = Mixture(LOG, [d, d])
    np.testing.assert_allclose(agreed.entropy, d.entropy, rtol=2e-8, atol=2e-8)
    np.testing.assert_allclose(Truncated(agreed).entropy, d.entropy, rtol=2e-8, atol=2e-8)


@over(ALL | HEAVY)
def test_agreed_scores(d):
    agreed, y = Mixture(LOG, [d, d]), d.quantile([0.01, 0.3, 0.9])
    np.testing.assert_allclose(agreed.crps(y), d.crps(y), rtol=1e-8, atol=1e-9 * scale_of(d).min())
    np.testing.assert_allclose(agreed.half_distance(), d.half_distance(), rtol=1e-8)


@over(ALL)
def test_crps_of_endless_tails(d):
    """A tail that falls no faster than one over the square root has no score, if it has a vote."""
    endless = Mixture(LOG, [d, StudentT(0.5)])
    assert np.all(endless.crps(1.0) == np.inf)
    assert np.all(Truncated(endless, -1e9).crps([[1.0, 2.0]]) == np.inf)
    assert np.all(np.isfinite(Truncated(endless, -1e9, 1e9).crps(1.0)))
    silent = Mixture([0.0, -np.inf], [d, StudentT(0.5)])
    np.testing.assert_allclose(silent.crps(1.0), d.crps(1.0), rtol=1e-7, atol=1e-9)


def test_large_votes():
    parts = [Normal(0.0), Normal(1.0)]
    np.testing.assert_allclose(
        Mixture([-1e12, -1e12 + 1], parts).weights[0], [1 / (1 + np.e), np.e / (1 + np.e)]
    )
    np.testing.assert_array_equal(Mixture([1e17, 1e17], parts).weights, [[0.5, 0.5]])
    np.testing.assert_array_equal(Mixture([1e308, -1e308], parts).weights, [[1.0, 0.0]])


def test_no_rows_of_row_votes():
    d = MIXED["mixture without"][:0]
    assert [len(column) for column in d.flat_atoms()] == [0, 0, 0]


def test_classes_are_named_plainly():
    with pytest.raises(ValueError, match=r"\['a', 'b'\] and \['a', 'c'\]"):
        Mixture([0.0, 0.0], [Categorical([[0.5, 0.5]], classes) for classes in (["a", "b"], ["a", "c"])])


def test_mean_difference_over_all_pairs():
    """Counts on two grids, samples and densities, against sums over every value of every two parts."""
    parts = [Poisson(4.0), 0.3 * Poisson(7.0), Empirical([1.0, 3.5, 9.0]), Normal(2.0, 3.0), 1.0 + Gamma(2.0)]
    w = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    d = Mixture(np.log(w), parts)

    def apart(a, b):
        if a.atoms:
            _, values, p = a.flat_atoms()
            return np.sum(p * b.distance(values))
        if b.atoms:
            return apart(b, a)
        return integral(lambda z: a.cdf(z) * b.sf(z) + a.sf(z) * b.cdf(z), np.linspace(-30, 60, 901))

    pairs = np.array([[apart(a, b) for b in parts] for a in parts])
    np.testing.assert_allclose(d.half_distance(), 0.5 * w @ pairs @ w, rtol=1e-9)


@pytest.mark.parametrize("other", [Normal(5e5, 1.0), 0.3 * Poisson(1e6), Empirical([1.0, 5e5])])
def test_wide_counts_are_summed_in_panels(other):
    counts = Poisson(5e5)
    _, values, p = counts.flat_atoms()
    across = np.sum(p * other.distance(values[None])[0])
    halves = counts.half_distance() + other.half_distance()
    np.testing.assert_allclose(
        Mixture(np.zeros(2), [counts, other]).half_distance(), 0.25 * (halves + across), rtol=1e-10
    )


def test_counts_of_any_width_are_no_list():
    """Where a list of every number would be longer than a lifetime."""
    wide = Mixture(LOG, [Poisson(3.0), NegativeBinomial(0.01, 1e-9)])
    np.testing.assert_allclose((0.1 * wide).entropy, wide.entropy, rtol=1e-12)
    np.testing.assert_allclose((0.1 * wide).crps(1.0), 0.1 * wide.crps(10.0), rtol=1e-9)
    mixed = Mixture(np.zeros(2), [Normal(0.0), Poisson(1e15)])
    np.testing.assert_allclose(mixed.crps(1.0), 0.25e15, rtol=1e-6)
    np.testing.assert_allclose((0.1 * mixed).crps(0.1), 0.1 * mixed.crps(1.0), rtol=1e-9)


def test_mixture_of_dirichlets():
    d = SHARES["mixture of dirichlets"]
    y = d.sample(2000, 0)
    assert y.shape == (2, 2000, 2)
    np.testing.assert_allclose(y.mean(axis=1), d.mean, atol=0.02)
    np.testing.assert_allclose(y.var(axis=1), d.variance, atol=0.01)
    np.testing.assert_allclose(d.flatten().log_prob(y), d.log_prob(y), atol=1e-12)
    u = d.uncertainty()
    np.testing.assert_allclose(u.total, d.variance.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(sum(u.levels), u.total, rtol=1e-12)
    with pytest.raises(ValueError, match="entropy"):
        d.uncertainty("entropy")


def test_classes_and_shares_are_asked_for_rows():
    with pytest.raises(ValueError, match="y has 2 values for 3 rows"):
        Categorical(np.full((3, 2), 0.5)).log_prob([0, 1])
    d = Categorical([[0.25, 0.75]], classes=["a", None])
    np.testing.assert_allclose(d.log_prob([None, "a", "b"]), [np.log(0.75), np.log(0.25), -np.inf])
    with pytest.raises(ValueError, match=r"different numbers of shares: \[2, 3\]"):
        Mixture(LOG, [Dirichlet([1.0, 2.0]), Dirichlet([1.0, 2.0, 3.0])])


def test_dirichlet():
    d = SHARES["dirichlet"]
    y = d.sample(4000, 0)
    assert y.shape == (2, 4000, 3)
    np.testing.assert_allclose(y.sum(axis=2), 1, rtol=1e-12)
    np.testing.assert_allclose(y.mean(axis=1), d.mean, atol=0.02)
    np.testing.assert_allclose(y.var(axis=1), d.variance, atol=0.01)
    np.testing.assert_allclose(-d.log_prob(y).mean(axis=1), d.entropy, atol=0.1)
    np.testing.assert_allclose(d.mode[0], [1 / 7, 2 / 7, 4 / 7])
    assert np.isnan(d.mode[1]).all()
    np.testing.assert_allclose(Dirichlet([1.0, 1.0]).mode, 0.5)
    for k, marginal in enumerate(d.marginals):
        np.testing.assert_allclose(marginal.mean, d.mean[:, k])
        np.testing.assert_allclose(marginal.variance, d.variance[:, k])
    two = Dirichlet([2.0, 5.0])
    np.testing.assert_allclose(two.log_prob([[0.3, 0.7], [0.9, 0.1]][0]), Beta(2.0, 5.0).log_prob(0.3))
    assert two.log_prob([[[0.3, 0.7], [0.9, 0.1], [0.5, 0.6]]]).shape == (1, 3)
    assert two.log_prob([0.5, 0.6]) == -np.inf
    assert np.isfinite(Dirichlet([1e-5, 1e-5]).sample(100, 0)).all()


# Weighted samples.


def test_integer_weights_are_repetitions(rng):
    values, counts = rng.normal(size=40).round(1), rng.integers(0, 4, 40)
    weighted, repeated = Empirical(values, counts), Empirical(np.repeat(values, counts))
    y = np.linspace(-3, 3, 101)[None]
    for method in ("cdf", "log_prob", "crps"):
        np.testing.assert_array_equal(getattr(weighted, method)(y), getattr(repeated, method)(y))
    np.testing.assert_array_equal(weighted.quantile(LEVELS), repeated.quantile(LEVELS))
    np.testing.assert_array_equal(weighted.samples.bandwidth, repeated.samples.bandwidth)


def test_quantiles_of_samples_do_not_feel_rounding():
    tenths = np.arange(1, 11) / 10
    d = Empirical(np.arange(10.0), np.full(10, 0.1))
    np.testing.assert_array_equal(d.quantile(tenths)[0], np.arange(10.0))
    both = Mixture(np.zeros(2), [d, d])
    np.testing.assert_array_equal(both.quantile(tenths)[0], np.arange(10.0))


def test_values_far_from_zero_are_met_exactly(rng):
    """loc + scale · a is a rounded number, and it is at that number that the cdf jumps."""
    d = Empirical(rng.normal(size=50), loc=rng.normal(size=30) * 1e6, scale=rng.uniform(0.01, 3, 30))
    rows, values, p = d.flat_atoms()
    np.testing.assert_allclose(d[rows].cdf(values) - d[rows].cdf_below(values), p, rtol=1e-9)
    np.testing.assert_allclose(np.ravel(d.quantile(np.arange(1, 51) / 50)), values, rtol=0)


def test_kernel_density_is_the_sum_of_the_kernels(rng):
    """The running sums against the sum itself."""
    values, weights = rng.normal(size=(3, 200)).round(2), rng.uniform(0, 1, (3, 200))
    d = Empirical(values, weights, loc=2.0, scale=[0.5, 1.0, 3.0], bandwidth=[0.01, 0.3, 5.0])
    y = np.concatenate([d.quantile(LEVELS), d.median[:, None] + [-1e3, 1e3, 1.0]], axis=1)
    h = np.array([[0.005], [0.3], [15.0]])
    centre = 2.0 + d.scale[:, None, None] * values[:, None, :]
    kernels = -np.abs(y[:, :, None] - centre) / h[..., None] - np.log(2 * h[..., None])
    log_w = np.log(weights / weights.sum(axis=1, keepdims=True))[:, None, :]
    np.testing.assert_allclose(
        d.log_prob(y), np.logaddexp.reduce(kernels + log_w, axis=2), rtol=1e-11, atol=1e-11
    )


def test_a_store_answers_for_all_rows(rng):
    atoms, which = rng.normal(size=60), np.array([2, 0, 1, 2])
    indptr = np.array([0, 10, 35, 60])
    d = Empirical.from_samples(Samples(atoms, None, indptr, 0.2), which, loc=np.arange(4.0))
    for i, s in enumerate(which):
        alone = Empirical(atoms[indptr[s] : indptr[s + 1]], loc=float(i), bandwidth=0.2)
        y = alone.quantile(LEVELS)
        for method in ("cdf", "cdf_below", "log_prob", "crps"):
            np.testing.assert_allclose(
                getattr(d[i], method)(y), getattr(alone, method)(y), rtol=1e-11, atol=1e-13
            )
        for name in ("mean", "variance", "mode", "entropy"):
            np.testing.assert_allclose(getattr(d[i], name), getattr(alone, name), rtol=1e-9)
