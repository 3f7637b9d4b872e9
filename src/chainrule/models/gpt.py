"""The family `gpt`: a causal Transformer, each symbol attends to all before it (Radford et al. 2018, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.decoder import DEVIATION, CausalTransformer, DecoderConfig, DecoderState, init_weights
from chainrule.models.registry import register
from chainrule.nn.attention import DirectAttention


@dataclass(frozen=True, kw_only=True)
class GptConfig(DecoderConfig):
    """Settings of GPT; `attention` leads to it step by step."""

    attention: str = option(
        "heads",
        "self-attention: heads with values of their own; on the way to it, with one head that mixes the vectors X "
        "themselves, plain: softmax(X X') X, bilinear: softmax(X W X') X, low-rank: softmax(X L R X') X",
        choices=("plain", "bilinear", "low-rank", "heads"),
    )
    head_width: int | None = option(
        None,
        "rank of L R in --attention low-rank: the width of queries and keys; --width / --heads if not given",
        low=1,
        high=65_536,
    )

    @property
    def key_width(self) -> int:
        if self.attention in ("plain", "bilinear"):
            return self.width
        return self.head_width or self.width // self.heads

    def attention_layer(self) -> DirectAttention | None:
        if self.attention == "heads":
            return None
        return DirectAttention(self.width, self.key_width, self.attention, bool(self.bf16))

    def check(self) -> None:
        if self.head_width is not None and self.attention != "low-rank":
            raise ConfigError(
                "--head-width is for --attention low-rank: elsewhere --width and --heads say it."
            )
        super().check()


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
