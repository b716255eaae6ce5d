"""The contract: one predictive distribution, and all other answers come from it."""

from dataclasses import replace

import numpy as np
import pytest
from conformance.zoo import ESTIMATORS, data, fit, predicts_the_mean, title
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

import quorate as q
from quorate.dist import Categorical, Mixture, Predictive
from quorate.dist.log_pool import normalised
from quorate.vote import Powers, uniform
from quorate.vote.rules import MIXTURES, PRODUCTS, VOTES


def _learned(request):
    """(model, X, y), with rows that were not learned."""
    X, y = data(request.param)
    return fit(request.param, X, y), *data(request.param, n=40, seed=5)


learned = pytest.fixture(_learned, params=ESTIMATORS, ids=title)
classifier = pytest.fixture(_learned, params=[e for e in ESTIMATORS if is_classifier(e)], ids=title)
regressor = pytest.fixture(_learned, params=[e for e in ESTIMATORS if not is_classifier(e)], ids=title)
committee = pytest.fixture(_learned, params=[e for e in ESTIMATORS if hasattr(e, "explain")], ids=title)


def _pools(model, rules):
    if model.committee_.rule not in rules:
        pytest.skip(f"a law of committees with rule={' or '.join(rules)}")


@pytest.fixture
def mixture(committee):
    """Committees that answer with a sum."""
    _pools(committee[0], MIXTURES + VOTES)
    return committee


@pytest.fixture
def product(committee):
    """Committees that answer with a product."""
    _pools(committee[0], PRODUCTS)
    return committee


# everything from one distribution


def test_a_distribution_a_row(learned):
    model, X, _ = learned
    dist = model.predict_dist(X)
    assert isinstance(dist, Predictive)
    assert len(dist) == len(X)
    assert len(model.predict_dist(X[:1])) == len(model.predict(X[:1])) == 1


def test_a_row_does_not_know_of_the_others(learned):
    model, X, _ = learned
    all_at_once, one = model.predict_dist(X), model.predict_dist(X[7:8])
    if is_classifier(model):
        np.testing.assert_allclose(all_at_once[7].probs, one.probs, rtol=1e-12)
    else:
        np.testing.assert_allclose(all_at_once[7].quantile([0.1, 0.9]), one.quantile([0.1, 0.9]), rtol=1e-12)


def test_classes_come_from_the_distribution(classifier):
    model, X, _ = classifier
    dist, proba = model.predict_dist(X), model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_, ["ash", "birch", "cedar"])
    np.testing.assert_array_equal(dist.classes, model.classes_)
    np.testing.assert_array_equal(dist.probs, proba)
    np.testing.assert_array_equal(dist.mode, model.predict(X))
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(proba >= 0)


def test_numbers_come_from_the_distribution(regressor):
    model, X, _ = regressor
    dist = model.predict_dist(X)
    if predicts_the_mean(model):
        np.testing.assert_array_equal(dist.mean, model.predict(X))
    np.testing.assert_array_equal(dist.interval(0.8), model.predict_interval(X, 0.8))
    np.testing.assert_array_equal(dist.quantile([0.05, 0.5]), model.predict_quantile(X, [0.05, 0.5]))
    np.testing.assert_array_equal(model.predict_quantile(X, 0.5), dist.median)
    low, high = model.predict_interval(X).T
    np.testing.assert_allclose(
        model.predict_quantile(X, [0.05, 0.95]), np.stack([low, high], axis=1), rtol=1e-12
    )
    assert np.all(low <= high)
    one = low == high  # where trees agree on one value
    assert np.all(dist.cdf(np.nextafter(low, -np.inf))[one] <= 0.05)
    assert np.all(dist.cdf(low)[one] >= 0.95)
    assert model.predict_quantile(X, 0.5).shape == (len(X),)


def test_scores_come_from_the_distribution(learned):
    model, X, y = learned
    dist = model.predict_dist(X)
    w = np.random.default_rng(0).uniform(0.5, 1.5, len(y))
    for weight in (None, w):
        np.testing.assert_allclose(
            model.log_score(X, y, weight), q.score.log_score(dist, y, weight), rtol=1e-12
        )
        usual = accuracy_score if is_classifier(model) else r2_score
        assert model.score(X, y, weight) == pytest.approx(usual(y, model.predict(X), sample_weight=weight))


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 1.5, "wide", None, [0.5, 0.9]])
def test_a_level_that_is_none(regressor, level):
    model, X, _ = regressor
    with pytest.raises((ValueError, TypeError), match="level must be one number between 0 and 1"):
        model.predict_interval(X, level)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_a_probability_that_is_none(regressor, p):
    model, X, _ = regressor
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        model.predict_quantile(X, p)


def test_large_tables_are_answered_in_blocks(learned, monkeypatch):
    import quorate.estimators.base as base

    model, X, _ = learned
    at_once = model.predict(X)
    monkeypatch.setattr(base, "BLOCK", 7)
    np.testing.assert_array_equal(model.predict(X), at_once)


def test_every_estimator_has_receipts_and_says_whether_it_was_interrupted(learned):
    model = learned[0]
    assert model.interrupted_ is False
    assert isinstance(model.receipts_, dict)


# committees


def test_the_committee_answers_as_its_estimator_does(committee):
    model, X, y = committee
    mine, its = model.predict_dist(X), model.committee_.predict_dist(X)
    assert isinstance(mine, Categorical if model.committee_.rule in PRODUCTS else Mixture)
    np.testing.assert_array_equal(mine.log_prob(y), its.log_prob(y))
    assert len(model.committee_) == len(model.explain(X).parts)
    assert len(model.committee_) <= getattr(model, "n_estimators", np.inf)


