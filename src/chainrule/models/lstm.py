"""The family `lstm`: long short-term memory, a cell with input, forget and output gates."""

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
    """Settings of the LSTM."""

    gates: str = option(
        "separate",
        "coupled: one gate for input and forget (f = 1 - i)",
        choices=("separate", "coupled"),
    )


@register("lstm")
class Lstm(Recurrent):
    """c = f * c + i * g, h = o * tanh(c)."""

    Config: ClassVar[type[ModelConfig]] = LstmConfig
    config: LstmConfig

    def cell(self, inputs: int) -> cells.Cell:
        kind = cells.CoupledLstmCell if self.config.gates == "coupled" else cells.LstmCell
        return kind(inputs, self.config.width, self.config.init, self.config.layer_norm)
