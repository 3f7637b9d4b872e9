"""The family `lstm`: long short-term memory, a cell with input, forget and output gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chainrule.config import option
from chainrule.models.base import ModelConfig
from chainrule.models.recurrent import Recurrent, RecurrentConfig
from chainrule.models.registry import register
from chainrule.nn import cells

CELLS: dict[str, type[cells.LstmCell]] = {
    "additive": cells.AdditiveCell,
    "no-output": cells.NoOutputCell,
    "separate": cells.LstmCell,
    "coupled": cells.CoupledLstmCell,
}


@dataclass(frozen=True, kw_only=True)
class LstmConfig(RecurrentConfig):
    """Settings of the LSTM."""

    gates: str = option(
        "separate",
        "separate: the LSTM; coupled: one gate for input and forget (f = 1 - i); on the way to it, additive: "
        "c = c + g without gates, and no-output: input and forget gate, h = tanh(c)",
        choices=tuple(CELLS),
    )


@register("lstm")
class Lstm(Recurrent):
    """c = f * c + i * g, h = o * tanh(c)."""

    Config: ClassVar[type[ModelConfig]] = LstmConfig
    config: LstmConfig

    def cell(self, inputs: int) -> cells.Cell:
        config = self.config
        return CELLS[config.gates](inputs, config.width, config.init, config.layer_norm)
