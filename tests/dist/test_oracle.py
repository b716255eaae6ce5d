"""Families against scipy.stats, and where that loses digits against numbers computed with 50 of them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

from quorate.dist import (
    Beta,
    Binomial,
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
from quorate.dist.gammas import (
    deviance,
    half_beta_mean,
    half_step,
    log_binomial,
    log_less_digamma,
    stirling_error,
)

CONTINUOUS = {
    "normal": (Normal(0.0), stats.norm()),
    "normal huge": (Normal(1e150, 1e149), stats.norm(1e150, 1e149)),
    "normal tiny": (Normal(-1e-150, 1e-151), stats.norm(-1e-150, 1e-151)),
    "student": (StudentT(4.5, 1.0, 2.0), stats.t(4.5, 1.0, 2.0)),
    "student 1.5": (StudentT(1.5), stats.t(1.5)),
    "student 0.6": (StudentT(0.6), stats.t(0.6)),
    "student 1e10": (StudentT(1e10), stats.t(1e10)),
    "student huge": (StudentT(3.0, 0.0, 1e149), stats.t(3.0, 0.0, 1e149)),
    "laplace": (Laplace(2.0, 0.5), stats.laplace(2.0, 0.5)),
    "laplace tiny": (Laplace(0.0, 1e-150), stats.laplace(0.0, 1e-150)),
    "lognormal": (LogNormal(1.0, 0.7), stats.lognorm(0.7, scale=np.exp(1.0))),
    "lognormal wide": (LogNormal(0.0, 8.0), stats.lognorm(8.0)),
    "lognormal narrow": (LogNormal(-2.0, 1e-3), stats.lognorm(1e-3, scale=np.exp(-2.0))),
    "gamma": (Gamma(3.3, 2.0), stats.gamma(3.3, scale=2.0)),
    "gamma 1e-3": (Gamma(1e-3), stats.gamma(1e-3)),
    "gamma 1": (Gamma(1.0, 1e-150), stats.gamma(1.0, scale=1e-150)),
    "gamma 1e5": (Gamma(1e5, 1e-3), stats.gamma(1e5, scale=1e-3)),
    "beta": (Beta(2.0, 3.5), stats.beta(2.0, 3.5)),
    "beta u": (Beta(0.3, 0.6), stats.beta(0.3, 0.6)),
    "beta 1e-3": (Beta(1e-3, 2.0), stats.beta(1e-3, 2.0)),
    "beta 1e5": (Beta(1e5, 3e5), stats.beta(1e5, 3e5)),
    "truncated": (Truncated(Normal(1.0, 2.0), 0.0, 2.0), stats.truncnorm(-0.5, 0.5, 1.0, 2.0)),
    "truncated open": (Truncated(Normal(0.0), 1.0), stats.truncnorm(1.0, np.inf)),
    "truncated tail": (Truncated(Normal(0.0), 8.0, 9.0), stats.truncnorm(8.0, 9.0)),
}
COUNTS = {
    "poisson": (Poisson(3.3), stats.poisson(3.3)),
    "poisson 1e-3": (Poisson(1e-3), stats.poisson(1e-3)),
    "poisson 1e5": (Poisson(1e5), stats.poisson(1e5)),
    "negative binomial": (NegativeBinomial(2.5, 0.3), stats.nbinom(2.5, 0.3)),
    "negative binomial 1e-3": (NegativeBinomial(1e-3, 0.1), stats.nbinom(1e-3, 0.1)),
    "negative binomial 1e4": (NegativeBinomial(1e4, 1e-2), stats.nbinom(1e4, 1e-2)),
    "binomial": (Binomial(10, 0.3), stats.binom(10, 0.3)),
    "binomial rare": (Binomial(10**6, 1e-5), stats.binom(10**6, 1e-5)),
    "binomial 1e6": (Binomial(10**6, 0.4), stats.binom(10**6, 0.4)),
}
P = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9])


def over(laws):
    return pytest.mark.parametrize(("d", "oracle"), laws.values(), ids=laws.keys())


def quietly(f, *args):
    with np.errstate(all="ignore"):
        return np.asarray(f(*args), dtype=float)


def same(ours, theirs, rtol, atol=0.0):
    np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), rtol=rtol, atol=atol)


@over(CONTINUOUS)
def test_continuous(d, oracle):
    y = quietly(oracle.ppf, P[2:] if isinstance(d, Truncated) else P)
    y = y[(y > oracle.support()[0]) & (y < oracle.support()[1]) & np.isfinite(y)]
    same(d.log_prob(y), quietly(oracle.logpdf, y), 1e-9, 2e-8)  # scipy's own log Γ at 1e10
    same(d.cdf(y), quietly(oracle.cdf, y), 1e-9)
    same(d.sf(y), quietly(oracle.sf, y), 1e-6 if isinstance(d, Truncated) else 1e-9)
    same(d.log_cdf(y), quietly(oracle.logcdf, y), 1e-9, 1e-9)
    same(d.log_sf(y), quietly(oracle.logsf, y), 1e-9, 1e-6 if isinstance(d, Truncated) else 1e-9)
    p = P[2:]
    y = quietly(oracle.ppf, p)
    p, y = p[np.abs(y) > 1e-300], y[np.abs(y) > 1e-300]
    same(d.quantile(p), y, 1e-7)
    same(d.cdf(d.quantile(p)), p, 1e-9)


@over({name: pair for name, pair in CONTINUOUS.items() if "truncated" not in name and "beta" not in name})
def test_far_tails(d, oracle):
    """Where the cdf is nearly 0 or 1, the smaller of cdf and sf keeps its digits."""
    lo, hi = oracle.support()
    far = np.array([1e-280, 1e-100, 1e-30])
    low = quietly(oracle.ppf, far)
    low = low[(low > lo) & np.isfinite(low)]
    same(d.cdf(low), quietly(oracle.cdf, low), 1e-8, 1e-300)
    high = quietly(oracle.isf, far)
    high = high[(high < hi) & np.isfinite(high)]
    same(d.sf(high), quietly(oracle.sf, high), 1e-8, 1e-300)


@over(CONTINUOUS | COUNTS)
def test_moments(d, oracle):
    if not (isinstance(d, StudentT) and d.df <= 1):  # ours is nan, scipy's infinite
        same(d.mean, quietly(oracle.mean), 1e-9, 1e-300)
        same(d.variance, quietly(oracle.var), 1e-6)
        same(d.std, quietly(oracle.std), 1e-6)
    same(d.median, quietly(oracle.median), 1e-7, 1e-300)


@over(
    {name: pair for name, pair in CONTINUOUS.items() if "truncated " not in name}
    | {
        name: pair
        for name, pair in COUNTS.items()
        if not any(size in name for size in ("1e4", "1e5", "1e6", "rare"))
    }
)
def test_entropy(d, oracle):
    same(d.entropy, quietly(oracle.entropy), 1e-7, 1e-8)


@over(COUNTS)
def test_counts(d, oracle):
    k = quietly(oracle.ppf, P)
    k = np.unique(np.concatenate([k, k + 1, [0, 1]]))
    same(d.log_prob(k), quietly(oracle.logpmf, k), 1e-9, 2e-8)
    same(d.cdf(k), quietly(oracle.cdf, k), 1e-9)
    same(d.sf(k), quietly(oracle.sf, k), 1e-9, 1e-300)
    p = np.array([1e-9, 0.01, 0.3, 0.5, 0.9, 0.999])
    same(d.quantile(p), quietly(oracle.ppf, p), 0)
    same(d.cdf([-1.0, 2.7]), quietly(oracle.cdf, [-1.0, 2.7]), 1e-9, 1e-300)


@pytest.mark.parametrize("rate", [1e9, 1e12])
def test_counts_of_any_size(rate):
    """Poisson, and a binomial and a negative binomial near it, against the Normal that they nearly are."""
    near = Normal(rate, np.sqrt(rate))
    for d in (
        Poisson(rate),
        Binomial(np.floor(rate * 1e3), 1e-3),
        NegativeBinomial(rate * 1e3, 1 / (1 + 1e-3)),
    ):
        p = np.array([0.01, 0.5, 0.99])
        same(d.quantile(p), near.quantile(p), 1e-2 / np.sqrt(rate))
        same(d.entropy, near.entropy, 1e-3)
        same(d.half_distance(), near.half_distance(), 2e-3)
        assert np.all(np.abs(d.cdf(d.quantile(p)) - p) < 1e-4)


def test_binomials_of_huge_n():
    """A skewness of 1e-9 is left; the nearest numbers to 0.3 and 0.7 move the mean by another 1e-9."""
    d = Binomial(1e18, 0.3)
    same(d.cdf(d.mean + d.std * [-3.0, -1.0, 0.0, 0.5]), special.ndtr([-3.0, -1.0, 0.0, 0.5]), 1e-6)
    same(d.crps(d.mean), d.std * (np.sqrt(2) - 1) / np.sqrt(np.pi), 1e-6)


def test_student_at_any_size():
    """A tail of df = 0.1 reaches beyond all numbers; one of df = 1e300 is Normal."""
    d = StudentT([0.1, 1.5, 1e300])
    same(d.cdf(d.quantile(1e-12)), [1e-12] * 3, 1e-8)
    same(d.quantile(1e-12)[2], special.ndtri(1e-12), 1e-8)
    same(StudentT(1.5).cdf(-1e180) / StudentT(1.5).cdf(-1e160), 1e-30, 1e-10)
    seam = 1e8 * np.sqrt(1.5) * np.array([1 - 1e-9, 1 + 1e-9])
    same(*StudentT(1.5).sf(seam), 1e-8)
    assert StudentT(0.1).quantile(1e-300) == -np.inf
    same(StudentT(3.0).cdf(StudentT(3.0).quantile(1e-300)), 1e-300, 1e-9)


@pytest.mark.parametrize("df", [0.6, 0.8, 0.99999, 1.0, 1.00009, 1.00011, 1.5, 3.0, 50.0, 1e4, 1e8])
@pytest.mark.parametrize("y", [0.0, 0.7, -30.0])
def test_crps_of_student(df, y):
    def miss(u):
        z = np.sinh(u)
        return (stats.t.sf(abs(z), df) if (z > y) == (z > 0) else stats.t.cdf(abs(z), df)) ** 2 * np.cosh(u)

    ends = [-120, -30, -10, -4, -2, -1, 0, 1, 2, 4, 10, 30, 120]
    ends = sorted([*ends, np.arcsinh(y)])
    expected = sum(integrate.quad(miss, a, b, epsabs=1e-13, epsrel=1e-11)[0] for a, b in pairwise(ends))
    same(StudentT(df).crps(y), expected, 1e-8)


def test_crps_of_student_has_no_seam():
    df = 1 + np.concatenate([-np.logspace(-14, -2, 200)[::-1], np.logspace(-14, -2, 200)])
    score = StudentT(df).crps(np.full(400, 2.0))
    slope = np.diff(score) / np.diff(df)
    wide = np.diff(df) > 1e-6
    assert np.all(np.abs(np.diff(score)[~wide]) < 1e-5)
    assert np.all(np.abs(np.diff(slope[wide][:60])) < 0.01)
    assert np.isinf(StudentT([0.5, 0.3]).crps(1.0)).all()


def test_crps_far_away_is_the_distance():
    for d, _ in (CONTINUOUS | COUNTS).values():
        if np.isfinite(d.mean[0]):
            y = d.mean + np.array([-1e20, 1e20]) * np.where(np.isfinite(d.std), d.std, 1.0)
            same(d.distance(y), np.abs(y - d.mean), 1e-10)


def test_crps_of_extreme_families():
    same(LogNormal(0.0, 30.0).crps(1.0), 1.9526861134251119e96, 1e-12)  # mpmath
    same(Gamma(1e-3).crps(0.0), 1e-3 - np.exp(half_step(1e-3)) / np.sqrt(np.pi), 1e-9)
    same(Normal(0.0, 1e-150).crps(1e150), 1e150, 1e-12)
    same(Poisson(0.0).crps([0.0, 2.5]), [0.0, 2.5], 1e-15)
    same(Binomial([0, 4, 4], [0.5, 0.0, 1.0]).crps(1.0), [1.0, 1.0, 3.0], 1e-15)
    same(NegativeBinomial(3.0, 1.0).crps([0.0, 2.0]), [0.0, 2.0], 1e-15)


@pytest.mark.parametrize(
    "d", [Poisson(7.0), Binomial(23, 0.3), NegativeBinomial(0.7, 0.2), NegativeBinomial(30.0, 0.6)]
)
def test_mean_difference_of_counts(d):
    k = np.arange(400.0)
    f = d.cdf(k)
    same(d.half_distance(), np.sum(f * d.sf(k)), 1e-12)


def test_crps_at_the_ends_of_the_numbers():
    for d, _ in (CONTINUOUS | COUNTS).values():
        expected = np.inf if not isinstance(d, StudentT) or d.df > 0.5 else np.nan
        same(d.crps(np.array([-np.inf, np.inf])), [expected, expected], 0)
    for d in (Poisson(1e15), NegativeBinomial(3.0, 1e-15), LogNormal(0.0, 1e-200), Gamma(2.0)):
        same(d.crps(1e308), 1e308, 1e-12)
    same(NegativeBinomial(3.0, 1e-300).crps(0.0), 3e300 - 0.9375e300, 1e-12)


@pytest.mark.filterwarnings("error")
def test_what_overflows_is_infinite_without_a_warning():
    assert LogNormal(800.0, 0.1).mode == np.inf
    assert LogNormal(0.0, 1e200).std == np.inf
    assert LogNormal(0.0, 1e200).crps(1.0) == np.inf
    for d in (Gamma(1e200, 1e200), NegativeBinomial(1e300, 1e-300)):
        assert [d.mean, d.mode, d.variance] == [np.inf] * 3
    assert Gamma(1e200, 1e200).quantile(0.5) == np.inf
    assert np.isinf(Gamma(2.0, 1e308).sample(20, 0)).any()
    assert Poisson(3.0).log_prob(1e160) < -1e162


def test_dirichlet():
    alpha = np.array([0.5, 2.0, 7.5])
    d, oracle = Dirichlet(alpha), stats.dirichlet(alpha)
    y = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    same(d.log_prob(y), oracle.logpdf(y.T), 1e-12)
    same(d.mean, oracle.mean(), 1e-14)
    same(d.variance, oracle.var(), 1e-14)
    same(d.entropy, oracle.entropy(), 1e-12)
    assert Dirichlet([0.5, 2.0]).log_prob([0.0, 1.0]) == np.inf
    assert Dirichlet([2.0, 2.0]).log_prob([0.0, 1.0]) == -np.inf
    assert np.isnan(Dirichlet([2.0, 2.0]).log_prob([np.nan, 1.0]))
    same(Dirichlet([1.0, 3.0]).log_prob([0.0, 1.0]), np.log(3), 1e-12)


HALF_STEP = [  # mpmath
    -6.336774987884822,
    -0.9437383164182379,
    1.375299213568759,
    1.378483131199923,
    6.907755153982137,
    13.81551055796415,
]


def test_gamma_functions_keep_their_digits():
    same(half_step(np.array([1e-3, 0.3, 15.9, 16.0, 1e6, 1e12])), HALF_STEP, 1e-14)
    same(stirling_error(1e6), 8.3333333333330556e-8, 1e-14)
    same(log_less_digamma(1e12), 5.00000000000083e-13, 1e-13)
    same(deviance(1e12, 1e12 + 1e6), 0.499999666666916666417, 1e-12)
    same(log_binomial(0.0, 5.0, 0.2, 0.8), 5 * np.log(0.8), 1e-14)
    same(log_binomial(5.0, 5.0, 0.2, 0.8), 5 * np.log(0.2), 1e-14)
    rate = np.array([1e-6, 0.3, 20.0, 1e8])
    same(
        half_beta_mean(lambda v: 4 * rate * v, 4 * rate), special.i0e(2 * rate) + special.i1e(2 * rate), 1e-13
    )


@pytest.mark.parametrize(
    ("ours", "digits"),
    [
        (StudentT(1e10).log_prob(2.0), -2.9189385330296727),
        (StudentT(0.1).log_prob(1e200), -509.74506300120506),
        (Poisson(1e12).log_prob(1e12 + 1e6), -15.234449424502197),
        (Gamma(1e10).log_prob(1e10 + 1e5), -12.931870664824901),
        (Gamma(1e-3).log_prob(1e-200), 453.14932269482647),
        (Beta(1e8, 3e8).log_prob(0.25001), 9.7148457989999763),
        (NegativeBinomial(1e7, 0.5).log_prob(1e7), -9.3245599614638053),
        (NegativeBinomial(1e-9, 0.3).log_prob(5.0), -24.116078468194813),
        (Gamma(1e10).entropy, 12.931863998141568),
        (Beta(1e8, 3e8).entropy, -9.3215372384784022),
        (StudentT(1e10).entropy, 1.4189385333046727),
    ],
)
def test_digits_that_differences_of_log_gamma_lose(ours, digits):
    """Against mpmath with 30 digits."""
    same(ours, digits, 1e-12, 1e-12)


@pytest.mark.parametrize(
    ("ours", "digits"),
    [
        (Gamma(1e7).cdf(9984000.0), 2.0717965401482954e-7),
        (Gamma(1e8).cdf(99950000.0), 2.8546421399586261e-7),
        (Gamma(1e12).cdf(999995000000.0), 2.8663967832502037e-7),
        (Poisson(1e8).sf(100050000.0), 2.8717226450176132e-7),
        (Gamma(2.0).log_sf(1000.0), -993.09124522068478),
        (Gamma(2.0).log_cdf(60.0), -5.3414715652448774e-25),
        (Poisson(3.0).log_sf(500.0), -2070.1363139864321),
        (Poisson(1e6).log_cdf(10.0), -999876.94929699339),
        (Binomial(1e4, 0.5).log_cdf(10.0), -6854.476314576847),
        (NegativeBinomial(3.0, 0.25).log_sf(3000.0), -850.78323558485505),
        (Beta(300.0, 300.0).log_cdf(0.01), -972.77553401785783),
        (StudentT(100.0).log_sf(1e5), -924.25806127725336),
        (StudentT(1e4).log_cdf(-50.0), -1120.4375708550824),
        (Mixture(np.log([0.5, 0.5]), [Normal(0.0), Normal(1.0)]).log_sf(50.0), -1206.0043220722252),
        (Truncated(Normal(0.0), -1.0, 60.0).log_sf(50.0), -1254.6586073603965),
        (
            Empirical([0.0, 10.0], bandwidth=1.0).smooth.log_cdf(-2000.0),
            np.log(0.25 + 0.25 * np.exp(-10)) - 2000,
        ),
        (Dirichlet([1e12, 2e12]).log_prob([0.3333334, 1 - 0.3333334]), 14.167916769479995),
        (Dirichlet([1e12, 2e12, 3e12]).entropy, -28.376662987975702),
    ],
)
def test_digits_of_far_tails(ours, digits):
    """Against mpmath with 40 digits."""
    same(ours, digits, 1e-11)


def test_tails_have_no_seam():
    """Where one way of counting gives over to another, both say the same."""
    for a in (201.0, 1e4, 1e8):
        x = a - 4 * np.sqrt(a) + np.sqrt(a) * np.array([-1e-12, 1e-12])
        same(*Gamma(a).cdf(x), 1e-9)
        same(Gamma(a).cdf(x) + Gamma(a).sf(x), [1.0, 1.0], 1e-15)
    for log_p in (
        Gamma(2.5).log_sf(np.linspace(600.0, 800.0, 999)),
        Beta(50.0, 60.0).log_cdf(np.logspace(-5, -8, 999)),
        StudentT(9.0).log_cdf(-np.logspace(28, 40, 9999)),
    ):
        assert np.any(log_p < -670)
        assert np.any(log_p > -660)
        assert np.all(np.diff(log_p) < 0)
        assert np.all(np.abs(np.diff(log_p, 2)) < 1e-3)


# Truncation far out.


@pytest.mark.parametrize("a", [5.0, 10.0, 37.0, 1e3, 1e4])
def test_normal_beyond_a(a):
    """The mean is the hazard φ(a) / Φ(−a)."""
    d = Truncated(Normal([0.0, 0.0]), [a, -np.inf], [np.inf, -a])
    hazard = np.sqrt(2 / np.pi) / special.erfcx(a / np.sqrt(2))
    same(d.mean, [hazard, -hazard], 1e-9)
    variance = {
        10.0: 0.0094453778256562612,
        37.0: 0.00072727809887751334,
        1e3: 9.9999400004999948e-7,
    }  # mpmath
    if a in variance:
        same(d.variance, [variance[a]] * 2, 1e-9)
    same(d.log_prob([a, -a]), [np.log(hazard)] * 2, 1e-9, 1e-9)
    same(d.cdf(d.quantile([0.1, 0.5, 0.999])), [[0.1, 0.5, 0.999]] * 2, 1e-7)
    same(d.mode, [a, -a], 1e-12)
    # Nearly an exponential law of rate a.
    same(d.entropy, [1 - np.log(a)] * 2, 0, 2 / a**2 + 1e-11 * a)
    same(d.half_distance(), [0.5 / a] * 2, 3 / a**2)


@pytest.mark.parametrize("a", [999.0, 1001.0, 1e5, 1e7])
def test_normal_far_beyond_a(a):
    """P(Y > y) is e^(−(y² − a²) / 2) times a ratio of erfcx."""
    d = Truncated(Normal([0.0, 0.0]), [a, -np.inf], [np.inf, -a])
    y = a + np.array([[0.01, 1.0, 30.0]]) / a
    sf = np.exp(-0.5 * (y - a) * (y + a)) * special.erfcx(y / np.sqrt(2)) / special.erfcx(a / np.sqrt(2))
    same([d[0].sf(y), d[1].cdf(-y), 1 - d[0].cdf(y)], [sf, sf, sf], 1e-9, 1e-10)
    same(d[0].log_sf(y), np.log(sf), 1e-8)
    mixed = Truncated(Normal([0.0, 5.0]), [a, 4.0], np.inf)
    same(mixed[1].cdf(6.0), mixed.cdf(np.array([a, 6.0]))[1], 1e-15)
    same(mixed[1].cdf(6.0), Truncated(Normal(5.0), 4.0).cdf(6.0), 1e-12)


def test_narrow_truncation_is_uniform():
    d = Truncated(Normal(0.0), 0.3, 0.3 + 1e-9)
    width = d.hi - d.lo
    same(d.log_prob(0.3 + 5e-10), -np.log(width), 1e-8)
    same(d.mean, 0.3 + 5e-10, 1e-12)
    same(d.std, width / np.sqrt(12), 1e-6)
    same(d.entropy, np.log(width), 1e-8)


def test_truncated_counts_keep_their_digits():
    d = Truncated(Poisson(3.0), 60.0)
    k = np.arange(60.0, 90.0)
    p = np.exp(stats.poisson.logpmf(k, 3.0) - stats.poisson.logpmf(60, 3.0))
    p /= p.sum()
    same(np.exp(d.log_prob(k)), p, 1e-10)
    same(d.mean, p @ k, 1e-10)
    same(d.variance, p @ (k - p @ k) ** 2, 1e-9)
    same(d.quantile([0.5, 0.96]), k[np.searchsorted(np.cumsum(p), [0.5, 0.96])], 0)


@pytest.mark.parametrize("d", [Truncated(Gamma(1.0), 710.0), Truncated(Gamma(1.0), 1e4)])
def test_an_exponential_beyond_any_place_is_one_again(d):
    same([d.mean - d.lo, d.variance, d.quantile(0.5) - d.lo], [1.0, 1.0, np.log(2)], 1e-8)


def test_counts_beyond_1e_308():
    k = np.arange(11.0)
    p = np.exp(stats.poisson.logpmf(k, 1e6) - stats.poisson.logpmf(10, 1e6))
    same(Truncated(Poisson(1e6), hi=10).mean, p @ k / p.sum(), 1e-9)
    k = np.arange(500.0, 600.0)
    p = np.exp(stats.binom.logpmf(k, 1000, 0.01) - stats.binom.logpmf(500, 1000, 0.01))
    same(Truncated(Binomial(1000, 0.01), 500).mean, p @ k / p.sum(), 1e-9)


# Mixtures.


def test_crps_of_a_normal_mixture():
    """Against Grimit et al. (2006): a sum over pairs of members."""
    rng = np.random.default_rng(3)
    loc, scale, w = rng.normal(size=(6, 9)) * 3, rng.uniform(0.01, 2, (6, 9)), rng.dirichlet(np.ones(6), 9)
    d = Mixture(np.log(w), [Normal(*pair) for pair in zip(loc, scale, strict=True)])
    y = rng.normal(size=9)
    pairs = (
        Normal((loc[:, None] - loc).ravel(), np.hypot(scale[:, None], scale).ravel())
        .distance(0.0)
        .reshape(6, 6, 9)
    )
    away = sum(w[:, m] * Normal(loc[m], scale[m]).distance(y) for m in range(6))
    same(d.crps(y), away - 0.5 * np.einsum("im,mki,ik->i", w, pairs.transpose(0, 1, 2), w), 1e-8)


HALVES = np.log([0.5, 0.5])


@pytest.mark.parametrize(
    ("d", "y", "digits"),
    [
        (Mixture(HALVES, [StudentT(1.02), Normal(0.0)]), 1.0, 0.6287363149903307),
        (Mixture(HALVES, [StudentT(1.01), Normal(0.0)]), 1.0, 0.6295322125846723),
        (Mixture(HALVES, [StudentT(1.001), Normal(0.0)]), 1.0, 0.6302793893751445),
        (Mixture(np.log([0.3, 0.7]), [LogNormal(0.0, 10.0), Normal(0.0)]), 0.5, 717414866.9064943),
        (Mixture([0.0, np.log(1e-10)], [Normal(0.0), Normal(0.0, 1e20)]), 0.0, 0.46738995454326715),
        (Mixture([np.log1p(-1e-6), np.log(1e-6)], [Poisson(1.0), Poisson(1e12)]), 1.0, 1.21198101814551),
    ],
)
def test_crps_of_very_unlike_members(d, y, digits):
    """Where E|Y − y| and ½ E|Y − Y'| agree to nearly all digits; from scipy's quad of the cdf, in pieces."""
    same(d.crps(y), digits, 1e-9)


def test_crps_is_infinite_where_the_tails_are_too_heavy():
    assert Mixture(HALVES, [StudentT(0.4), Normal(0.0)]).crps(1.0) == np.inf
    assert Truncated(StudentT(0.3), 0.0).crps(1.0) == np.inf
    assert Truncated(Normal(0.0), 0.0, 3.0).crps(np.inf) == np.inf


def test_mean_difference_without_a_variance():
    for df in (1.001, 1.02, 1.5):
        member = StudentT(df)
        same(Mixture(HALVES, [member, member]).half_distance(), member.half_distance(), 1e-11)


def test_entropy_of_a_spike_beside_a_normal():
    """Members that share no place: the mean of theirs and log 2."""
    for spike in (Gamma(0.01), 3.0 - Gamma(0.1), Beta(0.1, 0.01)):
        d = Mixture(HALVES, [spike, Normal(-50.0)])
        same(d.entropy, 0.5 * (spike.entropy + Normal(0.0).entropy) + np.log(2), 1e-9)
        same(Truncated(spike, *spike.bounds()).entropy, spike.entropy, 1e-8)


STUDENT_BEYOND = [  # df, lo, mean, variance: mpmath
    (2.01, 0.0, 1.4080090910344933, 199.01751039956422),
    (2.001, 0.0, 1.4135874890311526, 1999.0017704108546),
    (1.01, 0.0, 64.421877795770535, np.inf),
    (1.001, 0.0, 637.37938562115268, np.inf),
    (1.5, -2.0, 0.83196146219040329, np.inf),
    (2.5, -2.0, 0.31966471249618411, 2.9798261966076273),
    (3.0, 1.0, 2.1150604856956984, 2.7566401132400731),
    (4.0, 1e6, 1333333.3333342222, 222222222223.18519),
    (30.0, 1.0, 1.5640943043762086, 0.24499239369326304),
]


def test_student_beyond_a():
    df, lo, mean, variance = np.array(STUDENT_BEYOND).T
    d = 7.0 + 2.0 * Truncated(StudentT(df), lo)
    same(d.mean - 7.0, 2 * mean, 1e-11)
    same(d.variance, 4 * variance, 1e-9)
    same((-d).mean + 7.0, -2 * mean, 1e-11)
    same((-d).variance, 4 * variance, 1e-9)


def test_std_of_what_has_no_square():
    for unit in (1e-200, 1e200):
        same(Mixture(HALVES, [Normal(-unit, 1e-9 * unit), Normal(unit, 1e-9 * unit)]).std, unit, 1e-12)
        same(Truncated(Normal(0.0, unit), 0.0).std, unit * np.sqrt(1 - 2 / np.pi), 1e-12)
        same(Truncated(Laplace(0.0, unit), 0.0).std, unit, 1e-9)
        same(Empirical([0.0, unit]).std, 0.5 * unit, 1e-12)
        same(Truncated(Empirical([0.0, unit, 9 * unit]), 0.0, 2 * unit).std, 0.5 * unit, 1e-12)


def test_a_spike_of_counts_is_not_missed():
    """Σ F (1 − F) of far apart members: halves and the way between them."""
    w = np.array([1 - 1e-6, 1e-6])
    near, far = Poisson(1.0), Poisson(1e12)
    halves = w[0] ** 2 * near.half_distance() + w[1] ** 2 * far.half_distance()
    same(Mixture(np.log(w), [near, far]).half_distance(), halves + w[0] * w[1] * (1e12 - 1), 1e-11)
