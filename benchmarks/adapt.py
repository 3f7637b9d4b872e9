"""What a neural cache and dynamic evaluation gain and cost: a trained model and an n-gram on held-out text.

    python benchmarks/adapt.py LSTM 5-GRAM ptb.valid.txt ptb.test.txt

Everything is chosen on the first text: theta, lambda, learning rate, decay and the weights of mixes. The second is
only scored. Prints a Markdown table.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from chainrule.bundle import load
from chainrule.data.corpus import encode
from chainrule.data.sources import ReadConfig, read
from chainrule.models.base import LanguageModel
from chainrule.models.dynamic import Dynamic
from chainrule.models.mix import best_weights, mixed
from chainrule.models.neural_cache import NeuralCache
from chainrule.models.readings import VectorModel
from chainrule.symbols import BOS

SOME = 10_000  # ids by which the speed of dynamic evaluation is measured


@dataclass(frozen=True)
class Row:
    """One way of scoring: log-probabilities of both texts, and its speed."""

    name: str
    valid: np.ndarray
    test: np.ndarray
    speed: float  # symbols a second

    def told(self) -> str:
        figures = [np.exp(-logs.mean(dtype=np.float64)) for logs in (self.valid, self.test)]
        speed = f"{self.speed:,.0f}" if self.speed else ""
        return f"| {self.name} | {figures[0]:.2f} | {figures[1]:.2f} | {speed} |"


def cached(name: str, model: VectorModel, valid: np.ndarray, test: np.ndarray, timed: int) -> list[Row]:
    """A model alone and with a neural cache; both come from one pass over each text, and are timed on some ids."""
    cache = NeuralCache.fitted(model, valid)
    theta, weight = cache.config.theta, cache.config.weight
    print(f"{name}: theta {theta:.4g}, lambda {weight:.3f}", file=sys.stderr, flush=True)
    plain, both = [], []
    for ids in (valid, test):
        logs, [own] = (one[..., ids != BOS] for one in cache.cached(ids, [theta]))
        plain.append(logs)
        both.append(mixed([logs, own], (1 - weight, weight)))
    return [
        Row(name, plain[0], plain[1], speed(model, test[:timed])),
        Row(f"{name}, neural cache", both[0], both[1], speed(cache, test[:timed])),
    ]


def speed(model: LanguageModel, ids: np.ndarray) -> float:
    """Symbols a second."""
    began = time.perf_counter()
    model.score_ids(ids)
    return len(ids) / (time.perf_counter() - began)


def with_counts(row: Row, valid: np.ndarray, test: np.ndarray) -> Row:
    """Mixed with an n-gram, by the weights that suit the first text."""
    weights = best_weights([row.valid, valid])
    return Row(
        f"{row.name}, 5-gram", mixed([row.valid, valid], weights), mixed([row.test, test], weights), 0.0
    )


def main(lstm: str, five: str, *texts: str) -> None:
    """The whole table."""
    network, counts = load(lstm), load(five)
    reading = ReadConfig.from_values(network.card.get("reading", {}))
    valid, test = (np.asarray(encode(network.codec, read(text, reading)).ids) for text in texts)
    model = network.model
    assert isinstance(model, VectorModel)
    rows = cached("LSTM", model, valid, test, len(test))
    dynamic = Dynamic.fitted(model, valid)
    told = dynamic.config
    print(f"lr {told.lr:.4g}, decay {told.decay:.4g}, window {told.window}", file=sys.stderr, flush=True)
    rows += cached("LSTM, dynamic", dynamic, valid, test, SOME)
    counted = [counts.model.score_ids(ids)[ids != BOS] for ids in (valid, test)]
    print("| model | valid perplexity | test perplexity | symbols a second |\n|---|---|---|---|")
    for row in [*rows, *(with_counts(row, *counted) for row in rows)]:
        print(row.told())


if __name__ == "__main__":
    main(*sys.argv[1:])
