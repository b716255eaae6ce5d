"""Entries for distributions, parameter by parameter; what a constructor computes is checked against the constructor."""

import numpy as np

from quorate.dist.affine import Affine
from quorate.dist.base import Predictive, Real
from quorate.dist.beta import Beta
from quorate.dist.binomial import Binomial
from quorate.dist.categorical import Categorical
from quorate.dist.dirichlet import Dirichlet
from quorate.dist.empirical import Empirical, Kernels
from quorate.dist.gamma import Gamma
from quorate.dist.laplace import Laplace
from quorate.dist.log_normal import LogNormal
from quorate.dist.mixture import CategoricalMixture, LatticeMixture, Mixture, PlainMixture, RealMixture
from quorate.dist.negative_binomial import NegativeBinomial
from quorate.dist.normal import Normal
from quorate.dist.poisson import Poisson
from quorate.dist.samples import Samples
from quorate.dist.student_t import StudentT
from quorate.dist.truncated import Truncated, TruncatedLattice
from quorate.store.checks import a, array, each, labels, require
from quorate.store.registry import put

# Families whose parameters are arrays and which check these themselves when they are made.

for family in (
    Normal,
    StudentT,
    Laplace,
    LogNormal,
    Gamma,
    Beta,
    Dirichlet,
    Poisson,
    NegativeBinomial,
    Binomial,
):
    put(family, **{name: array("f", (1, 2), finite=False) for name in family.__match_args__})


def held(cls):
    """Rebuild by holding the fields as they are, for types whose constructors would compute them anew."""

    def make(found):
        new = object.__new__(cls)
        new._hold(**found)
        return new

    return make


# Classes


def _table(dist):
    return {name: dist.__dict__[name] for name in ("_probs", "_log_p", "classes") if name in dist.__dict__}


def _categorical(dist):
    tables = [dist.__dict__[name] for name in ("_probs", "_log_p") if name in dist.__dict__]
    require(tables, "a Categorical should have probabilities")
    require(
        all(t.shape == (len(dist), len(dist.classes)) for t in tables), "classes and probabilities disagree"
    )
    require(np.all(np.abs(dist.probs.sum(axis=1) - 1) < 1e-6), "the probabilities of a row should sum to one")
    require(np.allclose(np.exp(dist.log_p), dist.probs), "the probabilities and their logarithms disagree")


put(
    Categorical,
    classes=labels,
    may={"_probs": array("f", 2, low=0), "_log_p": array("f", 2, high=1e-6, finite=False)},
    read=_table,
    make=held(Categorical),
    agree=_categorical,
)

# Weighted samples


def _samples(samples):
    n, indptr = len(samples.atoms), samples.indptr
    require(len(samples.weights) == n, "there should be a weight for each atom")
    require(
        indptr[0] == 0 and indptr[-1] == n and np.all(np.diff(indptr) > 0),
        "indptr should rise from 0 to the end",
    )
    require(len(samples.bandwidth) == len(indptr) - 1, "there should be a bandwidth for each sample")
    rises = np.diff(samples.atoms) > 0
    rises[indptr[1:-1] - 1] = True
    require(np.all(rises), "the atoms of a sample should rise")
    positive = np.all(samples.weights > 0) and np.all(samples.bandwidth > 0)
    require(positive, "weights and bandwidths should be positive")


put(
    Samples,
    atoms=array("f", 1, least=1),
    weights=array("f", 1, least=1),
    indptr=array("i", 1, least=2),
    bandwidth=array("f", 1, least=1),
    make=held(Samples),
    agree=_samples,
)


def _of_samples(dist):
    type(dist).from_samples(dist.samples, dist.which, dist.loc, dist.scale)
    require(dist.which.shape == dist.loc.shape == dist.scale.shape, "there should be one of each a row")


for drawn in (Empirical, Kernels):
    put(
        drawn,
        samples=a(Samples),
        which=array("iu", 1),
        loc=array("f", 1),
        scale=array("f", 1),
        make=held(drawn),
        agree=_of_samples,
    )

# Distributions of distributions


def _truncated(dist):
    anew = Truncated(dist.base, dist.lo, dist.hi)
    require(type(anew) is type(dist) and len(anew) == len(dist), "it should be truncated in another way")
    same = all(np.array_equal(getattr(anew, end), getattr(dist, end)) for end in ("lo", "hi"))
    require(
        same and np.allclose(anew.log_mass, dist.log_mass, atol=1e-9),
        "its mass is not that between lo and hi",
    )


for given in (Truncated, TruncatedLattice):
    put(
        given,
        base=a(Real),
        lo=array("f", 1, finite=False),
        hi=array("f", 1, finite=False),
        log_mass=array("f", 1),
        make=held(given),
        agree=_truncated,
    )


def _affine(dist):
    same = len(dist.base) == len(dist.shift) == len(dist.factor)
    require(same and np.all(dist.factor != 0), "shift and a factor other than zero should be one a row")


put(Affine, base=a(Real), shift=array("f", 1), factor=array("f", 1), make=held(Affine), agree=_affine)


def _mixture(cls):
    """Rebuilt by its constructor, but with the votes as they were: normalising anew can move the last bit."""

    def make(found):
        new = Mixture(found["log_w"], found["parts"])
        require(
            type(new) is cls and new.log_w.shape == found["log_w"].shape,
            f"the parts do not make a {cls.__name__}",
        )
        near = np.allclose(np.exp(new.log_w), np.exp(found["log_w"]), atol=1e-9)
        require(near, "the votes of a row should sum to one")
        new._hold(log_w=found["log_w"])
        return new

    return make


for mixture in (RealMixture, LatticeMixture, CategoricalMixture, PlainMixture):
    put(
        mixture,
        log_w=array("f", 2, least=1, finite=False),
        parts=each(a(Predictive), least=1),
        make=_mixture(mixture),
    )
