"""Scores: each beside a naive loop, weights as repetition, truth before falsehood, calibration on simulated data."""

import numpy as np
import pytest
from scipy import stats

import quorate as q
from quorate.dist.base import Lattice
from quorate.score import (
    accuracy,
    brier,
    calibration_error,
    coverage,
    crps,
    interval_score,
    log_score,
    mae,
    pinball,
    pit,
    pit_histogram,
    r2,
    rmse,
)


class Counts(Lattice):
    """A Poisson of this file's own, so that scores of counts are tested apart from the families."""

    def __init__(self, rate):
        self._hold(rate=np.atleast_1d(np.asarray(rate, dtype=float)))

    mean = variance = property(lambda self: self.rate)

    def __len__(self):
        return len(self.rate)

    def __getitem__(self, rows):
        return Counts(self.rate[rows])

    def log_prob(self, y):
        return stats.poisson.logpmf(y, self.rate)

    def cdf(self, y):
        return stats.poisson.cdf(y, self.rate)

    def sample(self, k=1, rng=None):
        return rng.poisson(self.rate[:, None], (len(self), k)).astype(float)


def normal(rng, n=7):
    return q.Normal(rng.normal(size=n), rng.uniform(0.5, 2.0, n)), rng.normal(size=n)


def counts(rng, n=7):
    rate = rng.uniform(0.3, 5.0, n)
    return Counts(rate), rng.poisson(rate).astype(float)


def classes(rng, n=7):
    d = q.Categorical(rng.dirichlet([1.0, 2.0, 3.0], n), ["ant", "bee", "cat"])
    return d, d.sample(1, rng)[:, 0]


def column(dist):
    return dist.mean + 0.25


LEVELS = [0.1, 0.5, 0.8]
# name → (what makes a prediction and y, the score, the naive score of one row)
ROWS = {
    "log, normal": (
        normal,
        log_score,
        lambda d, y: -0.5 * ((y - d.loc[0]) / d.scale[0]) ** 2 - np.log(d.scale[0] * np.sqrt(2 * np.pi)),
    ),
    "log, classes": (classes, log_score, lambda d, y: np.log(d.probs[0, list(d.classes).index(y)])),
    "log, counts": (counts, log_score, lambda d, y: stats.poisson.logpmf(y, d.rate[0])),
    "crps": (normal, crps, lambda d, y: crps_by_sum(d, y)),
    "brier": (classes, brier, lambda d, y: sum((p - (k == y)) ** 2 for p, k in zip(d.probs[0], d.classes))),
    "pinball": (
        normal,
        lambda d, y, w=None: pinball(d.quantile(0.3), y, 0.3, w),
        lambda d, y: naive_pinball(d.quantile(0.3)[0], y, 0.3),
    ),
    "pinball, levels": (
        normal,
        lambda d, y, w=None: pinball(d, y, LEVELS, w),
        lambda d, y: np.mean([naive_pinball(d.quantile(p)[0], y, p) for p in LEVELS]),
    ),
    "interval": (
        normal,
        lambda d, y, w=None: interval_score(d, y, w, level=0.5),
        lambda d, y: naive_interval_score(*d.interval(0.5)[0], y, 0.5),
    ),
    "coverage": (
        normal,
        lambda d, y, w=None: coverage(d, y, w, level=0.5),
        lambda d, y: float(d.interval(0.5)[0, 0] < y < d.interval(0.5)[0, 1]),
    ),
    "coverage, counts": (
        counts,
        lambda d, y, w=None: coverage(d, y, w, level=0.5),
        lambda d, y: naive_share(d, y, 0.25, 0.75),
    ),
    "histogram, counts": (
        counts,
        lambda d, y, w=None: pit_histogram(d, y, w, bins=4),
        lambda d, y: np.array([naive_share(d, y, b / 4, (b + 1) / 4) for b in range(4)]),
    ),
    "mae": (normal, mae, lambda d, y: abs(y - d.loc[0])),
    "rmse²": (normal, lambda d, y, w=None: rmse(d, y, w) ** 2, lambda d, y: (y - d.loc[0]) ** 2),
    "accuracy": (classes, accuracy, lambda d, y: float(d.classes[np.argmax(d.probs[0])] == y)),
}
WHOLE = {
    "r2": (normal, r2),
    "calibration": (classes, lambda d, y, w=None: calibration_error(d, y, w, bins=3)),
    "calibration, plain": (classes, lambda d, y, w=None: calibration_error(d, y, w, bins=3, debias=False)),
}


