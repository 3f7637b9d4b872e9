"""Causal attention: what it remembers is the key and the value of every symbol read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from chainrule.models.base import ModelConfig
from chainrule.models.state import State
from chainrule.symbols import PAD
from tiny.base import Tiny


@dataclass(frozen=True)
class Cache(State):
    """Keys and values so far; rows may have read different numbers of symbols."""

    keys: Tensor  # (B, L, D)
    values: Tensor  # (B, L, D)
    real: Tensor  # (B, L) False where a row read PAD
    count: Tensor  # (B,) how many real symbols a row has read


class TinyAttention(Tiny):
    """One attention head over learnt positions."""

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

    def start(self, batch: int, source: Any = None) -> Cache:
        nothing = torch.zeros(batch, 0, self.width)
        return Cache(
            nothing, nothing, torch.zeros(batch, 0, dtype=torch.bool), torch.zeros(batch, dtype=torch.long)
        )

    def read(self, tokens: Tensor, state: Cache) -> tuple[Tensor, Cache]:
        real = tokens != PAD  # (B, T)
        places = state.count[:, None] + real.cumsum(1) - 1  # (B, T)
        vectors = self.embedding(tokens) + self.positions(torch.where(real, places, 0))  # (B, T, D)
        queries, keys, values = self.project(vectors).chunk(3, -1)
        cache = Cache(
            torch.cat([state.keys, keys], 1),
            torch.cat([state.values, values], 1),
            torch.cat([state.real, real], 1),
            state.count + real.sum(1),
        )
        weights = queries @ cache.keys.transpose(1, 2) / self.width**0.5  # (B, T, L)
        weights = weights.masked_fill(~self.visible(cache.real, tokens.shape[1]), -torch.inf).softmax(-1)
        return vectors + weights @ cache.values, cache

    def visible(self, real: Tensor, length: int) -> Tensor:
        """Who sees whom (B, T, L): real symbols up to oneself, and oneself even if PAD, lest nobody."""
        older = real.shape[1] - length
        causal = torch.ones(length, real.shape[1], dtype=torch.bool).tril(older)  # (T, L)
        itself = torch.ones(length, real.shape[1], dtype=torch.bool).triu(older) & causal
        return causal & real[:, None] | itself

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(self.output(hidden))
