"""Sums and searches over whole numbers, for counts.

A sum takes every number in a narrow window, and in a wide one panels of consecutive numbers, each summed from eight of
them by a rule that is exact for polynomials of degree 7, and split until it agrees.
"""

import numpy as np
from scipy import special

from quorate.dist.invert import best_of, open_levels, widen
from quorate.dist.quadrature import adapt, at_places, missed, off_step, xlogx

TAIL = 1e-16
SHORT = 16  # a panel of so many numbers or fewer is summed one by one
NARROW = 2048  # and so is a window
PLACES = (1 - np.array([0.9602898564975363, 0.7966664774136267, 0.5255324099163290, 0.1834346424956498])) / 2
CUTS = (1e-9, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-9)


def window(dist):
    """(lowest, highest) number of each row, between which all but 1e-16 lies."""
    lo, hi = dist.quantile([TAIL, 1 - TAIL]).T
    bottom, top = dist.bounds()
    return np.maximum(lo - 1, bottom), np.minimum(hi + 1, top)


def flat_atoms(dist):
    """(row, value, probability) of the numbers in the window of each row."""
    lo, hi = window(dist)
    count = (hi - lo + 1).astype(np.int64)
    rows = np.repeat(np.arange(len(dist)), count)
    values = lo[rows] + np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return rows, values, np.exp(dist[rows].log_prob(values))


def total(f, dist, index=None):
    """Σ_k f(d, k, entries) over the window, one an entry; an entry is a row, or `index` says which row."""
    index = np.arange(len(dist)) if index is None else index
    lo, hi = window(dist)
    entries, a, b = _panels(dist, lo, hi, index)

    def rule(entries, a, b):
        k, weights, rough = _nodes(a, b)
        values = np.where(weights != 0, f(dist[index[entries]], k, entries), 0.0)
        value, magnitude = np.sum(weights * values, axis=1), np.sum(weights * np.abs(values), axis=1)
        error = np.abs(value - np.sum(rough * values, axis=1))
        long = np.flatnonzero(b - a >= SHORT)
        if long.size:
            mass, held = _mass(dist[index[entries[long]]], k[long, :8], weights[long, :8], a[long], b[long])
            error[long] = np.maximum(error[long], missed(mass, held) * (b - a + 1)[long])
            magnitude[long] += mass
        return value, error, magnitude

    with np.errstate(all="ignore"):
        return adapt(rule, entries, a, b, len(index), _split)


def _mass(dist, k, weights, a, b):
    """The pmf added up over panels, and what the cdf says of it: no spike can hide between places."""
    mass = np.sum(weights * np.exp(dist.log_prob(k)), axis=1)
    ends = np.stack([a - 1, b], axis=1)
    below, above = dist.cdf(ends), dist.sf(ends)
    return mass, np.where(below[:, 0] < 0.5, below[:, 1] - below[:, 0], above[:, 0] - above[:, 1])


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
    """Numbers in [a, b], shape (panels, 16), their weights in a sum over all of [a, b], and those of a rougher sum."""
    k = a[:, None] + np.arange(SHORT)
    weights = (k <= b[:, None]).astype(float)
    rough = weights.copy()
    long = np.flatnonzero(b - a >= SHORT)
    if long.size:
        m = (b - a)[long, None]
        offset = np.rint(m * PLACES)
        k[long, :4], k[long, 4:8], k[long, 8:] = a[long, None] + offset, b[long, None] - offset, a[long, None]
        x = 1 - 2 * offset / m
        weights[long], rough[long] = 0.0, 0.0
        fine = _weights(x, m, 4)
        weights[long, :4], weights[long, 4:8] = fine, fine
        some = _weights(x[:, [0, 1, 3]], m, 3)
        for column, w in zip((0, 1, 3), some.T, strict=True):
            rough[long, column], rough[long, column + 4] = w, w
    return k, weights, rough


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
    return total(lambda d, k, rows: -xlogx(d.log_prob(k)), dist)


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
        return np.maximum(side[entries] * (k - inner[entries]), 0.0) * np.exp(d.log_prob(k))

    return (np.abs(places - mean)[:, 0] + 2 * total(beyond, dist, index)).reshape(shape)


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
        return np.exp(d.log_prob(k)) * others[rows].distance(start[rows, None] + step[rows, None] * k)

    return total(away, dist)


def moments(dist):
    """(mean, std)."""
    centre = dist.quantile(0.5)
    first = total(lambda d, k, rows: (k - centre[rows, None]) * np.exp(d.log_prob(k)), dist)
    mean = centre + first
    square = total(lambda d, k, rows: (k - mean[rows, None]) ** 2 * np.exp(d.log_prob(k)), dist)
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
