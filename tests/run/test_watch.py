"""Around the loop: callbacks, time, progress, stopping, and what a checkpoint remembers."""

import io
import pickle
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.linear_model import LinearRegression

import quorate as q
from quorate.learn import Bootstrap, Resample, learn
from quorate.run import Here, Threads, TimeBudget, Watch
from tests.run.actors import TREE, Logged, fit, lines, table


class After:
    """A callback that asks to stop after `k` members; with an `error`, raises it instead."""

    def __init__(self, k, error=None):
        self.k, self.error, self.told = k, error, []

    def __call__(self, job, member):
        return self.tell(job.key)

    def tell(self, key):
        self.told.append(key)
        if len(self.told) >= self.k and self.error is not None:
            raise self.error
        return len(self.told) >= self.k

    setup = teardown = on_fit_task_begin = lambda self, estimator, context: None

    def on_fit_task_end(self, estimator, context):
        return context.task_name == "member" and self.tell(context.task_id)


class Memory:
    """A checkpoint in memory; `dies` after so many members, as a power cut would."""

    def __init__(self, dies=None):
        self.kept, self.stopped, self.dies, self.closed, self.asked = {}, False, dies, 0, []

    def __contains__(self, key):
        return key in self.kept

    def recall(self, key):
        self.asked.append(key)
        return pickle.loads(self.kept[key])

    def keep(self, key, member):
        assert key not in self.kept, "a member is fitted once"
        self.kept[key] = pickle.dumps(member)
        if len(self.kept) == self.dies:
            raise OSError("power cut")

    def stop(self):
        assert not self.stopped, "a decision is taken once"
        self.stopped = True

    def close(self):
        self.closed += 1


def committee(watch, data, member=TREE, n=8, scheme=None):
    _, made = learn(scheme or Resample(member, n, Bootstrap()), data, watch)
    return made.predict_dist(data.X).probs


@dataclass(frozen=True)
class Stages(Resample):
    """Members in stages of `many`, of which a part is of use or not."""

    many: int = 2
    in_parts: bool = True

    def ask(self, state):
        return super().ask(state)[: self.many]


# Stopping


@pytest.mark.parametrize("where", [Here(), Threads(2)], ids=lambda e: type(e).__name__)
def test_a_callback_stops_after_k_members(where):
    data, watch = table(), Watch(where, finished=After(3))
    state, made = learn(Resample(TREE, 50, Bootstrap()), data, watch)
    assert len(made) == 3
    assert watch.interrupted
    assert [seat.job.key for seat in state.seats] == sorted(seat.job.key for seat in state.seats)


def test_a_stop_after_the_last_member_is_no_interruption():
    watch = Watch(Here(), finished=After(8))
    committee(watch, table())
    assert watch.stopped
    assert not watch.interrupted


@pytest.mark.parametrize(("in_parts", "members"), [(True, 3), (False, 4)])
def test_a_stop_within_a_stage(in_parts, members):
    """Where a part of a stage is of no use, the stage is finished first."""
    watch = Watch(Here(), finished=After(3))
    state, _ = learn(Stages(TREE, 10, Bootstrap(), in_parts=in_parts), table(), watch)
    assert len(state.seats) == members


def test_an_error_of_a_callback_ends_the_fit():
    watch = Watch(Here(), finished=After(2, error=LookupError("mine")), checkpoint=(memory := Memory()))
    with pytest.raises(LookupError, match="mine"):
        committee(watch, table())
    assert memory.closed == 1
    assert len(memory.kept) == 2


# Estimators


def xy():
    data = table()
    return np.array(data.X), data.y


def test_an_estimator_that_was_stopped_is_marked_and_usable():
    X, y = xy()
    model = q.BaggingClassifier(n_estimators=50, random_state=0).set_callbacks(After(4)).fit(X, y)
    assert model.interrupted_
    assert len(model.committee_) == len(model.estimators_) == 4
    assert model.score(X, y) > 0.8
    whole = q.BaggingClassifier(n_estimators=4, random_state=0).fit(X, y)
    assert not whole.interrupted_
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_what_was_stopped_can_be_continued():
    X, y = xy()
    model = q.BaggingClassifier(n_estimators=6, random_state=0, warm_start=True)
    model.set_callbacks(After(2)).fit(X, y)
    model.set_callbacks().fit(X, y)
    assert not model.interrupted_
    whole = q.BaggingClassifier(n_estimators=6, random_state=0).fit(X, y)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_time_budget_always_gives_a_member():
    X, y = xy()
    model = q.BaggingClassifier(n_estimators=50).set_callbacks(TimeBudget(1e-9)).fit(X, y)
    assert len(model.committee_) == 1
    assert model.interrupted_


