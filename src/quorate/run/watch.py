"""What goes on around the loop, once for all schemes: time, progress, stopping, Ctrl-C, checkpoints.

A `Watch` is what the loop calls `run`. It hands jobs to an executor, tells scikit-learn's callbacks of each finished
member (a callback may ask to stop: a progress bar, a `TimeBudget`), and keeps finished members in a checkpoint, from
which the same fit takes them back instead of fitting them again.

A checkpoint owes `key in checkpoint`, `recall(key)`, `keep(key, member)`, `stop()`, `stopped` and `close()`. A decision
to stop is kept before it acts, and a fit that is resumed repeats it instead of asking again.
"""

import time
from contextlib import ExitStack, contextmanager
from numbers import Real

from quorate.run.job import in_job
from quorate.run.one_thread import one_thread


class Watch:
    """One fit under watch; `stopped` ends the loop, `interrupted` says that it ended early."""

    def __init__(self, executor, *, finished=None, checkpoint=None):
        self.executor = executor
        self.finished = finished  # called with (job, member) after each; True asks to stop
        self.checkpoint = checkpoint
        self.stopped = False
        self.interrupted = False
        self.state = None  # of the scheme, when the turn of the loop began
        self.fitted = []  # pairs (job, member) of this turn, as they were done
        self._ctrl_c = False

    def __enter__(self):
        with ExitStack() as around:
            around.enter_context(one_thread())
            if self.checkpoint is not None:
                around.callback(self.checkpoint.close)
            self._around = around.pop_all()
        return self

    def __exit__(self, *error):
        self._around.close()

    @contextmanager
    def turn(self, state):
        """One turn of the loop. Ctrl-C in it ends the loop with the state before it, if that has members."""
        self.state, self.fitted = state, []
        try:
            yield
        except KeyboardInterrupt:
            if not (state.members and self._first_ctrl_c()):
                raise

    def fit_each(self, jobs, data, in_parts=False):
        """{key: fitted member}: of all jobs, or, where a part is of use, of those done when it was time to stop."""
        fitted: dict = {}
        rest = [job for job in jobs if not self._recalled(job, fitted)]
        if rest and self._stop_before(fitted, in_parts):
            return fitted
        try:
            self._fit(rest, data, fitted, in_parts)
        except KeyboardInterrupt:
            if not (fitted and in_parts and self._first_ctrl_c()):
                raise
        self._no_job_lost(jobs, fitted)
        return fitted

    def finish(self, early):
        """The loop is over; `early` says that the scheme would have gone on."""
        self.interrupted = early

    def _fit(self, jobs, data, fitted, in_parts):
        each = iter(self.executor.each(jobs, data)) if jobs else iter(())
        try:
            for job, member in each:
                if self.checkpoint is not None:
                    self.checkpoint.keep(job.key, member)
                fitted[job.key] = member
                self._tell(job, member)
                if self.stopped and in_parts:
                    return
        finally:
            if hasattr(each, "close"):
                each.close()

    def _recalled(self, job, fitted):
        """Whether the checkpoint has the job's member; then it is among the fitted, and needs no fit."""
        if self.checkpoint is None or job.key not in self.checkpoint:
            return False
        fitted[job.key] = self.checkpoint.recall(job.key)
        self._tell(job, fitted[job.key])
        return True

    def _tell(self, job, member):
        """Tell the callbacks; where they ask to stop, this is noted before it is acted upon."""
        self.fitted.append((job, member))
        asked = self.finished is not None and self.finished(job, member)
        if asked and not self.stopped and not self._decided_before:
            if self.checkpoint is not None:
                self.checkpoint.stop()
            self.stopped = True

    @property
    def _decided_before(self):
        return self.checkpoint is not None and self.checkpoint.stopped

    def _stop_before(self, fitted, in_parts):
        """Whether the rest of these jobs is left; where parts are of no use, what was begun is fitted to its end."""
        self.stopped = self.stopped or self._decided_before
        return self.stopped and (in_parts or not fitted)

    def _first_ctrl_c(self):
        """Whether this Ctrl-C is to end the loop in good order: the first one is, in the outermost fit."""
        first = not (self._ctrl_c or in_job())
        self._ctrl_c = True
        self.stopped = self.stopped or first
        return first

    def _no_job_lost(self, jobs, fitted):
        lost = [job.key for job in jobs if job.key not in fitted]
        if lost and not self.stopped:
            name = type(self.executor).__name__
            raise RuntimeError(
                f"{name} ended without an answer for {len(lost)} of {len(jobs)} jobs, first {lost[0]}"
            )


class TimeBudget:
    """A scikit-learn callback that ends a fit after `seconds`, with the members that are done by then.

    The clock is read when a member is done, so there is always one, and a budget can be passed by the time of one.

    >>> import quorate as q
    >>> model = q.BaggingClassifier(n_estimators=10_000).set_callbacks(q.run.TimeBudget(0.2))
    """

    def __init__(self, seconds):
        if not (isinstance(seconds, Real) and float(seconds) > 0):
            raise ValueError(f"a time budget must be a positive number of seconds, got {seconds!r}")
        self.seconds = seconds
        self._ends = {}  # of the fits under way: one callback may serve several at once

    def setup(self, estimator, context):
        """Start the clock."""
        self._ends[context.root_uuid] = time.monotonic() + self.seconds

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        """Whether the time is up."""
        return time.monotonic() >= self._ends[context.root_uuid]

    def teardown(self, estimator, context):
        """Stop the clock."""
        self._ends.pop(context.root_uuid, None)
