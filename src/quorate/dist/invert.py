"""Where the cdf reaches p, for all rows and levels at once, and where a density is highest.

The search never leaves a bracket [lo, hi] with F(lo) < p ≤ F(hi), so it cannot fail: interpolation while that helps,
halving when it does not, and if patience runs out halving among the floating-point numbers themselves, of which
there are 2^64 only. The answer is the upper end of a bracket that can shrink no further.
"""

import numpy as np

PATIENCE = 40
HALVINGS = 66
SECTIONS = 40
SCAN = np.linspace(0.005, 0.995, 67)  # levels whose quantiles a search for a mode starts from
EPS = np.finfo(float).eps
BIG = np.finfo(float).max


def invert(dist, p, bracket=None):
    """The smallest y with F(y) ≥ p, for p of shape (1 or n, k); `bracket` is (lo, hi) where it is nearly known."""
    rows, level, answer, live, bottom, top = open_levels(dist, p)
    if bracket is None:
        lo, hi = _about_the_mean(dist, rows[live])
    else:
        lo, hi = (np.broadcast_to(end, answer.shape).ravel()[live] for end in bracket)
    rows, level = rows[live], level[live]
    found = solve(lambda j, y: dist[rows[j]].cdf(y) - level[j], lo, hi, level, bottom[live], top[live])
    np.put(answer, live, found)
    return answer


def open_levels(dist, p):
    """(row and level of each entry, the answers known already, which are not, the bounds of each entry)."""
    n = len(dist)
    p = np.broadcast_to(p, (n, p.shape[1]))
    rows = np.repeat(np.arange(n), p.shape[1])
    level = p.ravel()
    bottom, top = (end[rows] for end in dist.bounds())
    answer = np.where(level <= 0, bottom, top).reshape(p.shape)
    return rows, level, answer, np.flatnonzero((level > 0) & (level < 1) & (bottom < top)), bottom, top


def _about_the_mean(dist, rows):
    with np.errstate(all="ignore"):
        centre, spread = dist.mean, dist.std
        centre = np.where(np.isfinite(centre), centre, 0.0)
        spread = np.where(np.isfinite(spread) & (spread > 0), spread, np.maximum(1.0, np.abs(centre)))
        return (centre - spread)[rows], (centre + spread)[rows]


def solve(f, lo, hi, level, bottom, top):
    """The smallest y in [bottom, top] with f(y) ≥ 0, for f = F − level; f(j, y) is asked for the entries j only.

    Bisection, quickened by interpolation through the last three places (Chandrupatla, 1997).
    """
    lo, hi, f_lo, f_hi = widen(f, lo, hi, bottom, top)
    enough = EPS * (hi - lo)
    third, f_third = lo.copy(), f_lo.copy()
    t = np.full(len(lo), 0.5)
    live = np.flatnonzero((f_lo < 0) & (f_hi >= 0))
    hi = np.where(f_lo >= 0, lo, hi)
    for step in range(PATIENCE + HALVINGS):
        near, far = np.nextafter(lo[live], np.inf), np.nextafter(hi[live], -np.inf)
        flat = f_hi[live] - f_lo[live] <= 4 * EPS * level[live]
        open_ = (near <= far) & ~(flat & (hi[live] - lo[live] <= enough[live]))
        live, near, far = live[open_], near[open_], far[open_]
        if not live.size:
            break
        if step < PATIENCE:
            y = lo[live] * (1 - t[live]) + hi[live] * t[live]
        else:
            y = _halfway(lo[live], hi[live])
        y = np.clip(y, near, far)
        f_y = f(live, y)
        above = f_y >= 0
        up, down = live[above], live[~above]
        third[up], f_third[up] = hi[up], f_hi[up]
        third[down], f_third[down] = lo[down], f_lo[down]
        hi[up], f_hi[up] = y[above], f_y[above]
        lo[down], f_lo[down] = y[~above], f_y[~above]
        t[live] = _interpolate(lo[live], hi[live], third[live], f_lo[live], f_hi[live], f_third[live])
    return hi


