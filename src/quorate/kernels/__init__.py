"""Compiled loops on plain arrays. Importing this is free: each file, and numba, is loaded when it is first used.

Kernels run without Python's lock, on fixed chunks in a fixed order, so that threads change nothing but the time.
"""

from importlib import import_module
from typing import Any

_FILES = (
    "bins",
    "boost",
    "contributions",
    "crew",
    "gain",
    "grow",
    "rounds",
    "slopes",
    "split",
    "stump",
    "walk",
)


def __getattr__(name: str) -> Any:
    if name not in _FILES:
        raise AttributeError(f"quorate.kernels has no {name!r}")
    return import_module(f"{__name__}.{name}")
