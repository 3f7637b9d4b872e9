"""Attention and the blocks made of it: (B, T, D) -> (B, T, D), what has been read in, what has been read out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.nn import tap
from chainrule.nn.dropout import Dropout
from chainrule.nn.position import rotated
from chainrule.nn.product import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}
GROWTH = 64  # columns that a full buffer gains at least


class Room:
    """A buffer of keys and values (B, H, C, d) with room for more; `used` of its columns are filled."""

    def __init__(self, keys: Tensor, values: Tensor, columns: int) -> None:
        rows, heads, self.used, width = keys.shape
        self.keys = keys.new_empty(rows, heads, columns, width)
        self.values = values.new_empty(rows, heads, columns, width)
        self.keys[:, :, : self.used], self.values[:, :, : self.used] = keys, values

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values with these ones behind them."""
        before, self.used = self.used, self.used + keys.shape[2]
        self.keys[:, :, before : self.used], self.values[:, :, before : self.used] = keys, values
        return self.keys[:, :, : self.used], self.values[:, :, : self.used]


@dataclass(frozen=True)
class Past:
    """Keys and values (B, H, L, d) of what has been read.

    What comes next is written into the room behind them; when somebody has gone on from here before, or the room is
    full, everything moves to a new one. So a past never changes, and reading on costs no copies.
    """

    keys: Tensor
    values: Tensor
    room: Room | None = None

    @property
    def length(self) -> int:
        """L."""
        return self.keys.shape[2]

    def __getitem__(self, rows: Tensor) -> Past:
        """Fork, reorder or drop rows."""
        return Past(self.keys[rows], self.values[rows])

    def cut(self, length: int) -> Past:
        """Only the first `length` symbols; this past, and whatever went on from it, must not be used any more."""
        if self.room is not None:
            self.room.used = length
        return Past(self.keys[:, :, :length], self.values[:, :, :length], self.room)

    def extended(self, keys: Tensor, values: Tensor) -> Past:
        """With keys and values (B, H, T, d) of new symbols."""
        if torch.is_grad_enabled():
            if not self.length:
                return Past(keys, values)
            return Past(torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2))
        length = self.length + keys.shape[2]
        room = self.room
        if room is None or room.used != self.length or length > room.keys.shape[2]:
            room = Room(self.keys, self.values, length + max(GROWTH, length // 2))
        return Past(*room.add(keys, values), room)


@dataclass(frozen=True)
class Sight:
    """Which symbols a symbol may look at, and by how much vectors are turned at their places."""

    causal: bool = False  # only those before it, and itself
    mask: Tensor | None = None  # (B or 1, 1, T, L) True: may be looked at; instead of `causal`
    turns: tuple[Tensor, Tensor] | None = None


class Attention(nn.Module):
    """softmax(Q K' / sqrt(d)) V in H heads."""

    def __init__(self, width: int, heads: int, coarse: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.asked = Linear(width, 3 * width, coarse=coarse)  # queries, keys, values
        self.answer = Linear(width, width, coarse=coarse)

    def start(self, batch: int) -> Past:
        """Having read nothing."""
        width, device = self.answer.in_features, self.answer.bias.device
        empty = torch.empty(batch, self.heads, 0, width // self.heads, device=device)
        return Past(empty, empty)

    def forward(self, vectors: Tensor, past: Past | None, sight: Sight) -> tuple[Tensor, Past | None]:
        parts = self.asked(vectors).unflatten(-1, (3, self.heads, -1))  # (B, T, 3, H, d)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # (B, H, T, d) each
        if sight.turns is not None:
            queries, keys = rotated(queries, sight.turns), rotated(keys, sight.turns)
        if past is not None:
            past = past.extended(keys, values)
            keys, values = past.keys, past.values
        attend = self._told if tap.is_heard(self) else F.scaled_dot_product_attention
        mixed: Tensor = attend(queries, keys, values, sight.mask, is_causal=sight.causal)  # (B, H, T, d)
        return self.answer(mixed.transpose(1, 2).flatten(2)), past

    def _told(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """The same, step by step, for those who want to see who looks at whom."""
        fit = queries @ keys.transpose(2, 3) / queries.shape[-1] ** 0.5  # (B, H, T, L)
        if is_causal:
            mask = torch.ones(fit.shape[-2:], dtype=torch.bool, device=fit.device).tril()
        if mask is not None:
            fit = fit.masked_fill(~mask, -torch.inf)
        weights: Tensor = fit.softmax(-1)
        tap.tell(self, attention=weights)
        return weights @ values


class Block(nn.Module):
    """Look at the others, then think about it; each time what is found is added to what was there.

    Normalised `first` (GPT-2), or after adding (the Transformer of 2017, BERT).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        inner: int,
        activation: str = "gelu",
        first: bool = True,
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        coarse: bool = False,
    ) -> None:
        super().__init__()
        self.attention = Attention(width, heads, coarse)
        self.attention_norm = nn.LayerNorm(width, epsilon)
        self.wide = Linear(width, inner, coarse=coarse)
        self.narrow = Linear(inner, width, coarse=coarse)
        self.thought_norm = nn.LayerNorm(width, epsilon)
        self.activation = activation
        self.first = first
        self.dropout = Dropout(dropout)

    @property
    def linears(self) -> list[Linear]:
        """Its layers that multiply."""
        return [self.attention.asked, self.attention.answer, self.wide, self.narrow]

    def think(self, vectors: Tensor) -> Tensor:
        """A small network for every symbol by itself."""
        return self.narrow(ACTIVATIONS[self.activation](self.wide(vectors)))  # type: ignore[no-any-return]

    def forward(self, vectors: Tensor, past: Past | None, sight: Sight) -> tuple[Tensor, Past | None]:
        if self.first:
            found, past = self.attention(self.attention_norm(vectors), past, sight)
            vectors = vectors + self.dropout(found)
            return vectors + self.dropout(self.think(self.thought_norm(vectors))), past
        found, past = self.attention(vectors, past, sight)
        vectors = self.attention_norm(vectors + self.dropout(found))
        return self.thought_norm(vectors + self.dropout(self.think(vectors))), past


class Blocks(nn.Module):
    """One block above the other, called 0, 1, …"""

    def __init__(self, blocks: Iterable[Block]) -> None:
        super().__init__()
        for place, block in enumerate(blocks):
            self.add_module(str(place), block)

    @property
    def all(self) -> list[Block]:
        """From the lowest to the highest."""
        return [block for block in self.children() if isinstance(block, Block)]

    def begin_small(self, deviation: float) -> None:
        """What is added up over layers begins the smaller the more layers there are."""
        for block in self.all:
            for last in (block.attention.answer, block.narrow):
                nn.init.normal_(last.weight, std=deviation / math.sqrt(2 * len(self.all)))

    def start(self, batch: int) -> tuple[Past, ...]:
        """Of every block, having read nothing."""
        return tuple(block.attention.start(batch) for block in self.all)

    def forward(
        self, vectors: Tensor, pasts: Sequence[Past] | None, sight: Sight
    ) -> tuple[Tensor, tuple[Past, ...]]:
        """Without `pasts`, nothing is remembered either."""
        after = []
        for place, block in enumerate(self.all):
            vectors, past = block(vectors, pasts[place] if pasts else None, sight)  # (B, T, D)
            after.append(past)
        return vectors, tuple(after) if pasts else ()


def causal_sight(real: Tensor | None, past: int, new: int) -> Sight:
    """What `new` symbols after `past` ones may look at: what came before, as far as it is `real` (B, L + T).

    Padding stands to the right of a row's symbols, so those read in one go never see any of it.
    """
    if past == 0:
        return Sight(causal=new > 1)
    if real is None and new == 1:
        return Sight()
    device = None if real is None else real.device
    rows = torch.arange(past, past + new, device=device).unsqueeze(1)  # (T, 1)
    mask = (torch.arange(past + new, device=device) <= rows)[None, None]  # (1, 1, T, L + T)
    if real is not None:
        own = torch.arange(past + new, device=device) == rows  # a padded place sees itself, so nothing is NaN
        mask = mask & (real[:, None, None] | own)
    return Sight(mask=mask)
