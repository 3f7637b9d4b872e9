"""The family `cnn`: convolutions over words, for heads that take the maximum over time (Kim 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import CostForecast, FrameConfig, ModelConfig
from chainrule.models.neural import PROCESS, STARTING, Neural, training_speed
from chainrule.models.registry import register
from chainrule.models.sizing import EPOCHS, MOST, Workload
from chainrule.models.state import State, Unremembered
from chainrule.nn import tap
from chainrule.nn.characters import CharacterCNN, CharacterNgrams, SpelledEmbedding
from chainrule.nn.dropout import WordDropout, drop, embed
from chainrule.nn.frames import FrameProjection, vectors_of
from chainrule.nn.product import product
from chainrule.symbols import PAD, UNK

LONGEST = 24  # bytes of a word that are read for its n-grams, two marks included


@dataclass(frozen=True, kw_only=True)
class CnnConfig(FrameConfig):
    """Settings of the convolutions: filters, their widths, embeddings, layers."""

    embedding: int = option(128, "embedding size", low=1, high=65_536)
    filters: int = option(100, "filters of each width", low=1, high=65_536)
    widths: tuple[int, ...] = option((3, 4, 5), "over how many symbols filters reach", low=1, high=64)
    layers: int = option(1, "convolutions one above the other", low=1, high=64)
    dropout: float = option(
        0.0, "dropout of embeddings and between layers while training", low=0.0, high=0.99, chosen=True
    )
    subwords: int = option(
        0,
        "sub-words as in fastText: rows that character n-grams share, their mean added to a word's embedding; 0: none",
        low=0,
        high=100_000_000,
    )
    letters: str = option(
        "none",
        "read words by their letters, unknown ones, too: a character CNN, whose vector is added to a word's embedding",
        choices=("none", "cnn"),
    )
    word_dropout: float = option(
        0.0,
        "with --letters: a word seen n times in training becomes UNK with chance a / (a + n), for this a, so that "
        "letters are learnt to be enough",
        low=0.0,
        high=1e6,
    )
    embedding_dropout: float = option(
        0.0, "embedding dropout: share of symbols dropped while training", low=0.0, high=0.99
    )
    bf16: bool | None = option(
        None,
        "train with matrix products in bfloat16; chosen: where the machine has instructions for them",
        chosen=True,
    )

    @property
    def letters_read(self) -> int:
        spelled = self.subwords or self.letters != "none"
        return LONGEST if spelled and not self.features else 0

    @property
    def spread(self) -> float:
        """How far embeddings of words are from 0 at the beginning; less beside letters, which shall not be drowned."""
        return 0.1 if self.letters != "none" else 0.25


@register("cnn")
class Cnn(Neural):
    """h_t = relu(W_k x_{t-a} … x_{t+b} + c) for every width k; what lies outside a row is 0."""

    Config: ClassVar[type[ModelConfig]] = CnnConfig
    task: ClassVar[str] = "classify"
    pooling: ClassVar[str] = "max"
    reads: Literal["left", "both"] = "both"
    config: CnnConfig

    def __init__(self, config: CnnConfig) -> None:
        super().__init__(config)
        self.width = config.filters * len(config.widths)
        self.embedding = nn.Embedding(config.vocab_size, config.embedding)
        nn.init.uniform_(self.embedding.weight, -config.spread, config.spread)
        nn.init.zeros_(self.embedding.weight[UNK].detach())  # it may never be trained: it shall say nothing
        length = config.letters_read
        self.spelled = SpelledEmbedding(_reader(config), config.vocab_size, length) if length else None
        self.rare = WordDropout(config.vocab_size, config.word_dropout) if config.letters != "none" else None
        count, features = config.vocab_size, config.features
        self.frames = FrameProjection(count, features, config.embedding) if features else None
        inputs = [config.embedding, *[self.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(Filters(size, config) for size in inputs)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(CnnConfig(vocab_size=9, embedding=6, filters=4, widths=(2, 3)), seed)

    def start(self, batch: int, source: Any = None) -> Unremembered:
        if source is not None:
            raise ModelError("The family 'cnn' reads no source. Leave it out.")
        return Unremembered(torch.empty(batch, 0, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        if not tokens.shape[1]:
            return self.embedding.weight.new_empty(*tokens.shape, self.width), state
        real = (tokens != PAD).unsqueeze(-1)  # (B, T, 1)
        hidden = tap.tell(self, "embeddings", self._vectors(tokens))  # (B, T, E)
        for layer in self.layers:
            hidden = layer(drop(hidden, self.config.dropout, self.training) * real)  # (B, T, D)
        return hidden, state

    def _vectors(self, tokens: Tensor) -> Tensor:
        """Embeddings (B, T, E), with those of their letters; words beyond the vocabulary have these only."""
        table, dropout = self.embedding.weight, self.config.embedding_dropout
        if self.frames is not None:
            return vectors_of(tokens, table, self.frames, dropout, self.training)
        known = torch.where(tokens < self.config.vocab_size, tokens, UNK)
        vectors = embed(known if self.rare is None else self.rare(known), table, dropout, self.training)
        return vectors if self.spelled is None else vectors + self.spelled(tokens)

    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        chosen = {"batch_size": 50, "lr": 0.002, "dropout": 0.3, "average": True}
        return {name: value for name, value in chosen.items() if name not in given}

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        config = CnnConfig(vocab_size=vocab_size)
        weights = config.embedding * config.filters * sum(config.widths)
        taken = seconds or STARTING + 6.0 * weights * min(EPOCHS * symbols, MOST) / training_speed(False)
        return {cls.family: CostForecast(PROCESS + 16 * vocab_size * config.embedding + 4 * symbols, taken)}


def _reader(config: CnnConfig) -> CharacterCNN | CharacterNgrams:
    """Of letters."""
    if config.letters == "none":
        return CharacterNgrams(config.embedding, config.subwords)
    if config.subwords:
        raise ConfigError("Words are read by --letters or by --subwords, not by both. Leave one of them out.")
    return CharacterCNN(config.embedding)


class Filters(nn.Module):
    """Filters of several widths: vectors (B, T, E) -> (B, T, filters of all widths).

    All are one product with windows as wide as the widest of them, 0 where a narrower one does not reach.
    """

    def __init__(self, inputs: int, config: CnnConfig) -> None:
        super().__init__()
        self.inputs, self.bf16, self.most = inputs, bool(config.bf16), max(config.widths)
        self.weights = nn.ParameterList(
            torch.empty(config.filters, width, inputs).uniform_(
                -((inputs * width) ** -0.5), (inputs * width) ** -0.5
            )
            for width in config.widths
        )
        self.bias = nn.Parameter(torch.zeros(len(config.widths) * config.filters))

    def forward(self, vectors: Tensor) -> Tensor:
        before = self.most // 2
        padded = F.pad(vectors, (0, 0, before, self.most - 1 - before))  # (B, T + most - 1, E)
        length = vectors.shape[1]
        windows = torch.cat([padded[:, at : at + length] for at in range(self.most)], -1)  # (B, T, most E)
        weight = torch.cat([self._widened(one) for one in self.weights]).flatten(1)  # (D, most E)
        found = product(windows, weight, self.bias, self.bf16 and self.training)
        return tap.tell(self, "filters", F.relu(found))

    def _widened(self, weight: Tensor) -> Tensor:
        """A filter (F, width, E) in the middle of a window (F, most, E)."""
        left = self.most // 2 - weight.shape[1] // 2
        return F.pad(weight, (0, 0, left, self.most - weight.shape[1] - left))
