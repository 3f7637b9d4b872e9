"""Answers as parts of a passage: where they begin and where they end, given a question read before it.

Every place of the passage attends to the question (as DrQA and BiDAF do), and convolutions let neighbours know of each
other what they found there. So the passage is question-aware whatever the body is: one that reads to the left only,
one that sees few symbols, or one whose own attention has seen the question already.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.config import option
from chainrule.heads.base import Head, HeadConfig, register
from chainrule.heads.pooled import greatest
from chainrule.nn import tap
from chainrule.nn.dropout import drop
from chainrule.nn.product import Linear

WIDTH = 5  # symbols that a convolution sees
DILATIONS = (1, 2, 4)
NEVER = 1e9  # a threshold that no model reaches


@dataclass(frozen=True, kw_only=True)
class SpanConfig(HeadConfig):
    """How wide it is, and how sure it must be that there is no answer."""

    units: int = option(128, "units of the layers of the head", low=1, high=1 << 16)
    dropout: float = option(0.0, "dropout of hidden vectors while training", low=0.0, high=0.99)
    threshold: float = option(
        0.0,
        "by how much no answer must score above the best one, fitted on validation data",
        low=-NEVER,
        high=NEVER,
        hidden=True,
    )


@register("span")
class SpanHead(Head):
    """Logits of beginning and end for every place of a passage, and for there being no answer."""

    Config: ClassVar[type[HeadConfig]] = SpanConfig
    fitted: ClassVar[tuple[str, ...]] = ("temperature", "threshold")
    config: SpanConfig

    def __init__(self, config: SpanConfig) -> None:
        super().__init__(config)
        units = config.units
        self.project = Linear(config.width, units)
        self.match = Linear(units, units, bias=False)
        self.importance = Linear(units, 1, bias=False)
        self.join = Linear(4 * units, units)
        self.same = nn.Parameter(torch.zeros(units))
        self.layers = nn.ModuleList(Neighbours(units, dilation) for dilation in DILATIONS)
        self.output = Linear(units, 2)
        self.nothing = Linear(2 * units, 2)

    def forward(self, hidden: Tensor, real: Tensor, same: Tensor | None = None) -> Tensor:
        """(B, 1 + T, 2): of no answer, then of every place of hidden (B, T, D); `real` (B, T) is the passage.

        What stands before the passage is the question; `same` (B, T) is 1 for symbols that stand in both, else 0.
        """
        vectors = self.project(drop(hidden, self.config.dropout, self.training))  # (B, T, U)
        if same is not None:
            vectors = vectors + same[..., None] * self.same
        before = real.long().cumsum(1) == 0  # (B, T)
        longest = int(before.sum(1).max())
        question, asked = vectors[:, :longest], before[:, :longest]  # (B, Q, U), (B, Q)
        found, summary = self._attended(vectors, question, asked), self._summary(question, asked)
        both = torch.cat([vectors, found, vectors * found, summary[:, None].expand_as(vectors)], 2)
        aware = F.relu(self.join(both)) * real[..., None]  # (B, T, U)
        for layer in self.layers:
            aware = aware + F.relu(layer(aware)) * real[..., None]
        nothing = self.nothing(torch.cat([greatest(aware, real), summary], 1))  # (B, 2)
        return torch.cat([nothing[:, None], self.output(aware)], 1)

    def _attended(self, vectors: Tensor, question: Tensor, asked: Tensor) -> Tensor:
        """Of the question what each place looks for (B, T, U)."""
        scores = self.match(vectors) @ question.transpose(1, 2) / math.sqrt(self.config.units)  # (B, T, Q)
        return self._weights("attention", scores, asked[:, None]) @ question

    def _summary(self, question: Tensor, asked: Tensor) -> Tensor:
        """The question as one vector (B, U)."""
        weights = self._weights("summary", self.importance(question)[..., 0], asked)  # (B, Q)
        return (weights[..., None] * question).sum(1)

    def _weights(self, name: str, scores: Tensor, asked: Tensor) -> Tensor:
        masked = scores.masked_fill(~asked, torch.finfo(scores.dtype).min)
        return tap.tell(self, name, masked.softmax(-1))


class Neighbours(nn.Module):
    """A convolution over places that lie `dilation` apart: (B, T, U) -> (B, T, U)."""

    def __init__(self, units: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.filters = Linear(WIDTH * units, units)

    def forward(self, vectors: Tensor) -> Tensor:
        side, length = self.dilation * (WIDTH // 2), vectors.shape[1]
        padded = F.pad(vectors, (0, 0, side, side))  # (B, T + 2 side, U)
        shifted = [padded[:, at * self.dilation :][:, :length] for at in range(WIDTH)]
        found: Tensor = self.filters(torch.cat(shifted, 2))
        return found