def crps_by_sum(d, y):
    """∫ (F − 1{y ≤ z})² dz by the midpoint rule, on either side of y."""
    total = 0.0
    for a, b in ((d.loc[0] - 12 * d.scale[0] - abs(y), y), (y, d.loc[0] + 12 * d.scale[0] + abs(y))):
        z = a + (np.arange(20_000) + 0.5) * (b - a) / 20_000
        total += np.sum((stats.norm.cdf(z, d.loc[0], d.scale[0]) - (y <= z)) ** 2) * (b - a) / 20_000
    return total


def naive_pinball(quantile, y, p):
    return p * (y - quantile) if y >= quantile else (1 - p) * (quantile - y)


def naive_interval_score(lower, upper, y, level):
    score = upper - lower
    if y < lower:
        score += 2 / (1 - level) * (lower - y)
    if y > upper:
        score += 2 / (1 - level) * (y - upper)
    return score


def naive_share(d, y, a, b):
    """The part of (P(Y < y), P(Y ≤ y)) that lies in (a, b)."""
    low, high = stats.poisson.cdf(y - 1, d.rate[0]), stats.poisson.cdf(y, d.rate[0])
    return max(0.0, min(high, b) - max(low, a)) / (high - low)


# every score


@pytest.mark.parametrize("name", ROWS)
def test_is_the_weighted_mean_of_the_naive_rows(name, rng):
    make, score, one = ROWS[name]
    d, y = make(rng)
    w = rng.uniform(0.1, 3.0, len(y))
    rows = [one(d[i], y[i]) for i in range(len(y))]
    # the midpoint rule is the less exact of the two
    tolerance = 1e-6 if name == "crps" else 1e-12
    assert score(d, y) == pytest.approx(np.mean(rows, axis=0), rel=tolerance, abs=1e-14)
    assert score(d, y, w) == pytest.approx(np.average(rows, axis=0, weights=w), rel=tolerance, abs=1e-14)


@pytest.mark.parametrize("name", ROWS | WHOLE)
def test_weights_are_repetition(name, rng):
    make, score = (ROWS | WHOLE)[name][:2]
    d, y = make(rng, 40)
    w = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), w))
    assert score(d, y, w) == pytest.approx(score(d[rows], y[rows]), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ROWS | WHOLE)
def test_bad_rows_and_weights_are_named(name, rng):
    make, score = (ROWS | WHOLE)[name][:2]
    d, y = make(rng)
    missing = y.astype(object)
    missing[3] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        score(d, missing)
    with pytest.raises(ValueError, match="7 rows and y has 6"):
        score(d, y[:6])
    with pytest.raises(ValueError, match="no rows"):
        score(d, y[:0])
    with pytest.raises(ValueError, match=r"dimension.*\.ravel\(\)"):
        score(d, y[:, None])
    for w, message in [
        ([1.0] * 6, "6 rows and y has 7"),
        ([1.0] * 6 + [-1.0], "≥ 0; row 6"),
        ([1.0] * 6 + [np.inf], "finite; row 6"),
        ([0.0] * 7, "0 in every row"),
        (1.0, "dimension"),
    ]:
        with pytest.raises(ValueError, match=message):
            score(d, y, w)


@pytest.mark.parametrize("score", [crps, interval_score, coverage, pit, pit_histogram, rmse, mae, r2])
def test_scores_of_numbers_refuse_classes(score, rng):
    with pytest.raises(TypeError, match="numbers"):
        score(classes(rng)[0], np.zeros(7))


@pytest.mark.parametrize("score", [brier, calibration_error, accuracy])
def test_scores_of_classes_refuse_numbers(score, rng):
    with pytest.raises(TypeError, match="classes"):
        score(*normal(rng))


