"""Sums that run along each of many samples, kept one after another in a flat array."""

import numpy as np


def running(values, indptr, places=None, width=None, *, backwards=False):
    """Σ_{i ≤ j} values_i · exp(−(places_j − places_i) / width_j) within each sample, for all j; Σ_{i ≥ j} if backwards.

    By doubling: a sum over 2^d neighbours is two over 2^(d−1). Nothing is subtracted, so nothing is lost.
    """
    if backwards:
        turned = (None, None) if places is None else (-places[::-1], width[::-1])
        return running(values[::-1], len(values) - indptr[::-1], *turned)[::-1]
    lengths = np.diff(indptr)
    out = np.array(values, dtype=float)
    position = np.arange(len(out)) - np.repeat(indptr[:-1], lengths)
    reach, longest = 1, lengths.max(initial=0)
    while reach < longest:
        j = np.flatnonzero(position >= reach)
        before = j - reach
        more = out[before]
        if places is not None:
            more = more * np.exp((places[before] - places[j]) / width[j])
        out[j] += more
        reach *= 2
    return out
