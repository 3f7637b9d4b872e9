"""How large a model should be for the data and the time there are, when nobody says.

A model wants to read several symbols for each of its weights, and data that are read often must be protected from
being learnt by heart. The numbers here were found on texts of a million symbols; see benchmarks/results.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

WIDTHS = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
TOWERS = ((2, 64, 64), (2, 128, 64), (3, 192, 64), (4, 256, 64), (5, 320, 128), (6, 384, 128), (8, 512, 256))
MANY = 500  # symbols in an alphabet from which both ends of a model share their vectors
LARGE = 4_000  # symbols in an alphabet from which most of the work would be the softmax
SAMPLES = 1024  # of them are enough to learn from
WEIGHTS_PER_SYMBOL = 4.0  # of the data, at most
READ_PER_WEIGHT = 3.0  # symbols, at least
TOWER_READ_PER_WEIGHT, TOWER_SPEED = (
    1.0,
    0.5,
)  # layers of attention learn from fewer symbols, at half the speed
EPOCHS, MOST = 20.0, 10_000_000  # when neither time nor length is given: so many epochs, but no more symbols
RATE, RATE_READING = 0.01, 2e6  # of learning, for 384 recurrent units that read so many symbols
TOWER_RATE = 0.008  # for layers of attention up to 192 wide


@dataclass(frozen=True)
class Task:
    """What is known before learning begins."""

    alphabet: int
    symbols: int  # to predict in the training part
    seconds: float | None  # the budget
    asked: float  # symbols to read when there is no budget
    speed: float  # operations a second, in training

    def reading(self, weights: float) -> float:
        """How many symbols are going to be read if each one needs so many weights, six operations a weight."""
        return self.asked if self.seconds is None else self.seconds * self.speed / (6.0 * weights)


def choose(
    task: Task,
    given: Mapping[str, Any],
    ladder: Iterable[Mapping[str, Any]],
    weights: Callable[[Mapping[str, Any]], int],
    read_per_weight: float = READ_PER_WEIGHT,
) -> tuple[dict[str, Any], float]:
    """The largest of a ladder of sizes that suits the task, and how many symbols it is going to read.

    What is `given` holds on every rung; `weights` counts those between the two tables of a model.
    """
    rungs = [{**rung, **given} for rung in ladder]
    found = rungs[0]
    for rung in rungs[1:]:
        inner = weights(rung)
        enough = read_per_weight * inner <= task.reading(inner + spoken(task, rung))
        if not enough or inner > WEIGHTS_PER_SYMBOL * task.symbols:
            break
        found = rung
    reading = task.reading(weights(found) + spoken(task, found))
    return {**found, "dropout": dropout(reading / max(1, task.symbols))}, reading


Weights = Callable[[Mapping[str, Any]], int]


def recurrent(task: Task, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for networks of one layer, as wide as the task allows."""
    found, reading = choose(task, given, [_sized(task, width) for width in WIDTHS], weights)
    calm = (RATE_READING / max(reading, RATE_READING)) ** 0.35  # the longer, the slower
    chosen = found | pace(reading, RATE * calm * math.sqrt(384 / max(found["width"], 96)))
    return {name: value for name, value in chosen.items() if name not in given}


def ungated(task: Task, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """As `recurrent`, but without gates a table of many symbols bears a quarter of the rate only."""
    chosen = recurrent(task, given, weights)
    if task.alphabet >= MANY and "rate" in chosen:
        chosen["rate"] = float(f"{chosen['rate'] / 4:.2g}")
    return chosen


def transformer(task: Task, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for layers of attention: the deeper the wider, and heads of 32 numbers."""
    ladder = [
        {"layers": layers, **_headed(width, given), "context": context, **sampled(task)}
        for layers, width, context in TOWERS
    ]
    slow = replace(task, speed=TOWER_SPEED * task.speed)
    found, reading = choose(slow, given, ladder, weights, TOWER_READ_PER_WEIGHT)
    paced = pace(reading, TOWER_RATE * math.sqrt(192 / max(192, found["width"])))
    rows = max(8, (1024 if reading < 1.5e6 else 2048) // found["context"])
    chosen = found | paced | {"rows": rows, "span": found["context"], "optimizer": "muon"}
    return {name: value for name, value in chosen.items() if name not in given}


def _headed(width: int, given: Mapping[str, Any]) -> dict[str, int]:
    """A width and heads that divide it into even parts, whichever of the two was given."""
    if "width" not in given:
        parts = 2 * given.get("heads", 1)
        width = -(-width // parts) * parts
    width = given.get("width", width)
    fitting = [heads for heads in range(1, max(1, width // 32) + 1) if width % (2 * heads) == 0]
    return {"width": width, "heads": given.get("heads", max(fitting, default=1))}


def _sized(task: Task, width: int) -> dict[str, Any]:
    """Small alphabets need short vectors; large ones share a table of vectors half as wide as the layer."""
    if task.alphabet < MANY:
        return {"width": width, "embedding": min(64, width), "tied": "no"}
    return {"width": width, "embedding": max(32, width // 2), "tied": "yes", **sampled(task)}


def sampled(task: Task) -> dict[str, Any]:
    """A large alphabet is sampled while learning."""
    return {"samples": SAMPLES} if task.alphabet >= LARGE else {}


def spoken(task: Task, settings: Mapping[str, Any]) -> float:
    """Weights of the softmax that a symbol needs."""
    width = settings["width"]
    if settings.get("tied") == "yes":
        width = settings.get("embedding") or width
    return float(width * min(task.alphabet, 2 * settings.get("samples", task.alphabet)))


def pace(reading: float, rate: float) -> dict[str, Any]:
    """Few rows while there are few steps to be made; more of them use the machine better."""
    rate = float(f"{rate:.2g}")
    rows = 16 if reading < 6e6 else 32 if reading < 2e7 else 64
    return {"rows": rows, "span": 64 if rows < 64 else 35, "rate": rate}


def dropout(epochs: float) -> float:
    """Nothing is dropped as long as nothing is read often."""
    return round(min(0.5, max(0.0, 0.12 * math.log2(max(epochs, 1e-9) / 3.0))), 2)
