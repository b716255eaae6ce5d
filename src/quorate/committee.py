"""A committee: members p_m, a vote w_m, and the one formula that all of quorate is about.

    p(y | x, D) = Σ_m  w_m(x) · p_m(y | x)

A committee answers as its members do, so it may sit on a committee itself.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.dist import Categorical, Mixture
from quorate.dist.base import Real
from quorate.dist.log_pool import LogPool, normalised
from quorate.dist.mixture import log_votes
from quorate.vote import Fixed, Nested, Vote, pool
from quorate.vote.rules import MIXTURES, PRODUCTS, check_rule


@dataclass(frozen=True, eq=False)
class Committee:
    """Fitted members and a vote; `classes` names what the codes mean that classifying members were taught.

    `rule` is how what they say is added up (`vote/rules.py`): "mixture", "majority" where votes are counted, or "log"
    where probabilities are multiplied.
    """

    members: tuple
    vote: Vote
    classes: np.ndarray | None = None
    names: tuple | None = None
    rule: str = "mixture"

    def __post_init__(self):
        if not len(self.members):
            raise ValueError("a committee needs at least one member")
        check_rule(self.rule)

    def predict_dist(self, X):
        """p(y | x) = Σ_m w_m(x) p_m(y | x), as a Mixture with one part a member (its vote, if votes are the rule).

        A log pool, Π_m p_m(y | x)^{w_m(x)} normalised, is a Categorical.
        """
        if self.rule not in PRODUCTS:
            return self._told(X)
        quick = self.classes is not None and all(hasattr(member, "add_scores") for member in self.members)
        return self._scored(X) if quick else self._told(X).law

    def _told(self, X):
        """The answer that knows its `parts` and `weights`."""
        return pool(self.vote.log_weights(X), self.parts(X), self.rule)

    def _scored(self, X):
        """A log pool whose members add what they say to one table of scores."""
        classes = np.asarray(self.classes)
        scores = np.zeros((X.shape[0], len(classes)))
        for w, member in zip(np.exp(self.vote.log_weights(X)).T, self.members, strict=True):
            member.add_scores(X, w, scores)
        return Categorical.from_log(normalised(scores), classes)

    @cached_property
    def joined(self):
        """All members as one that knows Σ_m w_m E_m, where their kind has a way to `join`; else None."""
        kind = type(self.members[0])
        same = hasattr(kind, "join") and all(type(member) is kind for member in self.members)
        if not same or self.rule not in MIXTURES or type(self.vote) is not Fixed:
            return None
        votes = np.exp(log_votes(self.vote.log_w, len(self), 1))[0]
        return kind.join(self.members, votes, self.classes)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "joined"}

    def __setstate__(self, state):
        vars(self).update(state)

    def parts(self, X):
        """p_m(y | x) of every member."""
        parts = [_asked(member, X) for member in self.members]
        return parts if self.classes is None else [part.recode(self.classes) for part in parts]

    def __len__(self):
        return len(self.members)

    def __repr__(self):
        kinds = sorted({type(m).__name__ for m in self.members})
        return f"Committee({len(self)} members: {', '.join(kinds)}; vote: {type(self.vote).__name__})"

    def flatten(self):
        """The same committee without mixtures in it (those whose members speak of other classes stay)."""
        if self.rule not in MIXTURES:
            return self
        inside = [_within(m) for m in self.members]
        first = inside[0].classes if inside[0] else None
        lift = self.classes is None and all(
            c and c.rule in MIXTURES and _same(c.classes, first) for c in inside
        )
        inner = [c.flatten() if c and (lift or self._opens(c)) else None for c in inside]
        if not any(inner):
            return self
        members = [m for one, c in zip(self.members, inner, strict=True) for m in (c.members if c else [one])]
        vote = Nested(self.vote, tuple(c.vote if c else None for c in inner))
        return Committee(tuple(members), vote, first if lift else self.classes)

    def _opens(self, inner):
        """Whether the members of a member say what they would say here: a mixture, of the same codes."""
        codes = None if self.classes is None else np.arange(len(self.classes))
        return inner.rule in MIXTURES and (inner.classes is None or _same(inner.classes, codes))

    def explain(self, X):
        """Who said what: every member's distribution, its vote, and the sum."""
        names = self.names or tuple(f"member {m}" for m in range(len(self)))
        return Explanation(names, self._told(X))

    def ambiguity(self, X, y, sample_weight=None):
        """The receipt of averaging on rows X, y: committee loss = mean member loss − ambiguity."""
        return ambiguity(self._told(X), y, sample_weight)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Who said what about each row: `names` of the members and the `total`, whose parts and votes they are."""

    names: tuple
    total: Mixture | LogPool

    @property
    def parts(self):
        """p_m(y | x), one distribution a member."""
        return self.total.parts

    @property
    def votes(self):
        """w_m(x), shape (n, M)."""
        return self.total.weights

    def shares(self, y):
        """w_m p_m(y) / Σ w_m p_m(y): how much of what the committee said of y each member said, shape (n, M).

        Rows of zeros where all held y to be impossible. In a log pool nobody has a share: what they say is multiplied.
        """
        if isinstance(self.total, LogPool):
            raise ValueError(
                "members have shares in a sum, and a log pool is a product; see its parts and votes"
            )
        joint, log_p = self.total.log_joint(y), self.total.log_prob(y)
        return np.exp(joint - np.where(np.isfinite(log_p), log_p, 0.0)).T

    def row(self, i):
        """The explanation of one row."""
        return Explanation(self.names, self.total[i])

    def __str__(self):
        lines = []
        for i in range(min(len(self.total), 3)):
            row = self.total[i]
            voices = zip(row.weights[0], self.names, row.parts, strict=True)
            lines += [f"row {i}: {_said(row)}", *(f"  {w:6.3f}  {name}: {_said(p)}" for w, name, p in voices)]
        return "\n".join(lines)


def _asked(member, X):
    if not hasattr(member, "predict_dist"):
        name = type(member).__name__
        raise TypeError(
            f"a {name} has no predict_dist, so it cannot answer for a committee; a fitted scikit-learn estimator "
            f"does as quorate.members.seated({name}(...).fit(X, y))"
        )
    return member.predict_dist(X)


def _within(member):
    """The committee that a member is, or, where it is an estimator, answers as."""
    if isinstance(member, Committee):
        return member
    inside = getattr(member, "estimator", None)
    return next((h.__dict__.get("committee_") for h in (member, inside) if hasattr(h, "explain")), None)


def _same(classes, others):
    return (classes is None) == (others is None) and np.array_equal(classes, others)


def _said(dist):
    if isinstance(dist, Real):
        return f"{dist.mean[0]:.6g} ± {dist.std[0]:.3g}"
    top = np.argsort(-dist.probs[0], kind="stable")[:3]
    return ", ".join(f"{dist.classes[k]} {dist.probs[0, k]:.3f}" for k in top)


@dataclass(frozen=True)
class Ambiguity:
    """committee = members − ambiguity, exactly (Krogh and Vedelsby, 1995; for log loss, Jensen's gap).

    `ambiguity` is computed from what the members say alone, the two losses from y: that they agree is a check of the
    whole committee. `gap` is how far they miss, a few units in the last place. `share` is the part of the rows (by
    weight) that it is about: less than 1 where members held some y to be impossible, of which log loss keeps no books.
    """

    kind: str
    committee: float
    members: float
    ambiguity: float
    share: float = 1.0

    @property
    def gap(self):
        """|committee − (members − ambiguity)|."""
        return abs(self.committee - (self.members - self.ambiguity))


def ambiguity(mixture, y, sample_weight=None):
    """{"squared_error": …, "log_loss": …}: the receipts of averaging for a mixture and the truth.

    Squared error: (y − μ̄)² = Σ w (y − μ_m)² − Σ w (μ_m − μ̄)²; for classes, the same of each class's indicator and
    probability, summed (Brier's score).
    Log loss: −log p̄ = Σ w (−log p_m) − KL(w ‖ r), where r_m = w_m p_m / p̄ is the share of member m in p̄(y).
    For a log pool, whose votes must sum to one: −log p̄ = Σ w (−log p_m) − Σ w KL(p̄ ‖ p_m), and of squared error none.
    """
    if isinstance(mixture, LogPool):
        return {"log_loss": _pool_ambiguity(mixture, y, sample_weight)}
    receipts = {"log_loss": _log_ambiguity(mixture, y, sample_weight)}
    squared = _squared_ambiguity if isinstance(mixture, Real) else _brier_ambiguity
    return receipts | {"squared_error": squared(mixture, y, sample_weight)}


def _squared_ambiguity(mixture, y, sample_weight):
    y, w = np.asarray(y, float), mixture.weights
    means = np.stack([np.broadcast_to(p.mean, len(mixture)) for p in mixture.parts], axis=1)
    mean = mixture.mean
    spread = np.sum(w * (means - mean[:, None]) ** 2, axis=1)
    members = np.sum(w * (y[:, None] - means) ** 2, axis=1)
    return _receipt("squared_error", (y - mean) ** 2, members, spread, sample_weight)


def _brier_ambiguity(mixture, y, sample_weight):
    truth = np.asarray(y)[:, None] == mixture.classes
    mean, members, spread = mixture.probs, 0.0, 0.0
    for w, part in zip(mixture.weights.T, mixture.parts, strict=True):
        members = members + w * np.sum((part.probs - truth) ** 2, axis=1)
        spread = spread + w * np.sum((part.probs - mean) ** 2, axis=1)
    return _receipt("squared_error", np.sum((mean - truth) ** 2, axis=1), members, spread, sample_weight)


def _log_ambiguity(mixture, y, sample_weight):
    """Rows on which a member that votes says "impossible" have an infinite mean member loss, and are left out."""
    joint = mixture.log_joint(y).T
    log_p = mixture.log_prob(y)
    votes = mixture.weights > 0
    possible = np.all(np.isfinite(joint) | ~votes, axis=1)
    with np.errstate(invalid="ignore"):
        log_w = np.where(votes, np.broadcast_to(mixture.log_w, joint.shape), 0.0)
        log_r = np.where(votes, joint - log_p[:, None], 0.0)
        members = -np.sum(mixture.weights * np.where(votes, joint - log_w, 0.0), axis=1)
        spread = np.sum(mixture.weights * (log_w - log_r), axis=1)
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    share = float(w[possible].sum() / w.sum()) if w.any() else 0.0
    return _receipt("log_loss", -log_p[possible], members[possible], spread[possible], w[possible], share)


def _pool_ambiguity(pool, y, sample_weight):
    """Rows on which a member that votes says "impossible" are left out."""
    votes = pool.weights.sum(axis=1)
    if np.any(np.abs(votes - 1) > 1e-9):
        raise ValueError(
            f"the votes of this log pool sum to {votes[0]:.6g}, and its ambiguity is known where they sum to 1"
        )
    p, log_p, asked = pool.probs, pool.log_p, pool.weights > 0
    members, spread, possible = np.zeros(len(pool)), np.zeros(len(pool)), np.ones(len(pool), dtype=bool)
    for w, part, votes in zip(pool.weights.T, pool.parts, asked.T, strict=True):
        own = part.log_prob(y)
        possible &= np.isfinite(own) | ~votes
        members -= np.where(votes & np.isfinite(own), w * own, 0.0)
        both = (p > 0) & (part.log_p > -np.inf)
        apart = np.where(both, log_p, 0.0) - np.where(both, part.log_p, 0.0)
        spread += w * np.sum(p * apart, axis=1)
    w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    share = float(w[possible].sum() / w.sum()) if w.any() else 0.0
    losses = -pool.log_prob(y)[possible]
    return _receipt("log_loss", losses, members[possible], spread[possible], w[possible], share)


def _receipt(kind, committee, members, spread, sample_weight, share=1.0):
    if not len(committee) or (sample_weight is not None and not np.any(sample_weight)):
        return Ambiguity(kind, np.nan, np.nan, np.nan, 0.0)
    means = [float(np.average(v, weights=sample_weight)) for v in (committee, members, spread)]
    return Ambiguity(kind, means[0], means[1], means[2], share)
