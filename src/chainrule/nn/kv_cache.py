"""KV cache: what attention remembers of the symbols read, and of a source."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from chainrule.nn import single_query
from chainrule.nn.single_query import suits

GROWTH = 64  # columns that a full buffer gains at least
MANY = (
    16  # rows of a step from which plain products are faster than torch's kernel, which is for many queries
)


class KVBuffer:
    """Memory for keys (B, H, C, d) and values (B, H, C, v), of which the first `used` columns are filled.

    A column of all rows and heads lies in one piece (C, B, H, …), so that it is written at once.
    """

    def __init__(self, keys: Tensor, values: Tensor, columns: int) -> None:
        """With `columns` in all."""
        count, heads, self.used, _ = keys.shape
        self.columns = columns
        self._keys = keys.new_empty(columns, count, heads, keys.shape[3])
        self._values = values.new_empty(columns, count, heads, values.shape[3])
        for filled, given in ((self._keys, keys), (self._values, values)):
            filled[: self.used] = given.permute(2, 0, 1, 3)

    def add(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values with these ones behind them."""
        before, self.used = self.used, self.used + keys.shape[2]
        self._keys[before : self.used] = keys.permute(2, 0, 1, 3)
        self._values[before : self.used] = values.permute(2, 0, 1, 3)
        filled = (one[: self.used].permute(1, 2, 0, 3) for one in (self._keys, self._values))
        return tuple(filled)  # type: ignore[return-value]


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

    def select(self, rows: Tensor) -> KVCache | ForkedCache:
        """Only these rows (K,), in this order."""
        if suits(self.keys) and suits(self.values):
            return ForkedCache.of(self).select(rows)
        return self.map(lambda one: one.index_select(0, rows))

    def settled(self) -> KVCache:
        """The same, all rows lying side by side."""
        return self

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
        length, buffer = self.length + keys.shape[2], self.buffer
        if buffer is None or buffer.used != self.length or length > buffer.columns:
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
        if queries.shape[2] > 1 or len(queries) < MANY or torch.is_grad_enabled():
            return F.scaled_dot_product_attention(queries, self.keys, self.values, allowed, is_causal=causal)
        scores = queries @ self.keys.transpose(2, 3) / math.sqrt(queries.shape[-1])  # (B, H, 1, L)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        return scores.softmax(-1) @ self.values


class ColumnPool:
    """Memory for columns of keys (C, H, d) and values (C, H, v), of which the first `used` are filled for good."""

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self.keys, self.values, self.used = keys, values, len(keys)

    def add(self, keys: Tensor, values: Tensor) -> int:
        """Write columns (N, H, …) behind the others: the place of the first one."""
        first, self.used = self.used, self.used + len(keys)
        if self.used > len(self.keys):
            self.keys, self.values = (self._roomy(one, first) for one in (self.keys, self.values))
        self.keys[first : self.used], self.values[first : self.used] = keys, values
        return first

    def _roomy(self, filled: Tensor, used: int) -> Tensor:
        """The same columns with as much room again."""
        found = filled.new_empty(2 * self.used, *filled.shape[1:])
        found[:used] = filled[:used]
        return found


