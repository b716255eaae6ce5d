"""The formula, on committees whose members say what they are told to."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import quorate as q
from quorate.committee import Committee, ambiguity
from quorate.dist import Categorical, Mixture, Normal
from quorate.learn.reweight import log_odds
from quorate.members import Fitted, Softened, choices, seated
from quorate.vote import RULES, Fixed, Powers, Vote, answer, uniform
from quorate.vote.rules import MIXTURES, VOTES

X = np.zeros((4, 1))


@dataclass(frozen=True)
class Says(Fitted):
    """A member that says the same of every row."""

    what: object

    def predict_dist(self, X):
        return self.what[np.zeros(len(X), int)]


@dataclass(frozen=True)
class Leans(Vote):
    """A vote that leans to the first of two members as x grows."""

    def log_weights(self, X):
        w = 1 / (1 + np.exp(-X[:, 0]))
        return np.log(np.stack([w, 1 - w], axis=1))


def says(*probs, classes=None):
    return Says(Categorical([probs], classes))


def votes(*w):
    return Fixed(np.log(np.array(w, float)))


# the formula


def test_the_formula(rng):
    w, means, stds = np.array([0.2, 0.5, 0.3]), rng.normal(size=3), rng.uniform(1, 2, 3)
    committee = Committee(tuple(Says(Normal(m, s)) for m, s in zip(means, stds)), votes(*w))
    y = rng.normal(size=4)
    density = np.exp(-0.5 * ((y[:, None] - means) / stds) ** 2) / (stds * np.sqrt(2 * np.pi))
    dist = committee.predict_dist(X)
    np.testing.assert_allclose(np.exp(dist.log_prob(y)), density @ w, rtol=1e-13)
    np.testing.assert_allclose(dist.mean, w @ means, rtol=1e-13)
    np.testing.assert_allclose(dist.variance, w @ (stds**2 + means**2) - (w @ means) ** 2, rtol=1e-12)
    assert len(committee) == 3


def test_votes_that_depend_on_the_row():
    committee = Committee((says(1.0, 0.0), says(0.0, 1.0)), Leans())
    x = np.array([[-30.0], [0.0], [1.0], [30.0]])
    expected = 1 / (1 + np.exp(-x[:, 0]))
    np.testing.assert_allclose(committee.predict_dist(x).probs[:, 0], expected, rtol=1e-12)


def test_classes_name_the_codes_of_the_members():
    """A member that has not seen a class is taken to hold it impossible."""
    members = (says(0.5, 0.5, classes=[0, 2]), says(1.0, classes=[1]))
    dist = Committee(members, votes(0.5, 0.5), np.array(["ash", "birch", "cedar"])).predict_dist(X)
    np.testing.assert_array_equal(dist.classes, ["ash", "birch", "cedar"])
    np.testing.assert_allclose(dist.probs[0], [0.25, 0.5, 0.25])


def test_a_committee_says_who_is_in_it():
    committee = Committee((says(1.0), Says(Normal(0.0, 1.0)), says(1.0)), uniform(3))
    assert repr(committee) == "Committee(3 members: Says; vote: Fixed)"


def test_committees_do_not_change():
    committee = Committee((says(1.0),), uniform(1))
    with pytest.raises(AttributeError):
        committee.members = ()


# rules

TREES = np.array(["ash", "birch", "cedar"])


def under(rule, members, vote=None, classes=TREES):
    return Committee(members, vote or uniform(len(members)), classes, rule=rule).predict_dist(X)


def test_the_mixture_is_not_the_majority():
    """The slip of the deck: two lean to ash, one is sure of birch. The mean is for birch, the votes are for ash."""
    three = (says(0.55, 0.45), says(0.55, 0.45), says(0.05, 0.95))
    two = TREES[:2]
    np.testing.assert_allclose(under("mixture", three, classes=two).probs[0], [1.15 / 3, 1.85 / 3])
    assert under("mixture", three, classes=two).mode[0] == "birch"
    np.testing.assert_allclose(under("majority", three, classes=two).probs[0], [2 / 3, 1 / 3])
    assert under("majority", three, classes=two).mode[0] == "ash"


def test_the_vote_of_the_most_trusted_is_outweighed_or_not():
    members = (says(1.0, 0.0, 0.0), says(0.0, 1.0, 0.0), says(0.0, 0.6, 0.4))
    assert under("majority", members, votes(0.6, 0.2, 0.2)).mode[0] == "ash"
    assert under("majority", members, votes(0.4, 0.3, 0.3)).mode[0] == "birch"


def test_names_of_the_rules():
    members = (says(0.55, 0.45, 0.0), says(0.1, 0.2, 0.7))
    np.testing.assert_array_equal(under("mixture", members).probs, under("soft", members).probs)
    np.testing.assert_array_equal(under("majority", members).probs, under("votes", members).probs)
    assert set(RULES) == {"mixture", "soft", "majority", "votes", "log"}
    with pytest.raises(ValueError, match=r"rule must be one of .*majority.*; got 'loudest'"):
        answer(under("mixture", members), "loudest")


@pytest.mark.parametrize("rule", RULES)
def test_of_equals_the_first_class_wins(rule):
    tied = (says(0.0, 0.5, 0.5), says(0.5, 0.0, 0.5), says(0.5, 0.5, 0.0))
    assert under(rule, tied).mode[0] == "ash"
    split = (says(0.0, 0.0, 1.0), says(0.0, 1.0, 0.0))
    assert under(rule, split).mode[0] == "birch"
    assert under(rule, split[::-1]).mode[0] == "birch"
    reverse = np.array(["cedar", "birch", "ash"])
    assert under(rule, split, classes=reverse).mode[0] == "birch"
    assert under(rule, (says(0.5, 0.0, 0.5),), classes=reverse).mode[0] == "cedar"


def test_one_member_decides_by_every_rule():
    for rule in RULES:
        assert under(rule, (says(0.2, 0.5, 0.3),)).mode[0] == "birch"


def test_votes_have_the_uncertainty_of_their_shares():
    """Voters have no doubts of their own: all uncertainty is between them."""
    u = under("votes", (says(0.6, 0.4, 0.0), says(0.1, 0.9, 0.0))).uncertainty()
    np.testing.assert_allclose(u.within, 0.0, atol=1e-15)
    np.testing.assert_allclose(u.between, np.log(2), rtol=1e-12)


# nesting


def random_normals(rng, n):
    return tuple(Says(Normal(m, s)) for m, s in zip(rng.normal(size=n), rng.uniform(0.5, 2, n)))


def random_votes(rng, n):
    return votes(*rng.dirichlet(np.ones(n)))


def agree(nested, X, places):
    """Assert that a committee and what it flattens to answer the same."""
    flat = nested.flatten()
    assert not any(isinstance(m, Committee) for m in flat.members)
    one, two = nested.predict_dist(X), flat.predict_dist(X)
    np.testing.assert_allclose(two.weights.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(one.log_prob(places), two.log_prob(places), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.flatten().log_prob(places), two.log_prob(places), rtol=1e-12, atol=1e-12)
    return one, two


def test_nested_is_flattened(rng):
    deep = Committee(
        (*random_normals(rng, 2), Committee(random_normals(rng, 3), random_votes(rng, 3))),
        random_votes(rng, 3),
    )
    nested = Committee((deep, *random_normals(rng, 1)), random_votes(rng, 2))
    one, two = agree(nested, X, np.linspace(-3, 3, 5)[None, :])
    assert len(two.parts) == 2 + 3 + 1
    for value in ("mean", "variance"):
        np.testing.assert_allclose(getattr(one, value), getattr(two, value), rtol=1e-12)
    np.testing.assert_allclose(one.quantile([0.1, 0.9]), two.quantile([0.1, 0.9]), rtol=1e-9)
    np.testing.assert_allclose(one.uncertainty().total, two.uncertainty().total, rtol=1e-12)


def test_nested_is_flattened_where_votes_depend_on_the_row(rng):
    x = np.linspace(-2, 2, 7)[:, None]
    inner = Committee(random_normals(rng, 2), Leans())
    agree(Committee((inner, *random_normals(rng, 1)), Leans()), x, np.linspace(-3, 3, 5)[None, :])


def test_nested_classes_are_flattened():
    """Whether the committee outside names the classes, or those inside do."""
    members = (says(0.2, 0.8), says(0.6, 0.4))
    outside = Committee((Committee(members, uniform(2)), says(1.0, 0.0)), votes(0.3, 0.7), TREES[:2])
    inside = Committee(
        (Committee(members, uniform(2), TREES[:2]), Committee(members[:1], uniform(1), TREES[:2])),
        votes(0.3, 0.7),
    )
    for nested in (outside, inside):
        agree(nested, X, np.array(["ash", "birch", "ash", "birch"]))
        np.testing.assert_array_equal(nested.flatten().classes, TREES[:2])


def test_what_is_no_mixture_is_not_flattened():
    """A vote of votes is not the vote of all voters."""
    wing = Committee((says(0.6, 0.4), says(0.6, 0.4), says(0.0, 1.0)), uniform(3), TREES[:2], rule="majority")
    lone = Committee((says(0.0, 1.0),), uniform(1), TREES[:2])
    house = Committee((wing, lone), votes(0.6, 0.4))
    assert house.flatten().predict_dist(X).mode[0] == house.predict_dist(X).mode[0]
    np.testing.assert_allclose(house.flatten().predict_dist(X).probs, house.predict_dist(X).probs)
    assert wing in house.flatten().members
    council = Committee((lone, lone), uniform(2), rule="majority")
    assert council.flatten() is council


def test_members_that_speak_of_other_classes_stay():
    few, many = Committee((says(1.0),), uniform(1), np.array([1])), says(0.5, 0.5)
    nested = Committee((few, many), uniform(2), TREES[:2])
    np.testing.assert_allclose(nested.flatten().predict_dist(X).probs, nested.predict_dist(X).probs)
    np.testing.assert_allclose(nested.predict_dist(X).probs[0], [0.25, 0.75])


def test_flat_stays_as_it_is(rng):
    flat = Committee(random_normals(rng, 2), uniform(2))
    assert flat.flatten() is flat


def test_uncertainty_level_by_level(rng):
    inner = [Committee(random_normals(rng, 3), random_votes(rng, 3)) for _ in range(2)]
    u = Committee(tuple(inner), votes(0.3, 0.7)).predict_dist(X).uncertainty()
    assert len(u.levels) == 3
    np.testing.assert_allclose(sum(u.levels), u.total, rtol=1e-12)
    between = [c.predict_dist(X).uncertainty().between for c in inner]
    np.testing.assert_allclose(u.levels[1], 0.3 * between[0] + 0.7 * between[1], rtol=1e-12)
    np.testing.assert_allclose(u.levels[0], u.between, rtol=1e-12)


# receipts


def receipts_hold(dist, y, weight=None):
    for receipt in ambiguity(dist, y, weight).values():
        assert receipt.gap <= 1e-12 * max(1.0, abs(receipt.members))
        assert receipt.ambiguity >= 0


def test_ambiguity_of_numbers(rng):
    w, means = np.array([0.2, 0.3, 0.5]), np.array([-1.0, 0.5, 2.0])
    dist = Committee(tuple(Says(Normal(m, 1.0)) for m in means), votes(*w)).predict_dist(X)
    y = rng.normal(size=4)
    receipt = ambiguity(dist, y)["squared_error"]
    assert receipt.committee == pytest.approx(np.mean((y - w @ means) ** 2), rel=1e-13)
    assert receipt.members == pytest.approx(np.mean((y[:, None] - means) ** 2 @ w), rel=1e-13)
    assert receipt.ambiguity == pytest.approx(w @ (means - w @ means) ** 2, rel=1e-13)
    receipts_hold(dist, y)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e12])
def test_ambiguity_at_every_scale(rng, scale):
    dist = Mixture(
        np.log(rng.dirichlet(np.ones(5), 4)), [Normal(scale * rng.normal(size=4), scale) for _ in range(5)]
    )
    y = scale * rng.normal(size=4)
    for receipt in ambiguity(dist, y).values():
        assert receipt.gap <= 1e-12 * max(
            abs(receipt.members), scale**2 if receipt.kind == "squared_error" else 1.0
        )


def test_ambiguity_of_classes(rng):
    dist = Mixture(np.log([0.2, 0.8]), [Categorical(rng.dirichlet(np.ones(3), 4), TREES) for _ in range(2)])
    y = TREES[rng.integers(0, 3, 4)]
    receipts = ambiguity(dist, y)
    assert receipts["squared_error"].committee == pytest.approx(q.score.brier(dist, y))
    assert receipts["log_loss"].committee == pytest.approx(-q.score.log_score(dist, y))
    receipts_hold(dist, y)
    receipts_hold(dist, y, np.array([0.0, 1.0, 2.5, 0.0]))


def test_ambiguity_of_members_that_agree_is_nothing():
    dist = Committee((says(0.3, 0.7), says(0.3, 0.7)), uniform(2), TREES[:2]).predict_dist(X)
    for receipt in ambiguity(dist, np.array(["ash", "birch", "ash", "ash"])).values():
        assert receipt.ambiguity == pytest.approx(0.0, abs=1e-15)


def test_rows_that_a_member_held_impossible_have_no_log_loss_receipt():
    dist = Committee((says(0.0, 1.0), says(0.5, 0.5)), uniform(2), TREES[:2]).predict_dist(X)
    y = np.array(["ash", "birch", "birch", "ash"])
    np.testing.assert_allclose(ambiguity(dist, y)["log_loss"].committee, -np.log(0.75))
    nobody = ambiguity(dist[[0, 3]], y[[0, 3]])["log_loss"]
    assert np.isnan(nobody.committee)
    silent = Mixture(np.log([1e-300, 1.0]), dist.parts)
    assert np.isfinite(ambiguity(silent, y)["squared_error"].committee)


def test_a_member_without_a_vote_is_not_asked():
    with np.errstate(divide="ignore"):
        vote = Fixed(np.log([0.0, 1.0]))
    dist = Committee((says(0.0, 1.0), says(0.5, 0.5)), vote, TREES[:2]).predict_dist(X)
    receipts = ambiguity(dist, np.array(["ash"] * 4))
    assert receipts["log_loss"].committee == pytest.approx(np.log(2))
    assert receipts["log_loss"].ambiguity == pytest.approx(0.0, abs=1e-15)


def test_rows_of_no_weight_give_no_receipt():
    dist = Committee((says(0.4, 0.6),), uniform(1), TREES[:2]).predict_dist(X)
    assert np.isnan(ambiguity(dist, TREES[[0, 1, 0, 1]], np.zeros(4))["squared_error"].committee)


def test_ambiguity_of_a_log_pool(rng):
    """−log p̄ = Σ w (−log p_m) − Σ w KL(p̄ ‖ p_m), exactly, where votes sum to one."""
    tables, w = rng.dirichlet(np.ones(3), 3), np.array([0.2, 0.3, 0.5])
    committee = Committee(tuple(says(*t) for t in tables), votes(*w), TREES, rule="log")
    y = TREES[[0, 1, 2, 0]]
    receipt = committee.ambiguity(X, y)["log_loss"]
    p = committee.predict_dist(X).probs[0]
    assert receipt.gap <= 1e-14
    assert receipt.committee == pytest.approx(-np.mean(np.log(p[[0, 1, 2, 0]])))
    assert receipt.ambiguity == pytest.approx(sum(v * p @ np.log(p / t) for v, t in zip(w, tables)))
    unsure = Committee(committee.members, Powers(np.log(2 * w)), TREES, rule="log")
    with pytest.raises(ValueError, match="the votes of this log pool sum to 2, and"):
        unsure.ambiguity(X, y)
    vetoed = Committee((says(0.0, 0.5, 0.5), says(0.5, 0.5, 0.0)), uniform(2), TREES, rule="log")
    assert vetoed.ambiguity(X, y)["log_loss"].share == 0.25  # only birch is possible to both


def test_a_softened_member_says_the_share_it_was_right(rng):
    member = Softened(says(0.1, 0.9, 0.0), log_odds(0.3, 3), 3)
    np.testing.assert_allclose(member.predict_dist(X).probs, [[0.15, 0.7, 0.15]] * 4)
    np.testing.assert_array_equal(choices(member, X), 1)


def test_members_that_add_their_scores_are_not_asked_for_distributions():
    """The short way is the long one."""
    members = tuple(
        Softened(says(*p), a, 3) for p, a in [((1, 0, 0), 0.3), ((0, 1, 0), 0.5), ((0, 0, 1), -0.2)]
    )
    committee = Committee(members, Powers(np.log([0.5, 2.0, 1.0])), TREES, rule="log")
    short, long = committee.predict_dist(X), committee.explain(X).total
    assert isinstance(short, Categorical)
    np.testing.assert_allclose(short.log_p, long.log_p, rtol=1e-12)
    np.testing.assert_allclose(short.log_p[0] - short.log_p[0, 0], [0, 1.7, -0.7], atol=1e-12)
    mixed = Committee((*members, says(0.2, 0.3, 0.5)), Powers(np.zeros(4)), TREES, rule="log")
    np.testing.assert_allclose(mixed.predict_dist(X).log_p, mixed.explain(X).total.log_p, rtol=1e-12)


# who said what


def test_who_said_what():
    committee = Committee(
        (says(0.9, 0.1), says(0.2, 0.8)), votes(0.25, 0.75), TREES[:2], ("optimist", "pessimist")
    )
    told = committee.explain(X)
    np.testing.assert_allclose(told.votes[0], [0.25, 0.75])
    np.testing.assert_allclose(told.shares(np.array(["ash"] * 4))[0], np.array([0.225, 0.15]) / 0.375)
    assert str(told.row(0)).splitlines() == [
        "row 0: birch 0.625, ash 0.375",
        "   0.250  optimist: ash 0.900, birch 0.100",
        "   0.750  pessimist: birch 0.800, ash 0.200",
    ]
    assert len(told.row(2).total) == 1


def test_who_said_what_of_numbers():
    told = Committee((Says(Normal(1.0, 2.0)), Says(Normal(3.0, 2.0))), uniform(2)).explain(X)
    assert "member 0: 1 ± 2" in str(told)
    assert str(told).startswith("row 0: 2 ± 2.24")
    assert str(told).count("row ") == 3  # the first few


def test_what_nobody_held_possible_was_said_by_nobody():
    told = Committee((says(1.0, 0.0), says(1.0, 0.0)), uniform(2), TREES[:2]).explain(X)
    np.testing.assert_array_equal(told.shares(np.array(["birch"] * 4)), 0.0)


# real members


@pytest.mark.parametrize("rule", MIXTURES + VOTES)
def test_bagging_of_bagging_is_one_committee(rng, rule):
    features = rng.normal(size=(60, 3))
    y = TREES[np.digitize(features[:, 0], [-0.5, 0.5])]
    inner = q.BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3)
    model = q.BaggingClassifier(inner, n_estimators=4, rule=rule, random_state=0).fit(features, y)
    dist = model.predict_dist(features)
    np.testing.assert_allclose(dist.flatten().log_p, dist.log_p, rtol=1e-12, atol=1e-12)
    assert len(dist.flatten().parts) == (12 if rule in ("mixture", "soft") else 4)


def test_committees_inside_estimators_are_flattened(rng):
    features = rng.normal(size=(60, 3))
    numbers, y = features[:, 0] + rng.normal(size=60), TREES[np.digitize(features[:, 0], [-0.5, 0.5])]
    bags = [
        q.BaggingClassifier(GaussianNB(), n_estimators=3, random_state=s).fit(features, y) for s in (0, 1)
    ]
    halves = q.BaggingClassifier(q.BaggingClassifier(GaussianNB(), 3), 4, max_features=0.7, random_state=0)
    for committee, many in (
        (q.BaggingClassifier(bags[0], 4, random_state=0).fit(features, y).committee_, 12),
        (q.BaggingRegressor(q.BaggingRegressor(BayesianRidge(), 3), 4).fit(features, numbers).committee_, 12),
        (Committee(tuple(bags), votes(0.3, 0.7)), 6),
        (
            q.BaggingClassifier(q.BaggingClassifier(GaussianNB(), 3, rule="votes"), 4)
            .fit(features, y)
            .committee_,
            4,
        ),
        (halves.fit(features, y).committee_, 4),
    ):
        dist, flat = committee.predict_dist(features), committee.flatten()
        assert len(flat) == many
        said = np.array(["ash", "yew"])[rng.integers(0, 2, 60)] if hasattr(dist, "classes") else numbers
        np.testing.assert_allclose(
            flat.predict_dist(features).log_prob(said), dist.log_prob(said), rtol=1e-12, atol=1e-12
        )


def test_what_is_no_committee():
    with pytest.raises(ValueError, match="at least one member"):
        Committee((), uniform(1))
    with pytest.raises(
        ValueError, match="rule must be one of mixture, soft, majority, votes, log; got 'veto'"
    ):
        Committee((says(1.0),), uniform(1), rule="veto")
    with pytest.raises(TypeError, match=r"a GaussianNB has no predict_dist.*quorate.members.seated"):
        Committee((GaussianNB(),), uniform(1)).predict_dist(X)
    with pytest.raises(ValueError, match="counts votes for classes, and these members speak of numbers"):
        Committee((Says(Normal(0.0, 1.0)),), uniform(1), rule="majority").predict_dist(X)
    with pytest.raises(TypeError, match=r"wrap it: quorate.Probabilistic\(SVC"):
        seated(SVC())


def test_a_fitted_estimator_is_seated(rng):
    features = rng.normal(size=(60, 3))
    y = (features[:, 0] > 0).astype(int)
    models = GaussianNB().fit(features, y), DecisionTreeClassifier().fit(features, y)
    committee = Committee(tuple(map(seated, models)), uniform(2), classes=np.array(["no", "yes"]))
    mean = (models[0].predict_proba(features) + models[1].predict_proba(features)) / 2
    np.testing.assert_allclose(committee.predict_dist(features).probs, mean, rtol=1e-12)


def test_ready_models_form_a_committee(rng):
    """Estimators sit on a committee as they are, where they answer with distributions."""
    features = rng.normal(size=(80, 2))
    y = features @ [1.0, -2.0] + 0.3 * rng.normal(size=80)
    models = [
        q.BaggingRegressor(BayesianRidge(), n_estimators=2, random_state=s).fit(features, y) for s in (0, 1)
    ]
    committee = Committee(tuple(models), votes(0.4, 0.6))
    dist = committee.predict_dist(features)
    np.testing.assert_allclose(
        dist.mean, 0.4 * models[0].predict(features) + 0.6 * models[1].predict(features)
    )
    receipts_hold(dist, y)
    u = dist.uncertainty()
    np.testing.assert_allclose(sum(u.levels), u.total, rtol=1e-12)
