"""Integrals over the real line for all rows at once, to about 1e-10 of their size.

One routine does the work: panels, each belonging to a row, are halved until they are good enough and leave the list,
so rows that are easy cost little. z = centre + scale · sinh(u) makes one panel of a spike or of a heavy tail.
"""

import numpy as np

# The 15-point Kronrod rule on [-1, 1] and the 7-point Gauss rule inside it (Piessens et al., QUADPACK, 1983).
_KRONROD = np.array(
    [
        (0.991455371120812639206854697526329, 0.022935322010529224963732008058970, 0.0),
        (
            0.949107912342758524526189684047851,
            0.063092092629978553290700663189204,
            0.129484966168869693270611432679082,
        ),
        (0.864864423359769072789712788640926, 0.104790010322250183839876322541518, 0.0),
        (
            0.741531185599394439863864773280788,
            0.140653259715525918745189590510238,
            0.279705391489276667901467771423780,
        ),
        (0.586087235467691130294144691693304, 0.169004726639267902826583426598550, 0.0),
        (
            0.405845151377397166906606412076961,
            0.190350578064785409913256402421014,
            0.381830050505118944950369775488975,
        ),
        (0.207784955007898467600689403773245, 0.204432940075298892414161999234649, 0.0),
        (0.0, 0.209482141084727828012999174891714, 0.417959183673469387755102040816327),
    ]
)
_T = np.concatenate([-_KRONROD[:, 0], _KRONROD[-2::-1, 0]])
# The ends of the panel are looked at too, without weight: a rise between an end and the first node must not be missed.
NODES = np.concatenate([[-1.0], _T, [1.0]])
WEIGHTS = np.concatenate([[0.0], _KRONROD[:, 1], _KRONROD[-2::-1, 1], [0.0]])
GAUSS = np.concatenate([[0.0], _KRONROD[:, 2], _KRONROD[-2::-1, 2], [0.0]])
_ends = np.array(
    [
        [np.prod((e - np.delete(_T, k)) / (t - np.delete(_T, k))) for k, t in enumerate(_T)]
        for e in (-1.0, 1.0)
    ]
)
# What the polynomial through the nodes misses at either end, times the way from there to the first node.
ENDS = (1 + _T[0]) * np.concatenate([-np.eye(2)[:, :1], _ends, -np.eye(2)[:, 1:]], axis=1)

KNOTS = (1e-6, 0.01, 0.25, 0.5, 0.75, 0.99, 1 - 1e-6)
TAIL = np.array([0.5, 3.0, 20.0, 1500.0])  # panels beyond the outermost knots end so far from them, in u
RTOL = 1e-10
MASS_ATOL = 1e-9
ENTROPY_RTOL = 1e-8  # a committee of samples has a corner at every value
BLUR = 1e-14  # of the numbers on a line, below which it does not tell them apart
HIDDEN = 1e-11  # probability within that of an end, from where the end must be looked at from nearby
START = np.log(1e-300)
MAX_HALVINGS = 48
MOST_PANELS = 512  # a row, on average, beyond the first 8192
CHUNK = 1 << 13  # panels evaluated at once: 1 MB of nodes


def adapt(rule, rows, a, b, n, split=None, rtol=RTOL):
    """Σ by row of rule(rows, a, b) = (value, error, magnitude) over panels, split until the error is small."""
    total, done = np.zeros(n), np.zeros(n)
    for _ in range(MAX_HALVINGS):
        value, error, magnitude = _in_chunks(rule, rows, a, b)
        size = done + np.bincount(rows, magnitude, n)
        good = error <= rtol * size[rows]
        total += np.bincount(rows[good], value[good], n)
        done += np.bincount(rows[good], magnitude[good], n)
        bad = ~good
        if not bad.any():
            return total
        rows, a, b, value = rows[bad], a[bad], b[bad], value[bad]
        if len(rows) > 8192 + MOST_PANELS * n:
            break
        rows, (a, b) = np.tile(rows, 2), (split or _halves)(a, b)
    # Panels this small hold jumps: what is left is below the resolution of the numbers themselves.
    return total + np.bincount(rows[: len(value)], value, n)


