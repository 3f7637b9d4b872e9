"""The family `gpt`: every symbol looks back at all symbols before it (Radford et al. 2018, 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig, State
from chainrule.models.neural import NeuralConfig, Speaker
from chainrule.models.registry import register
from chainrule.models.sizing import transformer
from chainrule.nn import position
from chainrule.nn.attention import ACTIVATIONS, Block, Blocks, Past, causal_sight
from chainrule.symbols import PAD

DEVIATION = 0.02  # of weights at the beginning


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(NeuralConfig):
    """Layers of attention: how many heads look, how far, and how places are told apart."""

    layers: int = option(4, "how many layers lie above each other", low=1, high=256)
    width: int = option(128, "how many numbers a layer computes with", low=1)
    heads: int = option(4, "in how many ways a layer looks at other symbols; divides the width", low=1)
    context: int = option(256, "how many symbols it can look at", low=2)
    inner: int | None = option(
        None, "width of the network inside a layer; four times --width if not given", low=1
    )
    activation: str = option("gelu", "inside a layer", choices=tuple(ACTIVATIONS))
    epsilon: float = option(1e-5, "keeps norms from dividing by nothing", low=0.0)

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

    def block(self, first: bool) -> Block:
        """A fresh layer, normalised first or last."""
        inner, coarse = self.inner or 4 * self.width, bool(self.coarse)
        return Block(
            self.width, self.heads, inner, self.activation, first, self.dropout, self.epsilon, coarse
        )


@dataclass(frozen=True, kw_only=True)
class GptConfig(TransformerConfig):
    """A Transformer that reads from left to right."""

    positions: str = option("rotary", "how places are told apart", choices=position.KINDS)
    norm: str = option(
        "first", "first: normalise before looking and thinking; last: after adding", choices=("first", "last")
    )

    def check(self) -> None:
        super().check()
        if self.positions == "rotary" and (self.width // self.heads) % 2:
            raise ConfigError("Rotary positions turn pairs of numbers: make --width / --heads even.")


@dataclass(frozen=True)
class GptState(State):
    """Keys and values of every layer, and how far each row has come."""

    pasts: tuple[Past, ...]  # (B, H, L, d) each
    length: Tensor  # (B,) symbols read
    real: Tensor | None  # (B, L) False where a column is padding; None: nowhere


@register("gpt")
class Gpt(Speaker):
    """x = x + attention(norm(x)), x = x + mlp(norm(x)), layer after layer."""

    Config: ClassVar[type[ModelConfig]] = GptConfig
    config: GptConfig
    sizes = staticmethod(transformer)

    def __init__(self, config: GptConfig) -> None:
        config.check()
        super().__init__(config, config.width, bias=False)
        self.context = config.context
        first = config.norm == "first"
        self.blocks = Blocks(config.block(first) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, config.epsilon) if first else nn.Identity()
        learned = config.positions == "learned"
        self.places = nn.Embedding(config.context, config.width) if learned else None
        self.apply(begin)
        self.blocks.begin_small(DEVIATION)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        config = GptConfig(alphabet=9, layers=2, width=8, heads=2, context=12)
        return cls.seeded(config, seed)

    def start(self, batch: int, source: Any = None) -> GptState:
        if source is not None:
            raise ModelError("The family 'gpt' reads no source. Fit an encoder-decoder to write from one.")
        return GptState(
            self.blocks.start(batch), torch.zeros(batch, dtype=torch.long, device=self.device), None
        )

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, GptState]:
        assert isinstance(state, GptState)
        past, new = state.pasts[0].length, tokens.shape[1]
        if not new:
            return self.embedding(tokens), state
        said = tokens != PAD  # (B, T)
        real = self._real(said, state, past)
        places = torch.arange(new, device=tokens.device)[None]  # (1, T)
        if past:
            places = state.length[:, None] + places  # (B, T)
        sight = causal_sight(real, past, new)
        if self.config.positions == "rotary":
            sight = replace(sight, turns=position.rotation(places, self.config.width // self.config.heads))
        vectors, pasts = self.blocks(self._placed(tokens, places), state.pasts, sight)  # (B, T, D)
        return self.norm(vectors), GptState(pasts, state.length + said.sum(1), real)

    def rewound(self, state: State, before: State, tokens: Tensor) -> GptState:
        assert isinstance(state, GptState) and isinstance(before, GptState)
        length = before.pasts[0].length + tokens.shape[1]
        real = None if state.real is None else state.real[:, :length]
        pasts = tuple(past.cut(length) for past in state.pasts)
        return GptState(pasts, before.length + (tokens != PAD).sum(1), real)

    def _real(self, said: Tensor, state: GptState, past: int) -> Tensor | None:
        """Which columns (B, L + T) are symbols; None: all of them."""
        if state.real is None and bool(said.all()):
            return None
        before = said.new_ones(len(said), past) if state.real is None else state.real
        return torch.cat([before, said], 1)

    def _placed(self, tokens: Tensor, places: Tensor) -> Tensor:
        """Vectors (B, T, D) of symbols at their places."""
        vectors = self.vectors(tokens)
        if self.places is not None:
            return vectors + self.places(places.clamp(max=self.config.context - 1))  # type: ignore[no-any-return]
        if self.config.positions == "sinusoidal":
            return vectors * math.sqrt(self.config.width) + position.sinusoidal(places, self.config.width)
        return vectors


def begin(part: nn.Module) -> None:
    """Weights begin as in GPT-2."""
    if isinstance(part, nn.Linear | nn.Embedding):
        nn.init.normal_(part.weight, std=DEVIATION)
    if isinstance(part, nn.Linear):
        nn.init.zeros_(part.bias)
