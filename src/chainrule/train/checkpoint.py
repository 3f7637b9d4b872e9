"""A run on disk: everything needed to go on as if nothing had happened, in one file replaced at once.

run/
  checkpoint.safetensors   weights, optimiser, carried memory, random state, best weights, plain facts
  metrics.jsonl            one line a validation
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chainrule import tensors
from chainrule.errors import BundleError
from chainrule.files import new_file

FILE, METRICS = "checkpoint.safetensors", "metrics.jsonl"
FACTS = "facts.json"  # plain values travel as the bytes of their JSON


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
        raise BundleError(f"{path} is not a checkpoint of a run. Remove {folder} to start anew.")
    return Checkpoint(arrays, json.loads(arrays.pop(FACTS).tobytes()))


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
