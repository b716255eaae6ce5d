"""Empirical: weighted samples, as forest leaves and residuals give them."""

import numpy as np

from quorate.dist.base import Real, as_rows, beside, check_finite, check_positive, generator, summary
from quorate.dist.samples import Samples


class OfSamples(Real):
    """Rows loc + scale · A, where A is drawn from sample `which` of a store that all rows share."""

    samples: Samples
    which: np.ndarray
    loc: np.ndarray
    scale: np.ndarray

    def _place(self, samples, which, loc, scale):
        which = np.asarray(which)
        shape = np.broadcast_shapes((1,), which.shape, np.shape(loc), np.shape(scale))
        if len(shape) > 1:
            raise ValueError(f"{type(self).__name__} takes one loc and one scale a row, got shape {shape}")
        self._hold(
            samples=samples,
            which=np.broadcast_to(which, shape),
            loc=np.broadcast_to(loc, shape),
            scale=np.broadcast_to(scale, shape),
        )

    @classmethod
    def from_samples(cls, samples, which=0, loc=0.0, scale=1.0):
        """Row i is the law of loc_i + scale_i · A, with A from sample which_i of the store."""
        which = np.asarray(which)
        if which.dtype.kind not in "iu" or np.any((which < 0) | (which >= len(samples))):
            raise ValueError(f"which must number the {len(samples)} samples from 0, got {summary(which)}")
        new = object.__new__(cls)
        new._place(samples, which, check_finite("loc", loc), check_positive("scale", scale))
        return new

    def __len__(self):
        return len(self.which)

    def __getitem__(self, rows):
        rows = as_rows(rows, len(self))
        new = object.__new__(type(self))
        new._place(self.samples, self.which[rows], self.loc[rows], self.scale[rows])
        return new

    def __repr__(self):
        sizes = np.diff(self.samples.indptr)[self.which]
        return f"{type(self).__name__}({len(self)} rows of {summary(sizes)} values)"

    def _at(self, y):
        """(y, sample, loc, scale), flat and of one length, and the shape of the answer."""
        y, which, loc, scale = np.broadcast_arrays(*beside(y, len(self), self.which, self.loc, self.scale))
        return y.ravel(), which.ravel(), loc.ravel(), scale.ravel(), y.shape

    @property
    def mean(self):
        return self.loc + self.scale * self.samples.mean[self.which]

    def log_prob(self, y):
        """log of the kernels' density, Σ_i w_i exp(−|x − a_i| / h) / 2h / scale at x = (y − loc) / scale."""
        below, above = self._log_sides(y)
        y, width = beside(y, len(self), self.samples.bandwidth[self.which] * self.scale)
        with np.errstate(invalid="ignore"):
            return np.where(np.isnan(y), np.nan, np.logaddexp(below, above) - np.log(2 * width))

    def _log_sides(self, y):
        """log of the kernels' weight on values up to y and after it, each seen from y."""
        y, s, loc, scale, shape = self._at(y)
        sides = self.samples.log_sides(s, self.samples.count(s, y, loc, scale), _standard(y, loc, scale))
        return tuple(side.reshape(shape) for side in sides)


