"""An encoder-decoder: what it remembers is a vector and the source as a Memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from chainrule.models.base import SourceConfig
from chainrule.models.state import Memory, State
from chainrule.symbols import PAD
from tiny.base import Tiny


@dataclass(frozen=True)
class Translating(State):
    """Where the decoder stands, and what it translates."""

    vector: Tensor  # (B, D)
    source: Memory


class TinyTranslator(Tiny):
    """A recurrent decoder that looks at the embeddings of the source symbols, given as ids (B, S)."""

    family, Config = "translator", SourceConfig

    def __init__(self, config: SourceConfig) -> None:
        super().__init__(config)
        self.foreign = nn.Embedding(config.source_size, self.width)
        self.embedding = nn.Embedding(config.vocab_size, self.width)
        self.recurrence = nn.Linear(2 * self.width, self.width)
        self.output = nn.Linear(self.width, config.vocab_size)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(SourceConfig(vocab_size=9, source_size=9), seed)

    def start(self, batch: int, source: Any = None) -> Translating:
        ids = torch.full((batch, 1), PAD) if source is None else source  # (B, S)
        return Translating(torch.zeros(batch, self.width), Memory(self.foreign(ids), ids != PAD))

    def read(self, tokens: Tensor, state: Translating) -> tuple[Tensor, Translating]:
        vector, seen = state.vector, []
        for symbol in tokens.unbind(1):
            given = torch.cat([vector, self.look(vector, state.source)], -1)  # (B, 2D)
            moved = torch.tanh(self.embedding(symbol) + self.recurrence(given))  # (B, D)
            vector = torch.where((symbol == PAD)[:, None], vector, moved)
            seen.append(vector)
        return torch.stack(seen, 1), Translating(vector, state.source)

    def look(self, vector: Tensor, memory: Memory) -> Tensor:
        """The mean of the memory (B, D), weighted by how much the decoder cares; 0 of an empty one."""
        weights = (memory.vectors @ vector[:, :, None])[:, :, 0]  # (B, S)
        weights = torch.where(memory.real, weights.exp(), 0.0)
        return (weights[:, :, None] * memory.vectors).sum(1) / (1e-9 + weights.sum(1, keepdim=True))

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(self.output(hidden))
