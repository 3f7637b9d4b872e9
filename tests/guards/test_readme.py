"""The README is short, begins with the two commands and names every verb."""

from __future__ import annotations

import re
from pathlib import Path

from chainrule.cli.app import app

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_readme_begins_with_the_two_commands() -> None:
    first = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.splitlines()) <= 150


def test_every_verb_is_in_the_readme() -> None:
    verbs = [command.name for command in app.registered_commands]
    assert [verb for verb in verbs if f"chainrule {verb}" not in README] == []
