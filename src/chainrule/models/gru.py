"""The family `gru`: one vector, of which an update gate keeps a part and a reset gate hides a part."""

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
    """A recurrent network with two gates."""

    reset: str = option(
        "before",
        "reset the memory before or after it meets its weights; after is faster, and what torch does",
        choices=("before", "after"),
    )


@register("gru")
class Gru(Recurrent):
    """h = (1 - z) * h + z * g, where g sees r * h."""

    Config: ClassVar[type[ModelConfig]] = GruConfig
    config: GruConfig

    def cell(self, inputs: int) -> cells.Cell:
        kind = cells.GruBefore if self.config.reset == "before" else cells.GruAfter
        return kind(inputs, self.config.width, self.config.start, self.config.layer_norm)
