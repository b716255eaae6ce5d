"""Why committees work: majorities by direct sums and simulation, decompositions as identities."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from quorate.estimators.why import bias_variance, majority_error

# majorities


def direct(n, terms):
    """Σ of terms j > n/2, and half the term of a tie."""
    return sum(t * (1 if 2 * j > n else Fraction(1, 2)) for j, t in enumerate(terms) if 2 * j >= n)


def binomial(n, p):
    return [comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]


def beta_binomial(n, p, rho):
    """C(n, j) B(a + j, b + n − j) / B(a, b), by rising factorials and so without rounding."""
    a, b = p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho

    def rising(x, m):
        out = Fraction(1)
        for i in range(m):
            out *= x + i
        return out

    return [comb(n, j) * rising(a, j) * rising(b, n - j) / rising(a + b, n) for j in range(n + 1)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 21, 50, 101])
@pytest.mark.parametrize(
    "p", [Fraction(0), Fraction(1, 100), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10)]
)
def test_independent_majority_is_the_binomial_tail(n, p):
    assert majority_error(n, float(p)) == pytest.approx(float(direct(n, binomial(n, p))), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 41])
@pytest.mark.parametrize("p", [Fraction(1, 100), Fraction(3, 10), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(9, 10)])
def test_correlated_majority_is_the_beta_binomial_tail(n, p, rho):
    exact = float(direct(n, beta_binomial(n, p, rho)))
    assert majority_error(n, float(p), float(rho)) == pytest.approx(exact, rel=1e-12)


def test_limits():
    p = np.linspace(0, 1, 21)
    assert majority_error(25, p, 0.0) == pytest.approx(majority_error(25, p, 1e-13), abs=1e-10)
    assert np.array_equal(majority_error(25, p, 1.0), p)
    assert majority_error(25, p, 1 - 1e-12) == pytest.approx(p, abs=1e-10)
    assert majority_error(1, p, 0.4) == pytest.approx(p, abs=1e-15)
    assert isinstance(majority_error(5, 0.2), float)


def test_large_committees():
    n = 1_000_001
    # within 1/√n of the Normal, as Berry and Esseen say
    from scipy.stats import norm

    assert majority_error(n, 0.4995) == pytest.approx(norm.cdf(2 * (0.4995 - 0.5) * np.sqrt(n)), abs=1e-3)
    assert majority_error(n, 0.5) == pytest.approx(0.5, abs=1e-12)
    assert majority_error(n, 0.5, 0.2) == pytest.approx(0.5, abs=1e-9)
    # so many voters tell exactly whether the θ they share is over one half
    from scipy.stats import beta

    assert majority_error(n, 0.3, 0.2) == pytest.approx(beta.sf(0.5, 0.3 * 4, 0.7 * 4), abs=1e-6)


def test_more_voters_help_if_better_than_a_coin_and_correlation_hurts():
    n = np.arange(1, 40, 2)
    assert np.all(np.diff(majority_error(n, 0.3)) < 0)
    assert np.all(np.diff(majority_error(n, 0.6)) > 0)
    assert np.all(np.diff(majority_error(21, 0.3, np.linspace(0, 1, 11))) > 0)
    # errors and successes are the same question asked twice
    assert majority_error(20, 0.3, 0.1) + majority_error(20, 0.7, 0.1) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("n", "p", "rho"), [(9, 0.3, 0.0), (8, 0.4, 0.0), (9, 0.3, 0.25), (8, 0.4, 0.05)])
def test_majority_matches_simulation(n, p, rho, rng):
    rounds = 200_000
    theta = rng.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, rounds) if rho else np.full(rounds, p)
    wrong = rng.random((rounds, n)) < theta[:, None]
    if rho:
        assert np.corrcoef(wrong[:, 0], wrong[:, 1])[0, 1] == pytest.approx(rho, abs=0.01)
    votes = wrong.sum(axis=1)
    simulated = np.mean((2 * votes > n) + 0.5 * (2 * votes == n))
    assert majority_error(n, p, rho) == pytest.approx(simulated, abs=4 * 0.5 / np.sqrt(rounds))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.3), "n must be"),
        ((2.5, 0.3), "n must be"),
        ((5, -0.1), "p must lie"),
        ((5, np.nan), "p must lie"),
        ((5, 0.3, 1.1), "correlation must lie"),
        ((5, 0.3, -0.1), "correlation must lie"),
    ],
)
def test_majority_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        majority_error(*arguments)


# bias and variance


def curve(X):
    return np.sin(3 * X[:, 0])


def noisy(rng, n=60, sigma=0.3):
    X = rng.uniform(-1, 1, (n, 1))
    return X, curve(X) + sigma * rng.normal(size=n)


def two_classes(rng, n=80, classes=2):
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.array(["no", "perhaps", "yes"])[np.searchsorted(np.linspace(0, 1, classes - 1), score)]


def test_a_line_has_bias_and_one_neighbour_has_variance():
    line, nearest = (
        bias_variance(e, draw=noisy, noise=curve, n_rounds=60, random_state=0)
        for e in (LinearRegression(), KNeighborsRegressor(n_neighbors=1))
    )
    assert line.bias > 5 * line.variance
    assert nearest.variance > 5 * nearest.bias
    assert nearest.variance == pytest.approx(0.3**2, rel=0.3)


def test_bagging_takes_off_variance():
    tree, bag = (
        bias_variance(e, draw=noisy, noise=curve, n_rounds=25, random_state=0)
        for e in (DecisionTreeRegressor(), BaggingRegressor(DecisionTreeRegressor(), n_estimators=10))
    )
    assert bag.variance < 0.75 * tree.variance
    assert bag.bias == pytest.approx(tree.bias, abs=0.02)


@pytest.mark.parametrize("noise", [None, curve, 0.09], ids=["unknown", "mean", "variance"])
def test_squared_identity(noise, rng):
    X, y = noisy(rng, 200)
    parts = bias_variance(DecisionTreeRegressor(), X, y, noise=noise, n_rounds=20, random_state=1)
    assert parts.loss == pytest.approx(parts.noise + parts.bias + parts.variance, abs=1e-12)
    assert parts.loss_rows == pytest.approx(
        parts.noise_rows + parts.bias_rows + parts.net_variance_rows, abs=1e-12
    )
    assert parts.net_variance == parts.variance == parts.variance_unbiased
    assert parts.noise_known == (noise is not None)


def test_squared_parts_are_what_they_say(rng):
    """Against a loop over the same fits, kept by an estimator that remembers."""
    X, y = noisy(rng, 30)
    seen = []

    class Remembering(LinearRegression):
        def predict(self, X):
            seen.append(super().predict(X))
            return seen[-1]

    parts = bias_variance(Remembering(), X, y, X_test=X, y_test=y, noise=curve, n_rounds=7, random_state=3)
    f = np.array(seen)
    main = [np.mean(f[:, i]) for i in range(30)]
    assert parts.main_prediction == pytest.approx(main)
    assert parts.loss == pytest.approx(np.mean([(y[i] - f[r, i]) ** 2 for i in range(30) for r in range(7)]))
    assert parts.variance == pytest.approx(
        np.mean([(f[r, i] - main[i]) ** 2 for i in range(30) for r in range(7)])
    )
    assert parts.bias == pytest.approx(np.mean((curve(X) - main) ** 2))


def test_noise_is_told_apart_where_the_mean_is_known(rng):
    X_test, y_test = noisy(rng, 4000)
    common = dict(draw=noisy, X_test=X_test, y_test=y_test, n_rounds=30, random_state=0)
    told = bias_variance(KNeighborsRegressor(), noise=curve, **common)
    hidden = bias_variance(KNeighborsRegressor(), **common)
    assert told.noise == pytest.approx(0.09, rel=0.1)
    assert hidden.noise == 0.0
    assert hidden.bias == pytest.approx(told.bias + told.noise, abs=1e-12)
    assert (hidden.loss, hidden.variance) == (told.loss, told.variance)
    assert "noise" in repr(told)
    assert "with any noise" in repr(hidden)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "estimator", [GaussianNB(), KNeighborsClassifier(n_neighbors=1)], ids=lambda e: type(e).__name__
)
def test_zero_one_identity(estimator, classes, rng):
    X, y = two_classes(rng, 300, classes)
    parts = bias_variance(estimator, X, y, n_rounds=25, random_state=2)
    assert parts.kind == "0-1"
    assert parts.loss == pytest.approx(parts.bias + parts.net_variance, abs=1e-12)
    assert parts.variance == pytest.approx(parts.variance_unbiased + parts.variance_biased, abs=1e-15)
    if classes == 2:
        assert parts.net_variance == pytest.approx(parts.variance_unbiased - parts.variance_biased, abs=1e-12)
    else:
        assert parts.net_variance >= parts.variance_unbiased - parts.variance_biased - 1e-12


def test_zero_one_parts_are_domingos(rng):
    """Domingos' c₁ N + B + c₂ V, a row at a time, for two classes of which the best is known."""
    X, y = two_classes(rng, 120)
    seen = []

    class Remembering(DecisionTreeClassifier):
        def predict(self, X, check_input=True):
            seen.append(super().predict(X))
            return seen[-1]

    def best(X):
        return np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0, "perhaps", "no")

    X_test, y_test = two_classes(rng, 300)
    parts = bias_variance(
        Remembering(max_depth=3), X, y, X_test=X_test, y_test=y_test, noise=best, n_rounds=9, random_state=0
    )
    loss = []
    for i, star in enumerate(best(X_test)):
        f = [row[i] for row in seen]
        main = max(sorted(set(f)), key=f.count)
        right = np.mean([label == star for label in f])
        bias, variance = float(main != star), np.mean([label != main for label in f])
        c1, c2 = 2 * right - 1, 1 if main == star else -1
        loss.append(c1 * (y_test[i] != star) + bias + c2 * variance)
        assert parts.main_prediction[i] == main
        assert (parts.bias_rows[i], parts.variance_rows[i]) == (bias, pytest.approx(variance, abs=1e-15))
        assert loss[-1] == pytest.approx(np.mean([label != y_test[i] for label in f]), abs=1e-12)
    assert parts.loss == pytest.approx(np.mean(loss), abs=1e-12)
    assert parts.loss == pytest.approx(parts.noise + parts.bias + parts.net_variance, abs=1e-12)
    assert 0 < parts.noise < 0.5


