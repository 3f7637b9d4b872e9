"""How large a model should be for the data and the budget, when no size is given.

A model wants to read several symbols for each of its weights, and data that are read often must be protected from
overfitting. The numbers here were found on texts of a million symbols; see benchmarks/results.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

WIDTHS = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
TOWERS = ((2, 64, 64), (2, 128, 64), (3, 192, 64), (4, 256, 64), (5, 320, 128), (6, 384, 128), (8, 512, 256))
MANY = 500  # vocabulary size from which input and output embeddings are tied
LARGE = 4_000  # vocabulary size from which most of the work would be the softmax
SAMPLES = 1024  # of them are enough to learn from
WEIGHTS_PER_SYMBOL = 4.0  # of the data, at most
READ_PER_WEIGHT = 3.0  # symbols, at least
TOWER_READ_PER_WEIGHT, TOWER_SPEED = (
    1.0,
    0.5,
)  # layers of attention learn from fewer symbols, at half the speed
EPOCHS, MOST = 20.0, 10_000_000  # when neither time nor length is given: so many epochs, but no more symbols
RATE, RATE_READING = 0.01, 2e6  # of learning, for 384 recurrent units that read so many symbols
FEW_PAIRED = 100_000  # target symbols below which an encoder-decoder is small
PAIRED_RATE = 0.006  # of learning, for recurrent encoder-decoders that read RATE_READING symbols
PAIRED_DROPOUT = 0.1, 0.4  # at least, at most
TOWER = 3  # layers of a Transformer encoder under a recurrent decoder
TAGGING = {
    "width": 160,
    "embedding": 96,
    "letter_width": 100,
    "dropout": 0.25,
    "embedding_dropout": 0.1,
    "bidirectional": True,
    "batch_size": 32,
    "lr": 0.004,
    "average": True,
}  # of recurrent networks that read letters
TOWER_RATE = 0.008  # for layers of attention up to 192 wide


@dataclass(frozen=True)
class Workload:
    """What is known before learning begins."""

    vocab_size: int
    symbols: int  # to predict in the training part
    seconds: float | None  # the budget
    asked: float  # symbols to read when there is no budget
    speed: float  # operations a second, in training

    def reading(self, weights: float) -> float:
        """How many symbols are going to be read if each one needs so many weights, six operations a weight."""
        return self.asked if self.seconds is None else self.seconds * self.speed / (6.0 * weights)


def choose(
    workload: Workload,
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
        enough = read_per_weight * inner <= workload.reading(inner + softmax_weights(workload, rung))
        if not enough or inner > WEIGHTS_PER_SYMBOL * workload.symbols:
            break
        found = rung
    reading = workload.reading(weights(found) + softmax_weights(workload, found))
    return {**found, "dropout": dropout(reading / max(1, workload.symbols))}, reading


Weights = Callable[[Mapping[str, Any]], int]


def recurrent(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for networks of one layer, as wide as the task allows."""
    widths = [given["width"]] if "width" in given else WIDTHS
    found, reading = choose(workload, given, [_sized(workload, width) for width in widths], weights)
    calm = (RATE_READING / max(reading, RATE_READING)) ** 0.35  # the longer, the slower
    chosen = found | pace(reading, RATE * calm * math.sqrt(384 / max(found["width"], 96)))
    return {name: value for name, value in chosen.items() if name not in given}


