import os

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")  # no screen


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator in the same state for every test, so no test depends on which ran before it."""
    return np.random.default_rng(20260101)
