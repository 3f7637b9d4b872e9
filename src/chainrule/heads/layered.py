"""Layers that belong to a head: bidirectional LSTMs between a body and its answers, as above ELMo (Peters et al. 2018).

A body that stays frozen says the same for every task; these layers learn what this task makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from chainrule.config import option
from chainrule.heads.base import HeadConfig
from chainrule.nn.cells import LstmCell
from chainrule.nn.dropout import Dropout
from chainrule.nn.recurrent import Stack, layer


@dataclass(frozen=True, kw_only=True)
class LayeredConfig(HeadConfig):
    """How many layers there are between the body and the answer, and how wide they are."""

    layers: int = option(0, "bidirectional LSTM layers of the head; 0: none", low=0, high=64)
    layer_units: int = option(128, "units of such a layer, in each direction", low=1, high=1 << 16)
    dropout: float = option(0.0, "dropout of hidden vectors while training", low=0.0, high=0.99)

    @property
    def read_width(self) -> int:
        """Numbers of a vector that the answer is made from."""
        return 2 * self.layer_units if self.layers else self.width


class BiLstm(nn.Module):
    """Bidirectional LSTM layers, one above the other: (B, T, D) -> (B, T, 2 U), 0 where nothing is real."""

    def __init__(self, config: LayeredConfig) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        inputs = [config.width, *[2 * config.layer_units] * (config.layers - 1)]
        made = [layer(partial(LstmCell, size, config.layer_units), "both") for size in inputs]
        self.layers = Stack(made, self.dropout)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        found, _ = self.layers(self.dropout(hidden), self.layers.start(len(hidden)), real.sum(1))
        return found * real.unsqueeze(-1)  # type: ignore[no-any-return]


def layers_of(config: Any) -> BiLstm | None:
    """Those of a head, if it has any."""
    return BiLstm(config) if config.layers else None
