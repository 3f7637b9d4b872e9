"""The comparison itself: one process after another, each with its share of the time that is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chainrule.choose.ladder import CURVE, MIX, Rung
from chainrule.config import to_json
from chainrule.errors import Stopped
from chainrule.files import write_text

FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
FINISHING = 0.03  # share of the time for putting everything together
LEAST = 4.0  # seconds below which a process has started before its time is over
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
    before: float = 0.0  # seconds that passed before it was stopped

    def run(self) -> None:
        """Everything, the simplest first."""
        for folder in ("jobs", "found", "models", "runs"):
            (self.out / folder).mkdir(parents=True, exist_ok=True)
        if (self.out / CLOCK).exists():
            self.before = float((self.out / CLOCK).read_text())
        for codec, counted in self._counted().items():
            self._job(f"counting {codec}", "rungs", codec, 0.0, counted)
        learners = [rung for rung in self.rungs if rung.weight]
        for place, rung in enumerate(learners):
            self._learn(rung, self._share(learners[place:]))
        if self.mixing:
            self._mix(learners)
        self._curves(learners)

    def given(self) -> dict[str, float]:
        """Seconds that each model would be given if all took what they are given."""
        learners = [rung for rung in self.rungs if rung.weight]
        total = sum(rung.weight for rung in learners) + self._after
        return {rung.name: rung.weight / total * (1 - FINISHING) * self.budget for rung in learners}

    def _counted(self) -> dict[str, list[Rung]]:
        """Those that count, by codec."""
        counted = [rung for rung in self.rungs if not rung.weight]
        codecs = dict.fromkeys(rung.codec for rung in counted)
        return {codec: [rung for rung in counted if rung.codec == codec] for codec in codecs}

    @property
    def _after(self) -> float:
        """The weight of what comes after all models."""
        return (MIX if self.mixing else 0.0) + CURVE

    def _share(self, learners: Sequence[Rung]) -> float:
        """How much of the time that is left the first of these may take."""
        return learners[0].weight / (sum(rung.weight for rung in learners) + self._after)

    def _learn(self, rung: Rung, share: float) -> None:
        """One that learns, if there is time for it."""
        seconds = share * self.left
        if seconds >= LEAST or self.found(rung.name):
            self._job(rung.name, "rungs", rung.codec, share, [rung])
            return
        self._fails(rung.name, f"{max(0.0, seconds):.1f} s are too short to learn in; give a larger budget")

    def _fails(self, name: str, reason: str) -> None:
        self.failed[name] = reason
        self.watch({"name": name, "failed": reason})

    def _mix(self, learners: Sequence[Rung]) -> None:
        """The best that learns with the best that counts in the same symbols."""
        first = self._best(learners)
        second = self._best(self._counted().get(first.codec, [])) if first else None
        if first and second:
            parts = [first.name, second.name]
            self._job(" + ".join(parts), "mix", first.codec, MIX / self._after, parts=parts)

    def _curves(self, learners: Sequence[Rung]) -> None:
        """How the best of each kind improves with more data; in the symbols of the best of all."""
        best = self._best(self.rungs)
        codec = best.codec if best else ""
        kinds = (self._counted().get(codec, []), [rung for rung in learners if rung.codec == codec])
        chosen = [one for one in map(self._best, kinds) if one]
        for place, rung in enumerate(chosen):
            share = 1.0 if place == len(chosen) - 1 else 0.0
            if rung.weight and self.left < 2 * LEAST:
                return
            self._job(f"curve of {rung.name}", "curve", codec, share, [rung], fractions=FRACTIONS)

    def _best(self, rungs: Sequence[Rung]) -> Rung | None:
        """The one with the fewest bits, of those that did not fail."""
        found = {rung.name: self.found(rung.name) for rung in rungs}
        done = [rung for rung in rungs if found[rung.name]]
        return min(done, key=lambda rung: found[rung.name]["bits"], default=None)

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

    def _job(
        self, name: str, kind: str, codec: str, share: float, rungs: Sequence[Rung] = (), **more: Any
    ) -> None:
        """One process, unless it has been done before."""
        todo = [rung for rung in rungs if kind == "curve" or not self.found(rung.name)]
        if (rungs and not todo) or (not rungs and self.found(name)) or (kind == "curve" and self.found(name)):
            return
        seconds = max(0.0, share * self.left)
        job = {
            "name": name,
            "kind": kind,
            "codec": codec,
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
            for one in names:
                if not self.found(one):
                    self._fails(one, reason)

    def _process(self, path: Path, seconds: float) -> str | None:
        """Why it failed; None if it did not."""
        words = [sys.executable, "-m", "chainrule.choose.worker", str(path)]
        log, limit = path.with_suffix(".log"), (1.5 * seconds or max(0.0, self.left)) + PATIENCE
        with (
            log.open("w") as errors,
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
            _limited(process, limit) as late,
        ):
            try:
                for event in _events(process):
                    self.watch(event)
            except KeyboardInterrupt:
                process.terminate()
                process.wait()
                raise Stopped("stopped; go on with --resume.") from None
        if late.is_set():
            return f"it was stopped after {limit:.0f} s, far beyond its time"
        return _reason(process.returncode, log.read_text(errors="replace").strip().splitlines())


@contextmanager
def _limited(process: subprocess.Popen[str], seconds: float) -> Iterator[threading.Event]:
    """Stop a process that takes far too long; the event says whether that happened."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _events(process: subprocess.Popen[str]) -> Iterator[Event]:
    """What a process says, until it ends."""
    assert process.stdout is not None
    for line in process.stdout:
        try:
            yield json.loads(line)
        except ValueError:
            continue
    process.wait()


def _reason(code: int, lines: Sequence[str]) -> str | None:
    """Why a process ended as it did, from its code and what it complained of; None if nothing was wrong."""
    if code == 0:
        return None
    if code == -signal.SIGKILL:
        return "its process was killed, perhaps for lack of memory"
    if code < 0:
        return f"its process was stopped by signal {-code}"
    return lines[-1] if lines else f"its process ended with code {code}"
