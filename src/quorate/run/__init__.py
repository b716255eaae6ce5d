"""Where and how long: executors that fit jobs here, on threads, processes or a cluster, and the watch around them."""

from quorate.run.executors import Here, Threads, executor, on
from quorate.run.job import fit_job
from quorate.run.one_thread import one_thread
from quorate.run.processes import Processes
from quorate.run.watch import TimeBudget, Watch

__all__ = ["Here", "Processes", "Threads", "TimeBudget", "Watch", "executor", "fit_job", "on", "one_thread"]