def test_a_time_budget_is_kept():
    X, y = xy()
    model = q.BaggingClassifier(n_estimators=100_000, n_jobs=2).set_callbacks(TimeBudget(0.3))
    start = time.monotonic()
    model.fit(X, y)
    assert 0.3 <= time.monotonic() - start < 3
    assert model.interrupted_


def test_a_time_budget_waits_for_a_stage_that_is_of_no_use_in_parts():
    model = q.Probabilistic(LinearRegression()).set_callbacks(TimeBudget(1e-9))
    X, _ = xy()
    model.fit(X, X[:, 0])
    assert not model.interrupted_


def test_one_time_budget_for_two_fits_at_once():
    X, y = xy()
    budget = TimeBudget(0.2)
    models = [q.BaggingClassifier(n_estimators=100_000).set_callbacks(budget) for _ in range(2)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    [thread.start() for thread in threads]
    [thread.join(20) for thread in threads]
    assert all(model.interrupted_ for model in models)
    assert not budget._ends


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "60", None])
def test_a_time_budget_that_is_none(seconds):
    with pytest.raises(ValueError, match="time budget must be a positive number"):
        TimeBudget(seconds)


def bar(model, X, y):
    """What sklearn's progress bar shows of a fit, and how many subtasks it knew of."""
    import rich.console

    screen, totals = io.StringIO(), []
    monitor = ProgressBar(max_propagation_depth=0)
    begin = monitor.on_fit_task_begin
    monitor.on_fit_task_begin = lambda estimator, context: (
        totals.append(context.max_subtasks),
        begin(estimator, context),
    )
    before = rich.get_console().file
    rich.get_console().file = screen
    try:
        model.set_callbacks(monitor).fit(X, y)
    finally:
        rich.get_console().file = before
    return screen.getvalue(), totals[0]


def test_a_progress_bar_knows_how_far_it_is():
    X, y = xy()
    said, total = bar(q.BaggingClassifier(n_estimators=7, n_jobs=2), X, y)
    assert total == 7
    assert "BaggingClassifier" in said
    assert "100%" in said


def test_a_progress_bar_of_a_warm_start():
    X, y = xy()
    model = q.BaggingClassifier(n_estimators=3, warm_start=True).fit(X, y)
    assert bar(model.set_params(n_estimators=5), X, y)[1] == 2


def test_a_progress_bar_of_folds():
    X, _ = xy()
    assert bar(q.Probabilistic(LinearRegression(), cv=3), X, X[:, 0])[1] == 4


def test_a_scoring_monitor_sees_the_committee_grow():
    pandas = pytest.importorskip("pandas")
    X, y = xy()
    X, names = pandas.DataFrame(X).add_prefix("column "), np.array(["no", "yes"])[y]
    monitor = ScoringMonitor(scoring="accuracy")
    model = q.BaggingClassifier(n_estimators=4, random_state=0).set_callbacks(monitor)
    model.fit(X, names, sample_weight=np.ones(len(y)))
    scores = {row["task_id_path"]: row["accuracy"] for row in monitor.get_logs().data}
    assert scores.pop((0,)) == model.score(X, names)
    grown = [
        q.BaggingClassifier(n_estimators=k, random_state=0).fit(X, names).score(X, names)
        for k in (1, 2, 3, 4)
    ]
    assert list(scores.values()) == grown


# Checkpoints


def test_a_fit_that_was_killed_goes_on_to_the_same_committee(tmp_path):
    data, log = table(), str(tmp_path / "log")
    member = Logged(TREE, log)
    memory = Memory(dies=3)
    with pytest.raises(OSError, match="power cut"):
        committee(Watch(Here(), checkpoint=memory), data, member)
    assert len(memory.kept) == 3
    resumed = committee(Watch(Threads(2), checkpoint=memory), data, member)
    assert np.array_equal(resumed, fit(Here(), data))
    assert len(lines(log)) == 8  # what was kept is not fitted again
    assert memory.closed == 2


def test_a_fit_that_was_done_is_only_recalled(tmp_path):
    data, log, memory = table(), str(tmp_path / "log"), Memory()
    first = committee(Watch(Here(), checkpoint=memory), data, Logged(TREE, log))
    again = committee(Watch(Here(), checkpoint=memory), data, Logged(TREE, log))
    assert np.array_equal(first, again)
    assert len(lines(log)) == 8


