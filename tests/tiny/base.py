"""What the tiny networks share: scores by way of logits, read in windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.models.base import CostForecast, LanguageModel, ModelConfig
from chainrule.models.neural import Neural
from chainrule.models.sizing import Workload
from chainrule.models.state import State
from chainrule.models.windows import score_by_logits, score_in_windows
from chainrule.symbols import PAD


class Tiny(Neural, LanguageModel):
    """A network of a few weights; a kind says how it reads and what its logits are."""

    width = 8

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        mask = torch.zeros(config.vocab_size, dtype=torch.bool)
        mask[list(config.suppressed)] = True
        self.register_buffer("suppressed", mask, persistent=False)  # (V,)

    def suppress(self, logits: Tensor) -> Tensor:
        """-inf for the symbols that are read but never predicted."""
        return logits.masked_fill(self.suppressed, -torch.inf)

    def cross_entropy(self, hidden: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
        """The sum of nats over targets (B, T) that are not PAD."""
        logits = self.logits(hidden).flatten(0, 1)  # (B T, V)
        return F.cross_entropy(logits, targets.flatten(), ignore_index=PAD, reduction="sum")

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        return score_by_logits(self, tokens, targets, state)

    def score_ids(self, ids: np.ndarray, batch: int = 64) -> np.ndarray:
        return score_in_windows(self, ids, batch)

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        return {}
