"""The comparison itself: one process after another, each with its share of the time that is left."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chainrule.choose.ladder import CURVE, MIX, Rung
from chainrule.config import to_json
from chainrule.errors import Stopped
from chainrule.files import write_text

FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
FINISHING = 0.03  # share of the time for putting everything together
PATIENCE = 60.0  # seconds beyond its share after which a process is stopped
CLOCK = "seconds.txt"
Event = Mapping[str, Any]


@dataclass
class Race:
    """Where a comparison stands; what has been found before is not done again."""

    out: Path
    rungs: Sequence[Rung]
    budget: float
    mixing: bool
    watch: Callable[[Event], object]
    began: float = field(default_factory=time.monotonic)
    failed: dict[str, str] = field(default_factory=dict)
    shares: dict[str, float] = field(default_factory=dict)  # seconds that each model was given
    before: float = 0.0  # seconds that passed before it was stopped

    def run(self) -> None:
        """Everything, the simplest first."""
        for folder in ("jobs", "found", "models", "runs"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)
        if (self.out / CLOCK).exists():
            self.before = float((self.out / CLOCK).read_text())
        counted = [rung for rung in self.rungs if not rung.weight]
        learners = [rung for rung in self.rungs if rung.weight]
        if counted:
            self._job("counting", "rungs", 0.0, counted)
        weights = [rung.weight for rung in learners]
        after = (MIX if self.mixing else 0.0) + CURVE
        for place, rung in enumerate(learners):
            share = rung.weight / (sum(weights[place:]) + after)
            self._job(rung.name, "rungs", share, [rung])
        if self.mixing:
            self._mix(counted, learners, MIX / after)
        self._curves(counted, learners)

    def _mix(self, counted: Sequence[Rung], learners: Sequence[Rung], share: float) -> None:
        """The best that counts with the best that learns."""
        parts = [best.name for best in (self._best(learners), self._best(counted)) if best]
        if len(parts) == 2:
            self._job(" + ".join(parts), "mix", share, parts=parts)

    def _curves(self, counted: Sequence[Rung], learners: Sequence[Rung]) -> None:
        """How the best of each kind improves with more data."""
        chosen = [best for best in (self._best(counted), self._best(learners)) if best]
        for place, rung in enumerate(chosen):
            last = place == len(chosen) - 1
            self._job(f"curve of {rung.name}", "curve", 1.0 if last else 0.0, [rung], fractions=FRACTIONS)

    def _best(self, rungs: Sequence[Rung]) -> Rung | None:
        """The one with the fewest bits, of those that did not fail."""
        found = {rung.name: self.found(rung.name) for rung in rungs}
        done = [rung for rung in rungs if found[rung.name]]
        return min(done, key=lambda rung: found[rung.name]["perplexity"], default=None)

    def found(self, name: str) -> Any:
        """What a model's process left; None if it did not come so far."""
        path = self.out / "found" / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    @property
    def left(self) -> float:
        """Seconds until everything is to be put together."""
        return (1 - FINISHING) * self.budget - self.passed

    @property
    def passed(self) -> float:
        """Seconds so far, those before it was stopped included."""
        return self.before + time.monotonic() - self.began

    def _job(self, name: str, kind: str, share: float, rungs: Sequence[Rung] = (), **more: Any) -> None:
        """One process, unless it has been done before."""
        todo = [rung for rung in rungs if kind == "curve" or not self.found(rung.name)]
        if (rungs and not todo) or (not rungs and self.found(name)) or (kind == "curve" and self.found(name)):
            return
        seconds = max(0.0, share * self.left)
        self.shares |= {rung.name: seconds for rung in todo if rung.weight and kind == "rungs"}
        job = {
            "name": name,
            "kind": kind,
            "seconds": seconds,
            "rungs": [asdict(rung) for rung in todo],
            **more,
        }
        path = self.out / "jobs" / f"{name}.json"
        write_text(path, to_json(job) + "\n")
        names = [rung.name for rung in todo] if kind == "rungs" else [name]
        self.watch({"name": names[0], "began": True, "seconds": seconds})
        reason = self._process(path, seconds)
        write_text(self.out / CLOCK, f"{self.passed:.3f}\n")
        if reason:
            missing = [one for one in names if not self.found(one)]
            self.failed |= dict.fromkeys(missing, reason)
            for one in missing:
                self.watch({"name": one, "failed": reason})

    def _process(self, path: Path, seconds: float) -> str | None:
        """Why it failed; None if it did not."""
        words = [sys.executable, "-m", "chainrule.choose.worker", str(path)]
        log = path.with_suffix(".log")
        with (
            log.open("w") as errors,
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            try:
                for event in _events(
                    process, time.monotonic() + 1.5 * seconds + PATIENCE if seconds else None
                ):
                    self.watch(event)
            except KeyboardInterrupt:
                process.terminate()
                process.wait()
                raise Stopped("stopped; go on with --resume.") from None
        if process.returncode == 0:
            return None
        lines = log.read_text(errors="replace").strip().splitlines()
        killed = f"its process was stopped by signal {-process.returncode}" if process.returncode < 0 else ""
        return killed or (lines[-1] if lines else f"its process ended with code {process.returncode}")


def _events(process: subprocess.Popen[str], until: float | None) -> Iterator[Event]:
    """What a process says, until it ends or takes far too long."""
    assert process.stdout is not None
    for line in process.stdout:
        if until is not None and time.monotonic() > until:
            process.terminate()
        try:
            yield json.loads(line)
        except ValueError:
            continue
    process.wait()
