"""Position embeddings: where a symbol stands, which attention alone does not know.

`learned` and `sinusoidal` vectors are added to those of the symbols; `rotary` ones turn queries and keys, so that
their product depends on how far apart two symbols are.
"""

from __future__ import annotations

import torch
from torch import Tensor

KINDS = ("rotary", "learned", "sinusoidal")
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
