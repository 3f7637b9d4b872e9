"""A plain recurrent network: what it remembers is one vector."""

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
class Hidden(State):
    """The one vector."""

    vector: Tensor  # (B, D)


class TinyRecurrent(Tiny):
    """h = tanh(V x + U h)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, self.width)
        self.recurrence = nn.Linear(self.width, self.width)
        self.output = nn.Linear(self.width, config.vocab_size)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(ModelConfig(vocab_size=9), seed)

    def start(self, batch: int, source: Any = None) -> Hidden:
        return Hidden(torch.zeros(batch, self.width))

    def read(self, tokens: Tensor, state: Hidden) -> tuple[Tensor, Hidden]:
        vector, seen = state.vector, []
        for symbol in tokens.unbind(1):
            moved = torch.tanh(self.embedding(symbol) + self.recurrence(vector))  # (B, D)
            vector = torch.where((symbol == PAD)[:, None], vector, moved)
            seen.append(vector)
        return torch.stack(seen, 1), Hidden(vector)  # (B, T, D)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(self.output(hidden))
