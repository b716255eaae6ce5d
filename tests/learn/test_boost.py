"""Boosting as a scheme: blocks of rounds, chains that leave rows out, rows that judge, and fits that end early."""

import pickle
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import quorate as q
from quorate.learn import Data, learn
from quorate.learn.boost import FOLDS, MANY, Boost, Course, Stopping, dispersion, residual_voice, unseen
from quorate.members import losses
from quorate.members.boosted import OfCounts, OfNumbers
from quorate.members.families import FAMILIES
from quorate.members.growth import Growth
from quorate.members.rounds import Rounds
from quorate.run import Here, Threads, TimeBudget, Watch
from quorate.store import Checkpoint

RNG = np.random.default_rng
GROWTH = Growth(max_leaf_nodes=6, min_samples_leaf=4, subsample=0.7, max_features=0.7, learning_rate=0.2)
LOSSES = {
    "binary": losses.TwoClasses(),
    "classes": losses.Classes(4),
    "squared": losses.Squared(),
    "quantiles": losses.Quantiles((0.2, 0.8)),
    "huber": losses.Huber(),
    "normal": FAMILIES["normal"](),
}


def table(loss="squared", n=160, weight=None, seed=0):
    rng = RNG(seed)
    X = rng.normal(size=(n, 3)).round(1)
    signal = X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(size=n).round(2)
    k = {"binary": 2, "classes": 4}.get(loss)
    if k is None:
        return Data(X, signal, weight, seed=7)
    return Data(X, np.digitize(signal, np.linspace(-1, 1, k - 1)), weight, classes=np.arange(k), seed=7)


def boost(loss="squared", n_rounds=12, **given):
    return Boost(GROWTH, LOSSES[loss], n_rounds, **given)


def learned(scheme, data, where=None, **watch):
    """The last state."""
    return learn(scheme, data, Watch(where or Here(), **watch))[0]


def bits(state):
    """The trees of all chains, and what judged them."""
    told, courses = ("column", "threshold", "values", "rows"), [chain.course for chain in state.chains]
    return [([getattr(c.model, name).tobytes() for name in told], c.judged) for c in courses]


class Pickles(Here):
    """Jobs and what comes of them go through another process, as it were."""

    def each(self, jobs, data):
        for job, member in super().each(pickle.loads(pickle.dumps(list(jobs))), data):
            yield pickle.loads(pickle.dumps((job, member)))


# rounds in blocks


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_go_on_from_memory_as_from_the_trees(loss, monkeypatch):
    """Whatever the block, wherever it runs; with chains that leave rows out as well."""
    data, scheme = table(loss), boost(loss, n_folds=2)
    at_once = bits(learned(scheme, data))
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 5)
    for where in (Here(), Pickles(), Threads(2)):
        assert bits(learned(scheme, data, where)) == at_once


def test_a_block_that_goes_on_does_not_begin_anew(monkeypatch):
    """Scores are found from the trees once; live rounds are used where they are those of the course."""
    begun, init = [], Rounds.__init__

    def counted(self, *given, **more):
        begun.append(1)
        init(self, *given, **more)

    monkeypatch.setattr(Rounds, "__init__", counted)
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 3)
    learned(boost(), table())
    assert len(begun) == 1
    learned(boost(), table(), Pickles())
    assert len(begun) == 5


def test_live_rounds_of_another_course_are_not_gone_on_with(monkeypatch):
    """Telling the state before again, as a fit does that was interrupted in between, gives the same rounds."""
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 4)
    data, scheme = table(), boost()
    state, fit = scheme.start(data), lambda s: [(job, job.fit(data)) for job in scheme.ask(s)]
    seats = [q.learn.Seat(*done) for done in fit(state)]
    state = scheme.tell(state, seats)
    first, again = fit(state)[0][1], fit(state)[0][1]
    assert first.model.values.tobytes() == again.model.values.tobytes()


# chains


