"""The checkpoint of a fit: a folder with a file for each finished member, from which the same fit goes on.

    plan.json       the digest of the plan (data, parameters), and the seed that all randomness comes from
    <key>.member    a member, in the format of a model file
    stopped         there, if the fit decided to stop early; written before the decision is acted on

A fit that is killed leaves whole files only, so the same fit, started again with the same folder, takes back what is
there and ends with the model it would have ended with.
"""

from pathlib import Path

from quorate.store import format, model, strict
from quorate.store.format import ModelFormatError, Untrusted
from quorate.store.trust import Trust


class Checkpoint:
    """A scikit-learn callback that keeps each finished member in a folder, so that a killed fit can go on.

    Parameters
    ----------
    path : str or PathLike
        The folder, made if need be. It belongs to one fit: the same estimator, parameters and data.
    trust : list of classes or names, default=("sklearn",)
        As for `quorate.load`: the third-party types that members may have when they are taken back.

    Examples
    --------
    >>> import quorate as q
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = q.BaggingClassifier(n_estimators=3).set_callbacks(q.Checkpoint("fit")).fit(X, y)
    """

    def __init__(self, path, trust=("sklearn",)):
        self.path = path
        self.trust = trust
        self._trust = Trust(trust)
        self._folder = Path(path)
        self._plan = None
        self._found = {}

    # what a fit asks for

    def begin(self, plan, seed):
        """Open the folder for a plan: the seed to use, which is the one of the fit that began it."""
        self._found = {}
        self._plan = plan
        known = self._known_plan() or self._begun(plan, seed)
        if known["plan"] != plan:
            raise ValueError(
                f"the checkpoint in {self._folder} belongs to another fit (other data, parameters or estimator); "
                f"give another folder, or delete this one to begin anew"
            )
        return known["seed"]

    def _begun(self, plan, seed):
        """The plan written down: this one, or that of another fit which was first."""
        self._folder.mkdir(parents=True, exist_ok=True)
        others = [file for file in self._folder.iterdir() if file.suffix != ".part"]
        if others and self._known_plan() is None:
            raise ValueError(
                f"{self._folder} holds other files than a checkpoint's; give an empty or a new folder"
            )
        format.write_first(self._folder / "plan.json", strict.text({"plan": plan, "seed": seed}))
        return self._known_plan()

    def _known_plan(self):
        try:
            data = (self._folder / "plan.json").read_bytes()
        except FileNotFoundError:
            return None
        try:
            plan, seed = strict.keys(strict.parse(data, "plan.json"), ("plan", "seed"), "plan.json")
            if type(plan) is not str or type(seed) is not int or seed < 0:
                raise ModelFormatError("plan.json holds no plan and seed")
        except ModelFormatError as error:
            raise ValueError(f"{self._folder} is no checkpoint: {error}; delete it to begin anew") from error
        return {"plan": plan, "seed": seed}

    def __contains__(self, key):
        """Whether a member is there, whole, and of this plan."""
        if key not in self._found:
            try:
                kept = model.read(format.read(self._file(key)), self._trust)
            except Untrusted as error:
                raise Untrusted(f"{self._file(key)}: {error}") from error
            except (FileNotFoundError, ModelFormatError):
                return False
            if type(kept) is not dict or (kept.get("plan"), kept.get("key")) != (self._plan, key):
                return False
            self._found[key] = kept["member"]
        return True

    def recall(self, key):
        """The member of a key that is there."""
        if key not in self:
            raise KeyError(key)
        return self._found.pop(key)

    def keep(self, key, member):
        """Write a finished member down."""
        format.write(self._file(key), model.written({"plan": self._plan, "key": key, "member": member}))

    def stop(self):
        """Write down that the fit is to stop here."""
        format.write(self._folder / "stopped", b"")

    @property
    def stopped(self):
        """Whether the fit had decided to stop."""
        return (self._folder / "stopped").exists()

    def close(self):
        """The fit is over; the folder stays until somebody deletes it."""
        self._found = {}

    def _file(self, key):
        return self._folder / ("-".join(str(int(k)) for k in key) + ".member")

    # what scikit-learn asks of a callback

    def setup(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_begin(self, estimator, context, **given):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context, **given):
        """Nothing to do."""

    def teardown(self, estimator, context):
        """Nothing to do."""
