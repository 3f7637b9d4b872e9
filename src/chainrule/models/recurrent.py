"""What rnn, lstm and gru share: embeddings, layers of recurrent cells, a softmax over symbols."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, final

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.neural import NeuralLanguageModel, StatefulConfig
from chainrule.models.state import State
from chainrule.nn import tap
from chainrule.nn.cells import INITS, Cell, CellState
from chainrule.nn.characters import CharacterCNN, CharacterLSTM, SpelledEmbedding
from chainrule.nn.dropout import KINDS, WordDropout
from chainrule.nn.recurrent import Direction, Stack, layer, lengths_of
from chainrule.symbols import UNK

FAINT = (
    0.1  # deviation of word vectors beside letters: what is hardly known of a rare word shall not drown these
)


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(StatefulConfig):
    """Settings of recurrent networks: initialisation, dropout, layer norm."""

    init: str = option("default", "initialisation of hidden-to-hidden weights", choices=tuple(INITS))
    initial_state: str = option(
        "zeros",
        "memory before the first symbol of a sequence: zeros, or learned beside the weights",
        choices=("zeros", "learned"),
    )
    dropout_kind: str = option(
        "plain",
        "plain dropout, or locked: the same units at every step (variational dropout)",
        choices=KINDS,
    )
    weight_drop: float = option(
        0.0, "DropConnect: share of hidden-to-hidden weights dropped while training", low=0.0, high=0.99
    )
    bidirectional: bool = option(
        False, "read both ways; for tasks that predict no symbols, where it is chosen", chosen=True
    )
    letters: str = option(
        "none",
        "read words by their letters beside word vectors, unknown ones, too: a character CNN or character LSTM; for "
        "tasks that predict no symbols; for tag, cnn if nothing is said",
        choices=("none", "cnn", "lstm"),
    )
    letter_width: int = option(64, "size of a word's vector from its letters", low=2, high=65_536)
    letter_embedding: int = option(16, "embedding size of a letter", low=1, high=65_536)
    word_dropout: float = option(
        0.0,
        "with --letters: a word seen n times in training becomes UNK with chance a / (a + n), for this a, so that "
        "letters are learnt to be enough",
        low=0.0,
        high=1e6,
    )
    word_length: int = option(24, "bytes of a word that are read, two marks included", low=3, high=1_000)
    layer_norm: bool = option(False, "layer norm inside the recurrence; steadier and slower")

    @property
    def letters_read(self) -> int:
        return 0 if self.features or self.letters == "none" else self.word_length

    @property
    def inputs(self) -> int:
        """What the lowest layer reads of a word."""
        return self.vector + (self.letter_width if self.letters_read else 0)


@dataclass(frozen=True)
class RecurrentState(State):
    """For every layer its hidden vector, and an LSTM's cell."""

    memories: tuple[CellState, ...]  # (B, D) each


class Recurrent(NeuralLanguageModel):
    """Reads one symbol after another; a family says which cell."""

    Config: ClassVar[type[ModelConfig]] = RecurrentConfig
    pooling: ClassVar[str] = "max"
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        if config.bidirectional and config.softmax:
            raise ConfigError(
                "--bidirectional would show a language model what it is to predict: it is for tasks such as classify."
            )
        if config.letters_read and config.softmax:
            raise ConfigError("--letters is for tasks that predict no symbols, such as tag and classify.")
        ways = 2 if config.bidirectional else 1
        super().__init__(config, ways * config.width, dropout=config.dropout_kind)
        self.reads = "both" if config.bidirectional else "left"
        self.stateful = config.stateful
        if not config.shared:  # what a table of both ends begins with would hardly move a cell
            nn.init.normal_(self.embedding.weight)
        if config.letters_read:
            nn.init.normal_(self.embedding.weight, std=FAINT)
            nn.init.zeros_(self.embedding.weight[UNK].detach())  # unknown words are known by their letters
            self.letters = SpelledEmbedding(_reader(config), config.vocab_size, config.word_length)
            self.rare = WordDropout(config.vocab_size, config.word_dropout)
        inputs = [config.inputs, *[self.width] * (config.layers - 1)]
        drop, bf16, learned = config.weight_drop, bool(config.bf16), config.initial_state == "learned"
        direction: Direction = "both" if config.bidirectional else "forward"
        layers = [layer(partial(self.cell, size), direction, drop, bf16, learned) for size in inputs]
        self.layers = Stack(layers, self.dropout)

    @abstractmethod
    def cell(self, inputs: int) -> Cell:
        """A fresh cell that reads vectors of `inputs` numbers."""

    @final
    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(cls.Config(vocab_size=9, layers=2, width=8), seed)  # type: ignore[call-arg]

    @final
    def start(self, batch: int, source: Any = None) -> RecurrentState:
        if source is not None:
            raise ModelError(
                f"The family {self.family!r} reads no source. Fit an encoder-decoder to write from one."
            )
        return RecurrentState(self.layers.start(batch))

    @final
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, RecurrentState]:
        assert isinstance(state, RecurrentState)
        embeddings = tap.tell(self, "embeddings", self._inputs(tokens))  # (B, T, I)
        hidden, memories = self.layers(embeddings, state.memories, lengths_of(tokens))  # (B, T, D)
        return self.dropout(hidden), RecurrentState(memories)

    def _inputs(self, tokens: Tensor) -> Tensor:
        """Vectors (B, T, I) of words, and of their letters if these are read; unknown words have the latter alone."""
        if not self.config.letters_read:
            return self.vectors(tokens)
        known = torch.where(tokens < self.config.vocab_size, tokens, UNK)
        return torch.cat([self.vectors(self.rare(known)), self.dropout(self.letters(tokens))], 2)


def _reader(config: RecurrentConfig) -> CharacterCNN | CharacterLSTM:
    """Of letters."""
    if config.letters == "lstm":
        return CharacterLSTM(config.letter_width, letter=config.letter_embedding)
    return CharacterCNN(config.letter_width, letter=config.letter_embedding)
