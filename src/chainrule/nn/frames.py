"""Frames, symbols that are vectors of real numbers: what a network reads of them."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.nn import tap
from chainrule.nn.dropout import embed
from chainrule.nn.product import Linear
from chainrule.nn.spelled import Spelled
from chainrule.symbols import UNK


class FrameProjection(Spelled):
    """W [x; missing(x)] (B, T, E) of frames (B, T) known by their numbers x; 0 for symbols of the vocabulary.

    A missing number is 0, the mean, and has a 1 in a column of its own.
    """

    def __init__(self, vocab_size: int, features: int, width: int) -> None:
        super().__init__(np.zeros((vocab_size, features), np.float32))
        self.projection = Linear(2 * features, width, bias=False)  # the vector of UNK is the bias

    def forward(self, tokens: Tensor) -> Tensor:
        numbers = tap.tell(self, "frames", self.spelled(tokens))  # (B, T, F)
        told = torch.cat([numbers.nan_to_num(), numbers.isnan().to(numbers.dtype)], -1)  # (B, T, 2 F)
        found: Tensor = self.projection(told)
        return found


def vectors_of(
    tokens: Tensor, table: Tensor, frames: FrameProjection | None, dropout: float, training: bool
) -> Tensor:
    """Vectors (B, T, E) of symbols (B, T): rows of a table (V, E); a frame is UNK there, and what its numbers say.

    Dropped are whole symbols, or single frames.
    """
    if frames is None:
        return embed(tokens, table, dropout, training)
    told: Tensor = frames(tokens)
    vectors = F.embedding(tokens.where(tokens < len(table), UNK), table) + told  # (B, T, E)
    return vectors * F.dropout(torch.ones_like(vectors[..., :1]), dropout, training)
