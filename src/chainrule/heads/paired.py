"""Two sequences, one answer: u, v, |u - v| and u * v of their vectors, which may have looked at each other before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.heads.base import Head, HeadConfig, register
from chainrule.heads.layered import layers_of
from chainrule.heads.pooled import POOLINGS, WIDER, PooledConfig, attended
from chainrule.nn import tap
from chainrule.nn.dropout import drop
from chainrule.nn.product import Linear


@dataclass(frozen=True, kw_only=True)
class PairedConfig(PooledConfig):
    """How two sequences are compared."""

    attention: bool = option(True, "cross-attention between the two sequences before pooling")
    units: int = option(128, "units of the layers of cross-attention", low=1, high=1 << 16)


@register("paired")
class Paired(Head):
    """W [u; v; |u - v|; u * v] + b, u and v being the pooled vectors of two sequences."""

    Config: ClassVar[type[HeadConfig]] = PairedConfig
    config: PairedConfig

    def __init__(self, config: PairedConfig) -> None:
        super().__init__(config)
        self.layers = layers_of(config)
        read = config.read_width
        self.compare = Compare(read, config.units) if config.attention else None
        size = config.units if config.attention else read
        self.query = Linear(size, 1, bias=False) if config.pooling == "attention" else None
        size *= WIDER.get(config.pooling, 1)
        self.dense = Linear(4 * size, config.dense) if config.dense else None
        self.output = Linear(config.dense or 4 * size, 1 if config.sigmoid else config.answers)

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        """The answer to each pair (B, answers): hidden (2B, T, D) are the first texts of all, then the second ones.

        `same` (2B, T) is 1 for symbols that stand in the other text, too, else 0.
        """
        if self.layers is not None:
            hidden = self.layers(hidden, real)  # (2B, T, 2 U)
        vectors = hidden if self.compare is None else self.compare(hidden, real, same)
        u, v = self._pool(vectors, real).chunk(2)  # (B, U)
        joined = torch.cat([u, v, (u - v).abs(), u * v], 1)  # (B, 4 U)
        vector = drop(joined, self.config.dropout, self.training)
        if self.dense is not None:
            vector = F.relu(self.dense(vector))
        logits: Tensor = self.output(vector)  # (B, answers)
        return F.pad(logits, (1, 0)) if self.config.sigmoid else logits

    def _pool(self, hidden: Tensor, real: Tensor) -> Tensor:
        if self.query is None:
            return POOLINGS[self.config.pooling](hidden, real)
        return attended(self, self.query, hidden, real)


class Compare(nn.Module):
    """Cross-attention: every place looks for its like in the other text, and is compared with what it finds there.

    As in decomposable attention (Parikh et al. 2016) and ESIM (Chen et al. 2017).
    """

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.units = units
        self.match = Linear(width, units, bias=False)
        self.join = Linear(4 * units, units)
        self.same = nn.Parameter(torch.zeros(units))

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None) -> Tensor:
        """(2B, T, D) -> (2B, T, U)."""
        own = self.match(hidden)  # (2B, T, U)
        other, there = (one.roll(len(one) // 2, 0) for one in (own, real))
        scores = own @ other.transpose(1, 2) / math.sqrt(self.units)  # (2B, T, T)
        masked = scores.masked_fill(~there[:, None], torch.finfo(scores.dtype).min)
        found = tap.tell(self, "attention", masked.softmax(-1)) @ other  # (2B, T, U)
        compared = self.join(torch.cat([own, found, (own - found).abs(), own * found], 2))
        if same is not None:
            compared = compared + same[..., None] * self.same
        return F.relu(compared)
