"""Tails of the Gamma and the Beta law, and their logs, however far out and however large the parameters.

With G = x^a e^−x / Γ(a), B = x^a y^b Γ(a + b) / (Γ(a) Γ(b)) and x + y = 1,

    P(a, x)   = G / (a − x + 1x / (a − x + 1 + 2x / (a − x + 2 + …)))                     for x < a
    Q(a, x)   = G / (x − a + 1 + 1(a − 1) / (x − a + 3 + 2(a − 2) / (x − a + 5 + …)))     for x > a
    I_x(a, b) = B / (the fraction of Didonato and Morris, 1992)                           for x < a / (a + b)

Four standard deviations out and farther, some thirty steps of each give all digits. scipy gives up on P too soon where
a is above 1e6, on I where a and b are above 1e16, and on all of them at 1e-308.
"""

import numpy as np
from scipy import special

from quorate.dist.gammas import LOG_SQRT_2PI, deviance, log_binomial, log_poisson

EPS = np.finfo(float).eps
STEPS = 1000  # a guard: a few dozen are enough
FADED = 1e-290  # a smaller tail is taken in logs
MANY = 1e4  # a Gamma of so many events has its lower tail summed here from AWAY on
HUGE = 1e14  # a Beta of so many tries is Normal, but for its skewness
AWAY, GONE = 4.0, 39.0  # standard deviations; from the latter on a lower tail is 0


# Gamma


def gamma_below(a, x):
    """P(a, x) = P(X ≤ x)."""
    return instead(special.gammainc(a, x), _far(a, x), lambda *v: np.exp(_log_below(*v)), a, x)


def gamma_above(a, x):
    """Q(a, x) = P(X > x)."""
    return instead(special.gammaincc(a, x), _far(a, x), lambda *v: -np.expm1(_log_below(*v)), a, x)


def log_gamma(a, x):
    """(log P(a, x), log Q(a, x))."""
    p, rest = gamma_below(a, x), gamma_above(a, x)
    log_p, log_rest = log_shares(p, rest)
    return (
        instead(log_p, _faded(p, a, x), _log_below, a, x),
        instead(log_rest, _faded(rest, a, x), _log_above, a, x),
    )


def _far(a, x):
    below, deviation = a - np.minimum(x, a), np.sqrt(a)
    return (a > MANY) & (a < np.inf) & (x > 0) & (below > AWAY * deviation) & (below < GONE * deviation)


def _log_below(a, x):
    return log_poisson(a, x) + np.log(a) - np.log(_fraction(a - x, lambda n: (n * x, a - x + n)))


def _log_above(a, x):
    beyond = _fraction(x - a + 1, lambda n: (n * (a - n), x - a + 1 + 2 * n))
    return log_poisson(a, x) + np.log(a) - np.log(beyond)


# Beta


def beta_below(a, b, x):
    """I_x(a, b) = P(X ≤ x)."""
    return instead(special.betainc(a, b, x), _huge(a, b, x), _near_normal, a, b, x, 1 - x)


def beta_above(a, b, x):
    """1 − I_x(a, b) = P(X > x)."""
    return instead(special.betaincc(a, b, x), _huge(a, b, x), _near_normal, b, a, 1 - x, x)


def log_beta(a, b, x):
    """(log I_x(a, b), log (1 − I_x(a, b)))."""
    p, rest = beta_below(a, b, x), beta_above(a, b, x)
    log_p, log_rest = log_shares(p, rest)
    return (
        instead(log_p, _faded(p, a, b, x), log_beta_far, a, b, x, 1 - x),
        instead(log_rest, _faded(rest, a, b, 1 - x), log_beta_far, b, a, 1 - x, x),
    )


def log_beta_far(a, b, x, y):
    """log I_x(a, b) well below the mean, for x and y = 1 − x of which each is exact."""
    away = a * y - b * x

    def step(m):
        n = a + 2 * m - 1
        over = (a + m - 1) / n * ((a + b + m - 1) / n) * (m * x) * ((b - m) * x)
        return over, m + m * (b - m) * x / n + (a + m) / (n + 2) * (away + 1 + m * (1 + y))

    log_p = log_binomial(a, a + b, x, y) + np.log(a / (a + b)) + np.log(b)
    return log_p - np.log(_fraction(a / (a + 1) * (away + 1), step))


def _huge(a, b, x):
    return (np.minimum(a, b) > HUGE) & (x > 0) & (x < 1)


def _near_normal(a, b, x, y):
    """I_x(a, b) for huge a and b: the Normal's beyond the root of the deviance, and the first term of the skewness."""
    n = a + b
    root = np.sqrt(2 * (deviance(a, n * x) + deviance(b, n * y)))
    root = np.where(a * y > b * x, -root, root)
    skew = (b - a) / (3 * np.sqrt(a) * np.sqrt(b) * np.sqrt(n))
    return special.ndtr(root) + skew * np.exp(-0.5 * root**2 - LOG_SQRT_2PI)


# both


def log_shares(p, rest):
    """(log p, log rest) for p + rest = 1, each from the smaller of the two."""
    with np.errstate(divide="ignore"):
        log_p, log_rest = np.log(p), np.log(rest)
    return log_settled(log_p, log_rest), log_settled(log_rest, log_p)


def log_settled(log_p, log_rest):
    """log p, from log (1 − p) where that is the smaller."""
    return np.where(log_p > -np.log(2), np.log1p(0.0 - np.exp(np.minimum(log_rest, -np.log(2)))), log_p)


def _faded(p, *arguments):
    """Where p has lost digits but is not 0, as it is where an argument is 0 or infinite."""
    return (p < FADED) & np.all([(v > 0) & (v < np.inf) for v in np.broadcast_arrays(*arguments)], axis=0)


def instead(values, where, f, *arguments):
    """The values, but f of the arguments where told."""
    if not np.any(where):
        return values
    where, values, *beside = np.broadcast_arrays(where, values, *arguments)
    values = values.copy()
    with np.errstate(all="ignore"):
        values[where] = f(*(v[where] for v in beside))
    return values


def _fraction(first, step):
    """first + a₁ / (b₁ + a₂ / (b₂ + …)) for (a_n, b_n) = step(n), by Lentz's method."""
    value, c, d = first, first, 0.0
    for n in range(1, STEPS):
        a, b = step(n)
        c, d = b + a / c, 1 / (b + a * d)
        value = value * (c * d)
        if np.all(np.abs(c * d - 1) <= 2 * EPS):
            break
    return value
