"""The rules of the house, each held by a test."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import statistics
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import chainrule
from chainrule.heads.base import Head
from chainrule.models.base import Body
from chainrule.tasks.base import Task

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


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
    )


def test_imports_flow_one_way() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


def test_a_module_without_a_place_and_an_import_uphill_are_refused(tmp_path: Path) -> None:
    package = shutil.copytree(
        ROOT / "src" / "chainrule", tmp_path / "src" / "chainrule", ignore=shutil.ignore_patterns("*.pyc")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (package / "stray.py").write_text("")
    (package / "models" / "curious.py").write_text("import chainrule.codecs.base\n")
    (package / "judge" / "curious.py").write_text("import chainrule.models.gpt\nimport chainrule.cli.app\n")
    found = lint_imports(tmp_path).stdout
    assert "- chainrule.stray" in found
    assert "chainrule.models.curious -> chainrule.codecs.base" in found
    assert "chainrule.judge.curious -> chainrule.models.gpt" in found
    assert "chainrule.judge.curious -> chainrule.cli.app" in found


def test_no_file_has_more_than_400_lines() -> None:
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in PYTHON}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_functions_are_short() -> None:
    lengths = functions()
    assert [one for one in lengths if one[1] > 46] == []
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


SLOW_TO_IMPORT = (
    "torch",
    "pydantic",
    "numba.np.npyimpl",
)  # layers, typer's validators, numba's rules of typing


def test_counting_imports_nothing_it_does_not_need(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("sun and rain\n" * 50)
    words = ["fit", str(tmp_path / "book.txt"), "--order", "3", "-q", "--force", "-o", str(tmp_path / "lm")]
    program = (
        f"import sys; from chainrule.cli import main; main({words!r}); print(*sys.modules, file=sys.stderr)"
    )
    for _ in range(2):  # the first one may have to compile kernels
        done = python(program)
        assert done.returncode == 0, done.stderr
    assert not set(SLOW_TO_IMPORT) & set(done.stderr.split())


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


def test_methods_of_models_tasks_and_heads_are_abstract_or_final() -> None:
    """Nobody overrides what another class has written; what families choose among are attributes."""
    assert [f"{kind.__qualname__}.{name}" for kind, name in _methods() if _is_overridden(kind, name)] == []


def test_what_those_below_must_not_override_is_marked_final() -> None:
    assert [f"{kind.__qualname__}.{name}" for kind, name in _methods() if _is_left_open(kind, name)] == []


def _methods() -> list[tuple[type, str]]:
    """All that the classes of models, tasks and heads define."""
    rooms = ("chainrule.models.", "chainrule.tasks.", "chainrule.heads.")
    for module in pkgutil.walk_packages(chainrule.__path__, "chainrule."):
        if module.name.startswith(rooms):
            importlib.import_module(module.name)
    kinds = {
        kind for root in (Body, Task, Head) for kind in _below(root) if kind.__module__.startswith(rooms)
    }
    return [(kind, name) for kind in kinds for name, value in vars(kind).items() if _is_method(name, value)]


def _below(kind: type) -> list[type]:
    return [kind, *(one for child in kind.__subclasses__() for one in _below(child))]


def _is_method(name: str, value: object) -> bool:
    own = inspect.isfunction(value) or isinstance(value, classmethod | property)
    return own and not name.startswith("__")


def _is_overridden(kind: type, name: str) -> bool:
    before = [
        vars(one)[name] for one in kind.__mro__[1:] if name in vars(one) and "chainrule" in one.__module__
    ]
    return bool(before) and not getattr(before[0], "__isabstractmethod__", False)


def _is_left_open(kind: type, name: str) -> bool:
    """Neither abstract nor final, in a class that others are made from; a property cannot bear the mark."""
    value = vars(kind)[name]
    marked = any(getattr(value, mark, False) for mark in ("__isabstractmethod__", "__final__"))
    below = any(one.__module__.startswith("chainrule.") for one in kind.__subclasses__())
    return below and not marked and not name.startswith("_") and not isinstance(value, property)
