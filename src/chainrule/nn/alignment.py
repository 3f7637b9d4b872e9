"""Attention of a recurrent decoder: which positions of a source suit a query, and how much of each is looked at.

Letters: B rows, T queries, S source positions, Q numbers of a query, M of a source vector, K of a key.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.product import Linear

KINDS = ("dot", "general", "additive", "lecture")
REACH = 3  # positions that a jump bias knows of, on either side
MOST_FERTILE = 2.0  # times that a position may be looked at before that counts against it (Tu et al. 2016)
SHUT = -1e30  # the score of padding: nothing of it is left, and a row that is nothing but padding is not NaN


@dataclass(frozen=True)
class _Tensors:
    """A value of tensors with the batch as dimension 0."""

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        """The function on each of them."""
        given: list[tuple[str, Any]] = [(one.name, getattr(self, one.name)) for one in fields(self)]
        return replace(self, **{name: None if one is None else function(one) for name, one in given})


@dataclass(frozen=True)
class AttendedSource(_Tensors):
    """A source as the matrix F, and what queries are compared with: computed once."""

    vectors: Tensor  # (B, S, M) zero where a column is padding
    keys: Tensor  # (B, S, K)
    real: Tensor  # (B, S) False where a column is padding
    fertility: Tensor | None = None  # (B, S) how often each is looked at before that counts against it


@dataclass(frozen=True)
class AlignmentHistory(_Tensors):
    """What structural biases know of the past."""

    count: Tensor  # (B,) symbols read
    last: Tensor  # (B, S) the weights of the last symbol, 0 before the first
    covered: Tensor  # (B, S) those of all symbols, added up

    @classmethod
    def beginning(cls, source: AttendedSource) -> Self:
        """Before anything was looked at."""
        nothing = source.vectors.new_zeros(source.real.shape)
        return cls(nothing.sum(1), nothing, nothing)

    def after(self, weights: Tensor, lengths: Tensor | None) -> Self:
        """When weights (B, T, S) were given out, of which those of padding, from `lengths` (B,) on, do not count."""
        steps = weights.shape[1]
        if lengths is None:
            return type(self)(self.count + steps, weights[:, -1], self.covered + weights.sum(1))
        counted = torch.arange(steps, device=lengths.device) < lengths[:, None]  # (B, T)
        rows = torch.arange(len(lengths), device=lengths.device)
        last = torch.where(counted[:, :1], weights[rows, (lengths - 1).clamp(min=0)], self.last)
        covered = self.covered + (weights * counted[:, :, None]).sum(1)
        return type(self)(self.count + lengths, last, covered)


class Alignment(nn.Module):
    """Attention weights of queries over a source: softmax over scores, and structural biases if wanted.

    dot: q F_j; general: q W F_j (Luong et al. 2015); lecture: r = V q, u = F' r, the same product; additive:
    v tanh(W q + U F_j) (Bahdanau et al. 2015). Biases, learnt with the rest, in the manner of Cohn et al. 2016:
    `diagonal` is against distance from the diagonal, `jumps` for or against each short jump from where was last looked,
    `fertility` against positions that were looked at more than a word like theirs needs.
    """

    def __init__(
        self,
        kind: str,
        query_width: int,
        source_width: int,
        units: int,
        *,
        diagonal: bool = False,
        jumps: bool = False,
        fertility: bool = False,
        bf16: bool = False,
    ) -> None:
        """`units` are those of the additive form."""
        super().__init__()
        additive = kind == "additive"
        size = units if additive else query_width
        self.key = None if kind == "dot" else Linear(source_width, size, additive, bf16)
        self.query = Linear(query_width, units, False, bf16) if additive else None
        self.energy = nn.Parameter(torch.empty(units)) if additive else None
        if self.energy is not None:
            nn.init.uniform_(self.energy, -1 / math.sqrt(units), 1 / math.sqrt(units))
        self.diagonal = nn.Parameter(torch.tensor([-2.0, 1.0])) if diagonal else None  # how steep, and where
        self.jumps = nn.Parameter(torch.zeros(2 * REACH + 1)) if jumps else None
        self.fertility = nn.Linear(source_width, 1) if fertility else None
        self.coverage = nn.Parameter(torch.tensor([-1.0])) if fertility else None

    @property
    def biased(self) -> bool:
        """Whether it has to know of the past."""
        return self.diagonal is not None or self.sequential

    @property
    def sequential(self) -> bool:
        """Whether the weights of a symbol depend on those before."""
        return self.jumps is not None or self.fertility is not None

    def start(self, vectors: Tensor, real: Tensor) -> AttendedSource:
        """A source of vectors (B, S, M), no padding where it is `real` (B, S)."""
        vectors = vectors.masked_fill(~real[:, :, None], 0.0)
        keys = vectors if self.key is None else self.key(vectors)  # (B, S, K)
        if self.fertility is None:
            return AttendedSource(vectors, keys, real)
        fertility = MOST_FERTILE * self.fertility(vectors)[:, :, 0].sigmoid()  # (B, S)
        return AttendedSource(vectors, keys, real, fertility)

    def forward(
        self, queries: Tensor, source: AttendedSource, history: AlignmentHistory | None
    ) -> tuple[Tensor, AlignmentHistory | None]:
        """Weights (B, T, S) of queries (B, T, Q), and the history after all of them."""
        return self.weigh(queries if self.query is None else self.query(queries), source, history)

    def weigh(
        self, asked: Tensor, source: AttendedSource, history: AlignmentHistory | None
    ) -> tuple[Tensor, AlignmentHistory | None]:
        """The same for queries as they are compared with keys (B, T, K)."""
        scores = self._scores(asked, source)  # (B, T, S)
        if history is None:
            return self._weights(scores, source), None
        if self.diagonal is not None:
            scores = scores - self._distances(scores, history.count)
        if not self.sequential:
            weights = self._weights(scores, source)
            return weights, history.after(weights, None)
        found = []
        for one in torch.split(scores, 1, 1):
            weights = self._weights(one - self._held_against(source, history)[:, None], source)
            history = history.after(weights, None)
            found.append(weights)
        return torch.cat(found, 1), history

    def _scores(self, asked: Tensor, source: AttendedSource) -> Tensor:
        if self.energy is None:
            return asked @ source.keys.transpose(1, 2)
        sums = asked[:, :, None] + source.keys[:, None]  # (B, T, S, K)
        return torch.matmul(sums.tanh(), self.energy)

    def _weights(self, scores: Tensor, source: AttendedSource) -> Tensor:
        """Softmax over what is no padding."""
        if not bool(source.real.all()):
            scores = scores.masked_fill(~source.real[:, None], SHUT)
        return tap.replaced(self, "weights", scores.softmax(-1))

    def _distances(self, scores: Tensor, count: Tensor) -> Tensor:
        """Of every position from the diagonal, for each symbol, times how much that matters (B, T, S)."""
        assert self.diagonal is not None
        steep, slope = self.diagonal
        own, theirs = (torch.arange(size, device=count.device) for size in scores.shape[1:])
        symbols = count[:, None, None] + own[:, None]  # (B, T, 1)
        return torch.mul(F.softplus(steep), (theirs - slope * symbols).abs())

    def _held_against(self, source: AttendedSource, history: AlignmentHistory) -> Tensor:
        """What the weights of the past subtract from the scores of the next symbol (B, S)."""
        found = torch.zeros_like(history.last)
        if self.jumps is not None:
            found = found - F.conv1d(history.last[:, None], self.jumps[None, None], padding=REACH)[:, 0]
        if self.coverage is not None and source.fertility is not None:
            found = found + F.softplus(self.coverage) * history.covered / source.fertility
        return found
