"""Quantiles of a mixture of many Normals, for all rows and levels at once.

Operations: every step of a search costs a cdf a member, row and level; with 500 members, 100 000 rows and 3 levels that
is 1.5e8, and an exact cdf takes 13 ns. So Newton's steps are taken with a cheap single-precision cdf (error 2e-7,
5 ns), then one exact evaluation with three derivatives lands the last step. A row for which that last step is not
small beside its narrowest member lands again, or goes to the bracketing search.
"""

import numpy as np
from scipy import special

BLOCK = 1 << 17  # members × rows worked on at once: 1 MB an array, so that it stays in the cache
STEPS = 12
LANDINGS = 3
SQRT_2PI = np.sqrt(2 * np.pi)


def quantile(mixture, p):
    """Quantiles for levels p of shape (k,) rows (1 or n, k)."""
    n, m = len(mixture), len(mixture.parts)
    p = np.broadcast_to(p, (n, p.shape[1]))
    out = np.empty(p.shape)
    landed = np.zeros(p.shape, bool)
    step = max(1, BLOCK // m)
    for s in range(0, n, step):
        rows = slice(s, min(s + step, n))
        loc, scale = (_gather(mixture.parts, name, rows) for name in ("loc", "scale"))
        w = np.exp(mixture.log_w[rows if len(mixture.log_w) > 1 else slice(None)].T)
        w = np.ascontiguousarray(np.broadcast_to(w, loc.shape))
        with np.errstate(all="ignore"):
            block = _Block(loc, scale, w)
            for column in range(p.shape[1]):
                out[rows, column], landed[rows, column] = block.quantile(p[rows, column])
    again = np.nonzero(~landed)
    if again[0].size:
        out[again] = mixture[again[0]].search(p[again][:, None])[:, 0]
    return out


def _gather(parts, name, rows):
    """A parameter of all members for some rows, shape (M, rows)."""
    out = np.empty((len(parts), rows.stop - rows.start))
    for m, part in enumerate(parts):
        out[m] = getattr(part, name)[rows if len(part) > 1 else slice(None)]
    return out


class _Block:
    """Some rows of the mixture, exactly and, about each row's mean, in single precision."""

    def __init__(self, loc, scale, w):
        self.loc, self.scale, self.w = loc, scale, w
        self.mean = np.einsum("ij,ij->j", w, loc)
        centred = loc - self.mean
        self.std = np.sqrt(np.einsum("ij,ij->j", w, centred**2 + scale**2))
        unit = self.std
        # In units of the row's own spread, so that single precision is enough for the early steps.
        self.a = (1.0 / (scale / unit)).astype(np.float32)
        self.b = (centred / scale).astype(np.float32)
        self.w32 = w.astype(np.float32)
        self.wa = self.w32 * self.a
        self.z, self.t, self.q, self.e = (np.empty(loc.shape, np.float32) for _ in range(4))

    def quantile(self, p):
        """(quantiles, whether each has landed)."""
        y = self.mean + self.std * self._approach(p)
        landed = np.zeros(len(y), bool)
        for _ in range(LANDINGS):
            rows = np.flatnonzero(~landed)
            if not rows.size:
                break
            y[rows], landed[rows] = self._land(y[rows], p[rows], rows)
        return y, landed

    def _approach(self, p):
        """Newton's steps with the cheap cdf, inside a bracket that only shrinks."""
        x = np.clip(special.ndtri(p), -6, 6).astype(np.float32)
        lo, hi = np.full(len(x), -60, np.float32), np.full(len(x), 60, np.float32)
        for _ in range(STEPS):
            f, slope = self._cheap(x)
            miss = (f - p).astype(np.float32)
            lo, hi = np.where(miss < 0, x, lo), np.where(miss < 0, hi, x)
            new = x - miss / slope
            new = np.where((new > lo) & (new < hi), new, 0.5 * (lo + hi)).astype(np.float32)
            moved = np.abs(new - x)
            x = new
            if np.all(moved < 5e-3):
                break
        return x.astype(float)

    def _cheap(self, x):
        """(cdf, density) at x by Abramowitz and Stegun 26.2.17, whose error is below 7.5e-8."""
        z, t, q, e = self.z, self.t, self.q, self.e
        np.multiply(self.a, x, out=z)
        z -= self.b
        np.multiply(z, z, out=e)
        e *= np.float32(-0.5)
        np.exp(e, out=e)
        slope = np.einsum("ij,ij->j", self.wa, e)
        np.abs(z, out=t)
        t *= np.float32(0.2316419)
        t += np.float32(1)
        np.divide(np.float32(1), t, out=t)
        q.fill(1.330274429)
        for c in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
            q *= t
            q += np.float32(c)
        q *= t
        q *= e
        q *= np.float32(1 / SQRT_2PI)  # the upper tail at |z|
        # Σ w Φ(z) = Σ w (½ + sign(z) (½ − tail))
        np.subtract(np.float32(0.5), q, out=q)
        np.copysign(q, z, out=q)
        return 0.5 + np.einsum("ij,ij->j", self.w32, q), slope / np.float32(SQRT_2PI)

    def _land(self, y, p, rows):
        """One exact evaluation at y, and the root of its third-order expansion there."""
        everyone = len(rows) == len(self.mean)
        loc, scale, w = (a if everyone else a[:, rows] for a in (self.loc, self.scale, self.w))
        z = y - loc
        z /= scale
        f = np.einsum("ij,ij->j", w, special.ndtr(z)) - p
        g = z * z
        g *= -0.5
        np.exp(g, out=g)
        g *= w
        g /= scale
        g /= SQRT_2PI
        d1 = g.sum(axis=0)
        g /= scale
        d2 = -np.einsum("ij,ij->j", g, z)
        g /= scale
        z *= z
        d3 = np.einsum("ij,ij->j", g, z) - g.sum(axis=0)
        h = first = -f / d1
        for _ in range(3):
            h = -f / (d1 + h * (d2 / 2 + h * d3 / 6))
        # The next term of the expansion is at most h³/(4! σ³) of the density near a member as narrow as σ.
        # Where d1 vanishes, h may be small by chance: Newton's own step must be small too.
        small = np.maximum(np.abs(h), np.abs(first)) <= 1e-3 * scale.min(axis=0)
        return y + h, small & (p > 0) & (p < 1) & (d1 > 0)
