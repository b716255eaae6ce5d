"""A fit that is killed goes on where it was, and ends with the model it would have ended with."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import quorate as q
from quorate.store import Checkpoint, strict

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.digitize(X[:, 0], [-0.5, 0.5])


def bag(**parameters):
    return q.BaggingClassifier(**{"n_estimators": 6, "random_state": 0, **parameters})


def members(folder):
    return sorted(path.name for path in folder.glob("*.member"))


class Counted(Checkpoint):
    """Counts what is kept, and may die of it."""

    kept, last = 0, None

    def keep(self, key, member):
        super().keep(key, member)
        self.kept += 1
        if self.kept == self.last:
            raise RuntimeError("killed")


def killed_after(n, model, folder, X=X, y=Y):
    checkpoint = Counted(folder)
    checkpoint.last = n
    with pytest.raises(RuntimeError, match="killed"):
        model.set_callbacks(checkpoint).fit(X, y)
    assert len(members(folder)) == n


def resumed(model, folder, X=X, y=Y):
    checkpoint = Counted(folder)
    return model.set_callbacks(checkpoint).fit(X, y), checkpoint.kept


def test_a_killed_fit_goes_on(tmp_path):
    plain = bag().fit(X, Y)
    killed_after(2, bag(), tmp_path)
    model, fitted = resumed(bag(), tmp_path)
    assert fitted == 4
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_seed_that_nobody_chose_is_kept(tmp_path):
    killed_after(2, bag(random_state=None), tmp_path)
    first, _ = resumed(bag(random_state=None), tmp_path)
    again, fitted = resumed(bag(random_state=None), tmp_path)
    assert fitted == 0
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))


def test_estimators_that_are_members_themselves(tmp_path):
    """Probabilistic keeps bare scikit-learn estimators; bags of bags keep quorate's own."""
    model = q.Probabilistic(SVC(), random_state=0)
    killed_after(3, q.Probabilistic(SVC(), random_state=0), tmp_path / "margins")
    again, fitted = resumed(q.Probabilistic(SVC(), random_state=0), tmp_path / "margins")
    assert fitted == 3
    np.testing.assert_array_equal(again.predict_proba(X), model.fit(X, Y).predict_proba(X))
    deep = bag(estimator=bag(n_estimators=2), max_features=2)
    killed_after(2, deep, tmp_path / "bags")
    again, fitted = resumed(deep, tmp_path / "bags")
    assert fitted == 4
    plain = bag(estimator=bag(n_estimators=2), max_features=2).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), plain.predict_proba(X))


def test_a_process_that_is_killed(tmp_path):
    code = (
        "import os, signal, numpy as np, quorate as q\n"
        "from store.test_checkpoint import Counted, bag, X, Y\n"
        "class Dies(Counted):\n"
        "    def keep(self, key, member):\n"
        "        super().keep(key, member)\n"
        "        if self.kept == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"bag().set_callbacks(Dies({str(tmp_path / 'fit')!r})).fit(X, Y)\n"
    )
    path = os.pathsep.join(["tests", os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    model, fitted = resumed(bag(), tmp_path / "fit")
    assert fitted == 3
    np.testing.assert_array_equal(model.predict_proba(X), bag().fit(X, Y).predict_proba(X))


def test_another_plan_is_refused(tmp_path):
    killed_after(2, bag(), tmp_path)
    others = [
        (bag(n_estimators=7), X, Y),
        (bag(), X + 1, Y),
        (bag(), X, Y[::-1]),
        (bag(random_state=1), X, Y),
    ]
    for model, rows, y in others:
        with pytest.raises(
            ValueError, match=r"belongs to another fit .*give another folder, or delete this one"
        ):
            model.set_callbacks(Checkpoint(tmp_path)).fit(rows, y)
    assert len(members(tmp_path)) == 2


@pytest.mark.parametrize(
    "damage",
    [lambda d: d[:100], lambda d: d[:-1] + b"x", lambda d: b"", lambda d: b"x" * 100],
    ids=["cut", "flipped", "empty", "other"],
)
def test_what_is_damaged_is_fitted_again(tmp_path, damage):
    killed_after(3, bag(), tmp_path)
    part = tmp_path / members(tmp_path)[1]
    part.write_bytes(damage(part.read_bytes()))
    model, fitted = resumed(bag(), tmp_path)
    assert fitted == 4
    np.testing.assert_array_equal(model.predict_proba(X), bag().fit(X, Y).predict_proba(X))


def test_members_of_other_fits_and_places_do_not_count(tmp_path):
    killed_after(2, bag(), tmp_path / "a")
    killed_after(2, bag(n_estimators=9), tmp_path / "b")
    (tmp_path / "a" / "1.member").write_bytes((tmp_path / "b" / "1.member").read_bytes())
    (tmp_path / "a" / "2.member").write_bytes((tmp_path / "a" / "0.member").read_bytes())
    _, fitted = resumed(bag(), tmp_path / "a")
    assert fitted == 5


def test_a_decision_to_stop_is_repeated(tmp_path):
    class Impatient(Counted):
        def on_fit_task_end(self, estimator, context, **given):
            return self.kept == 3

    first = Impatient(tmp_path)
    model = bag().set_callbacks(first).fit(X, Y)
    assert model.interrupted_
    assert first.stopped
    assert len(model.committee_) == 3
    again, fitted = resumed(bag(), tmp_path)
    assert fitted == 0
    assert again.interrupted_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_folders_that_are_none(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files than a checkpoint's"):
        bag().set_callbacks(Checkpoint(tmp_path)).fit(X, Y)
    assert os.listdir(tmp_path) == ["precious.txt"]
    (tmp_path / "plan.json").write_text('{"plan": 3}')
    with pytest.raises(ValueError, match=r"is no checkpoint: .*delete it to begin anew"):
        bag().set_callbacks(Checkpoint(tmp_path)).fit(X, Y)


def test_trust(tmp_path):
    killed_after(2, bag(estimator=DecisionTreeClassifier()), tmp_path)
    with pytest.raises(q.ModelFormatError, match=r'0.member: .*\n.*DecisionTree(.*\n)*.*trust=\["sklearn"\]'):
        bag(estimator=DecisionTreeClassifier()).set_callbacks(Checkpoint(tmp_path, trust=())).fit(X, Y)


def test_a_member_that_cannot_be_kept_says_so_at_once(tmp_path):
    model = q.BaggingRegressor(BayesianRidge(), n_estimators=3)
    model.estimator.verbose = lambda: 0
    with pytest.raises((TypeError, ValueError), match=r"cannot be saved|verbose"):
        model.set_callbacks(Checkpoint(tmp_path)).fit(X, X[:, 0])


def test_its_own_manners(tmp_path):
    checkpoint = Checkpoint(tmp_path / "deep" / "folder")
    assert checkpoint.begin("plan", 2**100) == 2**100
    assert Checkpoint(tmp_path / "deep" / "folder").begin("plan", 3) == 2**100
    assert (0, 1) not in checkpoint
    with pytest.raises(KeyError):
        checkpoint.recall((0, 1))
    checkpoint.keep((0, 1), {"a": 1.0})
    assert (0, 1) in checkpoint
    assert checkpoint.recall((0, 1)) == {"a": 1.0}
    assert not checkpoint.stopped
    checkpoint.stop()
    assert checkpoint.stopped
    assert strict.parse((tmp_path / "deep" / "folder" / "plan.json").read_bytes(), "it") == {
        "plan": "plan",
        "seed": 2**100,
    }
