"""Serial, threads and processes: the same bits, the data once, errors that say which member, nothing left behind."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import psutil
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

import quorate as q
from quorate.learn import Bootstrap, Data, Job
from quorate.members import as_member
from quorate.run import Here, Processes, Threads, executor, processes
from quorate.run.executors import workers
from quorate.run.job import packed
from tests.run.actors import (
    TREE,
    Counted,
    Dies,
    Fails,
    FailsOddly,
    Logged,
    Nests,
    Odd,
    Said,
    Scribbles,
    Unreturnable,
    Warns,
    Where,
    fit,
    jobs,
    lines,
    table,
    wait_for,
)

EVERYWHERE = [Here(), Threads(2), Processes(2)]
BESIDE = EVERYWHERE[1:]
name = lambda where: type(where).__name__


@pytest.fixture(autouse=True, scope="module")
def no_process_left():
    yield
    if processes._idle is not None:
        processes._idle[2].shutdown()
        processes._idle = None


# The same bits

ESTIMATORS = [
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    LogisticRegression(),
    MLPClassifier(20, max_iter=3),
    RandomForestClassifier(3, n_jobs=2),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_bits_everywhere(estimator):
    data, member = table(), as_member(estimator)
    expected = fit(Here(), data, member, n=4)
    for where in BESIDE:
        assert np.array_equal(fit(where, data, member, n=4), expected)


def test_the_same_bits_for_rows_that_are_not_contiguous():
    """A view that runs backwards is summed in another order than its copy, which is what another process gets."""
    whole = table(n=600)
    X = np.repeat(whole.X, 2, axis=1)[::-1, ::2]
    data = Data(X, np.repeat(whole.y, 2)[::-2], classes=whole.classes, seed=1)
    member = as_member(GaussianNB())
    expected = fit(Here(), data, member)
    assert all(np.array_equal(fit(where, data, member), expected) for where in BESIDE)


def test_the_same_bits_for_sparse_rows():
    whole = table()
    X = sparse.csr_matrix(np.where(whole.X > 0.5, whole.X, 0.0))
    X.indices, X.data = X.indices.copy(), X.data.copy()
    first = slice(X.indptr[0], X.indptr[1])
    X.indices[first], X.data[first] = X.indices[first][::-1].copy(), X.data[first][::-1].copy()
    X.has_sorted_indices = False
    data = Data(X, whole.y, classes=whole.classes, seed=1)
    expected = fit(Here(), data)
    assert all(np.array_equal(fit(where, data), expected) for where in BESIDE)


def test_members_stand_in_the_order_of_their_keys():
    """Later jobs are done first, and yet the committee is the same."""

    class Backwards:
        def each(self, jobs, data):
            return list(Here().each(jobs[::-1], data))

    data = table()
    assert np.array_equal(fit(Backwards(), data), fit(Here(), data))


@pytest.mark.parametrize("where", EVERYWHERE, ids=name)
def test_one_thread_and_the_askers_settings(where):
    with config_context(assume_finite=True):
        said = [member.what for _, member in where.each(jobs([Where()] * 3), table())]
    assert all(threads == {1} for _, _, threads, _ in said)
    assert all(assume_finite for *_, assume_finite in said)


@pytest.mark.parametrize("where", EVERYWHERE, ids=name)
def test_no_member_changes_the_data(where):
    with pytest.raises(ValueError, match="read-only"):
        list(where.each(jobs([Scribbles()] * 2), table()))


def test_data_is_read_only_where_it_arrives():
    assert not pickle.loads(pickle.dumps(table())).X.flags.writeable


def test_what_the_user_gave_stays_writeable():
    X = np.zeros((4, 2))
    Data(X, np.arange(4.0))
    assert X.flags.writeable


# `on`


@pytest.mark.parametrize(
    ("where", "n_jobs", "kind", "width"),
    [
        ("here", None, Here, 1),
        ("threads", 3, Threads, 3),
        ("processes", 2, Processes, 2),
        (Threads(5), None, Threads, 5),
    ],
)
def test_on(where, n_jobs, kind, width):
    with q.run.on(where, n_jobs):
        assert isinstance(executor(4), kind)
        assert executor(4).width == width
    assert isinstance(executor(), Here)


def test_on_in_on():
    def fails():
        with q.run.on("here"):
            assert isinstance(executor(), Here)
            raise KeyError

    with q.run.on("threads", 2):
        with pytest.raises(KeyError):
            fails()
        assert isinstance(executor(), Threads)
    assert isinstance(executor(), Here)


@pytest.mark.parametrize("where", ["cluster", None, Threads, 2, np.zeros(3)], ids=repr)
def test_on_nowhere(where):
    with pytest.raises(ValueError, match='where must be "here"'), q.run.on(where):
        pass


@pytest.mark.parametrize(("n_jobs", "error"), [(0, ValueError), (2.0, TypeError), (True, TypeError)])
def test_on_a_bad_number(n_jobs, error):
    with pytest.raises(error, match="n_jobs must"), q.run.on("threads", n_jobs):
        pass


def test_on_an_executor_that_knows_its_number():
    with pytest.raises(ValueError, match="n_jobs=2 is for threads"), q.run.on(Threads(3), 2):
        pass


def test_how_many_workers():
    import joblib

    assert workers(None) == 1
    assert workers(-1) == joblib.cpu_count()
    assert workers(-1000) == 1
    with joblib.parallel_config("threading", n_jobs=3):
        assert workers(None) == 3


def test_the_estimators_n_jobs_means_threads():
    X, y = np.asarray(table().X), table().y
    same = [q.BaggingClassifier(n_estimators=4, n_jobs=n, random_state=0).fit(X, y) for n in (None, 2)]
    with q.run.on("processes", 2):
        same.append(q.BaggingClassifier(n_estimators=4, random_state=0).fit(X, y))
    first, *others = [model.predict_proba(X) for model in same]
    assert all(np.array_equal(other, first) for other in others)


# The data goes once, and jobs are small


def test_the_data_is_pickled_once_and_jobs_are_small(tmp_path):
    X = table().X.view(Counted)
    X.log = str(tmp_path / "log")
    data = table()
    object.__setattr__(data, "X", X)
    where = Processes(2)
    for _ in range(3):  # as many stages, one fit
        assert len(list(where.each(jobs([TREE] * 4), data))) == 4
    assert lines(X.log) == ["pickled"]
    assert len(packed((Job((0,), TREE, Bootstrap()), {}))) < 4000


def test_the_file_of_the_data_goes_with_the_data(tmp_path, monkeypatch):
    monkeypatch.setattr(processes.tempfile, "tempdir", str(tmp_path))
    data = table()
    fit(Processes(2), data, n=2)
    assert len(list(tmp_path.iterdir())) == 1
    del data
    gc.collect()
    assert not list(tmp_path.iterdir())


# Errors


@pytest.mark.parametrize("where", EVERYWHERE, ids=name)
def test_an_error_names_its_member_and_stops_the_others(where, tmp_path):
    log = str(tmp_path / "log")
    several = [TREE, Fails(LookupError("no such row")), *[Logged(TREE, log, 0.1)] * 20]
    with pytest.raises(LookupError, match="no such row") as caught:
        list(where.each(jobs(several), table()))
    assert "while fitting member (1,) (Fails(" in "".join(caught.value.__notes__)
    time.sleep(0.25)
    assert len(lines(log)) <= 4
    assert len(list(where.each(jobs([TREE] * 3), table()))) == 3


def test_an_error_in_a_committee_in_a_committee_names_both():
    with pytest.raises(Odd) as caught:
        list(Threads(2).each(jobs([Nests(FailsOddly())] * 2), table()))
    assert len(caught.value.__notes__) == 2


def test_an_error_that_cannot_travel_is_told_in_words():
    with pytest.raises(Odd):
        list(Threads(2).each(jobs([FailsOddly()] * 2), table()))
    with pytest.raises(RuntimeError, match="Odd: too odd in row 3") as caught:
        list(Processes(2).each(jobs([FailsOddly()] * 2), table()))
    assert "while fitting member" in caught.value.__notes__[0]


def test_a_member_that_cannot_travel():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="pickle") as caught:
        list(Processes(2).each(jobs([Fails(lock), TREE]), table()))
    assert "while fitting member (0,)" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="pickle"):
        list(Processes(2).each(jobs([TREE, Unreturnable()]), table()))


def test_a_member_of_a_class_that_nobody_can_import():
    class Local(Where):
        def fit(self, X, y, sample_weight=None, rng=None):
            return Said(lambda: os.getpid())

    members = [member for _, member in Processes(2).each(jobs([Local()] * 2), table())]
    assert all(member.what() == os.getpid() for member in members)


def test_an_executor_that_loses_a_job():
    class Loses:
        def each(self, jobs, data):
            return list(Here().each(jobs[1:], data))

    with pytest.raises(RuntimeError, match=r"without an answer for 1 of 8 jobs, first \(0,\)"):
        fit(Loses(), table())


@pytest.mark.parametrize("where", EVERYWHERE, ids=name)
def test_warnings_of_members_meet_the_users_filters(where):
    with pytest.warns(ConvergenceWarning, match="not quite there"):
        list(where.each(jobs([Warns()] * 2), table()))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            list(where.each(jobs([Warns()] * 2), table()))


# Committees in committees


@pytest.mark.parametrize("where", BESIDE, ids=name)
def test_a_committee_in_a_committee_runs_in_its_parents_thread(where):
    said = [member.what for _, member in where.each(jobs([Nests(Where())] * 4), table())]
    assert all(inner == {outer} for outer, inner, _ in said)


def test_a_committee_in_a_serial_committee_may_use_threads():
    _, member = next(iter(Here().each(jobs([Nests(Where())]), table())))
    assert member.what[2] == "Threads"


@pytest.mark.parametrize("where", BESIDE, ids=name)
def test_what_on_says_holds_for_the_outermost_only(where):
    with q.run.on(where):
        said = [member.what for _, member in executor().each(jobs([Nests(Where())] * 2), table())]
    assert {kind for *_, kind in said} == {"Here"}


# Several fits at once


@pytest.mark.parametrize("where", BESIDE, ids=name)
def test_two_fits_at_once(where):
    both = [table(seed) for seed in (1, 2)]
    expected = [fit(Here(), data) for data in both]
    answers = [None, None]

    def run(k):
        answers[k] = [fit(where, both[k]) for _ in range(2)]

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for k in (0, 1):
        assert all(np.array_equal(answer, expected[k]) for answer in answers[k])


# Nothing is left behind


def test_closing_threads_waits_for_what_is_under_way(tmp_path):
    before = threading.enumerate()
    log = str(tmp_path / "log")
    each = Threads(2).each(jobs([Logged(TREE, log, 0.1)] * 20), table())
    next(each)
    each.close()
    begun = len(lines(log))
    assert begun < 6
    assert not [
        thread
        for thread in threading.enumerate()
        if thread.name.startswith("quorate") and thread not in before
    ]
    time.sleep(0.3)
    assert len(lines(log)) == begun


def test_closing_processes_ends_what_is_under_way(tmp_path):
    log = str(tmp_path / "log")
    each = Processes(2).each(jobs([TREE, *[Logged(TREE, log, 60)] * 20]), table())
    next(each)
    wait_for(lambda: lines(log))
    started = time.monotonic()
    each.close()
    assert time.monotonic() - started < 10
    assert not any(psutil.pid_exists(int(pid)) for pid in lines(log))


@pytest.mark.slow
def test_a_generator_that_is_dropped_is_closed(tmp_path):
    log = str(tmp_path / "log")
    each = Processes(2).each(jobs([TREE, *[Logged(TREE, log, 60)] * 3]), table())
    next(each)
    wait_for(lambda: lines(log))
    del each
    gc.collect()
    wait_for(lambda: not any(psutil.pid_exists(int(pid)) for pid in lines(log)))


SCRIPT = """
    import numpy as np
    import quorate as q

    class Mine(q.BaggingClassifier):
        "A class of the script itself."

    if __name__ == "__main__":
        X = np.random.default_rng(0).normal(size=(200, 4))
        with q.run.on("processes", 2):
            model = q.BaggingClassifier(Mine(n_estimators=2), n_estimators=4).fit(X, X[:, 0] > 0)
        print(len(model.committee_))
