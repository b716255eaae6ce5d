"""The model file: `save` and `load`, and the `Checkpoint` of a fit.

One file holds any model of quorate's: estimators, committees, members, votes and distributions, and pipelines around
them. Loading it runs no code of the file's, imports nothing that the file names, follows no path and unpickles nothing;
the worst that a bad file does is a ModelFormatError.

- format.py: the layout, a checksum over it, and writing that is whole or not at all
- codec.py: values to strict JSON (strict.py) and tensors, and back
- registry.py: the closed list of types, entered in committees.py, trees.py, distributions.py and estimators.py, with
  checks.py
- third.py: scikit-learn's estimators, by skops; schema.py, npy.py and states.py check what skops will read, and
  trust.py says which types the caller must have named
"""

from quorate.store import boosted, committees, distributions, estimators  # noqa: F401 — they enter their types
from quorate.store.checkpoint import Checkpoint
from quorate.store.format import ModelFormatError
from quorate.store.model import load, save

__all__ = ["Checkpoint", "ModelFormatError", "load", "save"]
