"""A process for every job: forked, told what to do, and not waited for when it hangs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from chainrule.choose import race
from chainrule.choose.forks import Forks

SLEEPER = """
import json, os, subprocess, sys
for line in sys.stdin:
    child = subprocess.Popen(["sleep", "60"])
    print(json.dumps({"pid": child.pid}), flush=True)
    print(json.dumps({"ended": child.wait()}), flush=True)
"""


def test_a_job_that_hangs_or_is_killed_is_not_waited_for(tmp_path: Path) -> None:
    began, pipes = time.monotonic(), {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with Forks(tmp_path) as forks:
        forks.process = subprocess.Popen([sys.executable, "-c", SLEEPER], **pipes)  # type: ignore[call-overload]
        with race._limited(forks, 0.5) as late:
            assert list(forks.run(tmp_path / "job")) == [{"ended": -9}]
    assert late.is_set() and time.monotonic() - began < 30
    assert race._reason(0, []) is None and race._reason(1, ["a", "b"]) == "b"
    assert "memory" in str(race._reason(-9, ["a"])) and "signal 15" in str(race._reason(-15, []))


def test_whoever_forks_is_started_again_when_it_has_died(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    job = tmp_path / "jobs" / "one.json"
    job.write_text(json.dumps({"kind": "rungs", "codec": "words"}))  # of a comparison that is not there
    with Forks(tmp_path) as forks:
        assert list(forks.run(job)) == [{"ended": 1}] and "plan.json" in job.with_suffix(".log").read_text()
        assert forks.process is not None
        forks.process.kill()
        forks.process.wait()
        assert list(forks.run(job)) == [{"ended": -9}]
        assert list(forks.run(job)) == [{"ended": 1}]


def test_a_job_ends_with_whoever_asked_for_it(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys; from chainrule.choose import forks;"
        "child = subprocess.Popen(['sleep', '60']); print(forks._waited(child.pid))"
    )
    words: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program], **words) as process:
        assert process.communicate(timeout=60)[0].strip() == str(-signal.SIGTERM)