@pytest.mark.parametrize("n_jobs", [2, 4])
def test_same_bits_for_any_n_jobs(n_jobs, rng):
    X, y = noisy(rng, 100)
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_features=1, splitter="random"))
    one, many = (bias_variance(model, X, y, n_rounds=12, random_state=5, n_jobs=j) for j in (None, n_jobs))
    assert np.array_equal(one.loss_rows, many.loss_rows)
    assert np.array_equal(one.main_prediction, many.main_prediction)


def test_seeds(rng):
    X, y = noisy(rng, 50)

    def loss(random_state, estimator=None, **more):
        tree = estimator or DecisionTreeRegressor(splitter="random")
        return bias_variance(tree, X, y, n_rounds=3, random_state=random_state, **more).loss

    assert loss(0) == loss(0) != loss(1)
    assert loss(None) != loss(None)
    assert loss(np.random.default_rng(0)) == loss(np.random.default_rng(0))
    assert loss(np.random.RandomState(0)) == loss(np.random.RandomState(0))
    # a seed of the caller's own is left alone, so what scatters is the data alone
    same_data = dict(draw=lambda rng: (X, y), X_test=X + 0.01, y_test=y, n_rounds=4, random_state=0)
    assert bias_variance(DecisionTreeRegressor(splitter="random", random_state=1), **same_data).variance == 0
    assert bias_variance(DecisionTreeRegressor(splitter="random"), **same_data).variance > 0


