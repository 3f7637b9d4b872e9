"""A masked model: it reads both ways, so it remembers nothing from one call to the next."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn

from chainrule.models.base import ModelConfig
from chainrule.models.state import State
from chainrule.symbols import PAD
from tiny.base import Tiny


class TinyMasked(Tiny):
    """One attention head that looks both ways; logits[:, t] are for symbol t."""

    reads = "both"
    context = 12

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, self.width)
        self.positions = nn.Embedding(self.context, self.width)
        self.project = nn.Linear(self.width, 3 * self.width)
        self.output = nn.Linear(self.width, config.vocab_size)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(ModelConfig(vocab_size=9), seed)

    def start(self, batch: int, source: Any = None) -> State:
        return State()

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        vectors = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]  # (B, T, D)
        queries, keys, values = self.project(vectors).chunk(3, -1)
        weights = queries @ keys.transpose(1, 2) / self.width**0.5  # (B, T, T)
        weights = weights.masked_fill(self.hidden_from(tokens), -torch.inf).softmax(-1)
        return vectors + weights @ values, state

    def hidden_from(self, tokens: Tensor) -> Tensor:
        """Who may not be seen (B, 1, T): padding."""
        return (tokens == PAD)[:, None]

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(self.output(hidden))
