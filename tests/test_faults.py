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
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    *_, tried, refused, success, traceback, hang, lost, wrong = [one.replace(",", "") for one in rows[-1]]
    assert done.returncode == 0, done.stderr
    assert int(tried) == int(refused) + int(success) >= 50
    assert [traceback, hang, lost, wrong] == ["0"] * 4


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
import interrupted
words = ["example", "text", "-o", {out!r}]
for fault in ("", "kill", "ENOSPC", "EIO"):
    ended = interrupted.executed(words, fault, 2)
    print(fault, ended.code, ended.told.strip().partition(chr(10))[0])
    interrupted.Path({out!r}).unlink(missing_ok=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_the_faults_of_the_campaign_happen(tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(CAMPAIGN.parent), out=str(tmp_path / "example.txt"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    plain, killed, full, broken = done.stdout.splitlines()
    assert plain.startswith(" 0 ") and killed.startswith("kill -9")
    assert full.startswith("ENOSPC 1 chainrule: The disk is full")
    assert broken.startswith("EIO 1 chainrule: ") and "Input/output error" in broken
    assert list(tmp_path.iterdir()) == []
