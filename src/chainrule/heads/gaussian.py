"""A normal distribution for every number of the frame that comes next: its mean and its deviation."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from chainrule.heads.base import Head, HeadConfig, register
from chainrule.nn.product import Linear

NARROW, WIDE = math.log(1e-3), math.log(1e3)  # the least and the largest deviation, as logarithms
HALF_LOG = 0.5 * math.log(2.0 * math.pi)


@register("gaussian")
class Gaussian(Head):
    """mean = a * x_t + W h_t, log deviation = V h_t + c; `a` begins at 1, where nothing changes from frame to frame."""

    Config: ClassVar[type[HeadConfig]] = HeadConfig
    config: HeadConfig

    def __init__(self, config: HeadConfig) -> None:
        super().__init__(config)
        self.persistence = nn.Parameter(torch.ones(config.answers))
        self.output = Linear(config.width, 2 * config.answers)

    def forward(self, hidden: Tensor, real: Tensor, frames: Tensor | None = None) -> Tensor:
        """Means and logarithms of deviations (B, T, 2 F), after hidden (B, T, D) and the frames (B, T, F) just read."""
        mean, wide = self.output(hidden).chunk(2, -1)  # (B, T, F) each
        if frames is not None:
            mean = mean + self.persistence * frames.nan_to_num()
        return torch.cat([mean, wide.clamp(NARROW, WIDE)], -1)


def nats(told: Tensor, frames: Tensor) -> Tensor:
    """-log p (…, F) of every number of frames (…, F), 0 where one is missing; (…, 2 F) are means and deviations."""
    mean, wide = told.float().chunk(2, -1)
    known = ~frames.isnan()
    apart = torch.where(known, frames.nan_to_num() - mean, 0.0) * torch.exp(-wide)
    return torch.where(known, HALF_LOG + wide + 0.5 * apart.square(), 0.0)
