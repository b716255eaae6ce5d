"""Proper scores and calibration: how good a batch of distributions was, now that y is known.

Every score is `score(prediction, y, sample_weight=None)`, a weighted mean over rows; a row of weight 2 counts as the
row given twice, and one of weight 0 as a row left out. The prediction is a distribution, as `model.predict_dist(X)`
gives, with a row for each y or a single row for all of them; scores of points and intervals take arrays too.

Larger is better for `log_score`, `accuracy` and `r2`; all others are losses, where smaller is better, except
`coverage`, which should equal its level, and the PIT, which should be uniform. `log_score`, `crps`, `brier`,
`pinball` and `interval_score` are proper: no other answer does better, on average, than the true one.
"""

import numpy as np
from scipy.special import ndtr

from quorate.dist.base import Predictive, Real, fraction, generator
from quorate.dist.categorical import Classes

__all__ = [
    "accuracy",
    "brier",
    "calibration_error",
    "coverage",
    "crps",
    "interval_score",
    "log_score",
    "mae",
    "pinball",
    "pit",
    "pit_histogram",
    "r2",
    "rmse",
]

SQRT_2PI = np.sqrt(2 * np.pi)


# distributions


def log_score(dist, y, sample_weight=None):
    """Mean of log p(y), in nats; larger is better. −∞ where a y was held to be impossible.

    >>> import quorate as q
    >>> candy = q.Categorical([[0.25, 0.75]], classes=["cherry", "lime"])
    >>> round(q.score.log_score(candy, ["lime", "cherry"]), 4)
    -0.837
    """
    if isinstance(dist, Classes):
        column, w = _labelled(dist, y, sample_weight)
        return _mean(_of_column(dist.log_p, column), w)
    ndim = 1 if isinstance(dist, Real) else None
    y, w = _numbered(dist, Predictive, y, sample_weight, ndim)
    return _mean(dist.log_prob(y), w)


def crps(dist, y, sample_weight=None):
    """Mean continuous ranked probability score ∫ (F(z) − 1{y ≤ z})² dz, in y's unit; smaller is better.

    The absolute error |y − ŷ|, for a distribution that is all on ŷ.

    >>> import quorate as q
    >>> round(q.score.crps(q.Normal([0.0, 1.0], 1.0), [0.0, 3.0]), 4)
    0.8432
    """
    y, w = _numbered(dist, Real, y, sample_weight)
    return _mean(dist.crps(y), w)


def brier(dist, y, sample_weight=None):
    """Mean of Σ_k (p_k − 1{y = k})² over all K classes, from 0 to 2; smaller is better.

    The sum runs over both classes of two, so it is twice the (p₁ − y)² that some call the Brier score.

    >>> import quorate as q
    >>> q.score.brier(q.Categorical([[0.75, 0.25], [0.5, 0.5]]), [0, 1])
    0.3125
    """
    column, w = _labelled(dist, y, sample_weight)
    miss = np.array(np.broadcast_to(dist.probs, (len(column), len(dist.classes))))
    miss[np.arange(len(column)), column] -= 1.0
    return _mean(np.square(miss).sum(axis=1), w)


# quantiles and intervals


def pinball(quantiles, y, p, sample_weight=None):
    """Mean of (p − 1{y < q}) (y − q) for quantiles q of level p; smaller is better.

    `quantiles` is (n,) for a number p, (n, k) for k levels (the mean over levels too), or a distribution to take
    them from. Twice the mean over many even levels is the CRPS.

    >>> import quorate as q
    >>> q.score.pinball([10.0, 10.0], [12.0, 9.0], 0.75)
    0.875
    """
    p = _inside(p)
    quantiles = _asked(quantiles, Real, "quantiles of numbers", lambda d: d.quantile(p))
    y, w = _beside(_numbers("y", y), sample_weight)
    quantiles = _numbers("quantiles", quantiles, p.ndim + 1, infinite=True)
    _same_rows("quantiles", len(quantiles), len(y))
    if quantiles.shape[1:] != p.shape:
        raise ValueError(f"quantiles have shape {quantiles.shape} for {p.size} levels")
    gap = y.reshape(-1, *(1,) * p.ndim) - quantiles
    loss = np.where(gap >= 0, p * gap, (p - 1.0) * gap)
    return _mean(loss.reshape(len(y), -1).mean(axis=1), w)


