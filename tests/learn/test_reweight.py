"""AdaBoost's loop: its identities, what it does with members that are no good, and what it learns from unseen rows."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier

from quorate.learn import Data, learn
from quorate.learn.content import Slots, hashes, units
from quorate.learn.resample import InProportion
from quorate.learn.reweight import TRIES, Exponential, Own, Reweight, _best_temperature, log_odds, receipts
from quorate.members import Fitted, Member, as_decider
from quorate.run import Here, Watch

STUMP = as_decider(DecisionTreeClassifier(max_depth=1))


def boosted(data, member=STUMP, n=30, **more):
    return learn(Reweight(member, n, **more), data, Watch(Here()))


def table(n=200, k=2, seed=0, weight=None):
    X, y = make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=k, flip_y=0.1, random_state=seed
    )
    return Data(X, y, weight, np.arange(k), seed=seed)


@dataclass(frozen=True)
class Told(Fitted):
    """Says what it was told to, of the rows of the training table."""

    codes: np.ndarray

    def choices(self, X):
        return np.broadcast_to(self.codes, len(X))

    def predict_dist(self, X):
        raise AssertionError("only decisions count")


@dataclass(frozen=True, eq=False)
class Scripted(Member):
    """Says one thing after the other, whatever it is taught, and keeps what that was."""

    script: list
    taught: list

    def fit(self, X, y, sample_weight=None, rng=None):
        self.taught.append(sample_weight)
        return Told(self.script[min(len(self.taught), len(self.script)) - 1])


def scripted(*script):
    return Scripted([np.asarray(codes) for codes in script], [])


# Each class has one row, and copies of it, so that none is left out, and there is but the committee's chain.
FEW = Data(np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 0, 1]), None, np.arange(2))


# the pair of exponential loss


@pytest.mark.parametrize("error", [1e-6, 0.1, 0.3, 0.499])
def test_alpha_makes_the_normaliser_least(error):
    """Deck 2: Z = (1−ε) e^{−α} + ε e^{α} is least at α = ½ ln((1−ε)/ε), and is 2 √(ε(1−ε)) there."""
    z = lambda alpha: (1 - error) * np.exp(-alpha) + error * np.exp(alpha)
    best = minimize_scalar(z, bounds=(0, 20), method="bounded", options={"xatol": 1e-10}).x
    assert log_odds(error) == pytest.approx(best, abs=1e-6)
    assert z(log_odds(error)) == pytest.approx(2 * np.sqrt(error * (1 - error)))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_normaliser_with_more_classes(k):
    share, right = np.full(10, 0.1), np.arange(10) < 7
    alpha = Exponential(k).weigh(0.3)
    z = np.sum(share * np.exp(np.where(right, -alpha, alpha)))
    assert z == pytest.approx(k * np.sqrt(0.3 * 0.7 / (k - 1)))


def test_what_a_member_missed_weighs_half_in_the_next_round():
    state, _ = boosted(table(), n=2)
    X, y = state.data.X, state.data.y
    first = state.members[0].choices(X) != y
    one = Reweight(STUMP, 1)
    chain = learn(one, state.data, Watch(Here()))[0].chains[0]
    assert chain.share[first].sum() == pytest.approx(0.5, abs=1e-9)


# receipts


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize(
    "data",
    [
        *(table(k=k, seed=s) for k, s in [(2, 0), (2, 1), (2, 2), (3, 0), (4, 1)]),
        table(weight=np.random.default_rng(0).integers(1, 4, 200).astype(float)),
        table(k=3, weight=np.random.default_rng(0).uniform(0.2, 3.0, 200)),
        Data(*load_breast_cancer(return_X_y=True), None, np.arange(2)),
        Data(*load_wine(return_X_y=True), None, np.arange(3)),
    ],
)
def test_training_error_is_never_above_its_bound(data, draws):
    state, committee = boosted(data, draws=draws)
    chain, k = state.chains[0], len(data.classes)
    told = receipts(chain, k, bounded=True)
    assert len(told["error"]) == len(committee) == len(chain.rounds)
    if chain.began_again:
        assert "bound" not in told
        return
    assert np.all(told["training_error"] <= told["bound"] * (1 + 1e-9))
    np.testing.assert_allclose(told["bound"], np.cumprod(told["normaliser"]), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(told["edge"], 1 - 1 / k - told["error"])
    if k == 2:
        assert np.all(told["bound"] <= told["exponential_bound"] * (1 + 1e-9))
    wrong = committee.predict_dist(data.X).mode != data.y
    assert told["training_error"][-1] == pytest.approx(np.average(wrong, weights=data.weight))


def test_the_weights_are_those_of_exponential_loss():
    """w_i ∝ exp(−Σ_t α_t δ_it), and their mean before they are normalised is Π_t Z_t."""
    state, _ = boosted(table(), n=12)
    chain, y = state.chains[0], state.data.y
    delta = sum(m.alpha * np.where(m.choices(state.data.X) == y, 1, -1) for m in chain.members)
    loss = np.exp(-delta)
    np.testing.assert_allclose(chain.share, loss / loss.sum(), rtol=1e-9)
    assert loss.mean() == pytest.approx(np.prod([told.z for told in chain.rounds]), rel=1e-9)


def test_error_goes_to_nothing_where_stumps_can_separate(rng):
    X = rng.normal(size=(150, 3))
    data = Data(X, (X @ [1.0, 1.0, 1.0] > 0).astype(int), None, np.arange(2))
    state, _ = boosted(data, n=300)
    assert state.chains[0].rounds[-1].training_error == 0
    assert receipts(state.chains[0], 2, True)["bound"][-1] < 1 / len(data)


# members that are right, and members that are no good


def test_a_member_that_is_always_right_decides_alone():
    member = scripted([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1])
    state, committee = boosted(FEW, member, n=50)
    alphas = np.array([m.alpha for m in state.members])
    assert state.chains[0].ended
    assert len(committee) == len(member.taught) == 3
    assert np.isfinite(alphas[-1])
    assert alphas[-1] > alphas[:-1].sum()
    np.testing.assert_array_equal(committee.predict_dist(FEW.X).mode, FEW.y)


@pytest.mark.parametrize("bad", [[1, 1, 1, 0], [1, 1, 0, 0]])
def test_a_member_no_better_than_guessing_ends_it(bad):
    state, committee = boosted(FEW, scripted([0, 0, 0, 0], bad), n=50)
    assert len(committee) == 1
    state, committee = boosted(FEW, scripted(bad), n=50)
    assert len(committee) == 1
    assert state.members[0].alpha == 0
    np.testing.assert_array_equal(committee.predict_dist(FEW.X).probs, 0.5)
    told = receipts(state.chains[0], 2, True)
    assert np.all(told["training_error"] <= told["bound"])
    assert np.all(told["bound"] <= told["exponential_bound"])


def test_a_draw_that_taught_nothing_begins_again():
    bad, good = [1, 1, 1, 0], [0, 0, 0, 0]
    member = scripted(good, bad, bad, [0, 0, 1, 1])
    state, _ = boosted(FEW, member, n=2, draws=True)
    chain = state.chains[0]
    assert len(member.taught) == 4
    assert [told.error for told in chain.rounds] == pytest.approx([0.25, 0.25])  # of rows that weigh alike
    assert chain.began_again
    assert "bound" not in receipts(chain, 2, True)
    never = scripted(bad)
    state, committee = boosted(FEW, never, n=50, draws=True)
    assert len(never.taught) == TRIES
    assert len(committee) == 1


def test_weights_do_not_vanish():
    """Weights a thousand powers of e apart are still weights, and their sums are exact."""
    w = np.random.default_rng(0).integers(1, 5, 300).astype(float)
    log_u = -np.linspace(0, 5000, 300)
    u = units(w, log_u)
    assert u.min() > 0
    assert w @ u == pytest.approx(w.sum(), rel=1e-9)
    order = np.random.default_rng(1).permutation(300)
    assert np.sum(w * u) == np.sum((w * u)[order]) == np.repeat(u, w.astype(int)).sum()
    np.testing.assert_array_equal(units(np.ones(5), np.zeros(5)), 1.0)


def test_whole_weights_are_rows_to_the_last_bit():
    w = np.random.default_rng(0).integers(1, 4, 200).astype(float)
    one = table(weight=w)
    rows = np.repeat(np.arange(200), w.astype(int))[::-1]
    other = Data(one.X[rows], one.y[rows], None, one.classes, seed=one.seed)
    for draws in (False, True):
        (a, _), (b, _) = boosted(one, draws=draws), boosted(other, draws=draws)
        for mine, its in zip(a.chains, b.chains, strict=True):
            assert [(r.alpha, r.error) for r in mine.rounds] == [(r.alpha, r.error) for r in its.rounds]


# draws


def test_draws_are_in_proportion(rng):
    w, u = rng.integers(1, 4, 30).astype(float), rng.uniform(0.1, 3.0, 30)
    u[7] = 0.0
    data = Data(rng.normal(size=(30, 2)), np.arange(30) % 2, w, np.arange(2))
    draw = InProportion(u)
    counts = np.mean([draw(data, rng) for _ in range(3000)], axis=0)
    there = w.sum() - w[7]
    np.testing.assert_allclose(counts, there * w * u / np.sum(w * u), rtol=0.1, atol=1e-12)
    assert draw(data, rng).sum() == there


def test_draws_with_weights_that_count_nothing(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    w, u = rng.uniform(0.5, 2.0, 20), np.where(np.arange(20) < 5, 0.0, 1.0)
    slots, counts = Slots(np.arange(20), hashes(X, y), w), np.zeros(20)
    for _ in range(2000):
        slots.in_proportion(u, rng, counts)
    np.testing.assert_allclose(counts / counts.sum(), w * u / np.sum(w * u), rtol=0.1, atol=1e-12)


def test_draws_of_one_row_only_become_draws_of_all(rng):
    """Of copies of one row nothing can be learned."""
    data = Data(np.arange(6.0)[:, None], np.arange(6) % 2, None, np.arange(2))
    drawn = InProportion(np.where(np.arange(6) == 3, 1.0, 1e-300))(data, rng)
    assert np.count_nonzero(drawn) > 1
    copies = Data(np.zeros((3, 1)), np.zeros(3, int), None, np.arange(1))
    assert InProportion(np.ones(3))(copies, rng).sum() == 3


# rules of one's own


def pair():
    return Own(lambda e: 0.5 * np.log((1 - e) / e), lambda w, right, a: w * np.exp(np.where(right, -a, a)))


def test_the_exponential_pair_given_is_the_default():
    data = table(k=2)
    (a, mine), (b, its) = boosted(data), boosted(data, pair=pair())
    np.testing.assert_allclose([m.alpha for m in a.members], [m.alpha for m in b.members], rtol=1e-6)
    np.testing.assert_allclose(
        mine.predict_dist(data.X).probs, its.predict_dist(data.X).probs, rtol=1e-5, atol=1e-9
    )


def test_a_pair_of_ones_own_drives_the_loop():
    seen = []

    def update(weights, correct, alpha):
        seen.append((weights, correct, alpha))
        return np.where(correct, weights, 3 * weights)

    member = scripted([0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1])
    w = np.array([1.0, 2.0, 1.0, 1.0])
    data = Data(FEW.X, FEW.y, w, FEW.classes)
    state, committee = boosted(data, member, n=3, pair=Own(lambda error: 1 + error, update))
    np.testing.assert_allclose(member.taught[0], w)
    np.testing.assert_allclose(member.taught[1], w * [1, 1, 3, 1] * 5 / 7)
    np.testing.assert_allclose(member.taught[2], w * [1, 1, 3, 3] * 5 / 9)
    np.testing.assert_allclose([r.error for r in state.chains[0].rounds], [1 / 5, 1 / 7, 2 / 9])
    np.testing.assert_allclose([m.alpha for m in state.members], [1 + 1 / 5, 1 + 1 / 7, 1 + 2 / 9])
    np.testing.assert_allclose([r.z for r in state.chains[0].rounds[:2]], [7 / 5, 9 / 7])
    np.testing.assert_allclose(seen[0][0], 0.2)  # what one copy of a row weighs
    np.testing.assert_array_equal(seen[0][1], [True, True, False, True])
    assert committee.predict_dist(data.X).mode.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("own", "what"),
    [
        (Own(lambda e: np.nan, pair().update), r"rule\[0\]\(error\) should be one finite number.*for 0.25 it is nan"),
        (Own(lambda e: [1.0, 2.0], pair().update), r"rule\[0\]\(error\) should be one finite number"),
        (Own(pair().member_weight, lambda w, c, a: w * np.nan), r"rule\[1\].*finite.*row 0 of.*has nan"),
        (Own(pair().member_weight, lambda w, c, a: w - 1), r"rule\[1\].*not negative.*row 0 of.*has -0.75"),
        (Own(pair().member_weight, lambda w, c, a: 0 * w), r"rule\[1\].*all are 0"),
        (Own(pair().member_weight, lambda w, c, a: w[:2]), r"rule\[1\].*4 weights.*its shape is \(2,\)"),
    ],
)  # fmt: skip
def test_a_pair_that_gives_no_weights(own, what):
    with pytest.raises(ValueError, match=what):
        boosted(FEW, scripted([0, 0, 0, 0]), pair=own)


# temperature


def test_temperature_is_the_best_for_unseen_rows(rng):
    logits = rng.normal(size=(4000, 3)) * 6
    p = np.exp(logits / 4)
    y = (rng.random((4000, 1)) > np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    assert _best_temperature(logits, y, np.ones(4000)) == pytest.approx(4, rel=0.1)


def test_labels_that_are_flipped_make_it_hotter(rng):
    logits = rng.normal(size=(2000, 3)) * 6
    y, flipped = logits.argmax(axis=1), rng.integers(0, 3, 2000)
    hot = [
        _best_temperature(logits, np.where(np.arange(2000) < share * 2000, flipped, y), np.ones(2000))
        for share in (0.0, 0.1, 0.2, 0.4, 0.8)
    ]
    assert np.all(np.diff(hot) > 0)


def test_temperature_where_all_is_clear_or_nothing_is(rng):
    y = rng.integers(0, 2, 400)
    clear = np.where(y[:, None] == np.arange(2), 9.0, 0.0)
    for n in (1, 10, 400):
        t = _best_temperature(clear[:n], y[:n], np.ones(n))
        p = 1 / (1 + np.exp(-9 / t))
        assert p == pytest.approx((n + 0.5) / (n + 1), rel=1e-9)  # n rows, and one of which nothing is known
    against = _best_temperature(clear, 1 - y, np.ones(400))
    assert 1 / (1 + np.exp(-9 / against)) == pytest.approx(0.5, abs=1e-5)
    assert _best_temperature(np.zeros((5, 2)), y[:5], np.ones(5)) == 1


def test_temperature_is_learned_from_rows_that_were_not_seen():
    data = table(400)
    state, _ = boosted(data)
    assert len(state.chains) == 6
    held = np.concatenate([chain.held_out for chain in state.chains[1:]])
    np.testing.assert_array_equal(np.sort(held), np.arange(400))
    for chain in state.chains[1:]:
        assert np.all(chain.share[chain.held_out] == 0)
        assert not chain.members
    many = table(2001)
    assert [len(chain.held_out) for chain in Reweight(STUMP, 3).start(many).chains] == [
        0,
        pytest.approx(400, abs=2),
    ]
    few, _ = boosted(FEW, n=3)
    assert len(few.chains) == 1
    assert np.exp(-Reweight(STUMP, 3).vote(few).log_w[0]) == 1
