"""The family `rnn`: a plain (Elman) recurrent network, one hidden vector per layer."""

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
    """Settings of the plain recurrent network."""

    activation: str = option("tanh", "activation of the hidden units", choices=tuple(cells.ACTIVATIONS))


@register("rnn")
class Rnn(Recurrent):
    """h = g(W x + U h + b)."""

    Config: ClassVar[type[ModelConfig]] = RnnConfig
    config: RnnConfig
    sizes = staticmethod(ungated)

    def cell(self, inputs: int) -> cells.Cell:
        config = self.config
        return cells.RnnCell(inputs, config.width, config.init, config.layer_norm, config.activation)
