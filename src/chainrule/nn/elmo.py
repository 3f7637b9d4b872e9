"""The layers of ELMo (Peters et al. 2018): recurrent stacks with residual connections, and a weighted mix of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.cells import Cell
from chainrule.nn.dropout import Dropout
from chainrule.nn.product import Linear
from chainrule.nn.recurrent import OneWay


class ResidualStack(nn.Module):
    """Recurrent layers in one direction, each brought to the width D; from the second on they add what they read.

    `make` makes a cell that reads vectors of D numbers.
    """

    def __init__(
        self,
        make: Callable[[], Cell],
        layers: int,
        width: int,
        *,
        backward: bool,
        dropout: Dropout,
        bf16: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(OneWay(make(), backward=backward, bf16=bf16) for _ in range(layers))
        self.projections = nn.ModuleList(_projection(one.width, width) for one in self.layers)  # type: ignore[arg-type]
        self.between = dropout

    def forward(self, vectors: Tensor, lengths: Tensor | None) -> list[Tensor]:
        """The vectors (B, T, D) of every layer, from the lowest to the highest."""
        found: list[Tensor] = []
        for layer, projection in zip(self.layers, self.projections, strict=True):
            assert isinstance(layer, OneWay)
            hidden, _ = layer(self.between(vectors), layer.start(len(vectors)), lengths)
            hidden = projection(hidden)  # (B, T, D)
            vectors = hidden + vectors if found else hidden
            found.append(vectors)
        return found


def _projection(inside: int, width: int) -> nn.Module:
    return nn.Identity() if inside == width else Linear(inside, width)


class LayerMix(nn.Module):
    """gamma * sum_j softmax(s)_j h_j over the layers of a body: what a task makes of them is learnt with its head."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))  # s
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        shares = tap.tell(self, "shares", self.weights.softmax(0))  # (L + 1,)
        mixed = sum((share * one for share, one in zip(shares, layers, strict=True)), torch.zeros(()))
        return tap.tell(self, "mixed", self.gamma * mixed)  # (B, T, D)