def test_each_row_is_left_out_once():
    """Together with its copies; of many rows a fold is enough."""
    data = table(n=100)
    data = Data(np.tile(data.X, (2, 1)), np.tile(data.y, 2), seed=7)
    state = boost().start(data)
    assert len(state.chains) == 1
    state = boost(n_folds=None).start(data)
    held = np.array([np.isin(np.arange(200), chain.held) for chain in state.chains])
    assert len(held) == 1 + FOLDS
    np.testing.assert_array_equal(held.sum(axis=0), 1)
    np.testing.assert_array_equal(held[:, :100], held[:, 100:])
    many = table(n=MANY + 1)
    sizes = [len(chain.held) for chain in boost(n_folds=None).start(many).chains]
    assert sizes == [0, -(-len(many) // FOLDS)]
    assert len(boost(n_folds=3).start(many).chains) == 4
    one = Data(np.ones((4, 2)), np.ones(4))
    assert len(boost(n_folds=None).start(one).chains) == 1


def test_a_chain_does_not_see_the_rows_it_leaves_out():
    """Whatever their answers were."""
    data, scheme = table(), boost(n_folds=3)
    jobs = scheme.ask(scheme.start(data))
    for job, chain in zip(jobs, scheme.start(data).chains):
        other = np.array(data.y)
        other[chain.held] += 1e3
        one, two = (job.member.fit(data.prepared(job.member), y, job.draw(data)) for y in (data.y, other))
        assert one.model.values.tobytes() == two.model.values.tobytes()
        assert one.model.start == two.model.start


def test_what_a_chain_says_of_the_rows_it_left_out():
    state = learned(boost(n_folds=3), table())
    rows, f = unseen(state, 7)
    np.testing.assert_array_equal(np.sort(rows), np.arange(160))
    for chain in state.chains[1:]:
        mine = np.isin(rows, chain.held)
        np.testing.assert_array_equal(f[mine], chain.course.model.first(7).scores(state.data.X[chain.held]))
    rows, f = unseen(learned(boost(), table()), 7)
    assert rows.shape == (0,)
    assert f.shape == (0, 1)


def test_weights_of_chains_are_those_of_the_data():
    weight = RNG(1).integers(1, 4, 160).astype(float)
    data, scheme = table(weight=weight), boost(n_folds=2)
    first, *rest = scheme.ask(scheme.start(data))
    np.testing.assert_array_equal(first.draw(data), weight)
    for job, chain in zip(rest, scheme.start(data).chains[1:]):
        held = np.isin(np.arange(160), chain.held)
        np.testing.assert_array_equal(job.draw(data), np.where(held, 0.0, weight))


# rows that judge


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("given", [0, 40])
def test_what_judges_is_the_loss_of_rows_that_were_not_seen(loss, given):
    weight = RNG(1).integers(1, 4, 160).astype(float)
    data = table(loss, weight=weight)
    state = learned(boost(loss, stopping=Stopping(1000, 0.0, 0.2, given)), data)
    (chain,) = state.chains
    if given:
        np.testing.assert_array_equal(chain.held, np.arange(120, 160))
    assert 0.15 < len(chain.held) / 160 < 0.3
    rows, course = chain.held, chain.course
    for i in (1, 5, 12):
        f = course.model.first(i).scores(data.X[rows])
        own = (weight[rows],) if loss == "huber" else ()  # whose δ is a quantile
        want = np.average(LOSSES[loss].risk(f, data.y[rows], *own), weights=weight[rows])
        assert course.judged[i - 1] == pytest.approx(want, rel=1e-12)
    assert course.best == 1 + np.argmin(course.judged)
    assert not course.ended


def test_it_ends_when_so_many_rounds_were_in_vain(monkeypatch):
    """Also across blocks: the same rounds, whatever they are."""
    data, courses = table(n=100), []
    for block in (1, 7, 20):
        monkeypatch.setattr("quorate.learn.boost.BLOCK", block)
        scheme = Boost(replace(GROWTH, learning_rate=0.8), LOSSES["squared"], 200, Stopping(6, 0.0, 0.3))
        courses.append(learned(scheme, data).chains[0].course)
    one = courses[0]
    assert all(c.judged == one.judged and c.ended for c in courses)
    assert len(one.judged) == one.model.n_rounds < 200
    losses_ = np.array(one.judged)
    stops = [t for t in range(7, len(losses_) + 1) if losses_[t - 6 : t].min() >= losses_[: t - 6].min()]
    assert stops == [len(losses_)]


def test_by_how_much_it_must_fall():
    """With a tolerance, small gains are in vain."""
    rounds = [
        learned(boost(n_rounds=100, stopping=Stopping(5, tol, 0.3)), table()).chains[0].course.model.n_rounds
        for tol in (0.0, 0.05, 10.0)
    ]
    assert rounds[0] > rounds[1] >= rounds[2] == 6


def test_a_course_without_judges_is_best_at_its_end():
    model = learned(boost(n_rounds=3), table()).chains[0].course.model
    assert Course(model).best == 3
    assert Course(model, (3.0, 1.0, 1.0)).best == 2


# what scores say of numbers


def test_residuals_of_means_have_the_mean_nought():
    data = table(weight=RNG(1).integers(1, 4, 160).astype(float))
    state = learned(boost(n_folds=4), data)
    voice = residual_voice(state, OfNumbers(), 12, "mean")
    assert np.average(voice.residuals, weights=voice.weights) == pytest.approx(0.0, abs=1e-12)
    f = np.linspace(-1, 1, 5)[:, None]
    np.testing.assert_allclose(voice.point(f), f[:, 0], atol=1e-12)
    plain = residual_voice(state, OfNumbers(), 12, "")
    rows, f = unseen(state, 12)
    np.testing.assert_allclose(np.sort(plain.residuals), np.sort(data.y[rows] - f[:, 0]))


@pytest.mark.parametrize("r", [0.5, 3.0, 40.0])
def test_the_dispersion_of_counts(r):
    rng = RNG(2)
    mean = rng.uniform(1, 20, 20_000)
    y = rng.poisson(rng.gamma(r, mean / r)).astype(float)
    assert dispersion(y, mean, np.ones(len(y))) == pytest.approx(r, rel=0.15)


def test_counts_that_are_no_more_than_poisson():
    rng = RNG(3)
    mean = rng.uniform(1, 20, 4000)
    y = rng.poisson(mean).astype(float)
    assert dispersion(y, mean, np.ones(4000)) > 200
    even = np.floor(mean)
    assert dispersion(even, mean, np.ones(4000)) == np.inf
    f = np.log(mean)[:, None]
    np.testing.assert_allclose(OfCounts(np.inf).dist(f).variance, mean)
    np.testing.assert_allclose(OfCounts(2.0).dist(f).variance, mean + mean**2 / 2)


# fits that end early


def xy(n=160):
    data = table(n=n)
    return np.array(data.X), np.array(data.y)


EARLY = {
    "classes": lambda **given: q.BoostedClassifier(min_samples_leaf=4, random_state=0, **given),
    "numbers": lambda **given: q.BoostedRegressor(min_samples_leaf=4, random_state=0, **given),
    "distributions": lambda **given: q.DistributionalRegressor(min_samples_leaf=4, random_state=0, **given),
}
each = pytest.mark.parametrize("kind", EARLY)


def answers(kind, y):
    return np.digitize(y, [-1, 0, 1]) if kind == "classes" else y


def said(model, X):
    return model.predict_dist(X).log_prob(model.predict(X)).tobytes(), model.predict(X).tobytes()


class Pressed:
    """Fits here; after `turns` turns someone presses Ctrl-C."""

    def __init__(self, turns):
        self.turns = turns

    def each(self, jobs, data):
        if self.turns == 0:
            raise KeyboardInterrupt
        self.turns -= 1
        yield from Here().each(jobs, data)


@each
def test_a_time_budget_leaves_the_rounds_that_were_done(kind):
    X, y = xy()
    y = answers(kind, y)
    model = EARLY[kind](n_estimators=10_000, n_jobs=2).set_callbacks(TimeBudget(1e-9)).fit(X, y)
    assert model.interrupted_
    assert model.n_estimators_ == 20
    assert said(model, X) == said(EARLY[kind](n_estimators=20).fit(X, y), X)


@each
def test_ctrl_c_leaves_the_blocks_that_were_done(kind, monkeypatch):
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 4)
    X, y = xy()
    y, before = answers(kind, y), threading.active_count()
    model = EARLY[kind](n_estimators=12, warm_start=True, subsample=0.8)
    with q.run.on(Pressed(0)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "member_")
    with q.run.on(Pressed(2)):
        model.fit(X, y)
    assert model.interrupted_
    assert model.n_estimators_ == 8
    assert said(model, X) == said(EARLY[kind](n_estimators=8, subsample=0.8).fit(X, y), X)
    model.fit(X, y)
    assert not model.interrupted_
    assert said(model, X) == said(EARLY[kind](n_estimators=12, subsample=0.8).fit(X, y), X)
    assert threading.active_count() == before


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ctrl_c_in_the_midst_of_a_round(n_jobs, monkeypatch):
    """The threads go home, and the estimator is as it was."""
    X, y = xy()
    model = q.BoostedRegressor(n_estimators=5, residual_folds=0, n_jobs=n_jobs, random_state=0).fit(X, y)
    kept, before, rounds = said_of(model, X), threading.active_count(), []
    plainly = Rounds._decide

    def pressed(self, k, grower):
        rounds.append(1)
        if len(rounds) == 3:
            raise KeyboardInterrupt
        plainly(self, k, grower)

    monkeypatch.setattr(Rounds, "_decide", pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert said_of(model, X) == kept
    assert threading.active_count() == before


def said_of(model, X):
    return model.predict(X).tobytes()


class Counted(Checkpoint):
    """Counts what is kept, and may die of it."""

    kept, last = 0, None

    def keep(self, key, member):
        super().keep(key, member)
        self.kept += 1
        if self.kept == self.last:
            raise RuntimeError("killed")


@each
def test_a_killed_fit_goes_on(kind, tmp_path, monkeypatch):
    """From the file, bit for bit; what is there is not fitted again."""
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 4)
    X, y = xy()
    y, made = answers(kind, y), partial(EARLY[kind], n_estimators=12, subsample=0.8, max_features=0.7)
    killed = Counted(tmp_path)
    killed.last = 2
    with pytest.raises(RuntimeError, match="killed"):
        made().set_callbacks(killed).fit(X, y)
    resumed = Counted(tmp_path)
    model = made().set_callbacks(resumed).fit(X, y)
    plain = made().fit(X, y)
    jobs = 3 * (6 if kind == "numbers" else 1)
    assert resumed.kept == jobs - 2
    assert said(model, X) == said(plain, X)
    with pytest.raises(ValueError, match="belongs to another fit"):
        made(max_depth=3).set_callbacks(Counted(tmp_path)).fit(X, y)


def test_a_killed_fit_with_judges_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("quorate.learn.boost.BLOCK", 3)
    X, y = xy()
    stops = {"early_stopping": True, "n_iter_no_change": 4}
    made = partial(EARLY["numbers"], n_estimators=60, learning_rate=0.5, **stops)
    killed = Counted(tmp_path)
    killed.last = 2
    with pytest.raises(RuntimeError, match="killed"):
        made().set_callbacks(killed).fit(X, y)
    model, plain = made().set_callbacks(Counted(tmp_path)).fit(X, y), made().fit(X, y)
    np.testing.assert_array_equal(model.receipts_["validation_loss"], plain.receipts_["validation_loss"])
    assert said(model, X) == said(plain, X)
