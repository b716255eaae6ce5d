"""Why committees work: a majority errs less than its voters, and averaging takes off variance.

`majority_error` is the arithmetic of independent and of correlated voters; `bias_variance` takes any estimator apart,
by refitting it on samples and asking how its predictions miss on average (bias) and scatter (variance).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from quorate.members.wrap import predictor

# majorities


def majority_error(n, p, correlation=0.0):
    """The probability that a majority of n voters errs, when each errs with probability p; a tie counts half.

    Independent voters: Σ_{j>n/2} C(n, j) pʲ (1−p)ⁿ⁻ʲ (+ ½ of the term j = n/2) = I_p(k, k), the incomplete beta
    function at k = ⌈n/2⌉: a last voter who makes an even number changes nothing but ties. Errors of which any two
    have the same correlation ρ follow the beta-binomial, the binomial above averaged over p ~ Beta(a, b) with
    a/(a+b) = p and 1/(a+b+1) = ρ, so that ρ = 1 gives p: voters who always agree are one voter.

    n, p and correlation may be arrays, which broadcast.

    >>> round(majority_error(21, 0.3), 4)
    0.0264
    >>> majority_error([1, 11, 101], 0.3, correlation=0.1).round(3)
    array([0.3  , 0.163, 0.109])
    """
    n, p, rho = np.broadcast_arrays(_whole(n), _unit("p", p), _unit("correlation", correlation))
    k = (n + 1) // 2
    error = np.where(rho == 1, p, special.betainc(k, k, p))
    for at in np.argwhere((rho > 0) & (rho < 1) & (p > 0) & (p < 1)):
        error[tuple(at)] = _correlated(int(k[tuple(at)]), p[tuple(at)], rho[tuple(at)])
    return float(error) if error.ndim == 0 else error


def _correlated(k, p, rho):
    """P(J ≥ k) for J beta-binomial of N = 2k − 1 voters, by the ratios of its successive terms.

    Terms j+1 and j are as (N − j)(a + j) to (j + 1)(b + N − j − 1). Their logarithms add up away from k, where the two
    sides of the vote meet, so the terms that decide are the most exact.
    """
    j = np.arange(2.0 * k - 1)
    n = len(j)
    a, b = p * (1 - rho), (1 - p) * (1 - rho)  # times ρ, like all that stands beside them
    ratio = np.log(n - j) + np.log(a + rho * j) - np.log(j + 1) - np.log(b + rho * (n - j - 1))
    wrong = special.logsumexp(np.cumsum(np.append(0.0, ratio[k:])))
    right = special.logsumexp(-np.cumsum(ratio[:k][::-1]))
    return special.expit(wrong - right)


def _whole(n):
    n = np.asarray(n)
    if n.dtype.kind not in "iu" or np.any(n < 1):
        raise ValueError(f"n must be a whole number of voters, at least 1; got {n.tolist()!r}")
    return n


def _unit(name, value):
    value = np.asarray(value, dtype=float)
    if not np.all((value >= 0) & (value <= 1)):
        raise ValueError(f"{name} must lie in [0, 1], got {value.tolist()!r}")
    return value


# bias and variance


@dataclass(frozen=True, eq=False, repr=False)
class BiasVariance:
    """loss = noise + bias + net_variance, exactly, in each test row and on average over them.

    The numbers are means of the arrays, which have one value a test row. For squared loss `bias_rows` is bias² and
    `net_variance` is the variance. For 0-1 loss `variance` is P(f ≠ main prediction), of which `variance_unbiased`
    (in rows where the main prediction is right) adds to the loss, and `variance_biased` (where it is wrong) takes off
    it: all of it with two classes, else the part that falls on the right class. `noise_known` tells whether noise
    was told apart; where it is not, it is inside bias.
    """

    kind: str
    n_rounds: int
    noise_known: bool
    main_prediction: np.ndarray
    loss_rows: np.ndarray
    noise_rows: np.ndarray
    bias_rows: np.ndarray
    variance_rows: np.ndarray
    net_variance_rows: np.ndarray

    loss = property(lambda self: float(np.mean(self.loss_rows)), doc="The mean loss of the fits.")
    noise = property(lambda self: float(np.mean(self.noise_rows)), doc="What no prediction could avoid.")
    bias = property(lambda self: float(np.mean(self.bias_rows)), doc="The loss of the main prediction.")
    variance = property(
        lambda self: float(np.mean(self.variance_rows)), doc="Scatter about the main prediction."
    )
    net_variance = property(lambda self: float(np.mean(self.net_variance_rows)), doc="What scatter costs.")

    @property
    def variance_unbiased(self):
        """The part of `variance` in rows where scatter costs: all rows, for squared loss."""
        return self.variance - self.variance_biased

    @property
    def variance_biased(self):
        """The part of `variance` in rows where the main prediction is wrong (0-1 loss)."""
        wrong = (self.bias_rows > 0) & (self.kind == "0-1")
        return float(np.mean(np.where(wrong, self.variance_rows, 0.0)))

    def __repr__(self):
        return f"BiasVariance({self.kind} loss: {self._formula()})"

    def summary(self):
        """The decomposition in a few lines."""
        lines = [
            f"{self.kind} loss of {self.n_rounds} fits on {len(self.loss_rows)} test rows",
            self._formula(),
        ]
        if self.kind == "0-1":
            lines.append(
                f"variance {self.variance:.4g} = {self.variance_unbiased:.4g} where the main prediction is right "
                f"+ {self.variance_biased:.4g} where it is wrong"
            )
        return "\n".join(lines)

    def _formula(self):
        squared = self.kind == "squared"
        noise = f"{self.noise:.4g} (noise) + " if self.noise_known else ""
        bias = ("bias²" if squared else "bias") + ("" if self.noise_known else ", with any noise")
        variance = "variance" if squared else "net variance"
        return f"{self.loss:.4g} = {noise}{self.bias:.4g} ({bias}) + {self.net_variance:.4g} ({variance})"


def bias_variance(
    estimator,
    X=None,
    y=None,
    *,
    draw=None,
    X_test=None,
    y_test=None,
    loss=None,
    n_rounds=100,
    noise=None,
    test_size=0.25,
    random_state=None,
    n_jobs=None,
):
    """Bias, variance and noise of an estimator, from fits on `n_rounds` bootstrap samples of (X, y).

    Or on samples of your own: `draw(rng)` returns an (X, y), for exact studies of a known law. Test rows are `X_test`,
    `y_test`; if not told, a random `test_size` of the rows, or one more draw.

    Squared loss, with f the fits and f̄ their mean: E(y − f)² = noise + bias² + variance = (y − f̄)² + E(f − f̄)².
    `noise` splits (y − f̄)²: a callable X → E[y | X] makes bias² = (E[y | X] − f̄)², and a number, or one a test row,
    is Var(y | X) itself; what is left is the other term, so a single row's may be below 0.

    0-1 loss (Domingos, 2000), with the main prediction f̄ the most frequent (of equals, the first label): bias is
    1{f̄ ≠ y}, variance P(f ≠ f̄), and loss = bias + net variance, where variance counts fully where f̄ = y, and as
    −P(f = y) where f̄ ≠ y, which is minus the variance if there are two classes. With `noise`, a callable X → the best
    label y*, y* takes the place of y, and noise is P(f = y*) − P(f = y): what y ≠ y* adds, which is
    (2 P(f = y*) − 1) 1{y ≠ y*} if there are two classes.

    `loss` is "squared" or "0-1" (by default, by the kind of estimator). Fits whose `random_state` is None get a seed
    from the round's own stream, so the answer is the same for any `n_jobs` (threads).

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> parts = bias_variance(LinearRegression(), x, x[:, 0] ** 2, n_rounds=50, random_state=0)
    >>> parts.bias > 10 * parts.variance
    True
    """
    kind = loss or ("0-1" if is_classifier(predictor(estimator)) else "squared")
    if kind not in _PARTS:
        raise ValueError(f'loss must be "squared" or "0-1", got {loss!r}')
    if not isinstance(n_rounds, (int, np.integer)) or n_rounds < 1:
        raise ValueError(f"n_rounds must be a whole number of at least 1, got {n_rounds!r}")
    root = _root(random_state)
    draw, X_test, y_test = _study(X, y, draw, X_test, y_test, test_size, np.random.default_rng(root))
    job = _Round(estimator, draw, X_test, len(y_test), root, ThreadpoolController())
    # One thread for each fit's linear algebra: its last bits depend on how many share the work.
    with job.threads.limit(limits=1):
        predictions = Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(job)(r) for r in range(n_rounds))
    rows = _PARTS[kind](predictions, y_test, X_test, noise)
    return BiasVariance(kind, int(n_rounds), noise is not None, *rows)


@dataclass(frozen=True)
class _Round:
    """One sample, one fit, its predictions of the test rows: a function of the root and the number of the round."""

    estimator: Any
    draw: Callable
    X_test: Any
    n_test: int
    root: int
    threads: ThreadpoolController

    def __call__(self, number):
        rng = np.random.default_rng(np.random.SeedSequence(self.root, spawn_key=(number,)))
        X, y = self.draw(rng)
        # OpenMP counts its threads for each calling thread, so this limit belongs here.
        with self.threads.limit(limits=1, user_api="openmp"):
            answer = np.asarray(self.fitted(X, y, rng).predict(self.X_test))
        if answer.shape != (self.n_test,):
            raise ValueError(
                f"predict gave shape {answer.shape} for {self.n_test} test rows; one number a row is needed"
            )
        return answer

    def fitted(self, X, y, rng):
        """The estimator, fitted to a sample; an error says how many classes that has."""
        try:
            return _seeded(clone(self.estimator), rng).fit(X, y)
        except Exception as error:
            if is_classifier(self.estimator):
                error.add_note(
                    f"while fitting a sample with {len(np.unique(y))} class(es); where one is rare, a sample may miss "
                    f"it: give draw= with samples that hold all, or an estimator that takes a single class"
                )
            raise


def _study(X, y, draw, X_test, y_test, test_size, rng):
    """(draw, X_test, y_test) from what the caller told."""
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test go together; one is missing")
    if (draw is None) == (X is None or y is None) or (draw is not None and not (X is None and y is None)):
        raise ValueError(
            "give either X and y, or draw=, a function of a random generator that returns (X, y)"
        )
    if draw is None:
        check_consistent_length(X, y)
        y = _targets("y", y)
        train = np.arange(len(y))
        if X_test is None:
            train, test = _split(len(y), test_size, rng)
            X_test, y_test = _safe_indexing(X, test), y[test]
        draw = _bootstrap(X, y, train)
    elif X_test is None:
        X_test, y_test = draw(rng)
    check_consistent_length(X_test, y_test)
    return draw, X_test, _targets("y_test", y_test)


def _bootstrap(X, y, rows):
    """A function that draws as many of the rows, with replacement."""

    def draw(rng):
        chosen = rows[rng.integers(len(rows), size=len(rows))]
        return _safe_indexing(X, chosen), y[chosen]

    return draw


def _split(n, test_size, rng):
    """(training rows, test rows), at least one of each."""
    if not 0 < test_size < 1:
        raise ValueError(f"test_size must be a fraction between 0 and 1, got {test_size!r}")
    if n < 2:
        raise ValueError(f"{n} row(s) cannot be split into training and test rows; give X_test and y_test")
    order = rng.permutation(n)
    cut = min(max(round(n * test_size), 1), n - 1)
    return np.sort(order[cut:]), np.sort(order[:cut])


def _seeded(estimator, rng):
    """The estimator with a seed for each `random_state` left at None, inside pipelines too."""
    names = [k for k in sorted(estimator.get_params()) if k == "random_state" or k.endswith("__random_state")]
    free = [k for k in names if estimator.get_params()[k] is None]
    return estimator.set_params(**{k: int(rng.integers(2**31 - 1)) for k in free})


def _root(random_state):
    """One whole number that all randomness comes from."""
    if random_state is None:
        return np.random.SeedSequence().entropy
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state


def _targets(name, y):
    y = column_or_1d(y)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = np.flatnonzero(~np.isfinite(y))[0]
        raise ValueError(f"{name} must be finite; row {row} has {y[row]}")
    return y


# the two decompositions: (main prediction, loss, noise, bias, variance, net variance), one value a test row


def _squared(predictions, y, X, noise):
    f, y = np.array(predictions, dtype=float), y.astype(float)
    main = f.mean(axis=0)
    variance = ((f - main) ** 2).mean(axis=0)
    missed = (y - main) ** 2
    if callable(noise):
        bias = (_one_a_row("noise(X_test)", noise(X), len(y)) - main) ** 2
    else:
        bias = missed - _one_a_row("noise", 0.0 if noise is None else noise, len(y), lowest=0.0)
    return main, ((y - f) ** 2).mean(axis=0), missed - bias, bias, variance, variance


def _zero_one(predictions, y, X, noise):
    if not (noise is None or callable(noise)):
        raise ValueError("for 0-1 loss, noise must be a function X → best label, or None")
    best = y if noise is None else column_or_1d(noise(X))
    check_consistent_length(y, best)
    f = np.array(predictions)
    main = _most_frequent(f)
    at_main, at_best, at_y = ((f == label).mean(axis=0) for label in (main, best, y))
    bias = (main != best).astype(float)
    variance = 1.0 - at_main
    net = np.where(bias > 0, -at_best, variance)
    return main, 1.0 - at_y, at_best - at_y, bias, variance, net


_PARTS = {"squared": _squared, "0-1": _zero_one}


def _most_frequent(f):
    """The most frequent label of each column; of equals, the first in order."""
    labels, code = np.unique(f, return_inverse=True)
    code = code.reshape(f.shape)
    return labels[np.argmax([(code == k).sum(axis=0) for k in range(len(labels))], axis=0)]


def _one_a_row(name, values, n, lowest=-np.inf):
    values = np.asarray(values, dtype=float)
    if values.shape not in ((), (n,)) or not np.all(np.isfinite(values) & (values >= lowest)):
        raise ValueError(
            f"{name} must be one finite number{' ≥ 0' if lowest == 0 else ''}, or one for each of the {n} test rows"
        )
    return values
