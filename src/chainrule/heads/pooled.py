"""Pooling over a sequence, then a linear layer: one answer for a whole sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from chainrule.config import Config, option
from chainrule.heads.base import Head, register
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


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "mean": mean,
    "max": greatest,
    "last": last,
    "first": first,
}


@dataclass(frozen=True, kw_only=True)
class PooledConfig(Config):
    """How a sequence becomes one vector, and how many answers there are."""

    pooling: str = option("mean", "how a sequence becomes one vector", choices=tuple(POOLINGS))
    width: int = option(0, "of the body's hidden vectors", low=0, high=1 << 24, hidden=True)
    answers: int = option(0, "how many numbers are answered", low=0, high=1 << 24, hidden=True)


@register("pooled")
class Pooled(Head):
    """W pool(h_1 … h_T) + b."""

    Config: ClassVar[type[Config]] = PooledConfig
    config: PooledConfig

    def __init__(self, config: PooledConfig) -> None:
        super().__init__(config)
        self.output = Linear(config.width, config.answers)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return self.output(POOLINGS[self.config.pooling](hidden, real))  # type: ignore[no-any-return]
