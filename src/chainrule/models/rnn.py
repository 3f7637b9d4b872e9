"""The family `rnn`: what it remembers is one vector per layer, made anew at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chainrule.config import option
from chainrule.models.base import ModelConfig
from chainrule.models.recurrent import Recurrent, RecurrentConfig
from chainrule.models.registry import register
from chainrule.models.sizing import ungated
from chainrule.nn import cells


@dataclass(frozen=True, kw_only=True)
class RnnConfig(RecurrentConfig):
    """A recurrent network without gates."""

    activation: str = option(
        "tanh", "what bends the sum of input and memory", choices=tuple(cells.ACTIVATIONS)
    )


@register("rnn")
class Rnn(Recurrent):
    """h = g(W x + U h + b)."""

    Config: ClassVar[type[ModelConfig]] = RnnConfig
    config: RnnConfig
    sizes = staticmethod(ungated)

    def cell(self, inputs: int) -> cells.Cell:
        config = self.config
        return cells.Rnn(inputs, config.width, config.start, config.layer_norm, config.activation)