"""


def test_a_script_ends_in_silence(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(tmp_path / "script.py")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("4\n", "", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


# Processes that die


def kill_one_of(log, after):
    def kill():
        wait_for(lambda: len(lines(log)) >= after)
        os.kill(int(lines(log)[-1]), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_a_killed_process_costs_the_jobs_under_way(tmp_path):
    log = str(tmp_path / "log")
    data, member = table(), Logged(TREE, log, 0.05)
    thread = kill_one_of(log, after=7)
    killed = fit(Processes(2), data, member, n=12)
    thread.join()
    assert np.array_equal(killed, fit(Here(), data, TREE, n=12))
    assert 12 < len(lines(log)) <= 12 + 4  # two were under way, and two more were sent


def test_a_process_killed_between_two_fits(tmp_path):
    data, log = table(), str(tmp_path / "log")
    where = Processes(2)
    fit(where, data, Logged(TREE, log), n=4)
    os.kill(int(lines(log)[-1]), signal.SIGKILL)
    assert np.array_equal(fit(where, data), fit(Here(), data))


@pytest.mark.slow
def test_a_member_that_kills_its_process_is_named():
    where = Processes(2)
    with pytest.raises(Exception, match="terminated") as caught:
        list(where.each(jobs([TREE, Dies(), TREE]), table()))
    assert "(1,) (Dies())" in caught.value.__notes__[0]
    assert len(list(where.each(jobs([TREE] * 3), table()))) == 3


def test_what_is_taken_from_loky_is_there():
    """`processes.py` turns off a check of loky's by name."""
    assert isinstance(processes.process_executor._USE_PSUTIL, bool)


def test_data_without_arrays_worth_mapping():
    data = Data(np.zeros((0, 0)), np.zeros(0))
    assert len(pickle.dumps(data)) > 0
    assert [job.key for job, _ in Processes(2).each(jobs([Where()]), data)] == [(0,)]
