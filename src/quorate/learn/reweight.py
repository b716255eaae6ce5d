"""Reweighting: one member after the other, each taught that what the last one missed weighs more (AdaBoost).

| ask: training weights | tell | vote |
|---|---|---|
| w_i ∝ exp(−Σ_t α_t δ_it), δ = ±1 as t was right or not; or draws by them | α of the weighted error | a log pool |

The committee decides for the class with the largest Σ_t α_t 1{h_t(x) = y}. Its probabilities are those of a log pool,

    p(y | x) ∝ Π_t p_t(y | x)^{1/τ},        p_t = 1−ε_t for the class h_t decides for, ε_t/(K−1) for each other,

whose most probable class is that very class. The temperature τ is learned from rows that were not seen: beside the
chain of members that is the committee run others that leave some rows out, and what they say of those is scored.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from quorate import kernels
from quorate.dist.log_pool import normalised
from quorate.learn.content import folds, units
from quorate.learn.loop import Data, Job, Scheme
from quorate.learn.resample import InProportion
from quorate.members import Member, Softened, choices
from quorate.vote import Powers

FOLDS = 5
MANY = 2000  # rows, beyond which one fold is enough to learn one number from
TRIES = 10  # draws in a row that taught nothing
CHANCE = 1e-12  # an error this near to guessing is guessing
WIDE = 12.0  # temperatures are sought up to e^12 times the scores, and down to e^-12 times


# The pair of functions: what a member weighs, and what rows weigh next


def log_odds(error, n_classes=2):
    """α = ½ [ln((1−ε)/ε) + ln(K−1)]: the weight of a member that makes Z = (1−ε) e^{−α} + ε e^{α} least (K = 2)."""
    return 0.5 * (np.log1p(-error) - np.log(error) + np.log(n_classes - 1))


@dataclass(frozen=True)
class Exponential:
    """The pair of exponential loss: α from the log odds; w_i e^{−α} where the member was right, w_i e^{α} where not.

    The rows' part of it is kernels.rounds.follow.
    """

    n_classes: int

    def weigh(self, error):
        """α of an error between 0 and 1."""
        return float(log_odds(error, max(self.n_classes, 2)))


@dataclass(frozen=True)
class Own:
    """A pair of one's own: member_weight(error) → α, and update(weights, correct, alpha) → weights that follow.

    `weights` is what one copy of each row weighs (all copies sum to one), `correct` where the member was right.
    """

    member_weight: Callable
    update: Callable

    def weigh(self, error):
        """α of an error between 0 and 1."""
        alpha = np.asarray(self.member_weight(error), dtype=float)
        if alpha.shape != () or not np.isfinite(alpha):
            raise ValueError(
                f"rule[0](error) should be one finite number, a member's weight; for {error:.6g} it is {alpha}"
            )
        return float(alpha)

    def step(self, share, copies, right, alpha):
        """(log weights that follow, Z: what the weights sum to before they are normalised)."""
        new = np.asarray(self.update(share / copies, right.copy(), alpha), dtype=float)
        if new.shape != right.shape:
            raise ValueError(
                f"rule[1](weights, correct, alpha) should give {right.shape[0]} weights, one for each row; "
                f"its shape is {new.shape}"
            )
        bad = np.flatnonzero(~((new >= 0) & (new < np.inf)))
        if len(bad) or not new.any():
            what = f"row {bad[0]} of those it was given has {new[bad[0]]}" if len(bad) else "all are 0"
            raise ValueError(
                f"rule[1](weights, correct, alpha) should give weights that are finite, not negative, and not all "
                f"of them 0; {what}"
            )
        with np.errstate(divide="ignore"):
            return np.log(new), float(np.sum(copies * new))


# State


@dataclass(frozen=True)
class Round:
    """What came of one round."""

    alpha: float
    error: float
    z: float
    training_error: float


@dataclass(frozen=True, eq=False)
class Weighing:
    """What rows weigh: w_i u_i, u_i ∝ exp(log_u_i), as the weights of a job."""

    weight: np.ndarray
    log_u: np.ndarray

    @cached_property
    def units(self):
        """What one copy of each row weighs."""
        return units(self.weight, self.log_u)

    @cached_property
    def mass(self):
        """The weight of each row."""
        return self.weight * self.units

    def __call__(self, data, rng):
        return self.mass

    def __getstate__(self):
        return {"weight": self.weight, "log_u": self.log_u}

    def __setstate__(self, state):
        vars(self).update(state)


@dataclass(frozen=True, eq=False)
class Chain:
    """Members one after the other: what rows count for (0: held out) and weigh now, and what was said so far."""

    weight: np.ndarray
    log_u: np.ndarray
    scores: np.ndarray  # Σ_t α_t 1{h_t(x_i) = y}, shape (n, K)
    members: tuple = ()
    rounds: tuple = ()
    asked: int = 0
    failed: int = 0  # draws in a row that taught nothing
    began_again: bool = False
    ended: bool = False

    @cached_property
    def weighing(self):
        """The weight of each row, worked out where and when it is first asked for."""
        return Weighing(self.weight, self.log_u)

    @property
    def units(self):
        """What one copy of each row weighs."""
        return self.weighing.units

    @cached_property
    def share(self):
        """The weight of each row; they sum to one."""
        return self.mass / self.mass.sum()

    @property
    def mass(self):
        """The weight of each row, with sums that are exact for whole weights."""
        return self.weighing.mass

    @cached_property
    def total(self):
        """What all rows count for."""
        return float(self.weight.sum())

    def error(self, said, y):
        """ε: the weight of the rows of which y was not said, as a share of all."""
        wrong, total = kernels.rounds.error(said, y, self.mass)
        return wrong / total

    @property
    def held_out(self):
        """The rows it has not seen."""
        return np.flatnonzero(self.weight == 0)


@dataclass(frozen=True, eq=False)
class ReweightState:
    """The data, the chain that is the committee, and those that leave rows out."""

    data: Data
    chains: tuple

    @property
    def members(self):
        """The committee's members."""
        return self.chains[0].members


