"""The family `bert`: a bidirectional Transformer encoder that predicts masked symbols (Devlin et al. 2019).

Two sentences are read as `BOS a EOS b EOS`; what stands after the first EOS belongs to the second one, and a pair may
be asked whether its second sentence follows the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.decoder import TransformerConfig, init_weights
from chainrule.models.neural import NeuralLanguageModel
from chainrule.models.registry import register
from chainrule.models.sizing import transformer
from chainrule.models.state import State, Unremembered
from chainrule.nn import tap
from chainrule.nn.attention import ACTIVATIONS, BlockStack, padding_mask
from chainrule.nn.product import Linear
from chainrule.symbols import EOS, PAD


@dataclass(frozen=True, kw_only=True)
class BertConfig(TransformerConfig):
    """A Transformer that reads both ways."""

    activation: str = option("gelu", "activation of the MLP", choices=tuple(ACTIVATIONS))
    epsilon: float = option(1e-12, "epsilon of layer norm", low=0.0, high=1.0)


@register("bert")
class Bert(NeuralLanguageModel):
    """x = norm(x + attention(x)), x = norm(x + mlp(x)), layer after layer, seeing both sides."""

    Config: ClassVar[type[ModelConfig]] = BertConfig
    task: ClassVar[str] = "masked"
    reads: Literal["left", "both"] = "both"
    pairs: ClassVar[Literal["apart", "together"] | None] = "together"
    config: BertConfig
    sizes = reader_sizes = staticmethod(transformer)

    def __init__(self, config: BertConfig) -> None:
        config.check()
        mlm = MaskedHead(config.width, config.activation, config.epsilon)
        super().__init__(config, config.width, projection=mlm)
        self.context = config.context
        self.positions = nn.Embedding(config.context, config.width)
        self.segments = nn.Embedding(2, config.width)
        self.norm = nn.LayerNorm(config.width, config.epsilon)
        self.blocks = BlockStack(config.block(pre_norm=False) for _ in range(config.layers))
        self.pool = Linear(config.width, config.width)
        self.next_sentence = Linear(config.width, 2)
        self.apply(init_weights)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(BertConfig(vocab_size=9, layers=2, width=8, heads=2, context=12), seed)

    def start(self, batch: int, source: Any = None) -> Unremembered:
        if source is not None:
            raise ModelError("The family 'bert' reads no source. Fit an encoder-decoder to write from one.")
        return Unremembered(torch.empty(batch, 0, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        if not tokens.shape[1]:
            return self.embedding(tokens), state
        ended = (tokens == EOS).cumsum(1).clamp(max=1)  # (B, T) 1 from the first EOS on
        segments = F.pad(ended[:, :-1], (1, 0))  # (B, T)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        vectors = self.vectors(tokens) + self.positions(positions) + self.segments(segments)  # (B, T, D)
        embeddings = tap.tell(self, "embeddings", self.dropout(self.norm(vectors)))  # (B, T, D)
        hidden, _ = self.blocks(embeddings, None, padding_mask(tokens != PAD))
        return hidden, state

    def pooled(self, hidden: Tensor) -> Tensor:
        """One vector (B, D) for a sequence, from its first position."""
        return torch.tanh(self.pool(hidden[:, 0]))

    def next_sentence_logits(self, hidden: Tensor) -> Tensor:
        """Of pairs (B, T, D) whether the second sentence is from elsewhere, or follows the first: (B, 2)."""
        return self.next_sentence(self.pooled(hidden))  # type: ignore[no-any-return]


class MaskedHead(nn.Module):
    """The transform before the softmax over masked symbols: a dense layer, an activation, a layer norm."""

    def __init__(self, width: int, activation: str, epsilon: float) -> None:
        super().__init__()
        self.dense = Linear(width, width)
        self.norm = nn.LayerNorm(width, epsilon)
        self.activation = activation

    def forward(self, hidden: Tensor) -> Tensor:
        return self.norm(ACTIVATIONS[self.activation](self.dense(hidden)))  # type: ignore[no-any-return]
