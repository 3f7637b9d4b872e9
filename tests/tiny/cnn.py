"""A convolution over time: a body without a softmax over symbols, for heads to stand on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.models.base import CostForecast, ModelConfig
from chainrule.models.neural import Neural
from chainrule.models.sizing import Workload
from chainrule.models.state import State
from chainrule.symbols import PAD


class TinyCnn(Neural):
    """h_t = relu(W x_{t-1} + V x_t + U x_{t+1}); what comes after a row's end is 0."""

    family, reads, width = "cnn", "both", 8

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, self.width, PAD)
        self.convolution = nn.Conv1d(self.width, self.width, 3, padding=1)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(ModelConfig(vocab_size=9), seed)

    def start(self, batch: int, source: Any = None) -> State:
        return State()

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        vectors = self.embedding(tokens).transpose(1, 2)  # (B, D, T)
        return F.relu(self.convolution(vectors)).transpose(1, 2), state  # (B, T, D)

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        return {}
