"""Rows as numbers that only their content decides: what tells copies from others, wherever they stand."""

import numpy as np
from scipy import sparse


def hashes(X, y):
    """A 64-bit number for each row, the same for equal rows and well mixed, so that sorting by it shuffles."""
    rng = np.random.default_rng(0)
    odd = rng.integers(0, 2**63, X.shape[1] + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    h = _bits(np.asarray(y, dtype=float)) * odd[-1]
    if sparse.issparse(X):
        csr = X.tocsr()
        each = _bits(np.asarray(csr.data, dtype=float)) * odd[csr.indices]
        h = h + np.add.reduceat(np.append(each, np.uint64(0)), csr.indptr[:-1]) * (np.diff(csr.indptr) > 0)
    else:
        for s in range(0, len(h), 1 << 14):
            h[s : s + (1 << 14)] += (_bits(np.asarray(X[s : s + (1 << 14)], dtype=float)) * odd[:-1]).sum(
                axis=1
            )
    return _mix(h)


def _bits(values):
    return np.ascontiguousarray(values + 0.0).view(np.uint64)  # + 0.0 makes −0 the same as 0


def _mix(h):
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))
