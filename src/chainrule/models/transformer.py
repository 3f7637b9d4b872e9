"""The family `transformer`: an encoder reads the source both ways, a decoder attends to it (Vaswani et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.models.base import AnySourceConfig, ModelConfig
from chainrule.models.decoder import DEVIATION, CausalTransformer, DecoderConfig, DecoderState, init_weights
from chainrule.models.registry import register
from chainrule.models.sizing import encoder_decoder
from chainrule.nn import position, tap
from chainrule.nn.attention import ACTIVATIONS, BlockStack, padding_mask
from chainrule.nn.sources import Columns, SourceEncoder, SymbolSource, Windows


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig(DecoderConfig, AnySourceConfig):
    """Settings of the Transformer: layers of encoder and decoder, widths, positions."""

    layers: int = option(3, "layers of the decoder", low=1, high=256, chosen=True)
    encoder_layers: int | None = option(
        None, "layers of the encoder; as many as --layers if not given", low=1, high=256
    )
    positions: str = option("sinusoidal", "position embeddings", choices=position.KINDS)
    activation: str = option("relu", "activation of the MLP", choices=tuple(ACTIVATIONS))
    output_bias: bool = option(False, "a bias for every symbol in the output layer")


@register("transformer")
class Transformer(CausalTransformer):
    """p(x_t | x_<t, source): every layer of the decoder attends to what came out of the encoder."""

    Config: ClassVar[type[ModelConfig]] = EncoderDecoderConfig
    task: ClassVar[str] = "translate"
    codec: ClassVar[str | None] = "subwords"
    alignment: ClassVar[str | None] = "blocks.*.cross.weights"
    config: EncoderDecoderConfig
    sizes = reader_sizes = staticmethod(encoder_decoder)

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__(config, config.width, config.output_bias)
        if not config.source_kinds:
            shared = not config.source_size  # one vocabulary, one table
            table = self.embedding if shared else nn.Embedding(config.source_size, config.width)
            self.source_embedding = table
            self.sources = SourceEncoder([SymbolSource(table)], config.width)
        else:
            told = (config.source_kinds, config.source_sizes, config.source_strides)
            self.sources = SourceEncoder.of(*told, config.width, self.embedding)
        self.encoder = Encoder(config)
        self.apply(init_weights)
        self.blocks.scaled_init(DEVIATION)
        self.encoder.blocks.scaled_init(DEVIATION)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        config = EncoderDecoderConfig(
            vocab_size=9, source_size=9, layers=2, encoder_layers=1, width=8, heads=2, context=12
        )
        return cls.seeded(config, seed)

    def start(self, batch: int, source: Any = None) -> DecoderState:
        """A source is what a batch holds of it, see `nn.sources`; without one, there is nothing to attend to."""
        if source is None:
            nothing = torch.zeros(batch, 1, self.config.width, device=self.device)  # (B, S, D)
            return self.empty(batch, self.blocks.read_source(nothing, nothing[..., 0] > 0))
        found = self.sources(source)
        vectors = tap.tell(self, "source", self.dropout(found.vectors))  # (B, S, D)
        encoded = self.encoder(replace(found, vectors=vectors))
        return self.empty(batch, self.blocks.read_source(encoded, found.real))


class Encoder(nn.Module):
    """Columns of a memory (B, S, D), each told of all others, or of those in its window."""

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        pre = config.norm == "pre"
        self.config = config
        self.blocks = BlockStack(config.block(pre) for _ in range(config.encoder_layers or config.layers))
        self.norm = nn.LayerNorm(config.width, config.epsilon) if pre else nn.Identity()
        self.positions = config.placed()

    def forward(self, columns: Columns) -> Tensor:
        windows = Windows.over(columns, self.config.source_window)
        if windows is None:
            return self._read(columns)
        return windows.joined(self._read(windows.columns))

    def _read(self, columns: Columns) -> Tensor:
        """All columns attend to each other."""
        positions, mask = columns.places[None], padding_mask(columns.real)  # (1, S)
        if self.config.positions == "rotary":
            mask = replace(
                mask, rotation=position.rotation(positions, self.config.width // self.config.heads)
            )
        hidden, _ = self.blocks(self.positions(columns.vectors, positions), None, mask)  # (B, S, D)
        return self.norm(hidden)  # type: ignore[no-any-return]
