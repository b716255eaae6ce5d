"""Entries for votes, fitted members and committees."""

import numpy as np
from scipy.special import logsumexp

from quorate.committee import Ambiguity, Committee
from quorate.learn.crossfit import Calibrated, Residuals
from quorate.learn.filter import Recursion
from quorate.learn.resample import All, BayesianBootstrap, Bootstrap, Subsample
from quorate.members import Decided, FittedEstimator, OnColumns, Softened
from quorate.members.boosted import Boosted, OfClasses
from quorate.members.doubt import Doubt
from quorate.members.tree import FittedTree
from quorate.store.checks import (
    MAX_FEATURES,
    a,
    array,
    each,
    either,
    estimates,
    flag,
    labels,
    number,
    optional,
    require,
    speaks,
    text,
    whole,
)
from quorate.store.format import ModelFormatError
from quorate.store.registry import put
from quorate.store.trees import alike
from quorate.vote import RULES, Fixed, Nested, Powers, Vote
from quorate.vote.rules import PRODUCTS

# Votes


def _normalised(vote):
    require(abs(logsumexp(vote.log_w)) < 1e-6, "log_w should be the logarithms of weights that sum to one")


def _one_inner_vote_each(vote):
    require(
        votes_for(vote.outer) == len(vote.inner), "there should be an inner vote, or None, for each outer one"
    )


def votes_for(vote):
    """How many members a vote weighs."""
    if isinstance(vote, Fixed | Powers):
        return len(vote.log_w)
    if isinstance(vote, Nested):
        return sum(1 if inner is None else votes_for(inner) for inner in vote.inner)
    raise ModelFormatError(f"it is not known how many members a {type(vote).__name__} weighs")


put(Fixed, log_w=array("f", 1, least=1, high=1e-6, finite=False), agree=_normalised)
put(Powers, log_w=array("f", 1, least=1, low=-700, high=700))
put(Nested, outer=a(Vote), inner=each(optional(a(Vote)), least=1), agree=_one_inner_vote_each)

# How rows are drawn

_size = either(whole(1), number(0, 1 + 1e-15))
put(Bootstrap, size=_size, stratified=flag)
put(Subsample, size=_size, stratified=flag)
put(BayesianBootstrap)
put(All)

# Members


def said_by(member):
    """The codes a member answers with; None where it answers with numbers, or nobody knows."""
    if isinstance(member, OnColumns | Softened):
        return said_by(member.member)
    if isinstance(member, Calibrated | Doubt):
        return np.arange(member.n_classes)
    if isinstance(member, Committee):
        return member.classes
    if isinstance(member, FittedTree):
        return np.arange(member.values.shape[1]) if member.samples is None else None
    if isinstance(member, Boosted):
        return np.arange(member.voice.n_classes) if isinstance(member.voice, OfClasses) else None
    asked = isinstance(member, FittedEstimator | Decided)
    return getattr(member.estimator, "classes_", None) if asked else None


def codes_below(codes, n, what):
    """Codes are used as indices, so each must be one."""
    if codes is not None:
        good = isinstance(codes, np.ndarray) and codes.ndim == 1 and codes.dtype.kind in "iu" and len(codes)
        require(
            good and codes.min() >= 0 and codes.max() < n, f"{what} answers with other codes than 0 … {n - 1}"
        )
        require(len(np.unique(codes)) == len(codes), f"{what} answers with the same code twice")


def takes(member, width, what):
    """A member must not ask for columns that are not there, nor for another number of them."""
    if isinstance(member, OnColumns):
        require(member.columns.max() < width, f"{what} asks for column {member.columns.max()} of {width}")
        takes(member.member, len(member.columns), what)
    elif isinstance(member, Softened):
        takes(member.member, width, what)
    elif isinstance(member, FittedTree | Boosted):
        require(member.n_features == width, f"{what} expects {member.n_features} columns of {width}")
    elif isinstance(member, Committee):
        for m, inner in enumerate(member.members):
            takes(inner, width, f"{what}[{m}]")
    else:
        for estimator in (getattr(member, "estimator", None), getattr(member, "sizes", None)):
            expects = getattr(estimator, "n_features_in_", width)
            require(expects == width, f"{what} expects {expects} columns of {width}")


def _softened(member):
    codes_below(said_by(member.member), member.n_classes, "the softened member")


def _residuals(member):
    require(member.residuals.shape == member.weights.shape, "there should be as many residuals as weights")
    require(member.weights.sum() > 0, "the weights of the residuals are all zero")


def _calibrated(member):
    n = member.n_classes
    shapes = {len(member.slopes), len(member.intercepts), len(member.shares)}
    require(shapes == {n}, f"the calibration is not one of {n} classes")
    require(
        member.slopes.shape[1] in (n, 2 * n), f"the slopes are not those of one or two scores of {n} classes"
    )
    unseen = member.shares[member.shares > 0]
    require(unseen.sum() <= 1 + 1e-6, "the shares of the classes that were never held out exceed one")
    require(np.all(member.shares == 0) or len(unseen) <= n, "no class was held out")
    codes_below(getattr(member.estimator, "classes_", np.empty(0)), n, "the calibrated estimator")


put(FittedEstimator, estimator=estimates, voice=text("dist", "proba", "std"), narrowest=number(0))
put(Doubt, n_classes=whole(1, 1 << 20))
put(OnColumns, member=speaks, columns=array("iu", 1, least=1, low=0, high=MAX_FEATURES))
put(Decided, estimator=estimates)
put(
    Softened,
    member=speaks,
    alpha=number(),
    n_classes=whole(1, 1 << 20),
    agree=_softened,
)
put(
    Residuals,
    estimator=estimates,
    sizes=optional(estimates),
    smallest=number(0),
    residuals=array("f", 1, least=1),
    weights=array("f", 1, least=1, low=0),
    bandwidth=number(0),
    agree=_residuals,
)
put(
    Calibrated,
    estimator=estimates,
    n_classes=whole(1, 1 << 31),
    slopes=array("f", 2, least=1),
    intercepts=array("f", 1, least=1),
    shares=array("f", 1, least=1, low=0, high=1),
    certain=number(0, 1),
    agree=_calibrated,
)

# Committees


def _committee(committee):
    n = len(committee.members)
    if all(isinstance(member, FittedTree) for member in committee.members):
        alike(committee.members)
    require(votes_for(committee.vote) == n, f"the vote weighs {votes_for(committee.vote)} members of {n}")
    require(committee.names is None or len(committee.names) == n, "there should be a name for each member")
    product = isinstance(committee.vote, Powers)
    require(committee.rule in PRODUCTS or not product, "Powers are the votes of a log pool only")
    if committee.classes is not None:
        for m, member in enumerate(committee.members):
            codes_below(said_by(member), len(committee.classes), f"members[{m}]")
            same = not isinstance(member, Softened) or member.n_classes == len(committee.classes)
            require(same, f"members[{m}] speaks of {getattr(member, 'n_classes', 0)} classes")


put(
    Committee,
    members=each(speaks, least=1),
    vote=a(Vote),
    classes=optional(labels),
    names=optional(each(text())),
    rule=text(*RULES),
    agree=_committee,
)

_measure = number(finite=False)
put(
    Ambiguity,
    kind=text("squared_error", "log_loss"),
    committee=_measure,
    members=_measure,
    ambiguity=_measure,
    share=_measure,
)
put(
    Recursion,
    errors=each(_measure, least=1),
    measured=_measure,
    limit=_measure,
    rows=number(-1),
)
