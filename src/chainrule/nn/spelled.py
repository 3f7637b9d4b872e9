"""Symbols known by what they are made of: words by their letters, frames by their numbers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


class Spelled(nn.Module):
    """Holds how the V symbols of a vocabulary are spelled, which is saved with the weights, and how X more are.

    Ids from V on, of symbols that were never seen before, are spelled by `more`, which is not saved.
    """

    spellings: Tensor  # (V, C)
    more: Tensor  # (X, C)

    def __init__(self, spellings: np.ndarray) -> None:
        super().__init__()
        table = torch.from_numpy(spellings)
        self.register_buffer("spellings", table.to(torch.get_default_device()))
        self.register_buffer("more", self.spellings[:0].clone(), persistent=False)

    def spell(self, spellings: np.ndarray, more: np.ndarray) -> None:
        """Other spellings (V, C) of the vocabulary, and those (X, C) of symbols beyond it."""
        now = self.spellings
        self.spellings, self.more = (
            torch.from_numpy(np.ascontiguousarray(one)).to(now.device, now.dtype) for one in (spellings, more)
        )

    def spelled(self, ids: Tensor) -> Tensor:
        """The spellings (…, C) of ids (…)."""
        count = len(self.spellings)
        own = self.spellings[ids.clamp(max=count - 1)]
        if not len(self.more):
            return own
        return torch.where((ids < count).unsqueeze(-1), own, self.more[(ids - count).clamp(min=0)])