@dataclass(frozen=True)
class ForkedCache:
    """KV cache of rows that fork, as those of a beam do: columns stand in a pool, and every row names its own.

    So none is copied when rows are selected, and rows share what they have in common.
    """

    pool: ColumnPool
    places: Tensor  # (B, L)

    @classmethod
    def of(cls, cache: KVCache) -> ForkedCache:
        """The same, its columns copied once."""
        rows, _, length, _ = cache.keys.shape
        keys, values = (one.permute(2, 0, 1, 3).flatten(0, 1) for one in (cache.keys, cache.values))
        places = torch.arange(length * rows).view(length, rows).t()
        return cls(ColumnPool(keys.contiguous(), values.contiguous()), places)

    @property
    def length(self) -> int:
        """L."""
        return self.places.shape[1]

    @property
    def keys(self) -> Tensor:
        """Side by side (B, H, L, d), as `attend` shows them to those who listen."""
        return self.pool.keys[self.places].transpose(1, 2)

    @property
    def values(self) -> Tensor:
        """Side by side (B, H, L, v)."""
        return self.pool.values[self.places].transpose(1, 2)

    def select(self, rows: Tensor) -> ForkedCache:
        """Only these rows (K,), in this order."""
        return replace(self, places=self.places.index_select(0, rows))

    def settled(self) -> KVCache:
        """The same, all rows lying side by side."""
        return KVCache(self.keys, self.values)

    def map(self, function: Callable[[Tensor], Tensor]) -> KVCache:
        """The function on keys and on values."""
        return self.settled().map(function)

    def crop(self, length: int) -> ForkedCache:
        """Only the first `length` columns."""
        return replace(self, places=self.places[:, :length])

    def extended(self, keys: Tensor, values: Tensor) -> KVCache | ForkedCache:
        """With keys and values (B, H, T, d) of new symbols."""
        if not suits(keys):
            return self.settled().extended(keys, values)
        rows, _, new, _ = keys.shape
        first = self.pool.add(*(one.transpose(1, 2).flatten(0, 1) for one in (keys, values)))
        places = torch.arange(first, first + rows * new).view(rows, new)
        return replace(self, places=torch.cat([self.places, places], 1))

    def split(self) -> list[KVCache]:
        """One cache for each row."""
        return self.settled().split()

    def attended(self, queries: Tensor, allowed: Tensor | None, causal: bool) -> Tensor:
        """Scaled dot-product attention (B, H, T, d) of queries (B, H, T, d)."""
        if queries.shape[2] > 1 or not suits(queries):
            return self.settled().attended(queries, allowed, causal)
        inside = None if allowed is None else allowed[:, 0, 0].expand_as(self.places)
        pool = self.pool.keys, self.pool.values
        return single_query.attended(queries[:, :, 0], *pool, self.places, inside)[:, :, None]


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
class PackedCache:
    """KV caches of rows that read several symbols at once, each as many as it likes: every symbol is a row of one.

    So one product serves them all without padding, and what a row attends to does not depend on the others.
    """

    rows: tuple[KVCache, ...]  # (1, H, L, d) each
    lengths: tuple[int, ...]  # how many symbols each reads, N together

    @property
    def length(self) -> int:
        """The most columns that any row has."""
        return max(row.length for row in self.rows)

    def extended(self, keys: Tensor, values: Tensor) -> PackedCache:
        """With keys and values (N, H, 1, d) of the new symbols."""
        each = zip(self.rows, self._own(keys), self._own(values), strict=True)
        return replace(self, rows=tuple(row.extended(key, value) for row, key, value in each))

    def attended(self, queries: Tensor, allowed: Tensor | None, causal: bool) -> Tensor:
        """Causal attention (N, H, 1, d) of queries (N, H, 1, d), row by row, to all that each row has."""
        each = zip(self.rows, self._own(queries), strict=True)
        found = [row.attended(query, *_behind(row.keys, query.shape[2])) for row, query in each]
        return torch.cat([one.permute(2, 1, 0, 3) for one in found])

    def _own(self, many: Tensor) -> Iterable[Tensor]:
        """What each row has of (N, H, 1, d): (1, H, T, d)."""
        return (one.permute(2, 1, 0, 3) for one in torch.split(many, list(self.lengths)))


def _behind(keys: Tensor, new: int) -> tuple[Tensor | None, bool]:
    """Causal mask of the last `new` columns of keys (1, H, L, d), and whether torch's own will do."""
    length = keys.shape[2]
    if new in (1, length):
        return None, new > 1
    return torch.ones(new, length, dtype=torch.bool, device=keys.device).tril(length - new), False


@dataclass(frozen=True)
class SourceCache:
    """KV cache of a source: the keys and values of every block, computed once and never extended."""

    blocks: tuple[KVCache | ForkedCache, ...]  # (B, H, S, d) each, zero where a column is padding
    real: Tensor  # (B, S) False where a column is padding

    def map(self, function: Callable[[Tensor], Tensor]) -> SourceCache:
        """The function on all tensors inside."""
        return SourceCache(tuple(block.map(function) for block in self.blocks), function(self.real))

    def select(self, rows: Tensor) -> SourceCache:
        """Only these rows (K,), in this order."""
        blocks = tuple(block.select(rows) for block in self.blocks)
        return SourceCache(blocks, self.real.index_select(0, rows))


Cache = KVCache | ForkedCache
