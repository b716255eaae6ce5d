"""Sums over single values of positive probability: weighted samples, counts, and mixtures with some.

They come flat, as (row, value, probability) of every value of every row, or as a table with a row's values sorted in
its columns, whose last columns may have probability 0.
"""

import numpy as np

MOST = 1 << 21  # values in a table
FINE = 64  # values a member, for each level that is asked, up to which a table is faster than a search


def total(rows, values, n):
    """Σ of values by row."""
    return np.bincount(rows, weights=values, minlength=n)


def moments(found, n):
    """(mean, std), from each row's first value and in units of its largest deviation, so that no digits are lost."""
    rows, values, p = found
    start = np.zeros(n)
    start[rows[::-1]] = values[::-1]
    mean = start + total(rows, p * (values - start[rows]), n)
    away, unit = np.abs(values - mean[rows]), np.zeros(n)
    np.maximum.at(unit, rows, away)
    unit = np.where(unit > 0, unit, 1.0)
    return mean, unit * np.sqrt(total(rows, p * (away / unit[rows]) ** 2, n))


def table(found, n):
    """(values, probabilities) of shape (n, K), sorted along the columns."""
    rows, values, p = found
    count = np.bincount(rows, minlength=n)
    order = np.argsort(rows, kind="stable")
    column = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    shape = n, count.max(initial=1)
    wide_values, wide_p = np.full(shape, np.inf), np.zeros(shape)
    wide_values[rows[order], column], wide_p[rows[order], column] = values[order], p[order]
    order = np.argsort(wide_values, axis=1)
    wide_values, wide_p = (np.take_along_axis(a, order, axis=1) for a in (wide_values, wide_p))
    top = np.where(count > 0, wide_values[np.arange(n), count - 1], 0.0)
    return np.minimum(wide_values, top[:, None]), wide_p


def half_distance(found, n):
    """Σ_i Σ_j p_i p_j |v_i − v_j| / 2 = Σ F (mass − F) over the gaps between sorted values."""
    values, p = table(found, n)
    f = np.cumsum(p, axis=1)
    return np.sum(np.diff(values, axis=1) * (f * np.maximum(f[:, -1:] - f, 0.0))[:, :-1], axis=1)


def blocks(law):
    """(rows, that part of the law, its atoms), with as many rows at once as fit into a table."""
    start, step = 0, 16
    while start < len(law):
        rows = slice(start, min(start + step, len(law)))
        here = law[rows]
        found = here.flat_atoms()
        yield rows, here, found
        start, step = rows.stop, max(1, len(here) * MOST // max(1, len(found[0])))


def mixture_half_distance(mixture):
    """½ E|A − A'| of a mixture of atoms."""
    out = np.empty(len(mixture))
    for place, here, found in blocks(mixture):
        out[place] = half_distance(found, len(here))
    return out


def across(law, others):
    """E|A − C| for atoms A of a law and C of another, row by row."""
    out = np.empty(len(law))
    for place, here, (rows, values, p) in blocks(law):
        out[place] = total(rows, p * others[place][rows].distance(values), len(here))
    return out


def quantile(mixture, p):
    """Quantiles of a mixture of atoms only: from running sums where there are few, else by searching."""
    p = np.broadcast_to(p, (len(mixture), p.shape[1]))
    if len(mixture[:1].flat_atoms()[0]) > FINE * p.shape[1] * len(mixture.parts):
        return mixture.search(p)
    out = np.empty(p.shape)
    for place, here, found in blocks(mixture):
        values, mass = table(found, len(here))
        f = np.cumsum(mass, axis=1)
        f /= f[:, -1:]
        each = np.arange(len(here))
        for column in range(p.shape[1]):
            level = p[place, column, None]
            at = np.minimum((f < level * (1 - 1e-14)).sum(axis=1), values.shape[1] - 1)
            out[place, column] = np.where(level[:, 0] < 1, values[each, at], values[:, -1])
    return out


def entropy(mixture):
    """−Σ P log P over the distinct values, for a law of which log_prob is a log probability."""
    out = np.empty(len(mixture))
    for place, here, found in blocks(mixture):
        values, _ = table(found, len(here))
        log_p = here.log_prob(values)
        new = np.ones(values.shape, dtype=bool)
        # Equal values of different members may differ in their last digits.
        new[:, 1:] = np.diff(values, axis=1) > 8 * np.finfo(float).eps * np.abs(values[:, 1:])
        p = np.exp(log_p)
        out[place] = -np.sum(np.where(new & (p > 0), p * np.where(p > 0, log_p, 0.0), 0.0), axis=1)
    return out
