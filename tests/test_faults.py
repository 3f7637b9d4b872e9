"""A short slice of `benchmarks/faults.py`: hostile input, damage, kills and full disks leave nothing lost or wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[1] / "benchmarks" / "faults.py"
SECONDS = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_nothing_is_lost_and_nothing_silently_wrong() -> None:
    words = [sys.executable, str(CAMPAIGN), "--seconds", str(SECONDS), "--slice"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    *_, tried, refused, success, traceback, hang, lost, wrong = [one.replace(",", "") for one in rows[-1]]
    assert done.returncode == 0, done.stderr
    assert int(tried) == int(refused) + int(success) >= 50
    assert [traceback, hang, lost, wrong] == ["0"] * 4