def interval_score(interval, y, sample_weight=None, *, level=0.9):
    """Mean of (u − l) + 2/(1 − level) · (distance of y to [l, u]), in y's unit; smaller is better.

    `interval` is (n, 2), the lower and upper ends of central intervals of that level, or a distribution to take
    them from.

    >>> import quorate as q
    >>> q.score.interval_score([[0.0, 1.0], [0.0, 1.0]], [0.5, 1.5], level=0.5)
    2.0
    """
    level = fraction(level, "level")
    y, w = _beside(_numbers("y", y), sample_weight)
    lower, upper = _ends(interval, level, len(y))
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return _mean(upper - lower + 2.0 / (1.0 - level) * outside, w)


def coverage(dist, y, sample_weight=None, *, level=0.9, rounding=0.0):
    """The fraction of y inside the central interval of probability `level`, which it should equal.

    Inside means that the PIT (see `pit`) is within level/2 of ½. Where y is discrete the PIT is uniform over
    (P(Y < y), P(Y ≤ y)) rather than one number, and the row counts by the part of that range which is inside: the
    exact expectation of the coverage by randomised PIT, so nothing is drawn. `dist` may also be an (n, 2) array of
    intervals, which have their own level; their ends belong to them.

    >>> import quorate as q
    >>> q.score.coverage(q.Normal(0.0, 1.0), [-2.0, -1.0, 0.0, 1.0], level=0.9)
    0.75
    """
    level = fraction(level, "level")
    if not isinstance(dist, Predictive):
        y, w = _beside(_numbers("y", y), sample_weight)
        lower, upper = _ends(dist, level, len(y))
        return _mean((lower <= y) & (y <= upper), w)
    y, w = _numbered(dist, Real, y, sample_weight)
    low, high = _pit_range(dist, y, rounding)
    return _mean(_mass_below(low, high, 0.5 + level / 2) - _mass_below(low, high, 0.5 - level / 2), w)


# the probability integral transform


def pit(dist, y, rng=None, *, rounding=0.0):
    """F(y) a row, uniform on (0, 1) if the distributions are the true ones.

    Where P(Y < y) and P(Y ≤ y) differ, a number drawn evenly between them: with `rng`, a Generator, a seed or None.
    `rounding` is the gap to which y was rounded (one number, or one a row): a smooth distribution of whole numbers
    takes y for all of (y − ½, y + ½) with rounding=1.

    >>> import quorate as q
    >>> q.score.pit(q.Normal([0.0, 5.0], 1.0), [0.0, 6.0]).round(3)
    array([0.5  , 0.841])
    """
    y, _ = _numbered(dist, Real, y, None)
    low, high = _pit_range(dist, y, rounding)
    return low + (high - low) * generator(rng).random(len(y))


