"""KV cache: what attention remembers of the symbols read, and of a source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

GROWTH = 64  # columns that a full buffer gains at least


class KVBuffer:
    """Memory for keys and values (B, H, C, d), of which the first `used` columns are filled."""

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
class KVCache:
    """KV cache: keys and values (B, H, L, d) of what has been read.

    New ones are written into a buffer, behind those that are there. When the buffer is full, or another continuation of
    this cache has written there, everything moves to a new one. So a cache never changes, and extending it costs no
    copies.
    """

    keys: Tensor
    values: Tensor
    buffer: KVBuffer | None = None

    @property
    def length(self) -> int:
        """L."""
        return self.keys.shape[2]

    def map(self, function: Callable[[Tensor], Tensor]) -> KVCache:
        """The function on keys and on values; whoever extends the result begins a buffer of its own."""
        return KVCache(function(self.keys), function(self.values))

    def crop(self, length: int) -> KVCache:
        """Only the first `length` columns; this cache, and whatever extended it, must not be used any more."""
        if self.buffer is not None:
            self.buffer.used = length
        return KVCache(self.keys[:, :, :length], self.values[:, :, :length], self.buffer)

    def extended(self, keys: Tensor, values: Tensor) -> KVCache:
        """With keys and values (B, H, T, d) of new symbols."""
        if torch.is_grad_enabled():
            if not self.length:
                return KVCache(keys, values)
            return KVCache(torch.cat([self.keys, keys], 2), torch.cat([self.values, values], 2))
        length = self.length + keys.shape[2]
        buffer = self.buffer
        if buffer is None or buffer.used != self.length or length > buffer.keys.shape[2]:
            buffer = KVBuffer(self.keys, self.values, length + max(GROWTH, length // 2))
        return KVCache(*buffer.add(keys, values), buffer)

    def split(self) -> list[KVCache]:
        """One cache for each row."""
        if len(self.keys) == 1:
            return [self]
        each = zip(torch.split(self.keys, 1), torch.split(self.values, 1), strict=True)
        return [KVCache(keys, values) for keys, values in each]

    def attended(self, queries: Tensor, allowed: Tensor | None, causal: bool) -> Tensor:
        """Scaled dot-product attention (B, H, T, d) of queries (B, H, T, d)."""
        return F.scaled_dot_product_attention(queries, self.keys, self.values, allowed, is_causal=causal)


@dataclass(frozen=True)
class RaggedCache:
    """KV caches of unequal length, one a row, for steps in which every row reads one symbol.

    Rows come, go and change places without being copied, and what a row attends to does not depend on the others.
    """

    rows: tuple[KVCache, ...]  # (1, H, L, d) each

    @property
    def length(self) -> int:
        """The most columns that any row has."""
        return max((row.length for row in self.rows), default=0)

    def map(self, function: Callable[[Tensor], Tensor]) -> RaggedCache:
        """The function on the numbers of rows: whatever names rows, names rows here, too."""
        chosen = function(torch.arange(len(self.rows)))
        return RaggedCache(tuple(self.rows[row] for row in chosen.tolist()))

    def extended(self, keys: Tensor, values: Tensor) -> RaggedCache:
        """With keys and values (B, H, 1, d) of one new symbol a row."""
        each = zip(self.rows, torch.split(keys, 1), torch.split(values, 1), strict=True)
        return RaggedCache(tuple(row.extended(key, value) for row, key, value in each))

    def attended(self, queries: Tensor, allowed: Tensor | None, causal: bool) -> Tensor:
        """Attention (B, H, 1, d) of queries (B, H, 1, d), row by row, to all that each row has."""
        each = zip(self.rows, torch.split(queries, 1), strict=True)
        return torch.cat([row.attended(query, None, False) for row, query in each])


@dataclass(frozen=True)
class SourceCache:
    """KV cache of a source: the keys and values of every block, computed once and never extended."""

    blocks: tuple[KVCache, ...]  # (B, H, S, d) each, zero where a column is padding
    real: Tensor  # (B, S) False where a column is padding

    def map(self, function: Callable[[Tensor], Tensor]) -> SourceCache:
        """The function on all tensors inside."""
        return SourceCache(tuple(block.map(function) for block in self.blocks), function(self.real))
