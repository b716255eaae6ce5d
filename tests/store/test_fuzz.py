"""A few hundred of the mutated files of benchmarks/fuzz_model_file.py, in this process."""

import warnings

import pytest

from benchmarks import fuzz_model_file as fuzz
from quorate.store import model as store

SEEDS = range(10**6, 10**6 + 300)


@pytest.fixture(scope="module")
def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = fuzz.models()
    del made["sizes"]  # large
    return made


def test_mutated_files(models, tmp_path):
    files = {name: store.written(model) for name, model in models.items()}
    expected = {name: fuzz.said(model) for name, model in models.items()}
    mutator, outcomes = fuzz.Mutator(files), set()
    for seed in SEEDS:
        kind, base, mended, trusted, data = mutator.make(seed)
        (tmp_path / "model").write_bytes(data)
        if data != files[base]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                outcome, remark, model = fuzz.trial(tmp_path / "model", mended, trusted, expected[base])
            assert outcome in (*fuzz.FINE, "different"), (seed, kind, base, outcome, remark)
            assert model is None or fuzz.whole(model), (seed, kind, base)
            outcomes.add(outcome)
    assert outcomes >= {"refused", "identical"}
