"""Ctrl-C: what is done makes a committee, where anything is; a second one is obeyed at once."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import quorate as q
from quorate.learn import Bootstrap, Resample, learn
from quorate.members.base import Member
from quorate.run import Here, Threads, Watch
from tests.run.actors import TREE, Logged, Nests, fit, lines, table, wait_for


class Pressed:
    """Fits here; after `k` members of a turn someone presses Ctrl-C."""

    def __init__(self, k):
        self.k = k

    def each(self, jobs, data):
        yield from Here().each(jobs[: self.k], data)
        raise KeyboardInterrupt


@dataclass(frozen=True)
class Stages(Resample):
    """Stages of two members; Ctrl-C may be pressed while it makes something of them, or of the votes."""

    in_parts: bool = True
    pressed_in: str = ""

    def ask(self, state):
        return super().ask(state)[:2]

    def tell(self, state, seats):
        state = super().tell(state, seats)
        if self.pressed_in == "tell" and len(state.seats) > 2:
            raise KeyboardInterrupt
        return state

    def vote(self, state):
        if self.pressed_in == "vote":
            raise KeyboardInterrupt
        return super().vote(state)


def members(scheme, executor):
    watch = Watch(executor)
    _, made = learn(scheme, table(), watch)
    assert watch.interrupted
    return len(made)


def test_what_is_done_makes_a_committee():
    assert members(Resample(TREE, 8, Bootstrap()), Pressed(3)) == 3


def test_nothing_done_makes_none():
    with pytest.raises(KeyboardInterrupt):
        members(Resample(TREE, 8, Bootstrap()), Pressed(0))


def test_a_part_of_a_stage_that_is_of_no_use():
    with pytest.raises(KeyboardInterrupt):
        members(Stages(TREE, 8, Bootstrap(), in_parts=False), Pressed(1))


def test_earlier_stages_are_of_use():
    class PressedLater(Pressed):
        def each(self, jobs, data):
            return Pressed(1).each(jobs, data) if jobs[0].key == (4,) else Here().each(jobs, data)

    assert members(Stages(TREE, 8, Bootstrap(), in_parts=False), PressedLater(1)) == 4
    assert members(Stages(TREE, 8, Bootstrap()), PressedLater(1)) == 5


def test_ctrl_c_between_two_fits_of_members_keeps_the_state_before():
    assert members(Stages(TREE, 8, Bootstrap(), pressed_in="tell"), Here()) == 2


def test_the_second_one_is_obeyed():
    """The first ends the loop; the second comes while the votes are made of what there is."""
    with pytest.raises(KeyboardInterrupt):
        members(Stages(TREE, 8, Bootstrap(), pressed_in="vote"), Pressed(1))


def test_the_second_one_in_the_same_turn_is_obeyed():
    with pytest.raises(KeyboardInterrupt):
        members(Stages(TREE, 8, Bootstrap(), pressed_in="tell"), PressedSecond(1))


class PressedSecond(Pressed):
    def each(self, jobs, data):
        return Pressed(1).each(jobs, data) if jobs[0].key == (2,) else Here().each(jobs, data)


def test_folds_are_of_no_use_in_parts():
    X = table().X
    model = q.Probabilistic(LinearRegression())
    with q.run.on(Pressed(2)), pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "member_")


def test_an_inner_committee_leaves_it_to_the_outer_one(tmp_path):
    """Else the outer one would go on, with a member that is not what it seems."""
    member = Nests(PressesAtFifth(str(tmp_path / "log")), 1)
    assert members(Resample(member, 4, Bootstrap()), Here()) == 1


@dataclass(frozen=True)
class PressesAtFifth(Member):
    """Three are a committee; the fifth to be fitted presses Ctrl-C."""

    log: str

    def fit(self, X, y, sample_weight=None, rng=None):
        member = Logged(TREE, self.log).fit(X, y, sample_weight, rng)
        if len(lines(self.log)) == 5:
            raise KeyboardInterrupt
        return member


def test_the_interrupted_estimator_can_be_continued():
    data = table()
    X, y = np.array(data.X), data.y
    model = q.BaggingClassifier(n_estimators=6, random_state=0, warm_start=True)
    with q.run.on(Pressed(2)):
        model.fit(X, y)
    assert model.interrupted_
    assert len(model.committee_) == 2
    with q.run.on(Pressed(0)):
        model.fit(X, y)  # nothing new is done, but something was there
    assert len(model.committee_) == 2
    model.fit(X, y)
    assert not model.interrupted_
    whole = q.BaggingClassifier(n_estimators=6, random_state=0).fit(X, y)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_first_fit_that_is_interrupted_leaves_the_old_committee():
    data = table()
    X, y = np.array(data.X), data.y
    model = q.BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    before = model.predict_proba(X)
    with q.run.on(Pressed(0)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert np.array_equal(model.predict_proba(X), before)


# Real signals, to all processes of a terminal

SCRIPT = """
    import sys, time
    import quorate as q
    from tests.run.actors import TREE, Logged, lines, table
    from quorate.learn import Bootstrap, Resample, learn
    from quorate.run import Here, Processes, Threads, Watch

    def fit(seconds, log):
        watch = Watch({"here": Here, "threads": lambda: Threads(2), "processes": lambda: Processes(2)}[sys.argv[1]]())
        try:
            _, made = learn(Resample(Logged(TREE, log, seconds), 1000, Bootstrap()), table(), watch)
        except KeyboardInterrupt:
            return "none"
        return f"{len(made)} {watch.interrupted}"

    if __name__ == "__main__":
        if sys.argv[1] != "processes":
            print(fit(3, "slow"), flush=True)
        print(fit(0.02, "fast"), flush=True)
"""


@pytest.mark.parametrize("where", ["here", "threads", "processes"])
def test_ctrl_c_at_a_terminal(where, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    script = subprocess.Popen(
        [sys.executable, "-W", "error", "script.py", where],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, as at a terminal
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(tmp_path)},
    )
    press = lambda: os.killpg(script.pid, signal.SIGINT)
    if where != "processes":  # the same again, which spares the start of as many processes
        wait_for(lambda: lines(tmp_path / "slow"))
        press()
        assert script.stdout.readline() == "none\n"
    wait_for(lambda: len(lines(tmp_path / "fast")) > 8)
    pressed = time.monotonic()
    press()
    out, err = script.communicate(timeout=90)
    assert time.monotonic() - pressed < 30
    count, interrupted = out.split()
    assert 1 <= int(count) < 1000
    assert interrupted == "True"
    assert err == ""
    assert script.returncode == 0


@pytest.mark.parametrize("where", [Here(), Threads(2)], ids=lambda e: type(e).__name__)
def test_the_committee_is_the_one_that_was_asked_for(where):
    """A committee of some members is the beginning of the whole one."""
    data, watch = table(), Watch(where, finished=lambda job, member: job.key == (2,))
    state, made = learn(Resample(TREE, 40, Bootstrap()), data, watch)
    whole, _ = learn(Resample(TREE, 40, Bootstrap()), data, Watch(Here()))
    same = {seat.job.key: seat.member for seat in whole.seats}
    for seat in state.seats:
        mine, its = seat.member.predict_dist(data.X).probs, same[seat.job.key].predict_dist(data.X).probs
        assert np.array_equal(mine, its)
    assert len(made) == len(state.seats) < 40
    assert fit(Here(), data).shape == (len(data), 2)