def _in_chunks(rule, rows, a, b):
    parts = [slice(s, s + CHUNK) for s in range(0, len(rows), CHUNK)] or [slice(0, 0)]
    found = [rule(rows[s], a[s], b[s]) for s in parts]
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def _halves(a, b):
    middle = 0.5 * (a + b)
    return np.concatenate([a, middle]), np.concatenate([middle, b])


def nodes(a, b):
    """The 17 places in each panel: its ends and the nodes between them."""
    return 0.5 * (a + b)[:, None] + 0.5 * (b - a)[:, None] * NODES


def kronrod(values, a, b):
    """(Kronrod value, how far it may be off, integral of |f|) of panels, from f at their nodes."""
    half = 0.5 * (b - a)
    value = half * (values @ WEIGHTS)
    error = np.abs(value - half * (values @ GAUSS)) + half * np.abs(values @ ENDS.T).sum(axis=1)
    return value, error, half * (np.abs(values) @ WEIGHTS)


class Line:
    """The line as each entry sees it: z = centre + scale · sinh(u), cut into panels at quantiles and at `breaks`.

    An entry is a row of `dist`, or `index` says which row each entry is about.
    """

    def __init__(self, dist, breaks=None, index=None):
        index = np.arange(len(dist)) if index is None else index
        knots = dist.quantile(np.array(KNOTS))[index]
        lo, hi = (end[index, None] for end in dist.bounds())
        with np.errstate(all="ignore"):
            self.centre, scale = knots[:, 3], knots[:, 4] - knots[:, 2]
            scale = np.where(scale > 0, scale, np.ptp(knots, axis=1))
            self.scale = np.clip(np.where(scale > 0, scale, np.abs(self.centre) * 1e-16), 1e-300, 1e300)
            u = self._u(knots)
            farthest = np.minimum(np.log(np.finfo(float).max) - np.log(self.scale), 709.0)[:, None]
            u = np.concatenate([u[:, :1] - TAIL, u, u[:, -1:] + TAIL], axis=1)
            u = np.clip(u, np.maximum(self._u(lo), -farthest), np.minimum(self._u(hi), farthest))
            if breaks is not None:
                u = np.concatenate([u, np.clip(self._u(breaks), -farthest, farthest)], axis=1)
        u = np.sort(u, axis=1)
        entries = np.repeat(np.arange(len(index)), u.shape[1] - 1)
        a, b = u[:, :-1].ravel(), u[:, 1:].ravel()
        wide = b > a
        self.panels = entries[wide], a[wide], b[wide], len(index)

    def _u(self, z):
        return np.arcsinh((z - self.centre[:, None]) / self.scale[:, None])

    def z(self, entries, u):
        """(z, dz/du) for u of shape (panels, k)."""
        centre, scale = self.centre[entries, None], self.scale[entries, None]
        return centre + scale * np.sinh(u), scale * np.cosh(u)

    def blurred(self, dist):
        """The ends of supports, sorted in their columns and else nan, where there is more than the line can resolve."""
        ends = dist.ends
        if not np.isfinite(ends).any():
            return np.full((len(dist), 1), np.nan)
        ends = np.sort(np.where(np.isfinite(ends), ends, np.nan), axis=1)
        ends[:, 1:][ends[:, 1:] == ends[:, :-1]] = np.nan
        ends = ends[:, ~np.isnan(ends).all(axis=0)]
        near = BLUR * (np.abs(ends) + (np.abs(self.centre) + self.scale)[:, None])
        held = dist.cdf(ends + near) - dist.cdf(ends - near)
        return np.where(held > HIDDEN, ends, np.nan)


def integrate_line(f, dist, breaks=None, index=None):
    """∫ f(d, z, entries) dz over the line, one an entry; d is dist at the entries, `breaks` (n, k) corners of f."""
    return _sum_along(Line(dist, breaks, index), f, dist, index)


