"""Everything we print runs: README, docs, docstring examples, skeletons."""

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quorate

ROOT = Path(__file__).parents[1]
PACKAGE = Path(quorate.__file__).parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
SKELETONS = sorted((ROOT / "docs" / "skeletons").glob("*.py"))
# A file that is there to be run as a program has nothing to import.
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The ```python blocks of a page, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, fence.start(2)) + 1, fence[2])
        for fence in FENCE.finditer(text)
        if fence[1] == "python"
    ]


def run_block(code: str, namespace: dict, name: str, line: int) -> None:
    """Run a block as a doctest where it shows a prompt, else as a program; errors point into the page."""
    if not code.lstrip().startswith(">>>"):
        # Empty lines before the code make a traceback's line the page's line.
        exec(compile("\n" * (line - 1) + code, name, "exec"), namespace)
        return
    example = doctest.DocTestParser().get_doctest(code, namespace, name, name, line - 1)
    failed, _ = doctest.DocTestRunner(optionflags=DOCTEST_FLAGS).run(example, clear_globs=False)
    namespace.update(example.globs)
    assert failed == 0, "the output differs, see above"


def of_root(path: Path) -> str:
    return str(path.relative_to(ROOT))


def of_package(path: Path) -> str:
    """The module a file is imported as."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("page", PAGES, ids=of_root)
def test_page(page, tmp_path, monkeypatch):
    """Blocks of one page share a namespace and a scratch folder, in the order they are read."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for number, (line, code) in enumerate(blocks(page), start=1):
        try:
            run_block(code, namespace, of_root(page), line)
        except BaseException as error:
            error.add_note(f"in block {number} of {of_root(page)}, which starts at line {line}")
            raise


@pytest.mark.parametrize("name", [of_package(path) for path in MODULES])
def test_docstrings(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(module, optionflags=DOCTEST_FLAGS).failed == 0


@pytest.mark.parametrize("skeleton", SKELETONS, ids=of_root)
def test_skeleton(skeleton, tmp_path):
    """A skeleton runs as it is, in its own process, and so do the examples in its docstrings."""
    examples = [sys.executable, "-m", "doctest", "-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE"]
    for command in ([sys.executable], examples):
        done = subprocess.run([*command, skeleton], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_something_to_run():
    """A changed fence or folder must not turn the tests above into tests of nothing."""
    assert blocks(ROOT / "README.md")
    assert "quorate.dist" in [of_package(path) for path in MODULES]
