"""What causal Transformers share: settings, the memory of keys and values, and reading from left to right.

`gpt` is nothing but this; the decoder of an encoder-decoder attends to a source as well, at every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError
from chainrule.models.neural import TIED, NeuralConfig, NeuralLanguageModel
from chainrule.models.sizing import transformer
from chainrule.models.state import State
from chainrule.nn import position, tap
from chainrule.nn.attention import ACTIVATIONS, Block, BlockStack, DirectAttention, causal_mask
from chainrule.nn.kv_cache import GROWTH, Cache, KVCache, PackedCache, RaggedCache, SourceCache
from chainrule.symbols import PAD

DEVIATION = 0.02  # of weights at the beginning


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(NeuralConfig):
    """Settings of Transformers: layers, heads, context length and MLP."""

    layers: int = option(4, "number of layers", low=1, high=256, chosen=True)
    width: int = option(128, "hidden size: numbers of a token's vector", low=1, high=65_536, chosen=True)
    embedding: int | None = option(
        None, "embedding size; always --width here, so leave it out", low=1, high=65_536
    )
    tied: str = option(
        "auto",
        "weight tying: one table of embeddings for input and output; auto: yes",
        choices=TIED,
    )
    heads: int = option(4, "attention heads; divides the width", low=1, high=4096, chosen=True)
    context: int = option(
        256, "context length: how many tokens it can attend to", low=2, high=10_000_000, chosen=True
    )
    ffn_width: int | None = option(
        None, "width of the MLP inside a block; four times --width if not given", low=1, high=1_000_000
    )
    activation: str = option("gelu", "activation of the MLP", choices=tuple(ACTIVATIONS))
    epsilon: float = option(1e-5, "epsilon of layer norm", low=0.0, high=1.0)

    def check(self) -> None:
        """Whether sizes fit together; asked when a model is made, for some may be left to be chosen."""
        if self.width % self.heads:
            raise ConfigError(
                f"--heads {self.heads} does not divide --width {self.width}. Change one of them."
            )
        if self.embedding not in (None, self.width):
            raise ConfigError("Here vectors of symbols are as wide as layers. Leave out --embedding.")

    @property
    def shared(self) -> bool:
        return self.tied != "no"

    def block(
        self, pre_norm: bool, source_width: int | None = None, attention: DirectAttention | None = None
    ) -> Block:
        """A fresh block, pre-norm or post-norm; with cross-attention to a source of vectors this wide; `attention`
        instead of several heads."""
        return Block(
            self.width,
            self.heads,
            self.ffn_width or 4 * self.width,
            self.activation,
            pre_norm,
            self.dropout,
            self.epsilon,
            bool(self.bf16),
            source_width,
            attention,
        )


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(TransformerConfig):
    """A Transformer that reads from left to right."""

    positions: str = option("rotary", "position embeddings", choices=position.KINDS)
    norm: str = option(
        "pre",
        "layer norm before attention and MLP (pre), or after the residual (post)",
        choices=("pre", "post"),
    )
    scale_embedding: bool = option(
        True, "multiply embeddings by the square root of --width before sinusoidal positions are added"
    )

    @property
    def key_width(self) -> int:
        """How many numbers of a key meet those of a query."""
        return self.width // self.heads

    def attention_layer(self) -> DirectAttention | None:
        """A fresh layer of self-attention, if it is not the usual one of several heads."""
        return None

    def placed(self) -> position.Positions:
        """Fresh position embeddings."""
        return position.Positions(self.positions, self.width, self.context, self.scale_embedding)

    def check(self) -> None:
        super().check()
        if self.positions == "rotary" and self.key_width % 2:
            raise ConfigError(
                f"Rotary positions turn pairs of numbers, and keys have {self.key_width}: make --width / --heads even "
                "(or --head-width, if it is given), or take --positions learned."
            )


@dataclass(frozen=True)
class DecoderState(State):
    """Keys and values of every layer, how far each row has come, and those of a source, if there is one."""

    caches: tuple[Cache | RaggedCache | PackedCache, ...]  # (B, H, L, d) each
    length: Tensor  # (B,) symbols read
    real: Tensor  # (B, L) False where a column is padding
    source: SourceCache | None = None

    def trimmed(self) -> DecoderState:
        """Without its first columns, if no row has a symbol in any of many: rows that restarted leave such behind."""
        first = int(self.real.any(0).long().argmax()) if self.real.shape[1] else 0
        if first < GROWTH:
            return self
        kept = (cache for cache in self.caches if isinstance(cache, Cache))  # others have no padding
        caches = tuple(cache.map(lambda one: one[:, :, first:]) for cache in kept)
        return replace(self, caches=caches, real=self.real[:, first:])

    def cropped(self, before: State, tokens: Tensor) -> DecoderState:
        assert isinstance(before, DecoderState)
        before = before.trimmed()
        real = torch.cat([before.real, tokens != PAD], 1)  # (B, L)
        caches = tuple(cache.crop(real.shape[1]) for cache in self.caches if isinstance(cache, Cache))
        return replace(self, caches=caches, length=before.length + (tokens != PAD).sum(1), real=real)

    def beside(self, others: Sequence[State]) -> State:
        states = [one for one in (self, *others) if isinstance(one, DecoderState)]
        if any(one.source is not None or not bool(one.real.all()) for one in states):
            return super().beside(others)  # with columns of padding
        rows = zip(*(one.rows() for one in states), strict=True)
        caches = tuple(RaggedCache(tuple(row for own in layer for row in own)) for layer in rows)
        length = torch.cat([one.length for one in states])
        return RaggedDecoderState(caches, length, self.real.new_ones(len(length), 0))

    def rows(self) -> list[list[KVCache]]:
        """For every layer the cache of each row."""
        return [cache.split() if isinstance(cache, Cache) else list(cache.rows) for cache in self.caches]

    def packed(self, others: Sequence[State], lengths: Sequence[int]) -> State | None:
        states = [one for one in (self, *others) if isinstance(one, DecoderState)]
        if any(one.source is not None or not bool(one.real.all()) for one in states):
            return None
        rows = zip(*(one.rows() for one in states), strict=True)
        caches = tuple(PackedCache(tuple(row for [row] in layer), tuple(lengths)) for layer in rows)
        each = zip(states, lengths, strict=True)
        length = torch.cat([one.length + torch.arange(new, device=one.length.device) for one, new in each])
        return PackedDecoderState(caches, length, self.real.new_ones(len(length), 0))


@dataclass(frozen=True)
class RaggedDecoderState(DecoderState):
    """Rows that keep a cache each: nothing is copied when one joins or leaves."""

    stacked: ClassVar[bool] = False


@dataclass(frozen=True)
class PackedDecoderState(DecoderState):
    """Rows that read several symbols at once: every symbol is a row, and `length` says how many stand before it."""

    def unpacked(self) -> list[State]:
        caches = [cache for cache in self.caches if isinstance(cache, PackedCache)]
        ends = [end - 1 for end in accumulate(caches[0].lengths)]
        found: list[State] = []
        for place, end in enumerate(ends):
            own = tuple(cache.rows[place] for cache in caches)
            found.append(DecoderState(own, self.length[[end]], self.real.new_ones(1, own[0].length)))
        return found


class CausalTransformer(NeuralLanguageModel):
    """x = x + attention(norm(x)), x = x + mlp(norm(x)), layer after layer; between the two a look at the source."""

    config: DecoderConfig
    sizes = reader_sizes = staticmethod(transformer)

    def __init__(self, config: DecoderConfig, source_width: int | None = None, bias: bool = False) -> None:
        """`source_width` is that of the vectors of a source, where there is one; `bias`: logits have one."""
        config.check()
        super().__init__(config, config.width, bias=bias)
        self.context = config.context
        pre = config.norm == "pre"
        self.blocks = BlockStack(
            config.block(pre, source_width, config.attention_layer()) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(config.width, config.epsilon) if pre else nn.Identity()
        self.positions = config.placed()

    @final
    def empty(self, batch: int, source: SourceCache | None = None) -> DecoderState:
        """The memory of having read nothing but a source."""
        nothing = torch.zeros(batch, 0, dtype=torch.bool, device=self.device)
        return DecoderState(self.blocks.start(batch), nothing.sum(1), nothing, source)

    @final
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, DecoderState]:
        assert isinstance(state, DecoderState)
        if not tokens.shape[1]:
            return self.embedding(tokens), state
        given = tokens != PAD  # (B, T)
        whole = bool(given.all()) and bool(state.real.all())
        state = state if whole else state.trimmed()
        cached, new = state.caches[0].length, tokens.shape[1]
        real = torch.cat([state.real, given], 1)  # (B, L)
        positions = torch.arange(new, device=tokens.device)[None]  # (1, T)
        if cached or bool(state.length.any()):
            positions = state.length[:, None] + positions  # (B, T)
        mask = causal_mask(None if whole else real, cached, new)
        if self.config.positions == "rotary":
            rotation = position.rotation(positions, self.config.key_width)
            mask = replace(mask, rotation=rotation)
        embeddings = tap.tell(
            self, "embeddings", self.positions(self.vectors(tokens), positions)
        )  # (B, T, D)
        vectors, caches = self.blocks(embeddings, state.caches, mask, state.source)  # (B, T, D)
        length = state.length + given.sum(1)
        return self.norm(vectors), replace(state, caches=caches, length=length, real=real)


def init_weights(part: nn.Module) -> None:
    """Weights begin as in GPT-2."""
    if isinstance(part, nn.Linear | nn.Embedding):
        nn.init.normal_(part.weight, std=DEVIATION)
    if isinstance(part, nn.Linear) and part.bias is not None:
        nn.init.zeros_(part.bias)