def _sum_along(line, f, dist, index):
    def rule(entries, a, b):
        z, slope = line.z(entries, nodes(a, b))
        d = dist[entries if index is None else index[entries]]
        return kronrod(_finite(f(d, z, entries) * slope), a, b)

    with np.errstate(all="ignore"):
        return adapt(rule, *line.panels)


def entropy(dist):
    """−∫ p log p, along the line, or from those ends of supports for which the line is too coarse."""
    line = Line(dist)
    with np.errstate(all="ignore"):
        ends = line.blurred(dist)
        sharp = ~np.isnan(ends).all(axis=1)
        if not sharp.any():
            return _entropy_along(line, dist)
        out = np.empty(len(dist))
        out[sharp] = _entropy_from(ends[sharp], dist[sharp])
        if not sharp.all():
            out[~sharp] = _entropy_along(Line(dist[~sharp]), dist[~sharp])
        return out


def _entropy_along(line, dist):
    rows, a, b, n = line.panels
    return adapt(_surprise(dist, line.z), rows, a, b, n, rtol=ENTROPY_RTOL)


def _entropy_from(ends, dist):
    """The sum over both sides of each end, up to half the way to the next one."""
    out = np.zeros(len(dist))
    last, following = np.full(len(dist), -np.inf), _following(ends)
    for column, after in zip(ends.T, following.T, strict=True):
        rows = np.flatnonzero(~np.isnan(column))
        at, one = column[rows], np.ones(len(rows))
        for law, reach in (
            (dist[rows]._affine(-at, one) if at.any() else dist[rows], 0.5 * (after[rows] - at)),
            (dist[rows]._affine(at, -one), 0.5 * (at - last[rows])),
        ):
            out[rows] += _entropy_beyond_0(law, reach)
        last[rows] = at
    return out


def _following(ends):
    """The next end in each row, infinite where there is none."""
    later = np.concatenate([ends[:, 1:], np.full((len(ends), 1), np.inf)], axis=1)
    return np.fmin.accumulate(later[:, ::-1], axis=1)[:, ::-1]


def _entropy_beyond_0(dist, reach):
    """−∫ p log p from 0 to reach, along log z, so that no z is too small."""
    knots = np.concatenate([np.abs(dist.quantile(np.array(KNOTS))), np.stack(dist.bounds(), axis=1)], axis=1)
    log_z = np.log(np.clip(knots, np.exp(START), np.minimum(reach, np.finfo(float).max)[:, None]))
    low, high = log_z.min(axis=1), log_z.max(axis=1)
    log_z = np.concatenate([low[:, None] - TAIL, log_z, high[:, None] + TAIL], axis=1)
    stop = np.minimum(np.log(reach), np.log(np.finfo(float).max))
    log_z = np.sort(np.clip(log_z, START, stop[:, None]), axis=1)
    a, b = log_z[:, :-1].ravel(), log_z[:, 1:].ravel()
    rows, wide = np.repeat(np.arange(len(dist)), log_z.shape[1] - 1), b > a
    rule = _surprise(dist, lambda rows, u: (np.exp(u), np.exp(u)))
    return adapt(rule, rows[wide], a[wide], b[wide], len(dist), rtol=ENTROPY_RTOL) + _entropy_at_0(dist)


def _entropy_at_0(dist):
    """−∫ p log p from 0 to the smallest z, where p falls like a power: with z p / F = a, F (1 − 1/a − log p)."""
    z = np.exp(START)
    log_p, held = dist.log_prob(z), dist.cdf(z) - dist.cdf(0.0)
    slope = np.exp(START + log_p - np.log(held))
    return np.where(held > MASS_ATOL / 1e3, held * (1 - 1 / slope - log_p), 0.0)