def test_members_and_votes_add_up_to_the_answer(mixture):
    """The formula itself, from the outside."""
    model, X, y = mixture
    votes = np.exp(model.committee_.vote.log_weights(X))
    np.testing.assert_allclose(votes.sum(axis=1), 1.0, rtol=1e-12)
    dist = model.predict_dist(X)
    density = sum(w * np.exp(part.log_prob(y)) for w, part in zip(dist.weights.T, dist.parts))
    np.testing.assert_allclose(density, np.exp(dist.log_prob(y)), rtol=1e-10)


def test_members_and_votes_multiply_to_the_answer(product):
    """The formula of the log pool: log p = Σ w_m log p_m, normalised."""
    model, X, y = product
    told, dist = model.explain(X), model.predict_dist(X)
    votes = np.exp(model.committee_.vote.log_weights(X))
    np.testing.assert_allclose(told.votes, np.broadcast_to(votes, told.votes.shape), rtol=1e-12)
    with np.errstate(invalid="ignore"):
        log_p = sum(w[:, None] * part.log_p for w, part in zip(told.votes.T, told.parts))
    np.testing.assert_allclose(normalised(log_p), dist.log_p, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(told.total.log_prob(y), dist.log_prob(y), rtol=1e-9, atol=1e-12)
    assert all(name in str(told) for name in told.names)
    np.testing.assert_array_equal(told.row(3).total.probs, told.total[3].probs)


def test_a_product_has_no_shares(product):
    model, X, y = product
    with pytest.raises(ValueError, match="shares in a sum, and a log pool is a product"):
        model.explain(X).shares(y)


def test_ambiguity_of_a_product(product):
    """Exact where its votes sum to one, and refused elsewhere."""
    model, X, y = product
    committee = model.committee_
    log_w = committee.vote.log_w
    if abs(np.exp(log_w).sum() - 1) > 1e-9:
        with pytest.raises(
            ValueError, match=r"the votes of this log pool sum to .*known where they sum to 1"
        ):
            model.ambiguity(X, y)
    scaled = replace(committee, vote=Powers(log_w - np.logaddexp.reduce(log_w)))
    for weight in (None, np.random.default_rng(0).uniform(0.5, 1.5, len(y))):
        receipt = scaled.ambiguity(X, y, weight)["log_loss"]
        assert receipt.gap <= 1e-12 * max(1.0, receipt.members)
        assert receipt.ambiguity >= -1e-12
        assert receipt.committee == pytest.approx(-q.score.log_score(scaled.predict_dist(X), y, weight))


def test_uncertainty_adds_up(mixture):
    model, X, _ = mixture
    dist = model.predict_dist(X)
    for kind in ("variance", "entropy") if is_classifier(model) else ("variance",):
        u = dist.uncertainty(kind)
        np.testing.assert_allclose(u.within + u.between, u.total, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(sum(u.levels), u.total, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(u.total, getattr(dist, kind), rtol=1e-9, atol=1e-12)
        assert np.all(u.within >= 0)
        assert np.all(u.between >= 0)


def test_ambiguity_identity(mixture):
    """Committee loss = mean member loss − ambiguity, to a few units in the last place."""
    model, X, y = mixture
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    for weight in (None, w, w + 0.25):
        receipts = model.ambiguity(X, y, weight)
        assert {"squared_error", "log_loss"} <= receipts.keys()
        for receipt in receipts.values():
            if not np.isnan(receipt.committee):  # no row that every member holds possible
                size = max(1.0, abs(receipt.committee), abs(receipt.members), abs(receipt.ambiguity))
                assert receipt.gap <= 1e-12 * size
                assert receipt.ambiguity >= -1e-12


def test_ambiguity_is_the_loss_of_the_answer(mixture):
    model, X, y = mixture
    receipt = model.ambiguity(X, y)["squared_error"]
    if is_classifier(model):
        assert receipt.committee == pytest.approx(q.score.brier(model.committee_.predict_dist(X), y))
    else:
        assert receipt.committee == pytest.approx(np.mean((y - model.predict(X)) ** 2))


def test_who_said_what_adds_up(mixture):
    model, X, y = mixture
    told = model.explain(X)
    np.testing.assert_allclose(told.votes.sum(axis=1), 1.0, rtol=1e-12)
    assert len(told.parts) == len(told.names) == len(model.committee_)
    possible = np.isfinite(told.total.log_prob(y))
    np.testing.assert_allclose(told.shares(y)[possible].sum(axis=1), 1.0, rtol=1e-10)
    assert all(name in str(told) for name in told.names)


def test_a_product_is_not_flattened(product):
    model, X, _ = product
    assert model.committee_.flatten() is model.committee_
    twice = q.Committee((model.committee_, model.committee_), uniform(2))
    np.testing.assert_allclose(twice.flatten().predict_dist(X).probs, model.predict_proba(X), rtol=1e-12)


def test_nested_is_flattened(mixture):
    """A mixture of mixtures is the mixture of all their members, each with the product of its votes."""
    model, X, y = mixture
    dist = model.predict_dist(X)
    flat = dist.flatten()
    assert not any(isinstance(part, Mixture) for part in flat.parts)
    np.testing.assert_allclose(flat.weights.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(flat.log_prob(y), dist.log_prob(y), rtol=1e-12, atol=1e-12)
    inner = getattr(getattr(model, "estimator", None), "n_estimators", None)
    if inner is not None and getattr(model, "rule", "mixture") == "mixture":
        assert len(flat.parts) == len(model.committee_) * inner
