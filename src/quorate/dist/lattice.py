"""Sums and searches over whole numbers, for counts.

A sum takes every number in a narrow window, and in a wide one panels of consecutive numbers, each summed from eight of
them by a rule that is exact for polynomials of degree 7, and split until it agrees.
"""

import numpy as np
from scipy import special

from quorate.dist.invert import best_of, open_levels, widen
from quorate.dist.quadrature import MAX_HALVINGS, adapt, at_places, missed, off_step

TAIL = 1e-16
RATHER = 1e-12  # a tail that no rounding hides
FAR = 1e300  # where a search ends whose level rounding keeps out of reach
SHORT = 16  # a panel of so many numbers or fewer is summed one by one
NARROW = 2048  # and so is a window
PLACES = (1 - np.array([0.9602898564975363, 0.7966664774136267, 0.5255324099163290, 0.1834346424956498])) / 2
CUTS = (1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-9)


def window(dist):
    """(lowest, highest) number of each row, between which all but 1e-16 lies."""
    lo, hi = np.array(dist.quantile([TAIL, 1 - TAIL]).T)
    # Votes add up to one but for rounding, and so a cdf may end below the last level.
    endless = np.flatnonzero(hi > FAR)
    if endless.size:
        hi[endless] = _last(dist[endless])
    bottom, top = dist.bounds()
    return np.maximum(lo - 1, bottom), np.minimum(hi + 1, top)


def _last(dist):
    """A number with at most 1e-16 beyond it, less than twice as far from the median as need be."""
    middle, hi = dist.quantile([0.5, 1 - RATHER]).T
    for _ in range(MAX_HALVINGS):
        short = dist.sf(hi) > TAIL
        if not short.any():
            break
        hi = np.where(short, 2 * hi - middle + 1, hi)
    return hi


def flat_atoms(dist):
    """(row, value, probability) of the numbers in the window of each row."""
    lo, hi = window(dist)
    count = (hi - lo + 1).astype(np.int64)
    rows = np.repeat(np.arange(len(dist)), count)
    values = lo[rows] + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return rows, values, np.exp(dist[rows].log_prob(values))


def total(f, dist, index=None):
    """Σ_k f(d, k, entries) over the window, for f made of cdfs; an entry is a row, or `index` says which row."""

    def rule(d, entries, a, b):
        k, weights, rough, ends = _nodes(a, b)
        return _sums(f(d, k, entries), weights, rough, ends)

    return _adapted(rule, dist, index)


def expected(g, dist, index=None):
    """Σ_k P(k) g(d, k, entries), where a panel must also hold the probability that the cdf says: no spike can hide."""

    def rule(d, entries, a, b):
        k, weights, rough, ends = _nodes(a, b)
        p = np.exp(d.log_prob(k))
        worth = np.where(p > 0, g(d, k, entries), 0.0)
        value, error, magnitude = _sums(p * worth, weights, rough, ends)
        long = np.flatnonzero(b - a >= SHORT)
        if long.size:
            mass = np.sum(weights[long] * p[long], axis=1)
            gap = missed(mass, _held(d[long], a[long], b[long]))
            error[long] = np.maximum(error[long], gap * np.max(np.abs(worth[long]), axis=1))
            magnitude[long] += mass
        return value, error, magnitude

    return _adapted(rule, dist, index)


def _adapted(rule, dist, index):
    """The sum of a rule over the window of each entry."""
    index = np.arange(len(dist)) if index is None else index
    lo, hi = window(dist)
    entries, a, b = _panels(dist, lo, hi, index)
    with np.errstate(all="ignore"):
        return adapt(
            lambda entries, a, b: rule(dist[index[entries]], entries, a, b), entries, a, b, len(index), _split
        )


def _sums(values, weights, rough, ends):
    """(sum, how far a rougher sum or an end is from it, sum of |values|) of panels."""
    beyond = np.abs(np.einsum("ijk,ik->ij", ends, values)).sum(axis=1)
    values = np.where(weights != 0, values, 0.0)
    value, magnitude = np.sum(weights * values, axis=1), np.sum(weights * np.abs(values), axis=1)
    return value, np.maximum(np.abs(value - np.sum(rough * values, axis=1)), beyond), magnitude


