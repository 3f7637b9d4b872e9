"""The family `lstm`: a cell beside the hidden vector, and gates that decide what enters, stays and shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chainrule.config import option
from chainrule.models.base import ModelConfig
from chainrule.models.recurrent import Recurrent, RecurrentConfig
from chainrule.models.registry import register
from chainrule.nn import cells


@dataclass(frozen=True, kw_only=True)
class LstmConfig(RecurrentConfig):
    """A recurrent network with long memory."""

    gates: str = option(
        "separate",
        "coupled: what enters replaces as much of what was there (f = 1 - i)",
        choices=("separate", "coupled"),
    )


@register("lstm")
class Lstm(Recurrent):
    """c = f * c + i * g, h = o * tanh(c)."""

    Config: ClassVar[type[ModelConfig]] = LstmConfig
    config: LstmConfig

    def cell(self, inputs: int) -> cells.Cell:
        kind = cells.CoupledLstm if self.config.gates == "coupled" else cells.Lstm
        return kind(inputs, self.config.width, self.config.start, self.config.layer_norm)
