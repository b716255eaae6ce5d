"""A Dask cluster of real processes: the same bits as here, the data once, and workers that are killed."""

import os
import signal
import threading

import numpy as np
import pytest
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neural_network import MLPClassifier

import quorate as q
from quorate.members import as_member
from quorate.run import Here, TimeBudget, executor
from quorate.run.job import packed
from tests.run.actors import (
    TREE,
    Counted,
    Dies,
    Fails,
    FailsOddly,
    Logged,
    Nests,
    Scribbles,
    Where,
    fit,
    jobs,
    lines,
    table,
    wait_for,
)

distributed = pytest.importorskip("distributed")
# A killed worker leaves a half-read connection behind, which the cluster's own threads complain of.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", silence_logs=50, **options) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture
def where(client):
    with q.run.on(client):
        yield executor()


ESTIMATORS = [LinearDiscriminantAnalysis(), MLPClassifier(10, max_iter=3)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_bits_as_here(where, estimator):
    data, member = table(), as_member(estimator)
    assert np.array_equal(fit(where, data, member, n=6), fit(Here(), data, member, n=6))


def test_an_estimator_on_a_cluster(client):
    X, y = np.asarray(table().X), table().y
    model = q.BaggingClassifier(n_estimators=4, random_state=0)
    here = model.fit(X, y).predict_proba(X)
    with q.run.on(client):
        assert np.array_equal(model.fit(X, y).predict_proba(X), here)


def test_how_many_at_once(where):
    assert where.width == 4


def test_one_thread_and_the_askers_settings(where):
    with config_context(assume_finite=True):
        said = [member.what for _, member in where.each(jobs([Where()] * 8), table())]
    assert len({pid for pid, *_ in said} - {os.getpid()}) == 2
    assert all(threads == {1} for _, _, threads, _ in said)
    assert all(assume_finite for *_, assume_finite in said)


def test_a_committee_in_a_committee_runs_in_its_parents_thread(where):
    said = [member.what for _, member in where.each(jobs([Nests(Where())] * 8), table())]
    assert all(inner == {outer} for outer, inner, _ in said)


def test_the_data_is_sent_once(where, tmp_path):
    """Pickled once here; worker to worker it is broadcast, which pickles it once more."""
    X = table().X.view(Counted)
    X.log = str(tmp_path / "log")
    data = table()
    object.__setattr__(data, "X", X)
    for _ in range(3):  # as many stages, one fit
        assert len(list(where.each(jobs([TREE] * 8), data))) == 8
    assert len(lines(X.log)) == 1
    assert len(packed((jobs([TREE])[0], {}))) < 4000


def test_an_error_names_its_member_and_stops_the_others(where, tmp_path):
    log = str(tmp_path / "log")
    several = [TREE, Fails(LookupError("no such row")), *[Logged(TREE, log, 0.2)] * 40]
    with pytest.raises(LookupError, match="no such row") as caught:
        list(where.each(jobs(several), table()))
    assert "while fitting member (1,) (Fails(" in "".join(caught.value.__notes__)
    assert len(list(where.each(jobs([TREE] * 3), table()))) == 3
    assert len(lines(log)) < 20


def test_no_member_changes_the_data(where):
    with pytest.raises(ValueError, match="read-only"):
        list(where.each(jobs([Scribbles()] * 2), table()))


def test_an_error_that_cannot_travel_is_told_in_words(where):
    with pytest.raises(RuntimeError, match="Odd: too odd in row 3"):
        list(where.each(jobs([FailsOddly()] * 2), table()))


def test_closing_drops_what_has_not_begun(where, client, tmp_path):
    log = str(tmp_path / "log")
    each = where.each(jobs([Logged(TREE, log, 0.05)] * 40), table())
    next(each)
    each.close()
    wait_for(lambda: not any(client.processing().values()))
    assert len(lines(log)) < 20


def test_two_fits_at_once(where):
    both = [table(seed) for seed in (1, 2)]
    answers = [None, None]

    def run(k):
        answers[k] = fit(where, both[k])

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(answers[k], fit(Here(), both[k])) for k in (0, 1))


def test_a_time_budget(client):
    X, y = np.asarray(table().X), table().y
    model = q.BaggingClassifier(n_estimators=100_000).set_callbacks(TimeBudget(0.3))
    with q.run.on(client):
        model.set_params(n_estimators=1000).fit(X, y)
    assert model.interrupted_ == (len(model.committee_) < 1000)
    assert len(model.committee_) >= 1


def kill(log, after, pids):
    """Kill processes, of those that the log names, when it has grown so long."""

    def killing():
        wait_for(lambda: len(lines(log)) >= after)
        for pid in list(dict.fromkeys(lines(log)[::-1]))[:pids]:
            os.kill(int(pid), signal.SIGKILL)

    thread = threading.Thread(target=killing)
    thread.start()
    return thread


@pytest.mark.parametrize("killed", [1, 2], ids=["one of two", "all that have the data"])
def test_killed_workers_cost_the_jobs_under_way(where, tmp_path, killed):
    log = str(tmp_path / "log")
    data, member = table(), Logged(TREE, log, 0.05)
    thread = kill(log, 9, killed)
    answer = fit(where, data, member, n=16)
    thread.join()
    assert np.array_equal(answer, fit(Here(), data, TREE, n=16))
    assert 16 < len(lines(log)) <= 16 + 8  # four were under way, and as many may not have been fetched


@pytest.mark.slow
def test_a_member_that_kills_its_worker_is_named(where):
    with pytest.raises((distributed.KilledWorker, distributed.CancelledError)) as caught:
        list(where.each(jobs([TREE, Dies(), TREE]), table()))
    assert "(1,) (Dies())" in caught.value.__notes__[0]
    assert len(list(where.each(jobs([TREE] * 3), table()))) == 3


def test_a_client_that_cannot_be_waited_for():
    class Asynchronous:
        asynchronous, submit, scatter = True, None, None

    with pytest.raises(ValueError, match="not asynchronous"), q.run.on(Asynchronous()):
        pass
