"""What rnn, lstm and gru share: embeddings, layers of recurrent cells, a softmax over symbols."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self, final

from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.neural import NeuralLanguageModel, StatefulConfig
from chainrule.models.state import State
from chainrule.nn import tap
from chainrule.nn.cells import INITS, Cell, CellState
from chainrule.nn.dropout import KINDS
from chainrule.nn.recurrent import Direction, Stack, layer, lengths_of


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(StatefulConfig):
    """Settings of recurrent networks: initialisation, dropout, layer norm."""

    init: str = option("default", "initialisation of hidden-to-hidden weights", choices=tuple(INITS))
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
    layer_norm: bool = option(False, "layer norm inside the recurrence; steadier and slower")


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
        ways = 2 if config.bidirectional else 1
        super().__init__(config, ways * config.width, dropout=config.dropout_kind)
        self.reads = "both" if config.bidirectional else "left"
        self.stateful = config.stateful
        if not config.shared:  # what a table of both ends begins with would hardly move a cell
            nn.init.normal_(self.embedding.weight)
        inputs = [config.vector, *[self.width] * (config.layers - 1)]
        drop, bf16 = config.weight_drop, bool(config.bf16)
        direction: Direction = "both" if config.bidirectional else "forward"
        layers = [layer(partial(self.cell, size), direction, drop, bf16) for size in inputs]
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
        embeddings = tap.tell(self, "embeddings", self.vectors(tokens))  # (B, T, E)
        hidden, memories = self.layers(embeddings, state.memories, lengths_of(tokens))  # (B, T, D)
        return self.dropout(hidden), RecurrentState(memories)
