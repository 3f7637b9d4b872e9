"""The family `bert`: every symbol looks at all others, and hidden ones are guessed (Devlin et al. 2019).

Two sentences are read as `BOS a EOS b EOS`; what stands after the first EOS belongs to the second one. At the place
of BOS a pair may be asked for whether its second sentence FOLLOWS the first or is a STRANGER.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig, State
from chainrule.models.gpt import TransformerConfig, begin
from chainrule.models.neural import Speaker
from chainrule.models.registry import register
from chainrule.models.sizing import transformer
from chainrule.nn.attention import ACTIVATIONS, Blocks, Sight
from chainrule.nn.product import Linear
from chainrule.symbols import EOS, PAD, STRANGER


@dataclass(frozen=True, kw_only=True)
class BertConfig(TransformerConfig):
    """A Transformer that reads both ways."""

    activation: str = option("gelu", "inside a layer", choices=tuple(ACTIVATIONS))
    epsilon: float = option(1e-12, "keeps norms from dividing by nothing", low=0.0)
    hidden_share: float = option(0.15, "share of symbols to be guessed while training", low=0.01, high=0.9)
    whole_words: bool = option(False, "hide all pieces of a word together")
    pairs: bool = option(False, "learn to tell, too, whether one sequence follows another")


@dataclass(frozen=True)
class BertState(State):
    """Nothing is remembered: everything is read at once."""

    rows: Tensor  # (B, 0)


@register("bert")
class Bert(Speaker):
    """x = norm(x + attention(x)), x = norm(x + mlp(x)), layer after layer, seeing both sides."""

    Config: ClassVar[type[ModelConfig]] = BertConfig
    reads: ClassVar[Literal["left", "both"]] = "both"
    config: BertConfig
    sizes = staticmethod(transformer)

    def __init__(self, config: BertConfig) -> None:
        config.check()
        super().__init__(config, config.width)
        self.context = config.context
        self.places = nn.Embedding(config.context, config.width)
        self.sides = nn.Embedding(2, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)
        self.blocks = Blocks(config.block(first=False) for _ in range(config.layers))
        self.guess = Linear(config.width, config.width)
        self.guess_norm = nn.LayerNorm(config.width, config.epsilon)
        self.pool = Linear(config.width, config.width)
        self.follows = Linear(config.width, 2)
        self.apply(begin)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(BertConfig(alphabet=9, layers=2, width=8, heads=2, context=12), seed)

    def start(self, batch: int, source: Any = None) -> BertState:
        if source is not None:
            raise ModelError("The family 'bert' reads no source. Fit an encoder-decoder to write from one.")
        return BertState(torch.empty(batch, 0, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        if not tokens.shape[1]:
            return self.embedding(tokens), state
        real = tokens != PAD  # (B, T)
        first = F.pad((tokens == EOS).cumsum(1)[:, :-1].clamp(max=1), (1, 0))  # (B, T) 1 after the first EOS
        places = torch.arange(tokens.shape[1], device=tokens.device)
        vectors = self.vectors(tokens) + self.places(places) + self.sides(first)  # (B, T, D)
        seen = (
            None if bool(real.all()) else (real | ~real.any(1, keepdim=True))[:, None, None]
        )  # (B, 1, 1, T)
        hidden, _ = self.blocks(self.dropout(self.norm(vectors)), None, Sight(mask=seen))
        return hidden, state

    def guessed(self, hidden: Tensor) -> Tensor:
        """What the softmax is asked with (…, D)."""
        return self.guess_norm(ACTIVATIONS[self.config.activation](self.guess(hidden)))  # type: ignore[no-any-return]

    def logits(self, hidden: Tensor) -> Tensor:
        return self.output.logits(self.guessed(hidden))

    def pooled(self, hidden: Tensor) -> Tensor:
        """One vector (B, D) for a sequence, from its first place."""
        return torch.tanh(self.pool(hidden[:, 0]))

    def loss(
        self, tokens: Tensor, targets: Tensor, state: State, smoothing: float = 0.0
    ) -> tuple[Tensor, State]:
        hidden, state = self.read(tokens, state)  # (B, T, D)
        asked, targets = targets[:, 0], targets.masked_fill(_at_first(targets), PAD)  # (B,), (B, T)
        real = targets != PAD
        coarse = self.training and bool(self.config.coarse)
        total = self.output.loss(self.guessed(hidden[real]), targets[real], smoothing, coarse)
        pairs = asked != PAD
        if bool(pairs.any()):
            told = self.follows(self.pooled(hidden)[pairs])  # (pairs, 2)
            total = total + F.cross_entropy(told, asked[pairs] - STRANGER, reduction="sum")
        return total, state

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        if torch.is_grad_enabled():
            return super().score(tokens, targets, state)
        hidden, state = self.read(tokens, state)  # (B, T, D)
        found = hidden.new_zeros(targets.shape)
        real = targets != PAD
        found[real] = self.output.score(self.guessed(hidden[real]), targets[real])
        return found, state


def _at_first(targets: Tensor) -> Tensor:
    """(B, T) True at the place of BOS."""
    first = torch.zeros_like(targets, dtype=torch.bool)
    first[:, 0] = True
    return first
