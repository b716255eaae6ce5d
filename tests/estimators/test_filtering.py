"""FilteringClassifier: streams of any cut, streams that end, tables, and what it says of itself."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import quorate as q
from quorate.committee import Committee

FEW_MISTAKES = "expert 1 left too few mistakes to learn from"
FEW_DISPUTES = "experts 1 and 2 left too few disagreements to learn from"
STUMP = DecisionTreeClassifier(max_depth=1)


def rows(n, seed=0):
    """A corner that one cut can not tell."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    return X, np.where((X[:, 0] > 0) & (X[:, 1] > 0), "in", "out")


def cut(X, y, size):
    return ((X[s : s + size], y[s : s + size]) for s in range(0, len(y), size))


def endless(seed=0, size=500, make=rows):
    while True:
        yield make(size, seed)
        seed += 1


# Streams


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_where_a_stream_is_cut_says_nothing(depth):
    X, y = rotated(60_000, 0)
    model = q.FilteringClassifier(STUMP, depth, 200, random_state=0)
    whole = clone(model).fit_stream([(X, y)], classes=["above", "below"])
    for size in (13, 1000, 7001):
        other = clone(model).fit_stream(cut(X, y, size), classes=["above", "below"])
        assert other.consumed_ == whole.consumed_
        assert other.receipts_ == whole.receipts_
        assert other.ended_ == whole.ended_
        np.testing.assert_array_equal(other.predict_proba(X[:500]), whole.predict_proba(X[:500]))


