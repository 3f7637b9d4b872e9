"""The notebook of the lectures is the page, and its cells print what stands below them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_notebook_is_the_page() -> None:
    spec = importlib.util.spec_from_file_location("lectures", DOCS / "lectures.py")
    assert spec and spec.loader
    lectures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lectures)
    page = lectures.PAGE.read_text(encoding="utf-8")
    assert lectures.NOTEBOOK.read_text(encoding="utf-8") == lectures.notebook(page), "write it: make lectures"
    assert page.count("<!-- notebook -->") == len(lectures.code(page)) > 4


def test_the_cells_of_the_notebook_print_what_they_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    cells = json.loads((DOCS / "lectures.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            assert capsys.readouterr().out == cell["outputs"][0]["text"], cell["source"]