class Empirical(OfSamples):
    """The law of loc + scale · A, where A is one of `values` with probability as its weight.

    `values` is (k,), one sample for all rows, or (n, k), one a row; `weights` go with it, and need not add up to one.
    Probabilities, moments and scores are those of the values, exactly. As values have no density, `log_prob`, `mode`
    and `entropy` are those of `smooth`, a sum of Laplace kernels of scale `bandwidth` (in the unit of the values;
    None: what best foretells each value from the others, see quorate.dist.bandwidth).

    >>> import quorate as q
    >>> d = q.Empirical([1.0, 2.0, 2.0, 10.0], loc=[0.0, 100.0])
    >>> d.quantile([0.5, 0.9])
    array([[  2.,  10.],
           [102., 110.]])
    """

    atoms = True

    def __init__(self, values, weights=None, *, loc=0.0, scale=1.0, bandwidth=None):
        values = np.asarray(values, dtype=float)
        if values.ndim not in (1, 2):
            raise ValueError(f"values must have shape (k,) or (n, k), got {values.shape}")
        n, k = values.shape if values.ndim == 2 else (1, len(values))
        if weights is not None:
            weights = np.asarray(weights, dtype=float)
            if weights.shape not in ((k,), values.shape):
                raise ValueError(
                    f"weights must have the shape of values {values.shape} or ({k},), got {weights.shape}"
                )
            weights = np.broadcast_to(weights, values.shape).ravel()
        samples = Samples(values.ravel(), weights, np.arange(n + 1) * k, bandwidth)
        loc, scale = check_finite("loc", loc), check_positive("scale", scale)
        self._place(samples, np.arange(n) if values.ndim == 2 else 0, loc, scale)

    @classmethod
    def ragged(cls, atoms, weights, indptr, which, loc=0.0, scale=1.0, bandwidth=None):
        """Row i draws from sample which_i, where sample s is atoms[indptr[s]:indptr[s + 1]], as leaves have."""
        return cls.from_samples(Samples(atoms, weights, indptr, bandwidth), which, loc, scale)

    @property
    def smooth(self):
        """The sum of kernels that `log_prob` is the density of."""
        return Kernels.from_samples(self.samples, self.which, self.loc, self.scale)

    # probabilities

    def cdf(self, y):
        return self._share(y, below=False)

    def cdf_below(self, y):
        return self._share(y, below=True)

    def _share(self, y, below):
        y, s, loc, scale, shape = self._at(y)
        share = self.samples.share(s, self.samples.count(s, y, loc, scale, below=below))
        return np.where(np.isnan(y), np.nan, share).reshape(shape)

    def bounds(self):
        first, last = self.samples.indptr[self.which], self.samples.indptr[self.which + 1] - 1
        atoms = self.samples.atoms
        return self.loc + self.scale * atoms[first], self.loc + self.scale * atoms[last]

    def _quantile(self, p):
        p, s, loc, scale = np.broadcast_arrays(p, *(v[:, None] for v in (self.which, self.loc, self.scale)))
        j = self.samples.at_level(s.ravel(), p.ravel())
        return loc + scale * self.samples.atoms[j].reshape(p.shape)

    def flat_atoms(self):
        """(row, value, probability) of every value of every row."""
        first, count = self.samples.indptr[self.which], np.diff(self.samples.indptr)[self.which]
        rows = np.repeat(np.arange(len(self)), count)
        j = np.arange(count.sum()) + np.repeat(first - (np.cumsum(count) - count), count)
        p = self.samples.weights[j] / self.samples.total[self.which[rows]]
        return rows, self.loc[rows] + self.scale[rows] * self.samples.atoms[j], p

    # moments

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.std**2

    @property
    def std(self):
        return self.scale * self.samples.std[self.which]

    @property
    def mode(self):
        return self.loc + self.scale * self.samples.mode[self.which]

    @property
    def entropy(self):
        return self.samples.entropy[self.which] + np.log(self.scale)

    # scores

    def distance(self, y):
        y, s, loc, scale, shape = self._at(y)
        x = _standard(y, loc, scale)
        with np.errstate(invalid="ignore"):
            away = scale * self.samples.distance(s, self.samples.count(s, y, loc, scale), x)
        return np.where(np.isinf(x), np.abs(y - loc), away).reshape(shape)

    def half_distance(self):
        return self.scale * self.samples.half_distance[self.which]

    # closure

    def _affine(self, shift, factor):
        with np.errstate(over="ignore"):
            loc, scale = shift + factor * self.loc, np.abs(factor) * self.scale
        samples, which = self._turned(factor < 0)
        return Empirical.from_samples(samples, which, loc, scale)

    def _turned(self, turned):
        """(store, which) of A, or of −A where told; both are kept only where both are asked for."""
        if not np.any(turned):
            return self.samples, self.which
        last, reflected = len(self.samples) - 1, self.samples.reflected()
        if np.all(turned):
            return reflected, last - self.which
        return self.samples.joined(reflected), np.where(turned, 2 * last + 1 - self.which, self.which)

    # draws

    def sample(self, k=1, rng=None):
        return self._quantile(generator(rng).random((len(self), k)))

    # many at once

    @staticmethod
    def _mixture_quantile(mixture, p):
        from quorate.dist.atoms import quantile

        return quantile(mixture, p)


class Kernels(OfSamples):
    """The smooth twin of an Empirical: each value spread over a Laplace kernel."""

    # probabilities

    def cdf(self, y):
        return self._tail(y)[0]

    def sf(self, y):
        return self._tail(y)[1]

    def _log_tails(self, y):
        """From the cdf between the values, and beyond them from the one sum of kernels that is left."""
        below, above = self._log_sides(y)
        log_p, log_rest = super()._log_tails(y)
        first, last = below == -np.inf, above == -np.inf
        log_p = np.where(first & ~last, above - np.log(2), log_p)
        return log_p, np.where(last & ~first, below - np.log(2), log_rest)

    def _tail(self, y):
        """(P(Y ≤ y), P(Y > y)): a value below y counts whole, but for the part of its kernel that is above y."""
        y, s, loc, scale, shape = self._at(y)
        j = self.samples.count(s, y, loc, scale)
        down, up = (0.5 * np.exp(side) for side in self.samples.log_sides(s, j, _standard(y, loc, scale)))
        below = self.samples.share(s, j)
        first, last = j == self.samples.indptr[s], j == self.samples.indptr[s + 1]
        cdf = np.where(first, up, below - down + up)
        sf = np.where(last, down, 1.0 - below + down - up)
        return np.clip(cdf, 0.0, 1.0).reshape(shape), np.clip(sf, 0.0, 1.0).reshape(shape)

    # moments

    @property
    def variance(self):
        with np.errstate(over="ignore"):
            return self.std**2

    @property
    def std(self):
        kernel = np.sqrt(2) * self.samples.bandwidth[self.which]
        return self.scale * np.hypot(self.samples.std[self.which], kernel)

    @property
    def mode(self):
        return self.loc + self.scale * self.samples.mode[self.which]

    @property
    def entropy(self):
        return self.samples.entropy[self.which] + np.log(self.scale)

    # closure

    def _affine(self, shift, factor):
        return (
            Empirical.from_samples(self.samples, self.which, self.loc, self.scale)
            ._affine(shift, factor)
            .smooth
        )

    # draws

    def sample(self, k=1, rng=None):
        rng = generator(rng)
        p, noise = rng.random((len(self), k)), rng.laplace(size=(len(self), k))
        atoms = Empirical.from_samples(self.samples, self.which, self.loc, self.scale)._quantile(p)
        return atoms + (self.scale * self.samples.bandwidth[self.which])[:, None] * noise


def _standard(y, loc, scale):
    with np.errstate(over="ignore"):
        return (y - loc) / scale