@pytest.mark.parametrize("score", [log_score, crps, brier, calibration_error])
def test_scores_of_distributions_refuse_arrays(score):
    with pytest.raises(TypeError, match="got ndarray"):
        score(np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("score", [log_score, brier, calibration_error])
def test_unknown_labels_are_named(score, rng):
    d, y = classes(rng)
    with pytest.raises(ValueError, match=r"row 2 has 'dog', and the classes are \['ant', 'bee', 'cat'\]"):
        score(d, [*y[:2], "dog", *y[3:]])
    with pytest.raises(ValueError, match="row 0 has 1"):
        score(d, np.ones(7, int))
    with pytest.raises(ValueError, match="different types"):
        score(d, np.array(["ant", 1, *y[2:]], dtype=object))


# proper scores: the truth is best on average


def test_truth_beats_falsehood(rng):
    x = rng.normal(size=20_000)
    y = x + rng.normal(size=len(x))
    truth = q.Normal(x, 1.0)
    for wrong in (q.Normal(x, 1.2), q.Normal(x, 0.8), q.Normal(x + 0.2, 1.0), q.Normal(0.0, np.sqrt(2.0))):
        assert log_score(truth, y) > log_score(wrong, y)
        assert crps(truth, y) < crps(wrong, y)
        assert interval_score(truth, y, level=0.8) < interval_score(wrong, y, level=0.8)
        assert pinball(truth, y, LEVELS) < pinball(wrong, y, LEVELS)


def test_truth_beats_falsehood_for_classes():
    """The expectation itself, over every class y, for a grid of wrong forecasts."""
    truth, labels = np.array([0.2, 0.3, 0.5]), [0, 1, 2]
    for wrong in np.random.default_rng(0).dirichlet(50 * truth, 50):
        for score, sign in ((log_score, 1), (brier, -1)):
            right, other = (score(q.Categorical(np.tile(p, (3, 1))), labels, truth) for p in (truth, wrong))
            assert sign * right > sign * other


def test_pinball_over_all_levels_is_half_the_crps(rng):
    d, y = normal(rng)
    p = (np.arange(4000) + 0.5) / 4000
    assert 2 * pinball(d, y, p) == pytest.approx(crps(d, y), rel=1e-4)


def test_one_row_answers_for_all(rng):
    y = rng.normal(size=9)
    one, many = q.Normal(0.3, 1.1), q.Normal(np.full(9, 0.3), 1.1)
    for score in (log_score, crps, interval_score, coverage, rmse, mae, r2, calibration_like):
        assert score(one, y) == pytest.approx(score(many, y), rel=1e-14)
    one, many = q.Categorical([[0.6, 0.4]]), q.Categorical(np.tile([0.6, 0.4], (9, 1)))
    for score in (log_score, brier, calibration_error, accuracy):
        assert score(one, y > 0) == score(many, y > 0)


def calibration_like(d, y):
    return pit_histogram(d, y, bins=3)


def test_impossible_y_has_log_score_minus_infinity():
    d = q.Categorical([[1.0, 0.0], [0.5, 0.5]])
    assert log_score(d, [1, 0]) == -np.inf
    assert log_score(d, [1, 0], [0, 1]) == np.log(0.5)


# points


def test_points_take_arrays_and_mean_of_distributions(rng):
    d, y = normal(rng, 30)
    for score in (rmse, mae, r2):
        assert score(d.loc, y) == score(d, y)
    guess, truth = np.array(["a", "b", "a"]), np.array(["a", "a", "a"])
    assert accuracy(guess, truth, [1, 2, 1]) == 0.5
    with pytest.raises(ValueError, match="never equal"):
        accuracy(guess, [1, 2, 3])


def test_r2_and_rmse_at_the_edges(rng):
    y = rng.normal(size=20)
    assert r2(np.full(20, y.mean()), y) == pytest.approx(0.0, abs=1e-12)
    assert r2([2.0, 2.0], [2.0, 2.0]) == 1.0
    assert r2([2.0, 3.0], [2.0, 2.0]) == 0.0
    assert rmse([0.0, 0.0], [1e300, -1e300]) == pytest.approx(1e300)
    assert rmse([0.0, 0.0], [1e-300, 0.0]) == pytest.approx(1e-300 / np.sqrt(2))
    assert r2(1e15 + np.array([0.0, 1.0, 3.0]), 1e15 + np.array([0.0, 1.0, 2.0])) == pytest.approx(0.5)


@pytest.mark.filterwarnings("error")
def test_rmse_and_r2_of_any_size():
    assert rmse([0.0, 0.0], [1e200, 1.0], [0.0, 1.0]) == 1.0
    assert rmse([0.0, 0.0], [1e200, 1.0], [1.0, 0.0]) == 1e200
    assert rmse([0.0], [0.0]) == 0.0
    assert rmse([-1.7e308], [1.7e308]) == np.inf
    assert r2([1.0, 2.0], [1e-320, 2e-320]) == -np.inf


def test_a_label_not_known_is_a_miss():
    assert accuracy(q.Categorical([[0.9, 0.1]], ["a", "b"]), ["a", "c"]) == 0.5


# intervals and the PIT


def test_intervals_as_arrays():
    ends = [[0.0, 1.0], [0.0, 2.0]]
    assert coverage(ends, [1.0, 3.0]) == 0.5
    assert interval_score(ends, [1.0, 3.0], level=0.8) == pytest.approx((1 + 2 + 10) / 2)
    with pytest.raises(ValueError, match="row 1"):
        coverage([[0.0, 1.0], [2.0, 1.0]], [1.0, 1.0])
    with pytest.raises(ValueError, match="two ends"):
        coverage([[0.0, 1.0, 2.0]] * 2, [1.0, 1.0])


def test_true_model_has_uniform_pit_and_covers(rng):
    d = q.Normal(rng.normal(size=20_000), rng.uniform(0.5, 2.0, 20_000))
    y = d.sample(1, rng)[:, 0]
    assert stats.kstest(pit(d, y), "uniform").pvalue > 0.01
    assert pit_histogram(d, y) == pytest.approx(np.full(10, 0.1), abs=0.01)
    for level in (0.5, 0.9):
        assert coverage(d, y, level=level) == pytest.approx(level, abs=0.015)
    assert pit(d, y, rng=0) == pytest.approx(d.cdf(y), abs=1e-15)


def test_true_model_of_counts_has_uniform_randomised_pit(rng):
    d = Counts(rng.uniform(0.2, 3.0, 20_000))
    y = d.sample(1, rng)[:, 0]
    assert stats.kstest(pit(d, y, rng=1), "uniform").pvalue > 0.01
    assert np.array_equal(pit(d, y, rng=1), pit(d, y, rng=1))
    assert pit_histogram(d, y) == pytest.approx(np.full(10, 0.1), abs=0.01)
    for level in (0.5, 0.9):
        assert coverage(d, y, level=level) == pytest.approx(level, abs=0.015)


def test_coverage_and_histogram_are_expectations_of_the_randomised_pit(rng):
    d, y = counts(rng, 50)
    draws = np.stack([pit(d, y, rng) for _ in range(2000)])
    assert coverage(d, y, level=0.6) == pytest.approx(np.mean(np.abs(draws - 0.5) < 0.3), abs=0.005)
    heights = np.histogram(draws, bins=5, range=(0, 1))[0] / draws.size
    assert pit_histogram(d, y, bins=5) == pytest.approx(heights, abs=0.005)


def test_rounded_y_of_a_smooth_distribution(rng):
    """Whole numbers under a Normal that knows nothing of rounding: only `rounding` makes the true model cover."""
    d = q.Normal(rng.normal(5.0, 1.0, 20_000), 0.4)
    y = np.round(d.sample(1, rng)[:, 0])
    assert coverage(d, y, level=0.5, rounding=1.0) == pytest.approx(0.5, abs=0.015)
    assert abs(coverage(d, y, level=0.5) - 0.5) > 0.05
    assert pit_histogram(d, y, rounding=np.ones(len(y))) == pytest.approx(np.full(10, 0.1), abs=0.01)
    assert stats.kstest(pit(d, y, rng=3, rounding=1.0), "uniform").pvalue > 0.01
    with pytest.raises(ValueError, match="≥ 0"):
        pit(d, y, rounding=-1.0)


def test_impossible_y_has_pit_zero_or_one():
    d = q.Normal([0.0, 0.0], 1e-3)
    assert pit_histogram(d, [-9.0, 9.0], bins=2) == pytest.approx([0.5, 0.5])
    assert coverage(d, [-9.0, 9.0], level=0.99) == 0.0


# calibration


def simulated(rng, n, shift=0.0):
    """(forecast, y) of a classifier of three classes whose top label is `shift` less often right than it says."""
    top = 0.5 + 0.5 * rng.beta(8.0, 1.5, n)
    probs = np.stack([top, 0.6 * (1 - top), 0.4 * (1 - top)], axis=1)
    actual = np.maximum(top - shift, 0.0)
    right = rng.random(n) < actual
    y = np.where(right, 0, rng.integers(1, 3, n))
    return q.Categorical(probs), y


def test_plain_calibration_error_by_hand(rng):
    d, y = simulated(rng, 200)
    c, right = d.probs.max(axis=1), y == 0
    parts = np.array_split(np.argsort(c), 10)
    by_hand = np.mean([abs(c[part].mean() - right[part].mean()) for part in parts])
    assert calibration_error(d, y, debias=False) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("n", [200, 2000])
def test_a_calibrated_classifier_has_little_error_once_debiased(n, rng):
    """The plain error is noise alone; the debiased is within a fraction of that noise of 0, and less every time."""
    runs = [simulated(rng, n) for _ in range(200)]
    plain, debiased = (np.array([calibration_error(d, y, debias=b) for d, y in runs]) for b in (False, True))
    assert np.all(debiased <= plain)
    assert debiased.mean() < plain.mean() / 3
    assert np.median(debiased) < 0.25 * plain.mean()


@pytest.mark.parametrize(("shift", "n"), [(0.05, 2000), (0.1, 2000), (0.02, 20_000)])
def test_a_true_error_is_found(shift, n, rng):
    found = np.mean([calibration_error(*simulated(rng, n, shift)) for _ in range(50)])
    assert found == pytest.approx(shift, rel=0.1)


def test_the_bias_taken_off_is_that_of_a_folded_normal(rng):
    from quorate.score import _folding

    for d, s in ((0.0, 1.0), (0.5, 1.0), (0.03, 0.02), (2.0, 0.3)):
        assert _folding(d, s) == pytest.approx(stats.foldnorm.mean(d / s, scale=s) - d, abs=1e-12)
    assert _folding(0.4, 0.0) == 0.0


def test_calibration_of_few_or_equal_rows():
    d = q.Categorical([[0.8, 0.2]])
    assert calibration_error(d, [0], debias=False) == pytest.approx(0.2)
    assert calibration_error(d, [0]) <= 0.2
    # equal confidences are one bin, however they are ordered
    assert calibration_error(d, [0, 0, 0, 0, 1] * 20) == pytest.approx(0.0, abs=1e-12)
    assert calibration_error(q.Categorical([[1.0, 0.0]]), [0] * 9 + [1]) == pytest.approx(0.1)


def test_calibration_weights_must_count_rows(rng):
    d, y = simulated(rng, 100)
    w = np.full(100, 0.01)
    with pytest.raises(ValueError, match="numbers of rows"):
        calibration_error(d, y, w)
    assert calibration_error(d, y, w, debias=False) == pytest.approx(calibration_error(d, y, debias=False))


@pytest.mark.parametrize("bins", [0, 2.5, True])
def test_bins_are_counted(bins, rng):
    with pytest.raises(ValueError, match="whole number"):
        calibration_error(*classes(rng), bins=bins)


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, [], [[0.5]]])
def test_levels_lie_inside(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        pinball([1.0], [1.0], p)


def test_quantiles_match_their_levels():
    with pytest.raises(ValueError, match="2 levels"):
        pinball([[1.0, 2.0, 3.0]], [1.0], [0.1, 0.2])
