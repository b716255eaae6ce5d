"""Jobs on a Dask cluster: the data is sent to every worker once, and a job is a few kilobytes."""

from collections import deque
from concurrent.futures import CancelledError
from contextlib import closing
from weakref import WeakKeyDictionary

from distributed import KilledWorker, as_completed
from sklearn import get_config

from quorate.run.job import fit_job, name_job, packed_for, portable, unpacked

AHEAD = 256  # how many jobs the cluster is given at a time, at least: one that adapts grows with its work
LOSSES = 5  # how often every worker that holds the data may be lost


class Dask:
    """On the workers of a `distributed.Client`. A killed worker costs its jobs: others fit them again."""

    def __init__(self, client):
        if client.asynchronous:
            raise ValueError("give a Client that is not asynchronous: fit waits for its members")
        self.client = client
        self._sent: WeakKeyDictionary = WeakKeyDictionary()  # data → its Future on the cluster

    @property
    def width(self):
        """How many jobs run at once."""
        return max(1, sum(self.client.nthreads().values()))

    def each(self, jobs, data):
        """Pairs (job, fitted member) as they are done."""
        left = {job.key: job for job in jobs}
        losses = 0
        while left:
            try:
                with closing(self._round(list(left.values()), data)) as done:
                    for job, member in done:
                        del left[job.key]
                        yield job, member
            except CancelledError as error:
                # Every worker that held the data is gone: send it again to those that are there now.
                self._sent.pop(data, None)
                losses += 1
                if losses == LOSSES:
                    name_job(error, *list(left.values())[: self.width])
                    raise

    def _round(self, jobs, data):
        sent, config, ahead = self._future(data), get_config(), max(AHEAD, 4 * self.width)
        waiting, done = deque(jobs), as_completed(loop=self.client.loop)
        futures: dict = {}
        try:
            while waiting or futures:
                while waiting and len(futures) < ahead:
                    job = waiting.popleft()
                    future = self.client.submit(_fit, packed_for(job, (job, config)), sent, pure=False)
                    futures[future] = job
                    done.add(future)
                future = next(done)
                yield futures[future], self._member(future, futures.pop(future))
        finally:
            if futures:
                self.client.cancel(list(futures), force=True)

    def _member(self, future, job):
        try:
            return unpacked(future.result())
        except KilledWorker as error:
            name_job(error, job)
            raise

    def _future(self, data):
        if data not in self._sent:
            self._sent[data] = self.client.scatter(data, broadcast=True, hash=False)
        return self._sent[data]


def _fit(blob, data):
    try:
        job, config = unpacked(blob)
        return packed_for(job, fit_job(job, data, config))
    except Exception as error:
        failure = portable(error)
    raise failure