def widen(f, lo, hi, bottom, top, least=0.0):
    """(lo, hi, f(lo), f(hi)), moved outwards until f(lo) < 0 ≤ f(hi) or an end of the support is reached.

    Steps grow faster and faster, so that 1e300 is as near as 1. Where f(hi) < 0 even at the top, hi is the top.
    """
    floor, ceiling = np.maximum(bottom, -BIG), np.minimum(top, BIG)
    lo, hi = np.clip(lo, floor, ceiling), np.clip(hi, floor, ceiling)
    everyone = np.arange(len(lo))
    f_lo, f_hi = f(everyone, lo), f(everyone, hi)
    with np.errstate(over="ignore"):
        step = np.maximum(hi - lo, np.maximum(4 * EPS * np.maximum(np.abs(lo), np.abs(hi)), least) + 5e-324)
        growth = 2.0
        while True:
            low = np.flatnonzero((f_lo >= 0) & (lo > floor))
            high = np.flatnonzero((f_hi < 0) & (hi < ceiling))
            if not low.size and not high.size:
                break
            hi[low], f_hi[low] = lo[low], f_lo[low]
            lo[low] = np.maximum(lo[low] - step[low], floor[low])
            lo[high], f_lo[high] = hi[high], f_hi[high]
            hi[high] = np.minimum(hi[high] + step[high], ceiling[high])
            if low.size:
                f_lo[low] = f(low, lo[low])
            if high.size:
                f_hi[high] = f(high, hi[high])
            step, growth = step * growth, min(growth * growth, 1e100)
    return lo, np.where(f_hi < 0, top, hi), f_lo, f_hi


def _halfway(lo, hi):
    """The number with as many floating-point numbers below it in [lo, hi] as above it."""
    a, b = _ordinal(lo), _ordinal(hi)
    middle = (a >> 1) + (b >> 1) + (a & b & 1)
    return np.where(middle < 0, np.int64(-(2**63)) - middle, middle).view(float)


def _ordinal(y):
    """The rank of a float among all floats."""
    bits = (y + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _interpolate(lo, hi, third, f_lo, f_hi, f_third):
    """The step, as a fraction of the bracket: inverse quadratic where that is safe, else one half."""
    with np.errstate(all="ignore"):
        # Seen from the end that moved last; `third` is the place that end came from.
        moved_hi = third > hi
        a, fa = np.where(moved_hi, hi, lo), np.where(moved_hi, f_hi, f_lo)
        b, fb = np.where(moved_hi, lo, hi), np.where(moved_hi, f_lo, f_hi)
        xi = (a - b) / (third - b)
        phi = (fa - fb) / (f_third - fb)
        safe = (1 - np.sqrt(1 - xi) < phi) & (phi < np.sqrt(xi))
        t = fa / (fb - fa) * f_third / (fb - f_third)
        t += (third - a) / (b - a) * fa / (f_third - fa) * fb / (f_third - fb)
        t = np.where(safe & np.isfinite(t), np.clip(t, 0.0, 1.0), 0.5)
        # The fraction was measured from a; land a hair beyond the root so that the far end comes near as well.
        tiny = 4 * EPS * np.maximum(np.abs(a), np.abs(b)) / np.maximum(hi - lo, 1e-300)
        t = np.clip(t, np.minimum(tiny, 0.5), 1 - np.minimum(tiny, 0.5))
        return np.where(moved_hi, 1 - t, t)


def highest(dist, places):
    """A place of highest density: the best of `places` (n, k), bettered by golden sections between its neighbours."""
    best, lo, hi = best_of(dist, places)
    golden = 0.5 * (np.sqrt(5) - 1)
    for _ in range(SECTIONS):
        left, right = hi - golden * (hi - lo), lo + golden * (hi - lo)
        lower = dist.log_prob(left) < dist.log_prob(right)
        lo, hi = np.where(lower, left, lo), np.where(lower, hi, right)
    middle = 0.5 * (lo + hi)
    return np.where(dist.log_prob(middle) > dist.log_prob(best), middle, best)


def best_of(dist, places):
    """(the best of the places in each row, the next lower one, the next higher one)."""
    best = np.take_along_axis(places, np.argmax(dist.log_prob(places), axis=1)[:, None], axis=1)
    lo = np.max(np.where(places < best, places, -np.inf), axis=1)
    hi = np.min(np.where(places > best, places, np.inf), axis=1)
    best = best[:, 0]
    return best, np.where(np.isfinite(lo), lo, best), np.where(np.isfinite(hi), hi, best)
