"""A run on disk: everything needed to resume as if nothing had happened, in one file replaced at once.

run/
  checkpoint.safetensors   weights, optimiser, carried memory, random state, best weights, plain facts
  metrics.jsonl            one line a validation
  kept/STEP.safetensors    weights on the way, with --keep
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from chainrule.errors import BundleError
from chainrule.store import tensors
from chainrule.store.files import new_file
from chainrule.train.budget import Speed
from chainrule.train.figures import StepFigures, kept
from chainrule.train.losses import LossPoints
from chainrule.train.schedule import Plan

T = TypeVar("T")
FILE, METRICS = "checkpoint.safetensors", "metrics.jsonl"
FACTS, WIDTH = (
    "facts.json",
    4,
)  # plain values travel as the bytes of their JSON, after so many of its checksum


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
    losses: LossPoints = field(default_factory=LossPoints)  # of training, between them
    figures: StepFigures = field(default_factory=StepFigures)  # of gradients, since the last validation
    ended: bool = False  # all of its plan was done: it continues with more time only
    plan: Plan = field(default_factory=Plan)
    speed: Speed = field(default_factory=Speed)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From a checkpoint."""
        try:
            plan, speed = Plan.from_values(values["plan"]), Speed(**values["speed"])
            losses, figures = LossPoints(**values["losses"]), StepFigures(**values.get("figures", {}))
            return cls(**{**values, "plan": plan, "speed": speed, "losses": losses, "figures": figures})
        except (KeyError, TypeError) as error:
            raise BundleError(
                f"The checkpoint is of another version ({error}). Start from scratch: --force."
            ) from error


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
    for path in (stopped, finished, *kept(Path(folder)).values()):
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stood."""

    arrays: Mapping[str, np.ndarray]
    facts: Mapping[str, Any]  # plain values


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint of a run; the old one stays until the new one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = {name: _sum(array) for name, array in checkpoint.arrays.items()}
    told = json.dumps({"facts": checkpoint.facts, "sums": sums}).encode()
    facts = np.frombuffer(zlib.crc32(told).to_bytes(WIDTH, "little") + told, np.uint8)
    tensors.write(folder / FILE, {**checkpoint.arrays, FACTS: facts})


def _sum(array: np.ndarray) -> int:
    """A checksum of the bytes of an array."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def load(folder: Path) -> Checkpoint | None:
    """The checkpoint of a run, if it has one."""
    path = folder / FILE
    if not path.exists():
        return None
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    if FACTS not in arrays:
        raise BundleError(f"{path} is not a checkpoint of a run. Remove {folder} to start from scratch.")
    try:
        written = arrays.pop(FACTS).tobytes()
        if zlib.crc32(written[WIDTH:]).to_bytes(WIDTH, "little") != written[:WIDTH]:
            raise ValueError("they are not as they were written")
        told = json.loads(written[WIDTH:])
        facts, sums = dict(told["facts"]), dict(told["sums"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"its facts cannot be read ({error})") from error
    wrong = [name for name in {*sums, *arrays} if name not in arrays or sums.get(name) != _sum(arrays[name])]
    if wrong:
        raise _damaged(path, f"{min(wrong)} is not as it was written")
    return Checkpoint(arrays, facts)


def under(arrays: Mapping[str, T], prefix: str) -> dict[str, T]:
    """The arrays whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _damaged(path: Path, why: str) -> BundleError:
    return BundleError(f"{path} is damaged: {why}. Remove {path.parent} to start from scratch.")


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
