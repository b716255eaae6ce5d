"""| D: how members and votes are learned. One loop (`loop.py`), and one file a scheme."""

from quorate.learn.filter import Filtering
from quorate.learn.loop import Data, Job, Scheme, Seat, committee, learn
from quorate.learn.resample import Bootstrap, Resample, Subsample

__all__ = [
    "Bootstrap",
    "Data",
    "Filtering",
    "Job",
    "Resample",
    "Scheme",
    "Seat",
    "Subsample",
    "committee",
    "learn",
]
