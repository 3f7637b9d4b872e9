"""What the README promises is run."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from chainrule.cli import main
from chainrule.cli.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MARKED = r"<!-- run -->\n```{}\n(.*?)```"
SHELL = re.findall(MARKED.format("sh"), README, re.DOTALL)
PYTHON = re.findall(MARKED.format("python"), README, re.DOTALL)
LINES = ["she went to class", "he was late for class", "what is the weather today", "she was late today"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files the README speaks of."""
    (tmp_path / "book.txt").write_text(
        "\n".join(f"{line} {number % 7}" for number in range(40) for line in LINES)
    )
    (tmp_path / "test.txt").write_text("\n".join(LINES))
    (tmp_path / "guesses.txt").write_text("what is the weather today\nwhat is the whether two day\n")
    rows = [
        f"{person},{hour},{what}"
        for person in "abc"
        for hour, what in enumerate(["login", "look", "buy"] * 4)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["visitor,time,action", *rows]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def shell(line: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(
        command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_commands_of_the_readme_run(place: Path) -> None:
    lines = [line for block in SHELL for line in block.splitlines() if line]
    assert lines
    for line in lines:
        words = shlex.split(line)
        if words[0] == "chainrule" and not {"|", "<", ">"} & set(words):
            assert main(words[1:]) == 0, line  # in this process, so that torch is imported once
        else:
            shell(line)


def test_the_python_of_the_readme_runs_twice_and_prints_no_empty_line(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PYTHON
    for _ in range(2):
        exec(compile("\n".join(PYTHON), "README.md", "exec"), {})
    assert all(line.strip() for line in capsys.readouterr().out.splitlines())


def test_the_readme_begins_with_the_two_commands() -> None:
    first = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]


def test_links_of_the_readme_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_verb_is_in_the_readme() -> None:
    verbs = [command.name for command in app.registered_commands]
    assert [verb for verb in verbs if f"chainrule {verb}" not in README] == []