def test_the_seed_decides():
    probs = [
        q.FilteringClassifier(STUMP, n_examples=200, random_state=seed)
        .fit_stream(endless())
        .predict_proba(rows(500, 99)[0])
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(probs[0], probs[1])
    assert np.any(probs[0] != probs[2])


def test_a_stream_is_read_as_far_as_is_needed():
    read = []

    def watched():
        for block in endless(size=100):
            read.append(len(block[1]))
            yield block

    model = q.FilteringClassifier(STUMP, n_examples=200, random_state=0).fit_stream(watched())
    used = model.consumed_["stream"][1]
    assert 0 <= sum(read) - used < 100


def test_experts_may_be_taught_elsewhere():
    here = q.FilteringClassifier(STUMP, 2, 100, random_state=0)
    there = clone(here)
    with q.run.on("processes", n_jobs=2):
        there.fit_stream(endless(make=rotated))
    here.fit_stream(endless(make=rotated))
    X = rotated(500, 99)[0]
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
    assert there.consumed_ == here.consumed_


def test_a_budget_that_is_spent_leaves_what_was_learned():
    model = q.FilteringClassifier(STUMP, 2, 100, random_state=0).set_callbacks(q.run.TimeBudget(1e-9))
    model.fit_stream(endless(make=rotated))
    assert model.interrupted_
    assert len(model.experts_) == 1
    assert model.score(*rotated(1000, 99)) > 0.6


def test_what_the_filters_consumed():
    model = q.FilteringClassifier(STUMP, n_examples=2000, random_state=0).fit_stream(endless())
    consumed, errors = model.consumed_, model.receipts_["committee"].errors
    assert consumed["expert 2"][0] == consumed["expert 3"][0] == 2000
    expected = 2000 * (1 / errors[0] + 1 / (1 - errors[0])) / 2
    assert consumed["expert 2"][1] == pytest.approx(expected, rel=0.15)
    aside = round(0.2 * 3 * 2000)
    looked = consumed["expert 2"][1] + consumed["expert 3"][1]
    assert consumed["stream"] == (aside + 2000 + looked,) * 2


def test_a_committee_of_three_beats_one_where_one_cannot_tell():
    scores = [
        q.FilteringClassifier(DecisionTreeClassifier(max_depth=1), depth, 1000, random_state=0)
        .fit_stream(endless(make=rotated))
        .score(rotated(20_000, 99)[0], rotated(20_000, 99)[1])
        for depth in (0, 1, 2)
    ]
    assert scores[0] < scores[1] < scores[2]


def rotated(n, seed):
    """A slanting line, which stumps draw in steps."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.where(X.sum(axis=1) > 0, "above", "below")


def test_receipts_keep_their_promise():
    model = q.FilteringClassifier(STUMP, 2, 500, random_state=0).fit_stream(endless(make=rotated))
    assert list(model.receipts_) == ["committee", "expert 1", "expert 2", "expert 3"]
    for receipt in model.receipts_.values():
        assert receipt.measured <= receipt.predicted + 1e-12
    whole = model.receipts_["committee"]
    assert whole.errors == tuple(model.receipts_[f"expert {k}"].measured for k in (1, 2, 3))
    X, y = rotated(50_000, 99)
    assert 1 - model.score(X, y) == pytest.approx(whole.measured, abs=4 * whole.standard_error)


def test_probabilities_are_honest_of_new_examples():
    model = q.FilteringClassifier(STUMP, n_examples=2000, random_state=0).fit_stream(endless(make=rotated))
    X, y = rotated(50_000, 99)
    dist = model.predict_dist(X)
    assert np.isfinite(dist.log_prob(y)).all()
    sure = dist.probs.max(axis=1) > 0.9
    assert np.mean(dist.mode[sure] == y[sure]) == pytest.approx(dist.probs.max(), abs=0.03)


# Streams that end, and filters that starve


def starving(n, *, estimator=STUMP, depth=1, n_examples=200, **more):
    X, y = rotated(n, 0)
    model = q.FilteringClassifier(estimator, depth, n_examples, random_state=0, **more)
    with pytest.raises(ValueError, match="the stream ended after") as error:
        model.fit_stream(cut(X, y, 100))
    assert not hasattr(model, "committee_")
    return str(error.value)


def test_a_stream_that_ends_before_it_begins():
    model = q.FilteringClassifier(n_examples=200)
    with pytest.raises(ValueError, match=r"ended after 0 examples.*set aside.*takes 120.*longer stream"):
        model.fit_stream([])
    with pytest.raises(ValueError, match="no examples; give at least one block"):
        q.FilteringClassifier(n_examples=200, validation_fraction=0).fit_stream([])
    assert "after 100 examples, all of them to be set aside" in starving(100)


def test_a_stream_that_ends_says_which_expert_starved():
    said = starving(300)
    assert re.search(
        r"after 300 .* expert 1 \(depth 1 of 1\) had 180 of the 200 examples it needs\. Give", said
    )
    said = starving(450)
    assert re.search(r"expert 2 \(depth 1 of 1\) had \d+ of the 200 examples", said)
    assert re.search(r"the filter of expert 2 let \d+ of 130 through", said)
    assert re.search(r"longer stream, n_examples below 200, depth below 1, or a weaker estimator", said)


def test_a_stream_that_ends_names_all_the_filters_it_went_through():
    said = starving(4500, depth=2)
    assert re.search(r"expert 2\.\d \(depth 2 of 2\) had \d+ of the 200", said)
    assert re.search(
        r"filter of expert 2 let \d+ of \d+ through; the filter of expert 2\.\d let \d+ of", said
    )


def test_an_endless_stream_without_mistakes_ends_with_one_expert():
    def easy():
        for X, _ in endless():
            yield np.sign(X), X[:, 0] > 0

    model = q.FilteringClassifier(KNeighborsClassifier(1), n_examples=50, patience=300, random_state=0)
    model.fit_stream(easy())
    assert model.ended_ == {"committee": FEW_MISTAKES}
    assert len(model.experts_) == 1
    assert model.consumed_["expert 2"][1] >= 300
    assert len(model.receipts_["committee"].errors) == 1


def test_experts_that_never_disagree_leave_one():
    def noise():
        for _, y in endless():
            yield np.zeros((len(y), 1)), np.arange(len(y)) % 5 == 0

    constant = DecisionTreeClassifier(max_depth=1, class_weight={False: 1.0, True: 0.1})
    model = q.FilteringClassifier(constant, n_examples=50, patience=300, random_state=0).fit_stream(noise())
    assert model.ended_ == {"committee": FEW_DISPUTES}
    assert len(model.experts_) == 1


def test_an_inner_committee_may_have_one_expert():
    X, y = rows(300)
    model = q.FilteringClassifier(DecisionTreeClassifier(), 2, random_state=0).fit(X, y)
    assert set(model.ended_.values()) <= {FEW_MISTAKES, FEW_DISPUTES}
    assert all(isinstance(expert, Committee) for expert in model.experts_)


# Blocks that are none


def test_what_is_wrong_with_a_block_is_said_with_its_number():
    good = rows(500)

    def fails(match, *bad, error=ValueError, **how):
        with pytest.raises(error, match=match):
            q.FilteringClassifier(GaussianNB(), n_examples=2000).fit_stream([good, *bad], **how)

    fails(r"block 1 of the stream: .*pair \(X, y\), not a ndarray", good[0], error=TypeError)
    fails(
        r"block 1 of the stream: .*NaN.*column 1, row 3",
        (np.where(np.arange(1000).reshape(500, 2) == 7, np.nan, good[0]), good[1]),
    )
    fails(r"block 1 of the stream: .*3 features.*same columns", (np.ones((500, 3)), good[1]))
    fails(r"block 1 of the stream: .*one y for each row", (good[0], good[1][:-1]))
    strange = np.where(np.arange(500) == 4, "yew", good[1])
    fails(r"block 1 of the stream: row 4 of y has 'yew'.*\['in', 'out'\].*classes=", (good[0], strange))
    fails(r"block 0 of the stream: row 0 of y has '(in|out)'", classes=[0, 1])


def test_classes_are_those_of_the_first_block_or_told():
    X, y = rows(20_000)
    model = q.FilteringClassifier(STUMP, n_examples=100, random_state=0)
    assert list(clone(model).fit_stream(cut(X, y, 500)).classes_) == ["in", "out"]
    told = clone(model).fit_stream(cut(X, y, 500), classes=["out", "in", "between"])
    assert list(told.classes_) == ["between", "in", "out"]
    assert told.predict_proba(X[:3]).shape == (3, 3)
    one_first = [(X[:1], y[:1]), *cut(X, y, 500)]
    with pytest.raises(ValueError, match="where the first block does not hold them all, name them"):
        clone(model).fit_stream(one_first)


def test_sparse_blocks_and_frames():
    pd = pytest.importorskip("pandas")
    X, y = rows(20_000)
    model = q.FilteringClassifier(STUMP, n_examples=100, random_state=0)
    plain = clone(model).fit_stream(cut(X, y, 500)).predict_proba(X[:100])
    thin = clone(model).fit_stream((sparse.csr_array(X), y) for X, y in cut(X, y, 500))
    np.testing.assert_array_equal(thin.predict_proba(X[:100]), plain)
    framed = clone(model).fit_stream((pd.DataFrame(X, columns=["a", "b"]), y) for X, y in cut(X, y, 500))
    assert list(framed.feature_names_in_) == ["a", "b"]


def test_a_checkpoint_cannot_keep_a_stream(tmp_path):
    model = q.FilteringClassifier(STUMP, n_examples=100).set_callbacks(q.Checkpoint(tmp_path / "fit"))
    with pytest.raises(ValueError, match="cannot tell one stream from another"):
        model.fit_stream(endless())


# Tables


def test_a_table_that_is_interrupted_goes_on_from_its_checkpoint(tmp_path):
    X, y = make_classification(400, 5, flip_y=0.1, random_state=0)
    model = q.FilteringClassifier(STUMP, 2, random_state=0)
    whole = clone(model).fit(X, y)
    begun = clone(model).set_callbacks(q.Checkpoint(tmp_path / "fit"), q.run.TimeBudget(1e-9)).fit(X, y)
    assert begun.interrupted_
    assert len(begun.experts_) == 1
    (tmp_path / "fit" / "stopped").unlink()
    again = clone(model).set_callbacks(q.Checkpoint(tmp_path / "fit")).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    assert again.receipts_ == whole.receipts_


def test_rows_set_aside_are_taught_to_nobody():
    X, y = rows(500)
    model = q.FilteringClassifier(DecisionTreeClassifier(), n_examples=20_000, random_state=0).fit(X, y)
    leaf = model.experts_[0].estimator
    assert leaf.tree_.n_node_samples[0] == 20_000
    assert model.receipts_["committee"].rows == pytest.approx(100, abs=2)
    everything = q.FilteringClassifier(STUMP, validation_fraction=0, random_state=0).fit(X, y)
    assert everything.receipts_ == {}
    np.testing.assert_allclose(everything.predict_proba(X).max(), 0.75)


@pytest.mark.parametrize(
    "estimator",
    [Perceptron(), LinearSVC(), KNeighborsClassifier(3), GaussianNB(), q.BaggingClassifier(n_estimators=3)],
    ids=lambda e: type(e).__name__,
)
def test_only_decisions_count(estimator):
    """Weights are drawn, so experts need not take any."""
    X, y = make_classification(
        600, 5, n_informative=4, n_redundant=0, flip_y=0.1, n_classes=3, random_state=0
    )
    w = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = q.FilteringClassifier(estimator, random_state=0).fit(X[:400], y[:400], w[:400])
    assert model.score(X[400:], y[400:]) > 0.5
    dist = model.predict_dist(X)
    np.testing.assert_array_equal(model.predict(X), dist.mode)
    np.testing.assert_array_equal(dist.mode, model.committee_.members[0].predict_dist(X).probs.argmax(axis=1))


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LinearRegression(), "needs a classifier, and LinearRegression is none"),
        (FrozenEstimator(GaussianNB()), "learns nothing from what filters let through"),
        (DecisionTreeClassifier, "give an instance"),
    ],
)
def test_experts_that_cannot_be(estimator, match):
    with pytest.raises((TypeError, ValueError), match=match):
        q.FilteringClassifier(estimator).fit(*rows(50))


def test_explain_names_the_two():
    X, y = rows(300)
    told = q.FilteringClassifier(STUMP, random_state=0).fit(X, y).explain(X[:2])
    assert told.names == ("experts", "doubt")
    assert "doubt" in str(told)