def reader(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for recurrent networks under a head: little is said by a label, so much is dropped.

    Beside letters (for tags, of which there are many) word vectors may be smaller, and whole words are dropped, so
    that letters alone come to be enough.
    """
    if given.get("letters", "none") != "none":
        return {name: value for name, value in TAGGING.items() if name not in given}
    chosen = {
        "width": 128,
        "embedding": 128,
        "dropout": 0.4,
        "bidirectional": True,
        "batch_size": 32,
        "lr": 0.002,
    }
    return {name: value for name, value in chosen.items() if name not in given}


def ungated(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """As `recurrent`, but without gates a lower rate is borne only, and a quarter of it by a table of many symbols."""
    chosen = recurrent(workload, given, weights)
    if "lr" in chosen:
        chosen["lr"] = float(f"{chosen['lr'] * (0.6 if workload.vocab_size < MANY else 0.25):.2g}")
    return chosen


def transformer(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for layers of attention: the deeper the wider, and heads of 32 numbers."""
    ladder = [
        {"layers": layers, **_headed(width, given), "context": context, **sampled(workload)}
        for layers, width, context in TOWERS
    ]
    slow = replace(workload, speed=TOWER_SPEED * workload.speed)
    found, reading = choose(slow, given, ladder, weights, TOWER_READ_PER_WEIGHT)
    paced = pace(reading, TOWER_RATE * math.sqrt(192 / max(192, found["width"])))
    rows = max(8, (1024 if reading < 1.5e6 else 2048) // found["context"])
    chosen = found | paced | {"batch_size": rows, "seq_len": found["context"], "optimizer": "muon"}
    return {name: value for name, value in chosen.items() if name not in given}


def encoder_decoder(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for an encoder and a decoder of attention layers."""
    width = 256 if workload.symbols >= FEW_PAIRED else 128
    chosen: dict[str, Any] = {
        "layers": 3,
        **_headed(width, given),
        "context": 256,
        "dropout": 0.2,
        "lr": 0.004,
    }
    chosen |= {"batch_size": 64, "seq_len": 32, "optimizer": "muon", **sampled(workload)}
    return {name: value for name, value in chosen.items() if name not in given}


def sequence_to_sequence(workload: Workload, given: Mapping[str, Any], weights: Weights) -> dict[str, Any]:
    """Settings for a recurrent encoder-decoder of one layer: the wider one has learnt more after a minute already."""
    tower = given.get("encoder") == "transformer"
    width = given.get("width", 512 if workload.symbols >= FEW_PAIRED else 128)
    size: dict[str, Any] = {"layers": 1, "width": width, "embedding": max(1, width // 2), "tied": "yes"}
    if tower:
        heads = _headed(given.get("embedding", size["embedding"]), given)["heads"]
        size |= {"encoder_layers": TOWER, "heads": heads}
    found, reading = choose(workload, given, [size], weights)
    calm = (RATE_READING / max(reading, RATE_READING)) ** 0.35  # the longer, the slower
    chosen = found | pace(reading, PAIRED_RATE * calm) | sampled(workload)
    chosen["dropout"] = min(PAIRED_DROPOUT[1], max(PAIRED_DROPOUT[0], found["dropout"]))
    chosen["optimizer"] = "muon" if tower else "adamw"
    return {name: value for name, value in chosen.items() if name not in given}


def _headed(width: int, given: Mapping[str, Any]) -> dict[str, int]:
    """A width and heads that divide it into even parts, whichever of the two was given."""
    if "width" not in given:
        parts = 2 * given.get("heads", 1)
        width = -(-width // parts) * parts
    width = given.get("width", width)
    fitting = [heads for heads in range(1, max(1, width // 32) + 1) if width % (2 * heads) == 0]
    return {"width": width, "heads": given.get("heads", max(fitting, default=1))}


def _sized(workload: Workload, width: int) -> dict[str, Any]:
    """Small vocabularies need short embeddings; large ones are tied, half as wide as the layer."""
    if workload.vocab_size < MANY:
        return {"width": width, "embedding": min(64, width), "tied": "no"}
    half = min(width, max(32, width // 2))
    return {"width": width, "embedding": half, "tied": "yes", **sampled(workload)}


def sampled(workload: Workload) -> dict[str, Any]:
    """Sampled softmax, where the vocabulary is large."""
    return {"sampled_softmax": SAMPLES} if workload.vocab_size >= LARGE else {}


def softmax_weights(workload: Workload, settings: Mapping[str, Any]) -> float:
    """Weights of the softmax that predicting a symbol reads."""
    width = settings["width"]
    if settings.get("tied") == "yes":
        width = settings.get("embedding") or width
    return float(width * min(workload.vocab_size, 2 * settings.get("sampled_softmax", workload.vocab_size)))


def pace(reading: float, rate: float) -> dict[str, Any]:
    """Few rows while there are few steps to be made; more of them use the machine better."""
    rate = float(f"{rate:.2g}")
    rows = 16 if reading < 6e6 else 32 if reading < 2e7 else 64
    return {"batch_size": rows, "seq_len": 64 if rows < 64 else 35, "lr": rate}


def dropout(epochs: float) -> float:
    """Nothing is dropped as long as nothing is read often."""
    return round(min(0.5, max(0.0, 0.12 * math.log2(max(epochs, 1e-9) / 3.0))), 2)