def _held(dist, a, b):
    """The probability of panels, as the cdf says."""
    ends = np.stack([a - 1, b], axis=1)
    below, above = dist.cdf(ends), dist.sf(ends)
    return np.where(below[:, 0] < 0.5, below[:, 1] - below[:, 0], above[:, 0] - above[:, 1])


def _panels(dist, lo, hi, index):
    """The first panels: of sixteen numbers where the window is narrow, else cut at quantiles."""
    lo, hi = lo[index], hi[index]
    narrow = hi - lo < NARROW
    count = np.where(narrow, np.ceil((hi - lo + 1) / SHORT), 0).astype(np.int64)
    entries = np.repeat(np.arange(len(index)), count)
    step = np.arange(len(entries)) - np.repeat(np.cumsum(count) - count, count)
    a = lo[entries] + SHORT * step
    b = np.minimum(a + SHORT - 1, hi[entries])
    wide = np.flatnonzero(~narrow)
    if not wide.size:
        return entries, a, b
    cuts = dist.quantile(np.array(CUTS))[index[wide]]
    # The first numbers by themselves: what is not smooth is not smooth at the lower end.
    first = np.minimum(lo[wide, None] + np.array([SHORT, 4 * SHORT, 16 * SHORT]), hi[wide, None])
    ends = np.sort(np.concatenate([lo[wide, None] - 1, first, cuts, hi[wide, None]], axis=1), axis=1)
    start, stop = ends[:, :-1] + 1, ends[:, 1:]
    some = stop >= start
    rows = np.broadcast_to(wide[:, None], some.shape)[some]
    return tuple(map(np.concatenate, ((entries, rows), (a, start[some]), (b, stop[some]))))


def _split(a, b):
    middle = np.floor(a + (b - a) / 2)
    return np.concatenate([a, middle + 1]), np.concatenate([middle, b])


def _nodes(a, b):
    """Numbers in [a, b], shape (panels, 16), their weights in a sum over all of [a, b], in a rougher one, and for ends.

    The last, shape (panels, 2, 16), tell how far a value at an end is from the polynomial through the others, times the
    way from there to them: a rise between an end and the first number of the sum must not be missed.
    """
    k = a[:, None] + np.arange(SHORT)
    weights = (k <= b[:, None]).astype(float)
    rough, ends = weights.copy(), np.zeros((len(a), 2, SHORT))
    long = np.flatnonzero(b - a >= SHORT)
    if long.size:
        m = (b - a)[long, None]
        offset = np.rint(m * PLACES)
        k[long, :4], k[long, 4:8], k[long, 8:] = a[long, None] + offset, b[long, None] - offset, a[long, None]
        k[long, 9] = b[long]
        x = 1 - 2 * offset / m
        weights[long], rough[long] = 0.0, 0.0
        fine = _weights(x, m, 4)
        weights[long, :4], weights[long, 4:8] = fine, fine
        some = _weights(x[:, [0, 1, 3]], m, 3)
        for column, w in zip((0, 1, 3), some.T, strict=True):
            rough[long, column], rough[long, column + 4] = w, w
        ends[long, :, :8] = offset[:, :1, None] * _at_ends(np.concatenate([-x, x], axis=1))
        ends[long, [[0], [1]], [[8], [9]]] = -offset[:, 0]
    return k, weights, rough, ends


def _at_ends(x):
    """The weights of values at x (n, k) in the polynomial through them, at −1 and at 1, shape (n, 2, k)."""
    here, own = x[:, :, None], np.eye(x.shape[1], dtype=bool)
    others = [
        np.where(own, 1.0, end - x[:, None, :]) / np.where(own, 1.0, here - x[:, None, :]) for end in (-1, 1)
    ]
    return np.stack([np.prod(ratio, axis=2) for ratio in others], axis=1)


def _weights(x, m, terms):
    """The weights of ±x, for numbers spread evenly over [−1, 1] in m steps: their even moments are matched."""
    n = m + 1
    moments = (
        np.ones_like(n),
        (n**2 - 1) / 12,
        (3 * n**4 - 10 * n**2 + 7) / 240,
        (3 * n**6 - 21 * n**4 + 49 * n**2 - 31) / 1344,
    )
    scaled = np.concatenate([moment * (2 / m) ** (2 * j) for j, moment in enumerate(moments[:terms])], axis=1)
    powers = x[:, None, :] ** (2 * np.arange(terms)[:, None])
    return n / 2 * np.linalg.solve(powers, scaled[:, :, None])[:, :, 0]