def pit_histogram(dist, y, sample_weight=None, *, bins=10, rounding=0.0):
    """The fraction of PITs in each of `bins` equal parts of (0, 1): all 1/bins if the distributions are the true ones.

    A row whose PIT is a range gives each bin its share of the range: the expectation over the randomised PIT
    (Czado, Gneiting and Held, 2009), so nothing is drawn. ∪ says too narrow, ∩ too wide, a slope says biased.

    >>> import quorate as q
    >>> q.score.pit_histogram(q.Normal(0.0, 1.0), [-3.0, -0.1, 0.1, 3.0], bins=4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    y, w = _numbered(dist, Real, y, sample_weight)
    low, high = _pit_range(dist, y, rounding)
    inner = np.arange(1, _count("bins", bins)) / bins
    below = [_mean(_mass_below(low, high, edge), w) for edge in inner]
    return np.diff([0.0, *below, 1.0])


def calibration_error(dist, y, sample_weight=None, *, bins=10, debias=True):
    """Expected calibration error of the most probable class: Σ_b W_b/W |d_b|; smaller is better.

    Rows are sorted by the probability c of their most probable class and cut into `bins` of equal weight W_b (rows
    of equal c stay together); d_b is the mean of c less the fraction that was right.

    Even a perfect classifier shows |d_b| > 0 by chance, so that is taken off. Given the c, d_b is near Normal about
    the true gap δ_b, with variance s² = Σ w c(1 − c) / W_b² where the classifier is calibrated, which is where it
    matters. Then E|d_b| − |δ_b| = 2 (s φ(t) − |δ_b| Φ(−t)) with t = |δ_b|/s: s √(2/π) at δ_b = 0, and soon nothing
    beyond s. The unknown δ_b² is put at d_b² − s², which has the right mean, or 0. Less than 0 in sum is answered as
    0, and weights must count rows. `debias=False` gives the plain error.

    (Bias of this kind: Bröcker 2012; Kumar, Liang and Ma 2019, who put δ_b at d_b itself and so take off only two
    fifths of it where there is no error.)

    >>> import numpy as np, quorate as q
    >>> y = np.arange(100) % 10 == 0
    >>> overconfident = q.Categorical([[0.99, 0.01]], classes=[False, True])
    >>> round(q.score.calibration_error(overconfident, y), 3)
    0.09
    """
    column, w = _labelled(dist, y, sample_weight)
    probs = np.broadcast_to(dist.probs, (len(column), len(dist.classes)))[w > 0]
    column, w, bins = column[w > 0], w[w > 0], _count("bins", bins)
    best = np.argmax(probs, axis=1)
    c = np.minimum(probs[np.arange(len(best)), best], 1.0)
    gap, spread, share = _gaps(c, best == column, w, _even_bins(c, w, bins))
    if not debias:
        return float(share @ gap)
    if len(w) > 1 and w.sum() < 1.5:
        raise ValueError(
            f"debias=True takes weights for numbers of rows, and these add up to {w.sum():.3g}; "
            "scale them to add up to the number of rows, or use debias=False"
        )
    likely = np.sqrt(np.maximum(gap**2 - spread**2, 0.0))
    return max(0.0, float(share @ (gap - _folding(likely, spread))))


# points


def rmse(prediction, y, sample_weight=None):
    """√ mean (y − ŷ)²; smaller is better. ŷ is an array of numbers, or the mean of a distribution.

    >>> import quorate as q
    >>> q.score.rmse(q.Normal([0.0, 0.0], 1.0), [1.0, 7.0])
    5.0
    """
    error, _, w = _errors(prediction, y, sample_weight)
    size = np.max(np.abs(error))  # in its unit squares neither overflow nor vanish
    if not 0 < size < np.inf:
        return float(size)
    return float(size * np.sqrt(_mean((error / size) ** 2, w)))


def mae(prediction, y, sample_weight=None):
    """Mean |y − ŷ|; smaller is better. ŷ is an array of numbers, or the mean of a distribution.

    It is the median (`dist.median`) that makes this smallest.

    >>> import quorate as q
    >>> q.score.mae(q.Normal([0.0, 0.0], 1.0), [1.0, -7.0])
    4.0
    """
    error, _, w = _errors(prediction, y, sample_weight)
    return _mean(np.abs(error), w)


def r2(prediction, y, sample_weight=None):
    """1 − Σ w (y − ŷ)² / Σ w (y − ȳ)²; larger is better, 1 is perfect and 0 as good as the mean ȳ of y.

    ŷ is an array of numbers, or the mean of a distribution. Of a constant y: 1 if perfect, else 0 (as scikit-learn).

    >>> import quorate as q
    >>> q.score.r2([1.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    0.5
    """
    error, y, w = _errors(prediction, y, sample_weight)
    if y.min() == y.max():
        return 0.0 if error.any() else 1.0
    spread = y - _mean(y, w)
    size = np.max(np.abs(spread))
    with np.errstate(over="ignore"):
        missed = _mean((error / size) ** 2, w)
    return 1.0 - missed / _mean((spread / size) ** 2, w)


def accuracy(prediction, y, sample_weight=None):
    """Mean of 1{y = ŷ}; larger is better. ŷ is an array of labels, or the most probable class of a distribution.

    A label the prediction does not know counts as missed.

    >>> import quorate as q
    >>> q.score.accuracy(q.Categorical([[0.9, 0.1], [0.4, 0.6]], classes=["no", "yes"]), ["no", "no"])
    0.5
    """
    guess = _labels("the prediction", _asked(prediction, Classes, "classes", lambda d: d.mode))
    y, w = _beside(_labels("y", y), sample_weight)
    _same_rows("the prediction", len(guess), len(y))
    if (guess.dtype.kind in "US") != (y.dtype.kind in "US") and "O" not in (guess.dtype.kind, y.dtype.kind):
        raise ValueError(f"y holds {y.dtype} and the prediction {guess.dtype}: such labels are never equal")
    return _mean(guess == y, w)


# what y and its weights must be


def _numbered(dist, kind, y, sample_weight, ndim=1):
    """y and its weights, beside a distribution over numbers."""
    _need(dist, kind, "a distribution over numbers, as regressor.predict_dist(X) gives")
    y, w = _beside(_numbers("y", y, ndim), sample_weight)
    _same_rows("the prediction", len(dist), len(y))
    return y, w


def _need(prediction, kind, what):
    if not isinstance(prediction, kind):
        raise TypeError(f"this score needs {what}; got {type(prediction).__name__}")


def _labelled(dist, y, sample_weight):
    """The column of each y among the classes, and its weight."""
    _need(
        dist, Classes, "probabilities of classes, as classifier.predict_dist(X) or q.Categorical(probs) gives"
    )
    y, w = _beside(_labels("y", y), sample_weight)
    _same_rows("the prediction", len(dist), len(y))
    return _columns(dist.classes, y), w


def _asked(prediction, kind, what, ask):
    """ask(prediction) of a distribution; an array is the answer already."""
    if not isinstance(prediction, Predictive):
        return prediction
    _need(prediction, kind, f"{what}, or a distribution that has them")
    return ask(prediction)


def _columns(classes, y):
    """Where each y stands among the classes; an error names the first that is not one."""
    try:
        seen, which = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"y mixes labels of different types, such as {sorted(map(str, y[:3]))}") from error
    at = {label: k for k, label in enumerate(classes.tolist())}
    column = np.array([at.get(label, -1) for label in seen.tolist()])[which]
    if np.any(column < 0):
        row = np.flatnonzero(column < 0)[0]
        raise ValueError(
            f"y has a label the prediction does not know: row {row} has {y.tolist()[row]!r}, "
            f"and the classes are {_shortened(classes.tolist())}"
        )
    return column


def _of_column(values, column):
    """values[row, column of the row]; a single row of values stands for all."""
    return values[np.arange(len(column)) if len(values) > 1 else 0, column]


def _errors(prediction, y, sample_weight):
    """y − ŷ, y and the weights, of the rows that have one."""
    y, w = _beside(_numbers("y", y), sample_weight)
    prediction = _numbers("the prediction", _asked(prediction, Real, "numbers", lambda d: d.mean))
    _same_rows("the prediction", len(prediction), len(y))
    with np.errstate(over="ignore"):
        error = y - prediction
    return error[w > 0], y[w > 0], w[w > 0]


def _ends(interval, level, n):
    """Lower and upper ends of intervals, given as an array or as distributions."""
    interval = _asked(interval, Real, "intervals of numbers", lambda d: d.interval(level))
    interval = _numbers("the interval", interval, 2, infinite=True)
    _same_rows("the interval", len(interval), n)
    if interval.shape[1] != 2:
        raise ValueError(f"an interval has two ends, a row each (n, 2); got shape {interval.shape}")
    lower, upper = interval.T
    if np.any(lower > upper):
        row = np.flatnonzero(lower > upper)[0]
        raise ValueError(
            f"an interval's lower end is above its upper; row {row} has {interval[row].tolist()}"
        )
    return lower, upper


def _numbers(name, values, ndim=1, infinite=False):
    """An array of numbers without NaN; an error names the row."""
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from error
    _check_shape(name, values, ndim)
    bad = np.isnan(values) if infinite else ~np.isfinite(values)
    if bad.any():
        row = np.argwhere(bad)[0][0]
        raise ValueError(f"{name} must be {'numbers' if infinite else 'finite'}; row {row} has {values[row]}")
    return values


def _labels(name, values):
    """An array of labels, none of them missing; an error names the row."""
    values = np.asarray(values)
    _check_shape(name, values, 1)
    missing = values != values if values.dtype.kind in "fc" else np.zeros(len(values), bool)
    if values.dtype == object:
        missing = np.array([v is None or (isinstance(v, float) and v != v) for v in values])
    if missing.any():
        raise ValueError(f"{name} must not have missing labels; row {np.flatnonzero(missing)[0]} has one")
    return values


def _check_shape(name, values, ndim):
    if values.ndim != (ndim or max(values.ndim, 1)):
        hint = (
            "; .ravel() makes a column a list"
            if ndim == 1 and values.size == len(np.atleast_1d(values))
            else ""
        )
        raise ValueError(
            f"{name} must have {ndim or 'one or more'} dimensions, got shape {values.shape}{hint}"
        )
    if not len(values):
        raise ValueError(f"{name} has no rows to score")


def _beside(y, sample_weight):
    """y and its weights: finite, none negative, not all 0; all 1 if not told."""
    if sample_weight is None:
        return y, np.ones(len(y))
    w = _numbers("sample_weight", sample_weight)
    if len(w) != len(y):
        raise ValueError(f"sample_weight has {len(w)} rows and y has {len(y)}")
    if np.any(w < 0):
        row = np.flatnonzero(w < 0)[0]
        raise ValueError(f"sample_weight must be ≥ 0; row {row} has {w[row]}")
    if not w.any():
        raise ValueError("sample_weight is 0 in every row, so there is nothing to score")
    return y, w


def _same_rows(name, have, need):
    if have not in (1, need):
        raise ValueError(f"{name} has {have} rows and y has {need}")


def _inside(p):
    """Levels strictly between 0 and 1, a number or a list of them."""
    p = np.asarray(p, dtype=float)
    if p.ndim > 1 or not p.size or not np.all((p > 0) & (p < 1)):
        raise ValueError(f"p must be a number between 0 and 1, or a list of them; got {p.tolist()!r}")
    return p


def _count(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _shortened(labels, most=10):
    return str(labels) if len(labels) <= most else f"{str(labels[:most])[:-1]}, … {len(labels)} in all]"


# the parts of the formulas


def _mean(values, w):
    """Σ w v / Σ w over the rows of positive weight (0 · ∞ is a row left out, not NaN)."""
    values, w = np.asarray(values, dtype=float)[w > 0], w[w > 0]
    return float(np.average(values, weights=w / w.max()))


def _pit_range(dist, y, rounding):
    """(P(Y < y), P(Y ≤ y)) a row, for y that stands for all of y ± rounding/2."""
    rounding = _numbers("rounding", np.atleast_1d(rounding))
    _same_rows("rounding", len(rounding), len(y))
    if np.any(rounding < 0):
        raise ValueError(f"rounding must be ≥ 0, got {rounding.min()}")
    low = np.clip(dist.cdf_below(y - rounding / 2), 0.0, 1.0)
    return low, np.clip(dist.cdf(y + rounding / 2), low, 1.0)


def _mass_below(low, high, edge):
    """P(U < edge) for U uniform over (low, high), all at `low` where the two are equal."""
    width = high - low
    inside = np.clip(edge - low, 0.0, width)
    return np.where(width > 0, inside / np.where(width > 0, width, 1.0), low < edge)


def _even_bins(c, w, bins):
    """The bin of each row, when ascending c are cut into bins of equal weight and equal ones kept together."""
    _, group = np.unique(c, return_inverse=True)
    mass = np.bincount(group, weights=w)
    end = np.cumsum(mass)
    return np.minimum(((end - mass / 2) / end[-1] * bins).astype(int), bins - 1)[group]


def _gaps(c, right, w, b):
    """|d|, its standard deviation by chance if there is no gap, and the share of the weight, one for each bin b."""
    mass = np.bincount(b, weights=w)
    gap = np.bincount(b, weights=w * (c - right))[mass > 0]
    variance = np.bincount(b, weights=w * c * (1.0 - c))[mass > 0]
    mass = mass[mass > 0]
    return np.abs(gap) / mass, np.sqrt(variance) / mass, mass / mass.sum()


def _folding(d, s):
    """E|Z| − d for Z ~ N(d, s²) and d ≥ 0: 2 (s φ(t) − d Φ(−t)) at t = d/s."""
    t = d / np.maximum(s, 1e-100)
    return 2.0 * (s * np.exp(-0.5 * t * t) / SQRT_2PI - d * ndtr(-t))
