"""A transition table: the next symbol depends on the last one alone. Exact, and small enough for a hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from chainrule.models.base import CostForecast, CountingModel, ModelConfig
from chainrule.models.state import State
from chainrule.models.windows import score_by_logits, score_in_windows
from chainrule.symbols import BOS, EOS, PAD

SUN, RAIN, SNOW = 5, 6, 7

# p(next | last) of the weather: rows are the last symbol, columns EOS, SUN, RAIN, SNOW.
WEATHER = {
    BOS: (0.0, 0.5, 0.3, 0.2),
    SUN: (0.1, 0.6, 0.2, 0.1),
    RAIN: (0.2, 0.3, 0.5, 0.0),
    SNOW: (0.25, 0.25, 0.25, 0.25),
}


@dataclass(frozen=True)
class Last(State):
    """The last symbol read."""

    symbol: Tensor  # (B,)


class Table(CountingModel):
    """p(next | last) looked up in a table."""

    markov_order = 1

    def __init__(self, config: ModelConfig, chances: np.ndarray) -> None:
        self.config = config
        self.chances = np.asarray(chances, np.float64)  # (V, V)
        self.logs = torch.from_numpy(self.chances).log()

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        chances = np.zeros((8, 8))
        for last, row in WEATHER.items():
            chances[last, [EOS, SUN, RAIN, SNOW]] = row
        return cls(ModelConfig(vocab_size=8), chances)

    @classmethod
    def random(cls, generator: np.random.Generator, vocab_size: int = 8) -> Self:
        """Any table; about a third of the transitions are impossible, and EOS is always possible."""
        config = ModelConfig(vocab_size=vocab_size)
        weights = generator.random((vocab_size, vocab_size)) * (
            generator.random((vocab_size, vocab_size)) > 0.3
        )
        weights[:, EOS] += 0.1
        weights[:, list(config.suppressed)] = 0.0
        return cls(config, weights / weights.sum(1, keepdims=True))

    @classmethod
    def learn(cls, config: ModelConfig, ids: np.ndarray, progress: Any = None, valid: Any = None) -> Self:
        """The table of relative frequencies in flat `BOS … EOS` ids."""
        counts = np.zeros((config.vocab_size, config.vocab_size))
        np.add.at(counts, (ids[:-1], ids[1:]), 1)
        counts[:, list(config.suppressed)] = 0
        return cls(config, counts / np.maximum(1, counts.sum(1, keepdims=True)))

    def start(self, batch: int, source: Any = None) -> Last:
        return Last(torch.full((batch,), PAD))

    def read(self, tokens: Tensor, state: Last) -> tuple[Tensor, Last]:
        last = latest(tokens, state.symbol)  # (B, T)
        return self.logs[last], Last(last[:, -1])

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        return score_by_logits(self, tokens, targets, state)

    def score_ids(self, ids: np.ndarray, batch: int = 64) -> np.ndarray:
        return score_in_windows(self, ids, batch)

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"chances": self.chances}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, arrays["chances"])


def latest(tokens: Tensor, before: Tensor) -> Tensor:
    """At each position (B, T) the last symbol up to there that is not PAD, or else `before` (B,)."""
    place = torch.arange(1, tokens.shape[1] + 1).expand_as(tokens)  # (B, T)
    place = torch.where(tokens == PAD, 0, place).cummax(1).values
    return torch.cat([before[:, None], tokens], 1).gather(1, place)
