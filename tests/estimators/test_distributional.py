"""Boosted distributions: what they recover, what they are not led astray by, and what they refuse."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

import quorate as q
from quorate.members.families import FAMILIES

RNG = np.random.default_rng
GIVEN = {"n_estimators": 60, "max_leaf_nodes": 6, "random_state": 0}
EVERY = pytest.mark.parametrize("family", sorted(FAMILIES))
BOTH = pytest.mark.parametrize("loss", ["log", "crps"])
REAL = pytest.mark.parametrize("family", ["normal", "laplace", "student_t"])


def columns(family, X):
    """The parameters of y, in the order of f: the first follows column 0, the second column 1."""
    a, b = X[:, 0], X[:, 1]
    places = {"gamma": a + 1, "poisson": a + 1, "negative_binomial": a + 2}
    spreads = {"gamma": 1 - b, "negative_binomial": 1 - b, "poisson": None}
    spread = spreads.get(family, 0.7 * b - 0.5)
    shape = [np.full(len(X), np.log(5.0))] if family == "student_t" else []
    return [places.get(family, 2 * a), *([] if spread is None else [spread]), *shape]


def simulated(family, n=3000, seed=0):
    """(X, y, the law that y is drawn from)."""
    rng = RNG(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    law = FAMILIES[family]().law(*columns(family, X))
    law = q.LogNormal(law.loc, law.scale) if family == "log_normal" else law
    y = law.quantile(rng.random(n)[:, None])[:, 0]
    return X, y.astype(float), law


def model_of(family, **given):
    return q.DistributionalRegressor(family, **{**GIVEN, **given})


# what is recovered


@EVERY
@BOTH
def test_every_family_recovers_what_is_drawn_from_it(family, loss):
    """On new rows it is nearly as good as the truth, better than any constant, and nine of ten are within."""
    X, y, _ = simulated(family, 2500)
    new, answers, truth = simulated(family, 2500, seed=1)
    model = model_of(family, loss=loss).fit(X, y)
    constant = model_of(family, n_estimators=1, learning_rate=1e-9, loss=loss).fit(X, y)
    laws = (model.predict_dist(new), truth, constant.predict_dist(new))
    told, best, least = (law.log_prob(answers).mean() for law in laws)
    assert told > best - 0.15
    assert told > least + 0.5 * (best - least)
    rounding = 1.0 * (family in ("poisson", "negative_binomial"))
    dist = model.predict_dist(new)
    inside = q.score.coverage(dist, answers, level=0.9, rounding=rounding)
    assert inside == pytest.approx(q.score.coverage(truth, answers, level=0.9, rounding=rounding), abs=0.04)
    np.testing.assert_array_equal(model.predict(new), dist.mean)


def test_a_spread_that_differs_is_found():
    """σ(x) itself, within a tenth or so, and the log score of one spread for all is beaten."""
    X, y, _ = simulated("normal", 6000)
    new, answers, truth = simulated("normal", 2000, seed=1)
    dist = model_of("normal").fit(X, y).predict_dist(new)
    off = np.log(dist.std / truth.std)
    assert np.abs(off).mean() < 0.12
    assert np.corrcoef(dist.std, truth.std)[0, 1] > 0.95
    mean = q.BoostedRegressor(n_estimators=60, max_leaf_nodes=6, random_state=0).fit(X, y)
    same = q.Normal(mean.predict(new), np.std(y - mean.predict(X)))
    assert dist.log_prob(answers).mean() > same.log_prob(answers).mean() + 0.05


@EVERY
@BOTH
def test_the_score_falls_every_round(family, loss):
    """Of the rows that are learned, at a small rate."""
    X, y, _ = simulated(family, 500)
    model = model_of(family, loss=loss, n_estimators=25).fit(X, y)
    voice = model.member_.voice
    seen = voice.family.seen(y, voice.loc, voice.scale)
    told = [voice.family.risk(f, seen).mean() for f in model._staged_scores(X)]
    assert np.all(np.diff(told) < 1e-9)
    *_, last = model.staged_predict_dist(X)
    np.testing.assert_array_equal(last.log_prob(y), model.predict_dist(X).log_prob(y))


def test_negative_binomials_of_poisson_counts_are_poisson():
    X, y, truth = simulated("poisson")
    dist = model_of("negative_binomial").fit(X, y).predict_dist(X)
    assert np.median(dist.variance / dist.mean) < 1.15
    assert truth.log_prob(y).mean() == pytest.approx(dist.log_prob(y).mean(), abs=0.1)


def test_tails_are_found():
    """Student's t knows how heavy they are, and of Normal noise that they are not."""
    rng = RNG(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    heavy, light = (
        model_of("student_t", n_estimators=30).fit(X, X[:, 0] + noise).predict_dist(X)
        for noise in (rng.standard_t(2.5, 3000), rng.normal(size=3000))
    )
    assert np.median(heavy.df) < 5
    assert np.median(light.df) > 12


# what does not lead astray


@pytest.mark.parametrize("factor", [10.0, 1e3, 1e6])
@BOTH
def test_rows_far_off_move_heavy_tails_little(loss, factor):
    """One of fifty is; the degrees of freedom come to their end, and σ stays what it is without those rows."""
    X, y, _ = simulated("normal", 1500)
    new, answers, _ = simulated("normal", 1500, seed=1)
    far = y.copy()
    far[::50] *= factor
    clean, moved = (model_of("student_t", loss=loss).fit(X, t).predict_dist(new) for t in (y, far))
    assert moved.log_prob(answers).mean() > clean.log_prob(answers).mean() - 0.15
    assert np.median(np.abs(moved.loc - clean.loc)) < 0.15
    assert moved.scale.min() > 0.05


def test_rows_far_off_move_laplace_as_far_as_their_share():
    X, y, _ = simulated("normal", 1500)
    far = y.copy()
    far[::50] *= 10
    clean, moved = (model_of("laplace").fit(X, t).predict_dist(X) for t in (y, far))
    assert np.median(np.abs(moved.loc - clean.loc)) < 0.15
    assert 1.0 < np.median(moved.scale / clean.scale) < 1.5


@EVERY
def test_one_row_far_off_leaves_all_finite(family):
    X, y, _ = simulated(family, 300)
    y[17] = 1e9 if family in ("poisson", "negative_binomial") else 1e20
    dist = model_of(family).fit(X, y).predict_dist(X)
    assert np.all(np.isfinite([dist.log_prob(y), dist.mean]))
    if family != "poisson":  # whose variance is its mean
        assert np.all(np.delete(dist.log_prob(y), 17) > -200)


@REAL
@BOTH
@pytest.mark.parametrize(("a", "b"), [(2.0**20, 0.0), (1.0, 2.0**12), (-(2.0**-10), 3.0)])
def test_the_law_follows_the_units_of_y(family, loss, a, b):
    """y → a y + b: so does the law, which for a < 0 is turned round."""
    X, y, _ = simulated(family, 401)  # of which one is the middle
    y = np.round(y * 1024) / 1024
    given = {"n_estimators": 15, "loss": loss}
    one, other = (model_of(family, **given).fit(X, t).predict_dist(X) for t in (y, a * y + b))
    p = np.array([0.1, 0.5, 0.9])
    want = a * one.quantile(p if a > 0 else 1 - p) + b
    near = np.abs(other.quantile(p) - want) <= 1e-6 * np.abs(want) + 1e-6 * np.abs(a)
    assert near.mean() > 0.99  # a split that ties may be settled otherwise


@pytest.mark.parametrize("family", ["log_normal", "gamma"])
def test_positive_laws_follow_the_units_of_y(family):
    X, y, _ = simulated(family, 400)
    one, other = (model_of(family, n_estimators=15).fit(X, t).predict_dist(X) for t in (y, 1024 * y))
    p = [0.1, 0.5, 0.9]
    near = np.isclose(other.quantile(p), 1024 * one.quantile(p), rtol=1e-6)
    assert near.mean() > 0.99


@REAL
@BOTH
def test_no_spread_is_narrower_than_the_grid_of_y(family, loss):
    """However well y is known: whole numbers that a column tells are known to no less than their rounding."""
    X = np.repeat(np.arange(8.0), 50)[:, None]
    y = 3 * X[:, 0]
    model = model_of(family, n_estimators=200, learning_rate=0.5, loss=loss).fit(X, y)
    dist = model.predict_dist(X)
    assert np.all(dist.scale >= 3 / np.sqrt(12) * (1 - 1e-9))
    assert np.all(dist.scale < 2)
    np.testing.assert_allclose(dist.mean, y, atol=0.5)


@EVERY
def test_a_constant_is_known(family):
    """To a share of itself where y is one number, and finite."""
    X, y = RNG(0).normal(size=(40, 2)), np.full(40, 5.0)
    dist = model_of(family).fit(X, y).predict_dist(X)
    assert np.all(np.isfinite(dist.log_prob(y)))
    if family not in ("poisson", "negative_binomial"):
        np.testing.assert_allclose(dist.mean, 5.0, rtol=1e-3)
        assert np.all(dist.std < 0.1)
        assert np.all(dist.std > 0)


# the same rounds, whatever is asked of them


@pytest.mark.parametrize("family", ["student_t", "gamma", "negative_binomial"])
@BOTH
def test_the_same_bits_for_any_number_of_jobs_and_in_parts(family, loss):
    X, y, _ = simulated(family, 200)
    given = {"n_estimators": 10, "subsample": 0.7, "max_features": 0.6, "loss": loss}
    one = model_of(family, **given).fit(X, y).member_.scores(X)
    for n_jobs in (2, 3):
        again = model_of(family, n_jobs=n_jobs, **given).fit(X, y)
        np.testing.assert_array_equal(again.member_.scores(X), one)
    warm = model_of(family, warm_start=True, **{**given, "n_estimators": 4}).fit(X, y)
    np.testing.assert_array_equal(warm.set_params(n_estimators=10).fit(X, y).member_.scores(X), one)


def test_early_stopping_by_the_score():
    X, y, _ = simulated("normal", 500)
    new, answers, _ = simulated("normal", 300, seed=1)
    stops = {"early_stopping": True, "n_estimators": 300, "learning_rate": 0.3}
    model = model_of("normal", **stops).fit(X, y, X_val=new, y_val=answers)
    told = model.receipts_["validation_loss"]
    assert model.n_estimators_ == 1 + np.argmin(told) < 300
    scale = model.member_.voice.scale
    assert told.min() == pytest.approx(-model.log_score(new, answers) - np.log(scale), rel=1e-9)
    crps = model_of("normal", loss="crps", **stops).fit(X, y, X_val=new, y_val=answers)
    told, scale = crps.receipts_["validation_loss"], crps.member_.voice.scale
    assert told.min() == pytest.approx(q.score.crps(crps.predict_dist(new), answers) / scale, rel=1e-9)


def test_a_warm_start_keeps_the_units_of_y():
    """Also where more rows have come."""
    X, y, _ = simulated("normal", 400)
    model = model_of("normal", n_estimators=5, warm_start=True).fit(X[:200], y[:200])
    voice = model.member_.voice
    model.set_params(n_estimators=8).fit(X, 10 * y)
    assert model.member_.voice == voice


def test_beside_one_spread_on_diabetes():
    X, y = load_diabetes(return_X_y=True)
    model = q.DistributionalRegressor(n_estimators=40, random_state=0).fit(X[::2], y[::2])
    assert 0.75 < q.score.coverage(model.predict_dist(X[1::2]), y[1::2], level=0.9) < 0.97
    assert model.log_score(X[1::2], y[1::2]) > -5.6
    assert clone(model).get_params() == model.get_params()


def test_contributions_are_of_each_parameter():
    """Column 0 moves the place, column 1 the spread."""
    X, y, _ = simulated("normal")
    told = np.abs(model_of("normal").fit(X, y).contributions(X[:200])).mean(axis=0)
    assert told.shape == (4, 2)
    assert np.argmax(told[:3, 0]) == 0
    assert np.argmax(told[:3, 1]) == 1


# complaints


@pytest.mark.parametrize(
    ("family", "wrong", "words"),
    [
        ("poisson", -1.0, "whole numbers ≥ 0, but y has -1 in row 17"),
        ("poisson", 1.5, r"whole numbers ≥ 0, but y has 1\.5 in row 17"),
        ("negative_binomial", 2.25, r"whole numbers ≥ 0, but y has 2\.25 in row 17"),
        ("gamma", 0.0, "positive numbers, but y has 0 in row 17"),
        ("log_normal", 0.0, "positive numbers, but y has 0 in row 17"),
        ("log_normal", -3.0, "positive numbers, but y has -3 in row 17"),
    ],
)
def test_y_that_can_not_be(family, wrong, words):
    X, y = RNG(0).normal(size=(30, 2)), np.ones(30)
    y[17] = wrong
    words += "; take that row out, or choose a family over all numbers, such as 'normal' or 'student_t'"
    with pytest.raises(ValueError, match=words):
        model_of(family).fit(X, y)
    with pytest.raises(ValueError, match=words):
        model_of(family).fit(X, y, sample_weight=np.arange(30) > 3)
    model_of(family, n_estimators=2).fit(X, y, sample_weight=np.arange(30) != 17)


def test_a_warm_start_of_another_family():
    X, y, _ = simulated("gamma", 100)
    model = model_of("gamma", n_estimators=3, warm_start=True).fit(X, y)
    for change in ({"family": "log_normal"}, {"loss": "crps"}):
        other = model.set_params(**{"family": "gamma", "loss": "log", "n_estimators": 5, **change})
        with pytest.raises(ValueError, match=r"are of family='gamma' and loss='log'; use warm_start=False"):
            other.fit(X, y)


@pytest.mark.parametrize(("name", "value"), [("family", "cauchy"), ("loss", "mse"), ("min_samples_leaf", 0)])
def test_parameters_that_are_none(name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of DistributionalRegressor"):
        model_of("normal").set_params(**{name: value}).fit(np.ones((9, 1)), np.arange(9.0))
