"""Dropout while training, of four kinds; all randomness is torch's global one.

Each kind drops something else: `plain` single numbers, `locked` the same numbers at every step of a sequence
(Gal and Ghahramani 2016), `embed` whole symbols, and `dropped` weights (weight-drop, Merity et al. 2018).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KINDS = ("plain", "locked")
STEPS = 1 << 16  # chances are rounded to so many


class Dropout(nn.Module):
    """Drops numbers of vectors (B, T, D): each by itself, or the same ones at every step."""

    def __init__(self, share: float, kind: str = "plain") -> None:
        super().__init__()
        self.share = share
        self.kind = kind

    def forward(self, vectors: Tensor) -> Tensor:
        if not self.training or self.share == 0.0:
            return vectors
        if self.kind == "plain":
            return vectors * _mask(vectors, self.share)
        return vectors * _mask(vectors[:, :1], self.share)  # (B, T, D)


def embed(tokens: Tensor, table: Tensor, share: float, training: bool) -> Tensor:
    """The vectors (B, T, D) of symbols (B, T); a dropped symbol is zero wherever it occurs in the batch."""
    vectors = F.embedding(tokens, table)  # (B, T, D)
    if not training or share == 0.0:
        return vectors
    return vectors * _mask(table[:, 0], share)[tokens].unsqueeze(-1)  # (B, T, D)


def dropped(weight: Tensor, share: float, training: bool) -> Tensor:
    """A weight matrix with single weights left out."""
    return weight * _mask(weight, share) if training and share > 0.0 else weight


def _mask(like: Tensor, share: float) -> Tensor:
    """0 with chance `share`, otherwise what keeps the mean as it was.

    Each number has 16 random bits: torch draws them five times as fast as `bernoulli_` does.
    """
    count = like.numel()
    drawn = torch.empty(-(-count // 4), dtype=torch.int64, device=like.device).random_(-(1 << 63), None)
    kept = drawn.view(torch.int16)[:count].view(like.shape) >= round(share * STEPS) - STEPS // 2
    return kept.to(like.dtype).div_(1.0 - share)
