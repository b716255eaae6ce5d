"""The package as a whole: a light import, names that resolve, imports that point one way."""

import ast
import importlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

import quorate

ROOT = Path(__file__).parents[1]
SOURCE = Path(quorate.__file__).parents[1]
HEAVY = {
    "numpy",
    "scipy",
    "sklearn",
    "numba",
    "duckdb",
    "matplotlib",
    "pandas",
    "distributed",
    "click",
    "rich",
}


def python(*arguments: str) -> str:
    """What a fresh interpreter prints; it imports the very quorate that is under test."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_light():
    loaded = python("-c", "import sys, quorate; dir(quorate); print(*sys.modules)").split()
    assert "quorate" in loaded
    assert HEAVY.isdisjoint(loaded)
    assert [name for name in loaded if name.startswith("quorate.")] == []


@pytest.mark.parametrize("name", quorate.__all__)
def test_public_name_resolves(name):
    value = getattr(quorate, name)
    assert value.__name__.rpartition(".")[2] == name
    assert name in dir(quorate)


def test_star_import():
    namespace = {}
    exec("from quorate import *", namespace)
    assert set(quorate.__all__) <= namespace.keys()


def test_type_checkers_see_the_same_names():
    """The imports under TYPE_CHECKING and the table of lazy names are one list written twice."""
    branch = next(node for node in _init().body if isinstance(node, ast.If))
    seen = {
        alias.name: quorate.__name__ if node.module == "quorate" else node.module
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {**quorate._HOME, **dict.fromkeys(quorate._MODULES, "quorate")}


def _init() -> ast.Module:
    return ast.parse(Path(quorate.__file__).read_text(encoding="utf-8"))


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(AttributeError, match=r"no attribute 'Norml'. Did you mean 'Normal'\?"):
        _ = quorate.Norml
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = quorate.zzz


def test_version_is_the_installed_one():
    assert quorate.__version__ == importlib.metadata.version("quorate")


def test_types_are_announced():
    assert Path(quorate.__file__).with_name("py.typed").exists()


def test_imports_point_one_way():
    lint = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    assert "KEPT" in python("-c", lint)


def test_demo_needs_no_more_than_is_installed_with_quorate():
    """The packages of the test extra are hidden, as on the machine of who runs the README's first command."""
    run = """
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in {"pandas", "polars", "pyarrow", "distributed", "dask", "pytest"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden)
from quorate.cli import main

main(["demo"])
"""
    assert "The tenth of the cases" in python("-c", run)