def test_estimator_is_left_unfitted_and_frames_are_kept(rng):
    import pandas as pd

    X, y = noisy(rng, 40)
    model = LinearRegression()
    frame = pd.DataFrame(X, columns=["x"], index=np.arange(40) + 7)
    named = bias_variance(model, frame, pd.Series(y, index=frame.index), n_rounds=4, random_state=0)
    assert named.loss == bias_variance(model, X, y, n_rounds=4, random_state=0).loss
    assert not hasattr(model, "coef_")


def test_summary_reads_well(rng):
    X, y = two_classes(rng)
    parts = bias_variance(GaussianNB(), X, y, n_rounds=5, random_state=0)
    assert repr(parts).startswith("BiasVariance(0-1 loss: ")
    assert "5 fits on 20 test rows" in parts.summary()
    assert "where it is wrong" in parts.summary()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "absolute"}, "squared"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"test_size": 1.5}, "test_size"),
        ({"X": None}, "either X and y, or draw"),
        ({"draw": noisy}, "either X and y, or draw"),
        ({"y_test": np.zeros(3)}, "go together"),
        ({"noise": [1.0, 2.0]}, "noise"),
        ({"noise": -1.0}, "noise"),
        ({"loss": "0-1", "noise": 0.1}, "best label"),
        ({"y": np.array([np.nan] * 40)}, "y must be finite; row 0"),
        ({"y": np.zeros(39)}, "inconsistent numbers of samples"),
    ],
)
def test_bias_variance_refuses(changes, message, rng):
    X, y = noisy(rng, 40)
    arguments = {"X": X, "y": y, "n_rounds": 2, "random_state": 0} | changes
    with pytest.raises(ValueError, match=message):
        bias_variance(LinearRegression(), **arguments)