def test_callbacks_are_told_of_recalled_members_too():
    """So that a progress bar is right, and a callback that counts counts the same."""
    data, memory = table(), Memory(dies=3)
    with pytest.raises(OSError, match="power cut"):
        committee(Watch(Here(), checkpoint=memory), data)
    watch = Watch(Here(), checkpoint=memory, finished=(after := After(5)))
    resumed = committee(watch, data)
    assert after.told == [(m,) for m in range(5)]
    assert np.array_equal(resumed, fit(Here(), data, n=5))


@pytest.mark.parametrize("k", [1, 3, 4])
@pytest.mark.parametrize("in_parts", [True, False])
@pytest.mark.parametrize("later", [None, After(1), After(6)], ids=["never", "earlier", "later"])
def test_a_decision_to_stop_is_repeated_not_taken_again(k, in_parts, later):
    data, memory = table(), Memory()
    scheme = Stages(TREE, 8, Bootstrap(), in_parts=in_parts)
    first = committee(Watch(Here(), checkpoint=memory, finished=After(k)), data, scheme=scheme)
    watch = Watch(Here(), checkpoint=memory, finished=later)
    again = committee(watch, data, scheme=scheme)
    assert np.array_equal(first, again)
    assert watch.interrupted


@pytest.mark.parametrize("in_parts", [True, False])
def test_a_decision_is_repeated_by_a_fit_that_died_upon_it(in_parts):
    """It had decided after the first of a stage of two, and died: where parts are of no use, the stage is finished."""
    data, memory = table(), Memory()
    scheme = Stages(TREE, 8, Bootstrap(), in_parts=in_parts)
    expected = committee(Watch(Here(), finished=After(3)), data, scheme=scheme)
    state, _ = learn(scheme, data, Watch(Here()))
    memory.kept = {seat.job.key: pickle.dumps(seat.member) for seat in state.seats[:3]}
    memory.stopped = True
    assert np.array_equal(committee(Watch(Here(), checkpoint=memory), data, scheme=scheme), expected)


def test_a_member_is_kept_before_it_counts():
    """A fit that dies between keeping a member and being asked to stop asks again, and stops at the same member."""
    data, memory = table(), Memory(dies=3)
    with pytest.raises(OSError, match="power cut"):
        committee(Watch(Here(), checkpoint=memory, finished=After(3)), data)
    assert not memory.stopped
    resumed = committee(Watch(Here(), checkpoint=memory, finished=After(3)), data)
    assert np.array_equal(resumed, fit(Here(), data, n=3))


def test_a_checkpoint_of_folds():
    X, _ = xy()
    memory = Keeps()
    model = q.Probabilistic(LinearRegression(), random_state=0).set_callbacks(memory).fit(X, X[:, 0])
    assert len(memory.kept) == 6
    again = q.Probabilistic(LinearRegression(), random_state=0).set_callbacks(memory).fit(X, X[:, 0])
    assert len(memory.asked) == 6
    assert np.array_equal(model.predict_interval(X), again.predict_interval(X))


class Keeps(Memory):
    """A checkpoint as a callback; it remembers the seed of the fit it was begun for."""

    seed = None

    def begin(self, plan, seed):
        self.plan, self.seed = plan, seed if self.seed is None else self.seed
        return self.seed

    setup = teardown = on_fit_task_begin = on_fit_task_end = lambda self, estimator, context: None


def test_a_resumed_estimator_takes_the_seed_of_the_first_run():
    X, y = xy()
    memory = Keeps(dies=4)
    model = q.BaggingClassifier(n_estimators=8).set_callbacks(memory)
    with pytest.raises(OSError, match="power cut"):
        model.fit(X, y)
    resumed = model.fit(X, y).predict_proba(X)
    undisturbed = Keeps()
    undisturbed.seed = memory.seed
    assert np.array_equal(model.set_callbacks(undisturbed).fit(X, y).predict_proba(X), resumed)


def test_estimators_say_how_many_jobs_are_to_come_only_where_it_is_known():
    class Endless(Resample):
        def expected(self, state=None):
            return None

    X, y = xy()

    class Model(q.BaggingClassifier):
        def _scheme(self, member, data):
            made = super()._scheme(member, data)
            return Endless(made.member, made.n_members, made.draw)

    assert bar(Model(n_estimators=3), X, y)[1] is None
