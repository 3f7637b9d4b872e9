"""An encoder-decoder by cross-attention: it remembers keys and values of the symbols read, and of the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from chainrule.models.base import ModelConfig
from chainrule.models.state import State
from chainrule.nn.attention import Block, BlockStack, causal_mask
from chainrule.nn.kv_cache import KVCache, SourceCache
from chainrule.symbols import PAD
from tiny.base import Tiny


@dataclass(frozen=True)
class Decoding(State):
    """Two KV caches: one grows, that of the source does not."""

    caches: tuple[KVCache, ...]  # (B, H, L, d) each
    real: Tensor  # (B, L) False where a row read PAD
    source: SourceCache


class TinyTransformer(Tiny):
    """Two blocks that read the embeddings of source symbols, given as ids (B, S)."""

    width, heads, foreign_width, context = 8, 2, 6, 12

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.foreign = nn.Embedding(config.vocab_size, self.foreign_width)
        self.embedding = nn.Embedding(config.vocab_size, self.width)
        self.positions = nn.Embedding(self.context, self.width)
        blocks = [Block(self.width, self.heads, 16, source_width=self.foreign_width) for _ in range(2)]
        self.blocks = BlockStack(blocks)
        self.output = nn.Linear(self.width, config.vocab_size)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(ModelConfig(vocab_size=9), seed)

    def start(self, batch: int, source: Any = None) -> Decoding:
        ids = torch.full((batch, 1), PAD) if source is None else source  # (B, S)
        nothing = torch.zeros(batch, 0, dtype=torch.bool)
        return Decoding(
            self.blocks.start(batch), nothing, self.blocks.read_source(self.foreign(ids), ids != PAD)
        )

    def read(self, tokens: Tensor, state: Decoding) -> tuple[Tensor, Decoding]:
        said = tokens != PAD  # (B, T)
        real = torch.cat([state.real, said], 1)  # (B, L)
        places = state.real.sum(1, keepdim=True) + said.cumsum(1) - 1  # (B, T)
        vectors = self.embedding(tokens) + self.positions(torch.where(said, places, 0))  # (B, T, D)
        mask = causal_mask(real, state.real.shape[1], tokens.shape[1])
        hidden, caches = self.blocks(vectors, state.caches, mask, state.source)  # (B, T, D)
        return hidden, Decoding(caches, real, state.source)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.suppress(self.output(hidden))