def _surprise(dist, place):
    """The rule for −p log p, in which a panel must also hold the probability that the cdf says: no spike can hide."""

    def rule(rows, a, b):
        here, (z, slope) = dist[rows], place(rows, nodes(a, b))
        log_p, log_slope = here.log_prob(z), np.log(slope)
        p = np.where(log_p < np.inf, np.exp(log_p + log_slope), 0.0)
        value, error, magnitude = kronrod(_finite(-p * np.where(p > 0, log_p, 0.0)), a, b)
        mass = kronrod(_finite(p), a, b)[0]
        ends, _ = place(rows, np.stack([a, b], axis=1))
        f, s = here.cdf(ends), here.sf(ends)
        held = np.where(f[:, 0] < 0.5, f[:, 1] - f[:, 0], s[:, 0] - s[:, 1])
        return value, np.maximum(error, missed(mass, held)), magnitude + mass

    return rule


def missed(mass, held):
    """How far the probability that nodes see is from what the cdf says, where it is no rounding error."""
    gap = np.abs(mass - held)
    return np.where(gap > MASS_ATOL, gap, 0.0)


def half_distance(dist):
    """½ E|Y − Y'| = ∫ F (1 − F), infinite where the mean is."""
    out = np.full(len(dist), np.inf)
    finite, light = np.isfinite(dist.mean), np.isfinite(dist.std)
    for rows, way in ((finite & light, _half_by_tails), (finite & ~light, _half_by_median)):
        if rows.any():
            out[rows] = way(dist if rows.all() else dist[rows])
    return out


def _half_by_tails(dist):
    return integrate_line(lambda d, z, rows: d.cdf(z) * d.sf(z), dist)


def _half_by_median(dist):
    """E|Y − m| less the crps at the median m, where tails are squared: no number is large enough to end the others."""
    middle = dist.median
    return dist.distance(middle) - crps(dist, middle[:, None], np.arange(len(dist)))


def distance(dist, y):
    """E|Y − y| = |y − EY| + 2 ∫ of the tail beyond y, seen from the mean."""
    index, places, shape = at_places(dist, y)
    mean = dist.mean[index, None]
    above = places > mean

    def tail(d, z, entries):
        y, up = places[entries], above[entries]
        return np.where(up, np.where(z > y, d.sf(z), 0.0), np.where(z < y, d.cdf(z), 0.0))

    with np.errstate(invalid="ignore"):
        value = np.abs(places - mean)[:, 0] + 2 * integrate_line(tail, dist, places, index)
    return np.where(np.isfinite(mean[:, 0]), value, np.inf).reshape(shape)


def crps(dist, places, index):
    """∫ (F(z) − 1{y ≤ z})² dz = |y − m| + ∫ of the square less that of the step from the median m, one an entry."""
    line = Line(dist, places, index)
    middle = line.centre[:, None]

    def miss(d, z, entries):
        return off_step(d.cdf(z), d.sf(z), z < places[entries], z < middle[entries])

    return np.abs(places - middle)[:, 0] + _sum_along(line, miss, dist, index)


def off_step(f, s, before, early):
    """(F − 1{y ≤ z})² − (1{m ≤ z} − 1{y ≤ z})², for z before y or not, and before m (early) or not."""
    below = np.where(early, f * f, -s * (1 + f))
    return np.where(before, below, np.where(early, -f * (1 + s), s * s))


def at_places(dist, y):
    """(rows, places (…, 1), shape of the answer): the row of `dist` that each place in y is asked of."""
    y, n = np.asarray(y, dtype=float), len(dist)
    shape = np.broadcast_shapes(y.shape, (n,) + (1,) * (y.ndim - 1)) if y.ndim else (n,)
    places = np.broadcast_to(y, shape).reshape(-1, 1)
    each = places.size // n if n > 1 else 0
    return np.repeat(np.arange(n), each) if each else np.zeros(places.size, dtype=int), places, shape


def xlogx(log_p):
    """p log p from log p, 0 where p is."""
    p = np.exp(log_p)
    return np.where(p > 0, p * np.where(p > 0, log_p, 0.0), 0.0)


def _finite(values):
    return np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
