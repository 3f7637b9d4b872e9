"""A short slice of `benchmarks/faults.py`: hostile input, damage, kills and full disks leave nothing lost or wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[1] / "benchmarks" / "faults.py"
SECONDS = 15


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_nothing_is_lost_and_nothing_silently_wrong() -> None:
    words = [sys.executable, str(CAMPAIGN), "--seconds", str(SECONDS), "--slice"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    *_, tried, refused, success, traceback, hang, lost, wrong = [one.replace(",", "") for one in rows[-1]]
    assert done.returncode == 0, done.stderr
    assert int(tried) == int(refused) + int(success) >= 50
    assert [traceback, hang, lost, wrong] == ["0"] * 4


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import commands, pathlib
words = ["example", "text", "-o", {out!r}]
for fault in ("", "kill", "ENOSPC", "EIO"):
    ended = commands.executed(words, fault, 2)
    print(fault, ended.code, ended.told.strip().partition(chr(10))[0])
    pathlib.Path({out!r}).unlink(missing_ok=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_the_faults_of_the_campaign_happen(tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(CAMPAIGN.parent), out=str(tmp_path / "example.txt"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    plain, killed, full, broken = done.stdout.splitlines()
    assert plain.startswith(" 0 ") and killed.startswith("kill -9")
    assert full.startswith("ENOSPC 1 chainrule: The disk is full")
    assert broken.startswith("EIO 1 chainrule: ") and "Input/output error" in broken
    assert list(tmp_path.iterdir()) == []


WATCHED = """
import sys, pathlib
sys.path.insert(0, {folder!r})
import commands, shim
root = pathlib.Path({root!r})
place, copies, line = root / "now", root / "copies", ["example", "text", "-o", str(root / "now" / "example.txt")]
def sizes(folder):
    return sorted((one.suffix, one.stat().st_size) for one in folder.iterdir())
def again():
    [one.unlink() for one in place.iterdir()]
place.mkdir(), copies.mkdir()
watched = shim.Watched(place, copies)
points = shim.Points("", 0, watched)
assert commands.here(line, points).outcome == "success"
for at, state in watched.states().items():
    again()
    assert commands.executed(line, "kill", at).code == -9, at
    assert sizes(place) == sizes(copies / state), at
print(points.count, len(set(watched.states().values())), max(map(len, map(sizes, copies.glob("*[0-9a-f]")))))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_what_a_kill_leaves_is_what_was_there_before_the_operation(tmp_path: Path) -> None:
    program = WATCHED.format(folder=str(CAMPAIGN.parent), root=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    operations, states, most = map(int, done.stdout.split())
    assert operations > states > 2 and most == 1, done.stderr


MISSING = """
import sys
sys.path.insert(0, {folder!r})
import workshop
from dataclasses import dataclass
from chainrule.models.gru import Gru
from chainrule.models.registry import families, register
from chainrule.tasks.base import register as register_task, tasks
from chainrule.tasks.classify import Classify
register("new-family")(type("New", (Gru,), {{}}))
register_task("new-task")(type("NewTask", (Classify,), {{}}))
made = list(workshop.wanted())
learnt = {{name for name in families() if workshop.family(name).learner}}
print(sorted(learnt - {{kind for _, kind, _ in made}}), sorted(set(tasks()) - {{about for _, _, about in made}}))
print(("classify-new-family", "new-family", "classify") in made, ("new-task-gru", "gru", "new-task") in made)
import typed
there, tried = set(typed.verbs()), set(typed.COMMANDS)
print(sorted(there - tried - set(typed.LONG)), sorted(tried - there))
print("new-family" in workshop.example_names())
import verbs
"""


def test_what_is_registered_is_attacked() -> None:
    program = MISSING.format(folder=str(CAMPAIGN.parent))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["[] []", "True True", "[] []", "True"], done.stderr
    assert done.returncode == 1 and "a format for new-task is missing" in done.stderr


def test_an_attack_without_an_example_of_a_family_does_not_begin(tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(CAMPAIGN.parent)!r}); import workshop, pathlib\n"
        f"workshop.check_complete(pathlib.Path({str(tmp_path)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "no example of" in done.stderr and "lstm" in done.stderr
