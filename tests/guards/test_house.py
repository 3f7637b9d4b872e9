"""The rules of the house, each held by a test."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import chainrule

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PYTHON = sorted(
    path
    for folder in ("src", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if path.is_file()
)


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def functions() -> list[tuple[str, int]]:
    """Every function of the package and how many lines it has."""
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((f"{path.name}:{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1))
    return found


def test_imports_flow_one_way() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_no_file_has_more_than_400_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_functions_are_short() -> None:
    lengths = functions()
    assert [one for one in lengths if one[1] > 60] == []
    assert statistics.median(lines for _, lines in lengths) <= 8


def test_there_is_no_drawer_for_everything() -> None:
    assert [path for path in PYTHON if re.fullmatch(r"(utils?|helpers?|misc|common)\.py", path.name)] == []


def test_nothing_is_pickled() -> None:
    assert [
        path.name for path in SOURCES if re.search(r"import pickle|torch\.load\(", path.read_text("utf-8"))
    ] == []


def test_the_front_door_is_sorted_and_every_name_is_there() -> None:
    assert list(chainrule.__all__) == sorted(chainrule.__all__)
    assert dir(chainrule) == list(chainrule.__all__)
    assert all(getattr(chainrule, name) is not None for name in chainrule.__all__)
    with pytest.raises(AttributeError, match="Bundle"):
        chainrule.bundel  # noqa: B018


@pytest.mark.parametrize("library", ["torch", "numba", "numpy"])
@pytest.mark.parametrize(
    "program",
    [
        "import chainrule",
        "from chainrule.cli import main; main(['--help'])",
        "from chainrule.cli import main; main([])",
    ],
    ids=["import", "help", "nothing"],
)
def test_the_front_door_is_light(program: str, library: str) -> None:
    done = python(f"import sys\n{program}\nsys.exit({library!r} in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert versions[0] == chainrule.__version__


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())}
    pinned = dict(
        re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert wanted <= set(pinned)
    assert pinned["torch"] == "2.13.0"