# The scheme


@dataclass(frozen=True)
class Reweight(Scheme):
    """`n_members` of `member`, taught weights, or (`draws`) rows drawn by them; `pair` None: exponential loss's."""

    member: Member
    n_members: int
    draws: bool = False
    pair: Own | None = None
    learning_rate: float = 1.0

    rule = "log"

    def start(self, data):
        weight = np.ones(len(data)) if data.weight is None else data.weight
        held_out = [np.zeros(len(data), dtype=bool), *_held_out(data)]
        return ReweightState(data, tuple(self._chain(data, np.where(out, 0.0, weight)) for out in held_out))

    def _chain(self, data, weight):
        return Chain(weight, np.zeros(len(data)), np.zeros((len(data), len(data.classes))))

    def done(self, state):
        return all(self._over(chain) for chain in state.chains)

    def _over(self, chain):
        return chain.ended or len(chain.rounds) >= self.n_members

    def ask(self, state):
        return [self._job(c, chain) for c, chain in enumerate(state.chains) if not self._over(chain)]

    def _job(self, c, chain):
        weights = InProportion(chain.units) if self.draws else chain.weighing
        return Job((c, chain.asked), self.member, weights)

    def tell(self, state, seats):
        chains = list(state.chains)
        for seat in seats:
            c, asked = seat.job.key
            told = self._told(chains[c], seat, state.data, leads=c == 0)
            chains[c] = replace(told, asked=asked + 1)
        return replace(state, chains=tuple(chains))

    def _told(self, chain, seat, data, leads):
        """The chain after a member, whose error decides what it weighs, and what the rows weigh next."""
        k = len(data.classes)
        said = choices(seat.member, data.prepared(seat.job.member))
        error = chain.error(said, data.y)
        if error > 0 and error >= 1 - 1 / k - CHANCE:
            return self._failed(chain, seat, error, data, leads)
        alpha = self.learning_rate * self._pair(k).weigh(max(error, _least_error(chain.weight)))
        if error == 0:
            alpha += sum(abs(told.alpha) for told in chain.rounds)  # it outvotes all others
        log_u, scores = np.empty_like(chain.log_u), np.empty_like(chain.scores)
        wrong = kernels.rounds.follow(
            said, data.y, chain.weight, chain.log_u, chain.scores, alpha, error > 0, log_u, scores
        )
        z = (1 - error) * np.exp(-alpha) + error * np.exp(alpha)
        if error > 0 and self.pair is not None:
            log_u, z = self._step(self.pair, chain, said == data.y, alpha)
        chain = replace(chain, log_u=log_u, scores=scores, failed=0, ended=error == 0)
        return self._with(chain, seat, Round(alpha, error, float(z), wrong / chain.total), data, leads)

    def _pair(self, k):
        return Exponential(k) if self.pair is None else self.pair

    @staticmethod
    def _step(pair, chain, right, alpha):
        """(log weights that follow, Z) of an own pair, which is shown the rows that weigh something."""
        there = np.flatnonzero(chain.share > 0)
        log_u = np.full(len(right), -np.inf)
        log_u[there], z = pair.step(chain.share[there], chain.weight[there], right[there], alpha)
        return log_u, z

    def _failed(self, chain, seat, error, data, leads):
        """After a member no better than guessing: the end, or rows that weigh alike and another draw."""
        failed = chain.failed + 1
        ended = not self.draws or failed >= TRIES
        chain = replace(chain, log_u=np.zeros(len(data)), failed=failed, began_again=self.draws, ended=ended)
        if ended and not chain.rounds:
            wrong = chain.weight[data.y != 0].sum() / chain.total  # all votes are 0, and the first class wins
            return self._with(
                chain, seat, Round(0.0, error, 1.0, wrong), data, leads
            )  # there must be one member
        return chain

    def _with(self, chain, seat, told, data, leads):
        """The chain with a round more; only the chain that is the committee keeps its members."""
        if not leads:
            return replace(chain, rounds=(*chain.rounds, told))
        member = Softened(seat.member, told.alpha, len(data.classes))
        return replace(chain, members=(*chain.members, member), rounds=(*chain.rounds, told))

    def vote(self, state):
        return Powers(np.full(len(state.members), -np.log(temperature(state))))


