"""The family `gru`: gated recurrent unit, one hidden vector with update and reset gates (Cho et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chainrule.config import option
from chainrule.models.base import ModelConfig
from chainrule.models.recurrent import Recurrent, RecurrentConfig
from chainrule.models.registry import register
from chainrule.nn import cells


@dataclass(frozen=True, kw_only=True)
class GruConfig(RecurrentConfig):
    """Settings of the GRU."""

    reset: str = option(
        "before",
        "reset gate before or after the product with the hidden weights; after is faster, and what torch does",
        choices=("before", "after"),
    )


@register("gru")
class Gru(Recurrent):
    """h = (1 - z) * h + z * g, where g sees r * h."""

    Config: ClassVar[type[ModelConfig]] = GruConfig
    config: GruConfig

    def cell(self, inputs: int) -> cells.Cell:
        kind = cells.GruBeforeCell if self.config.reset == "before" else cells.GruAfterCell
        return kind(inputs, self.config.width, self.config.init, self.config.layer_norm)
