"""What a job says: where it stands, its curve, and in the end its answer, as the page shows them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chainrule.studio.jobs import LOG, OUT, Job, Jobs

POINTS, LINES, LONGEST = 150, 40, 2_000  # of a curve, of a log, letters of a line
Stamp = tuple[Any, ...]


@dataclass
class Heard:
    """Everything that was read of a log so far; more is read as it grows."""

    read: int = 0  # bytes
    before: float = 0.0  # seconds of a training that earlier processes had
    latest: dict[str, Any] | None = None  # progress
    valid: float | None = None  # the last validation
    curve: list[tuple[float, float | None, float | None]] = field(
        default_factory=list
    )  # seconds, loss, valid
    models: dict[str, dict[str, Any]] = field(default_factory=dict)  # of a comparison
    race: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def follow(self, path: Path) -> None:
        """Read what is new, whole lines only."""
        try:
            with path.open("rb") as file:
                file.seek(self.read)
                text = file.read()
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self.read += len(whole)
        for line in whole.decode("utf-8", "replace").split("\n"):
            if line.strip():
                self._hear(line)

    def _hear(self, line: str) -> None:
        event = _parsed(line)
        if event is None:
            self.lines = [*self.lines, line[:LONGEST]][-LINES:]
        elif "began" in event:
            self.latest, self.before = None, self.curve[-1][0] if self.curve else 0.0
        elif "compare" in event:
            self._race(event["compare"], event.get("passed"))
        elif "progress" in event:
            self.latest = event
            if event.get("loss") is not None:
                self._point(event)

    def _point(self, event: Mapping[str, Any]) -> None:
        loss, nats = event["loss"], event.get("nats")
        judged = None if nats in (loss, self.valid) else nats
        self.valid = judged or self.valid
        self.curve.append((self.before + (event.get("elapsed") or 0.0), loss, judged))
        if len(self.curve) > 2 * POINTS:
            self.curve = [one for at, one in enumerate(self.curve) if at % 2 or one[2] is not None]

    def _race(self, event: Mapping[str, Any], passed: object) -> None:
        if "rungs" in event:
            self.race = {"budget": event.get("budget"), "unit": event.get("unit")}
            self.models = {name: {"name": name} for name in event["rungs"]}
        elif "name" in event:
            own = self.models.setdefault(event["name"], {"name": event["name"]})
            if event.get("began"):
                own.pop("share", None)
            own.update({name: value for name, value in event.items() if value is not None})
        self.race["passed"] = passed


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of JSON that is ours."""
    if not line.startswith('{"'):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@dataclass
class Follower:
    """Snapshots of all jobs; what has not changed is not read again."""

    jobs: Jobs
    heard: dict[str, Heard] = field(default_factory=dict)
    known: dict[str, tuple[Stamp, dict[str, Any]]] = field(default_factory=dict)
    revision: int = 0  # counts up with everything that changed
    lock: threading.Lock = field(default_factory=threading.Lock)  # several pages may listen

    def all(self) -> list[dict[str, Any]]:
        """The newest job first."""
        with self.lock:
            return [self.snapshot(job) for job in self.jobs.all()]

    def snapshot(self, job: Job) -> dict[str, Any]:
        """One job as the page shows it."""
        place = self.jobs.place / job.id
        stamp = (job, self.jobs.lives(job), _size(place / LOG), _size(place / OUT))
        if job.id not in self.known or self.known[job.id][0] != stamp:
            self.revision += 1
            told = {**self._read(job, place, alive=stamp[1]), "revision": self.revision}
            self.known[job.id] = (stamp, told)
        return self.known[job.id][1]

    def _read(self, job: Job, place: Path, alive: bool) -> dict[str, Any]:
        heard = self.heard.setdefault(job.id, Heard())
        heard.follow(place / LOG)
        answer = None if alive else _answer(place / OUT)
        return {
            "id": job.id,
            "kind": job.kind,
            "name": job.name,
            "began": job.began,
            "about": job.about,
            "command": list(job.words),
            "state": _state(job, alive, answer),
            "progress": heard.latest,
            "curve": heard.curve,
            "race": {**heard.race, "models": list(heard.models.values())} if heard.models else None,
            "lines": heard.lines,
            "error": None if alive or answer is None else answer.get("error"),
            "answer": None if answer is None or "error" in answer else _short(job.kind, answer),
        }


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _answer(path: Path) -> dict[str, Any] | None:
    """The last line of what a command printed."""
    try:
        lines = path.read_text(encoding="utf-8").strip().splitlines()
    except (OSError, ValueError):
        return None
    return _parsed(lines[-1]) if lines else None


def _state(job: Job, alive: bool, answer: Mapping[str, Any] | None) -> str:
    if alive:
        return "stopping" if job.stopped else "running"
    if answer is not None and "error" not in answer:
        return "done"
    if job.stopped:
        return "stopped"
    return "died" if answer is None else "failed"


def _short(kind: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Of a comparison what its table needs; everything else is in its report."""
    return dict(compared(answer)) if kind == "compare" else dict(answer)


ROW = (
    "name",
    "title",
    "bits",
    "low",
    "high",
    "perplexity",
    "parameters",
    "file_bytes",
    "seconds",
    "failed",
    "dropped",
    "unfinished",
    "figures",
)


def compared(answer: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The leaderboard and the advice."""
    yield "unit", answer.get("unit")
    yield "figures", answer.get("figures")
    yield "advice", answer.get("advice")
    yield "notes", answer.get("notes")
    yield "models", [{name: one.get(name) for name in ROW} for one in answer.get("models", [])]
