"""Position embeddings: where a symbol stands, which attention alone does not know.

`learned` and `sinusoidal` vectors are added to those of the symbols, `concatenated` ones (sinusoidal) stand beside them
before a layer makes one vector of both; `rotary` ones turn queries and keys, so that their product depends on how far
apart two symbols are.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from chainrule.nn.product import Linear

KINDS = ("rotary", "learned", "sinusoidal", "concatenated")
START = 0.02  # deviation of learned ones at the beginning
BASE = 10_000.0  # the longest wave is 2 pi times as many symbols


def angles(positions: Tensor, width: int) -> Tensor:
    """For positions (…) the angles (…, width / 2), from one turn in 2 pi symbols to one in 2 pi BASE."""
    waves = torch.arange(0, width, 2, device=positions.device, dtype=torch.float64) / width
    return (positions.double().unsqueeze(-1) * BASE**-waves).float()


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """Vectors (…, width) of positions (…): sines, then cosines (Vaswani et al. 2017)."""
    turns = angles(positions, width + width % 2)
    return torch.cat([turns.sin(), turns.cos()], -1)[..., :width]


def rotation(positions: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines (B or 1, 1, T, width) for heads of this width, which must be even, at positions (B or 1, T)."""
    turns = angles(positions, width).unsqueeze(1)  # (B, 1, T, width / 2)
    return torch.cat([turns.cos(), turns.cos()], -1), torch.cat([-turns.sin(), turns.sin()], -1)


def rotated(vectors: Tensor, by: tuple[Tensor, Tensor]) -> Tensor:
    """Vectors (B, H, T, d) turned pair by pair, the pairs being numbers d / 2 apart (Su et al. 2021)."""
    cosines, sines = by
    return vectors * cosines + vectors.roll(vectors.shape[-1] // 2, -1) * sines


class Positions(nn.Module):
    """Vectors of symbols with vectors of their positions, of any kind but rotary, which is left to attention."""

    def __init__(self, kind: str, width: int, context: int, scaled: bool = True) -> None:
        """`scaled`: sinusoids are joined to vectors times the square root of the width."""
        super().__init__()
        self.kind, self.width, self.context = kind, width, context
        self.scale = math.sqrt(width) if scaled else 1.0
        if kind == "learned":
            self.weight = nn.Parameter(torch.empty(context, width).normal_(std=START))
        if kind == "concatenated":
            self.join = Linear(2 * width, width)

    def forward(self, vectors: Tensor, positions: Tensor) -> Tensor:
        """Vectors (B, T, D) at positions (B or 1, T)."""
        if self.kind == "rotary":
            return vectors
        if self.kind == "learned":
            return vectors + self.weight[positions.clamp(max=self.context - 1)]
        waves = sinusoidal(positions, self.width)  # (B or 1, T, D)
        if self.kind == "sinusoidal":
            return vectors * self.scale + waves
        return self.join(torch.cat([vectors * self.scale, waves.expand_as(vectors)], -1))  # type: ignore[no-any-return]
