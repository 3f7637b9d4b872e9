"""What rnn, lstm and gru share: symbols become vectors, layers of cells read them, a softmax speaks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

from torch import Tensor

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import ModelConfig, State
from chainrule.models.neural import CarryingConfig, Speaker
from chainrule.nn.cells import STARTS, Cell, Memory
from chainrule.nn.dropout import KINDS
from chainrule.nn.recurrent import Stack, layer, lengths_of


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(CarryingConfig):
    """How deep, how wide, how it begins, and what it forgets on purpose."""

    start: str = option("default", "how hidden-to-hidden weights begin", choices=tuple(STARTS))
    dropout_kind: str = option(
        "plain",
        "what is dropped: single numbers, or the same ones at every step",
        choices=KINDS,
    )
    weight_drop: float = option(
        0.0, "share of hidden-to-hidden weights left out while training", low=0.0, high=0.99
    )
    layer_norm: bool = option(False, "normalise inside the recurrence; steadier and slower")


@dataclass(frozen=True)
class RecurrentState(State):
    """For every layer its hidden vector, and an LSTM's cell."""

    memories: tuple[Memory, ...]  # (B, D) each


class Recurrent(Speaker):
    """Reads one symbol after another; a family says which cell."""

    Config: ClassVar[type[ModelConfig]] = RecurrentConfig
    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config, config.width, config.dropout_kind)
        inputs = [config.vector, *[config.width] * (config.layers - 1)]
        drop, coarse = config.weight_drop, bool(config.coarse)
        layers = [layer(partial(self.cell, size), "forward", drop, coarse) for size in inputs]
        self.layers = Stack(layers, self.dropout)

    def cell(self, inputs: int) -> Cell:
        """A fresh cell that reads vectors of `inputs` numbers."""
        raise NotImplementedError

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(cls.Config(alphabet=9, layers=2, width=8), seed)  # type: ignore[call-arg]

    def start(self, batch: int, source: Any = None) -> RecurrentState:
        if source is not None:
            raise ModelError(
                f"The family {self.family!r} reads no source. Fit an encoder-decoder to write from one."
            )
        return RecurrentState(self.layers.start(batch))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, RecurrentState]:
        assert isinstance(state, RecurrentState)
        hidden, memories = self.layers(self.vectors(tokens), state.memories, lengths_of(tokens))  # (B, T, D)
        return self.bridge(self.dropout(hidden)), RecurrentState(memories)
