"""Pooling over a sequence, then a linear layer: one answer for a whole sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.heads.base import Head, HeadConfig, register
from chainrule.heads.layered import LayeredConfig, layers_of
from chainrule.nn import tap
from chainrule.nn.dropout import drop
from chainrule.nn.product import Linear


def mean(hidden: Tensor, real: Tensor) -> Tensor:
    """The mean (B, D) of the real vectors of each row; 0 where there is none."""
    weights = real.unsqueeze(-1).to(hidden.dtype)  # (B, T, 1)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1.0)


def greatest(hidden: Tensor, real: Tensor) -> Tensor:
    """Max over time (B, D)."""
    found = hidden.masked_fill(~real.unsqueeze(-1), -torch.inf).amax(1)
    return found.masked_fill(found == -torch.inf, 0.0)


def last(hidden: Tensor, real: Tensor) -> Tensor:
    """The vector (B, D) of the last real symbol."""
    place = (real.sum(1) - 1).clamp(min=0)  # (B,)
    return hidden[torch.arange(len(hidden), device=hidden.device), place]


def first(hidden: Tensor, real: Tensor) -> Tensor:
    """The vector (B, D) of the first symbol, BOS, which BERT calls [CLS]."""
    return hidden[:, 0]


def ends(hidden: Tensor, real: Tensor) -> Tensor:
    """For a body that reads both ways (B, D): what it has read at the end, and backwards at the beginning."""
    half = hidden.shape[2] // 2
    return torch.cat([last(hidden, real)[:, :half], hidden[:, 0, half:]], 1)


def concat(hidden: Tensor, real: Tensor) -> Tensor:
    """[last; max; mean] (B, 3 D), concat pooling (Howard and Ruder 2018)."""
    return torch.cat([pool(hidden, real) for pool in (last, greatest, mean)], 1)


WIDER = {"concat": 3}  # times as many numbers as a hidden vector has

POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": mean,
    "max": greatest,
    "last": last,
    "first": first,
    "cls": first,
    "ends": ends,
    "concat": concat,
}


def attended(owner: nn.Module, query: nn.Module, hidden: Tensor, real: Tensor) -> Tensor:
    """The mean (B, D) of the real vectors, each weighed by how it answers a query."""
    logits = query(hidden).masked_fill(~real.unsqueeze(-1), torch.finfo(hidden.dtype).min)  # (B, T, 1)
    weights = tap.tell(owner, "weights", logits.softmax(1))
    found: Tensor = (weights * hidden).sum(1)
    return found


@dataclass(frozen=True, kw_only=True)
class PooledConfig(LayeredConfig):
    """How a sequence becomes one vector, and what is between it and the answer."""

    pooling: str = option("mean", "how a sequence becomes one vector", choices=(*POOLINGS, "attention"))
    dense: int = option(0, "units of a ReLU layer between pooling and output; 0: none", low=0, high=1 << 24)
    sigmoid: bool = option(False, "one logit for two answers: a sigmoid instead of a softmax")


@register("pooled")
class Pooled(Head):
    """W pool(h_1 … h_T) + b; of a sigmoid, which has one output z, the logits are 0 and z."""

    Config: ClassVar[type[HeadConfig]] = PooledConfig
    config: PooledConfig

    def __init__(self, config: PooledConfig) -> None:
        super().__init__(config)
        self.layers = layers_of(config)
        size = config.read_width
        self.query = Linear(size, 1, bias=False) if config.pooling == "attention" else None
        width = size * WIDER.get(config.pooling, 1)
        self.dense = Linear(width, config.dense) if config.dense else None
        self.output = Linear(config.dense or width, 1 if config.sigmoid else config.answers)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        if self.layers is not None:
            hidden = self.layers(hidden, real)  # (B, T, 2 U)
        vector = drop(self._pool(hidden, real), self.config.dropout, self.training)  # (B, D)
        if self.dense is not None:
            vector = F.relu(self.dense(vector))
        logits: Tensor = self.output(vector)  # (B, answers)
        return F.pad(logits, (1, 0)) if self.config.sigmoid else logits

    def _pool(self, hidden: Tensor, real: Tensor) -> Tensor:
        if self.query is None:
            return POOLINGS[self.config.pooling](hidden, real)
        return attended(self, self.query, hidden, real)