# what a law of counts derives


def entropy(dist):
    """−Σ p log p."""
    return expected(lambda d, k, rows: -d.log_prob(k), dist)


def half_distance(dist):
    """½ E|Y − Y'| = Σ F (1 − F)."""
    return total(lambda d, k, rows: d.cdf(k) * d.sf(k), dist)


def distance(dist, y):
    """E|Y − y| = |y − EY| + 2 Σ of the tail beyond y, seen from the mean."""
    index, places, shape = at_places(dist, y)
    mean = dist.mean[index, None]
    side = np.where(places > mean, 1.0, -1.0)
    inner = np.where(np.isfinite(places), places, mean)

    def beyond(d, k, entries):
        return np.maximum(side[entries] * (k - inner[entries]), 0.0)

    return (np.abs(places - mean)[:, 0] + 2 * expected(beyond, dist, index)).reshape(shape)


def crps(dist, places, index):
    """Σ of (F(k) − 1{y ≤ z})² over z from k to k + 1, as quadrature.crps takes it: from the step at the median m."""
    middle = dist.median[index, None]

    def miss(d, k, entries):
        f, s, early = d.cdf(k), d.sf(k), k < middle[entries]
        before = np.clip(places[entries] - k, 0.0, 1.0)
        return before * off_step(f, s, True, early) + (1 - before) * off_step(f, s, False, early)

    return np.abs(places - middle)[:, 0] + total(miss, dist, index)


def across(dist, others, start, step):
    """E|start + step · K − C| = Σ_k P(k) E|C − (start + step · k)|, for K of law dist and C of law `others`."""

    def away(d, k, rows):
        return others[rows].distance(start[rows, None] + step[rows, None] * k)

    return expected(away, dist)


def moments(dist):
    """(mean, std)."""
    centre = dist.quantile(0.5)
    first = expected(lambda d, k, rows: k - centre[rows, None], dist)
    mean = centre + first
    square = expected(lambda d, k, rows: (k - mean[rows, None]) ** 2, dist)
    return mean, np.sqrt(square)


# searches


def quantile(dist, p, bracket=None):
    """The smallest whole number k with F(k) ≥ p, from a bracket, or from a Normal with the same mean and variance."""
    rows, level, answer, live, bottom, top = open_levels(dist, p)
    level, rows = level[live], rows[live]
    if bracket is None:
        mean, std = dist.mean[rows], dist.std[rows]
        centre = mean + std * special.ndtri(level)
        lo, hi = centre - 1 - 0.1 * std, centre + 1 + 0.1 * std
    else:
        lo, hi = (np.broadcast_to(end, answer.shape).ravel()[live] for end in bracket)

    def f(j, k):
        return dist[rows[j]].cdf(k) - level[j]

    # The number below the bottom has F = 0 < p.
    lo, hi, f_lo, f_hi = widen(f, np.floor(lo), np.ceil(hi), bottom[live] - 1, top[live], least=1.0)
    lo, hi = np.floor(lo), np.where(f_lo >= 0, lo, np.ceil(hi))
    open_ = np.flatnonzero((f_lo < 0) & (f_hi >= 0))
    while True:
        open_ = open_[hi[open_] - lo[open_] > 1]
        middle = np.floor(lo[open_] + 0.5 * (hi[open_] - lo[open_]))
        between = (lo[open_] < middle) & (middle < hi[open_])  # beyond 2^53 there is nothing between
        open_, middle = open_[between], middle[between]
        if not open_.size:
            break
        reached = f(open_, middle) >= 0
        hi[open_[reached]] = middle[reached]
        lo[open_[~reached]] = middle[~reached]
    np.put(answer, live, hi)
    return answer


def highest(dist, places):
    """The most probable number: the best of `places` (n, k), and then the top of the hill it is on."""
    best, lo, hi = best_of(dist, places)
    while np.any(lo < hi):
        middle = np.floor(lo + (hi - lo) / 2)
        rises = dist.log_prob(middle + 1) > dist.log_prob(middle)
        lo, hi = np.where((lo < hi) & rises, middle + 1, lo), np.where((lo < hi) & ~rises, middle, hi)
    return np.where(dist.log_prob(lo) >= dist.log_prob(best), lo, best)
