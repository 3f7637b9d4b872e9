"""The family `gpt`: a causal Transformer, each symbol attends to all before it (Radford et al. 2018, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.decoder import DEVIATION, CausalTransformer, DecoderConfig, DecoderState, init_weights
from chainrule.models.registry import register


@dataclass(frozen=True, kw_only=True)
class GptConfig(DecoderConfig):
    """Settings of GPT."""


@register("gpt")
class Gpt(CausalTransformer):
    """A causal Transformer without a source."""

    Config: ClassVar[type[ModelConfig]] = GptConfig
    config: GptConfig

    def __init__(self, config: GptConfig) -> None:
        super().__init__(config)
        self.apply(init_weights)
        self.blocks.scaled_init(DEVIATION)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        config = GptConfig(vocab_size=9, layers=2, width=8, heads=2, context=12)
        return cls.seeded(config, seed)

    def start(self, batch: int, source: Any = None) -> DecoderState:
        if source is not None:
            raise ModelError("The family 'gpt' reads no source. Fit an encoder-decoder to write from one.")
        return self.empty(batch)