def _least_error(weight):
    """Half a row: what an error of 0 is taken for, so that its α is finite."""
    return 0.5 / max(weight.sum(), 2.0)


def _held_out(data):
    """For each chain beside the committee's, which rows it leaves out: a fifth each, of many rows only the first."""
    fold = folds(data.X, data.y, FOLDS, data.classes)
    out = [fold == k for k in range(FOLDS if len(data.slots) <= MANY else 1)]
    return [rows for rows in out if rows.any()]


# What is learned from rows that were not seen


def temperature(state):
    """τ = argmax Σ_i w_i log softmax(2 F(x_i) / τ) at i's class, over the rows that a chain left out; else 1.

    One row more, of which nothing is known, keeps it from certainty where all rows are decided rightly.
    """
    data, held = state.data, [(chain, chain.held_out) for chain in state.chains[1:]]
    if not held:
        return 1.0
    logits = 2.0 * np.concatenate([chain.scores[rows] for chain, rows in held])
    rows = np.concatenate([rows for _, rows in held])
    w = np.ones(len(rows)) if data.weight is None else data.weight[rows]
    return _best_temperature(logits, data.y[rows], w)


def _best_temperature(logits, y, w):
    """Where the score's slope in 1/τ is zero; there is one such place, as the score is concave in 1/τ."""
    unknown = np.average(np.sort(logits, axis=1), axis=0, weights=w)
    if unknown[-1] == unknown[0]:
        return 1.0
    table, weight = np.vstack([logits, unknown]), np.append(w, 1.0)
    truth = np.append(logits[np.arange(len(y)), y], unknown.mean())

    def slope(log_b):
        p = np.exp(normalised(table * np.exp(log_b)))
        return np.sum(weight * (truth - np.sum(p * table, axis=1)))

    size = np.log(unknown[-1] - unknown[0])
    low, high = -WIDE - size, WIDE - size
    if slope(low) <= 0:
        return float(np.exp(-low))  # nothing that was said helps
    return float(np.exp(-high if slope(high) >= 0 else -brentq(slope, low, high, xtol=1e-14)))


# Receipts


def receipts(chain, n_classes, bounded):
    """The rounds as arrays; with `bounded`, what the training error is never above: Π_t Z_t of the exponential loss."""
    alpha, error, z, training = (
        np.array([getattr(told, name) for told in chain.rounds])
        for name in ("alpha", "error", "z", "training_error")
    )
    k = max(n_classes, 2)
    edge = (1 - 1 / n_classes) - error
    out = {"error": error, "edge": edge, "normaliser": z, "training_error": training}
    if not bounded or chain.began_again:
        return out
    idle = alpha == 0
    with np.errstate(divide="ignore"):
        log_z = np.where(idle, 0.0, np.log(k) + 0.5 * (np.log(error) + np.log1p(-error) - np.log(k - 1)))
        out["bound"] = np.exp(np.cumsum(log_z))
    if n_classes == 2:
        out["exponential_bound"] = np.exp(-2 * np.cumsum(np.where(idle, 0.0, edge**2)))
    return out
