"""A run on disk: everything needed to resume as if nothing had happened, in one file replaced at once.

run/
  checkpoint.safetensors   weights, optimiser, carried memory, random state, best weights, plain facts
  metrics.jsonl            one line a validation
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from chainrule.errors import BundleError
from chainrule.store import tensors
from chainrule.store.files import new_file
from chainrule.train.budget import Speed
from chainrule.train.schedule import Plan

FILE, METRICS = "checkpoint.safetensors", "metrics.jsonl"
FACTS = "facts.json"  # plain values travel as the bytes of their JSON


@dataclass
class Progressing:
    """Where a run stands; plain values only."""

    step: int = 0
    best: float = math.inf  # loss on the validation part
    hope: float = math.inf  # the best loss since the run was last continued after its end
    since: int = 0  # validations since then without a better one
    nats: float = 0.0  # of the training loss since the last validation
    count: int = 0
    averaged: int = 0  # how many steps are in the average
    validations: int = 0  # how many lie behind
    passed: float = 0.0  # seconds before this process resumed
    threads: int = 1  # sums depend on how work is shared out
    history: list[dict[str, float]] = field(default_factory=list)  # a line a validation
    ended: bool = False  # all of its plan was done: it continues with more time only
    plan: Plan = field(default_factory=Plan)
    speed: Speed = field(default_factory=Speed)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From a checkpoint."""
        plan, speed = Plan.from_values(values["plan"]), Speed(**values["speed"])
        return cls(**{**values, "plan": plan, "speed": speed})


def clear_run(folder: str | Path | None, resume: bool, force: bool) -> None:
    """Refuse a folder that holds a run already, stopped or finished; with `force` its files are removed."""
    if folder is None or resume:
        return
    stopped, finished = Path(folder) / FILE, Path(folder) / METRICS
    if not force and stopped.exists():
        raise BundleError(
            f"{folder} holds a run that was stopped. Continue it with --resume, or replace it with --force."
        )
    if not force and finished.exists():
        raise BundleError(
            f"{folder} holds the record of a finished run. Replace it with --force, or remove it."
        )
    for path in (stopped, finished):
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stood."""

    arrays: Mapping[str, np.ndarray]
    facts: Mapping[str, Any]  # plain values


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a run; the old one stays until the new one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = np.frombuffer(json.dumps(checkpoint.facts).encode(), np.uint8)
    tensors.write(folder / FILE, {**checkpoint.arrays, FACTS: facts})


def load(folder: Path) -> Checkpoint | None:
    """The checkpoint of a run, if it has one."""
    path = folder / FILE
    if not path.exists():
        return None
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    if FACTS not in arrays:
        raise BundleError(f"{path} is not a checkpoint of a run. Remove {folder} to start from scratch.")
    return Checkpoint(arrays, json.loads(arrays.pop(FACTS).tobytes()))


def seconds_before(folder: Path) -> float:
    """How long the run of a folder was trained, so far."""
    found = load(folder)
    return 0.0 if found is None else float(found.facts["passed"])


class Journal:
    """metrics.jsonl: lines are added, and those of steps that will be done again are taken back."""

    def __init__(self, folder: Path, step: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / METRICS
        kept = [line for line in self._lines() if json.loads(line)["step"] <= step]
        with new_file(self.path) as file:
            file.write("".join(kept).encode())

    def _lines(self) -> list[str]:
        """Whole lines only: the last one may have been cut off by a power failure."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines(keepends=True) if line.endswith("\n") and _sound(line)]

    def add(self, **values: Any) -> None:
        """One more line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def _sound(line: str) -> bool:
    try:
        return isinstance(json.loads(line).get("step"), int)
    except (ValueError, AttributeError):
        return False
