"""KV cache: what attention remembers of the symbols read, and of a source."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

GROWTH = 64  # columns that a full buffer gains at least
MANY = (
    16  # rows of a step from which plain products are faster than torch's kernel, which is for many queries
)


class KVBuffer:
    """Memory for keys (B, H, C, d) and values (B, H, C, v), of which the first `used` columns are filled.

    A column of all rows and heads lies in one piece (C, B, H, …), so that rows are reordered in few large copies.
    """

    def __init__(self, keys: Tensor, values: Tensor, columns: int, rows: Tensor | None = None) -> None:
        """With `columns` in all; of the keys and values these `rows` (B,), or all."""
        _, heads, self.used, _ = keys.shape
        count = len(keys) if rows is None else len(rows)
        self.columns = columns
        self._keys = keys.new_empty(columns, count, heads, keys.shape[3])
        self._values = values.new_empty(columns, count, heads, values.shape[3])
        for filled, given in ((self._keys, keys), (self._values, values)):
            if rows is None:
                filled[: self.used] = given.permute(2, 0, 1, 3)
            else:
                torch.index_select(given.permute(2, 0, 1, 3), 1, rows, out=filled[: self.used])

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
    copies. Rows that are selected are copied when it is extended, straight to where they are wanted.
    """

    keys: Tensor
    values: Tensor
    buffer: KVBuffer | None = None
    rows: Tensor | None = None  # those that were selected, and not yet copied

    @property
    def length(self) -> int:
        """L."""
        return self.keys.shape[2]

    def select(self, rows: Tensor) -> KVCache:
        """Only these rows (K,), in this order."""
        return replace(self, rows=rows if self.rows is None else self.rows.index_select(0, rows))

    def settled(self) -> KVCache:
        """The same, selected rows being copied."""
        if self.rows is None:
            return self
        return KVCache(self.keys.index_select(0, self.rows), self.values.index_select(0, self.rows))

    def map(self, function: Callable[[Tensor], Tensor]) -> KVCache:
        """The function on keys and on values; whoever extends the result begins a buffer of its own."""
        here = self.settled()
        return KVCache(function(here.keys), function(here.values))

    def crop(self, length: int) -> KVCache:
        """Only the first `length` columns; this cache, and whatever extended it, must not be used any more."""
        here = self.settled()
        if here.buffer is not None:
            here.buffer.used = length
        return KVCache(here.keys[:, :, :length], here.values[:, :, :length], here.buffer)

    def extended(self, keys: Tensor, values: Tensor) -> KVCache:
        """With keys and values (B, H, T, d) of new symbols."""
        if torch.is_grad_enabled():
            here = self.settled()
            if not self.length:
                return KVCache(keys, values)
            return KVCache(torch.cat([here.keys, keys], 2), torch.cat([here.values, values], 2))
        length = self.length + keys.shape[2]
        buffer = None if self.rows is not None else self.buffer
        if buffer is None or buffer.used != self.length or length > buffer.columns:
            spare = 0 if self.rows is not None else max(GROWTH, length // 2)  # rows that move will move again
            columns = length + spare
            buffer = KVBuffer(self.keys, self.values, columns, self.rows)
        return KVCache(*buffer.add(keys, values), buffer)

    def split(self) -> list[KVCache]:
        """One cache for each row."""
        here = self.settled()
        if len(here.keys) == 1:
            return [here]
        each = zip(torch.split(here.keys, 1), torch.split(here.values, 1), strict=True)
        return [KVCache(keys, values) for keys, values in each]

    def attended(self, queries: Tensor, allowed: Tensor | None, causal: bool) -> Tensor:
        """Scaled dot-product attention (B, H, T, d) of queries (B, H, T, d)."""
        if queries.shape[2] > 1 or len(queries) < MANY or torch.is_grad_enabled():
            return F.scaled_dot_product_attention(queries, self.keys, self.values, allowed, is_causal=causal)
        scores = queries @ self.keys.transpose(2, 3) / math.sqrt(queries.shape[-1])  # (B, H, 1, L)
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        return scores.softmax(-1) @ self.values


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
    """KV cache of a source: the keys and values of every block, computed once and never extended.

    Rows of a beam come and go within their source. So they are given `places` among the rows that are there, which
    all hold the same for a source, and nothing is copied until a quarter of these stand empty.
    """

    blocks: tuple[KVCache, ...]  # (P, H, S, d) each, zero where a column is padding
    real: Tensor  # (P, S) False where a column is padding
    owner: Tensor | None = None  # (P,) the number of the source of each; None: they are all different
    places: Tensor | None = None  # (B,) where each row stands; None: rows and places are the same

    def settled(self) -> SourceCache:
        """The same with a place for each row, and none empty."""
        return self if self.places is None else self._at(self.places)

    def map(self, function: Callable[[Tensor], Tensor]) -> SourceCache:
        """The function on all tensors inside."""
        here = self.settled()
        return SourceCache(tuple(block.map(function) for block in here.blocks), function(here.real))

    def select(self, rows: Tensor) -> SourceCache:
        """Only these rows (K,), in this order."""
        places = rows if self.places is None else self.places.index_select(0, rows)
        if self.owner is None or 4 * len(rows) < 3 * len(self.owner):
            return self._at(places)
        owner = self.owner.index_select(0, places)  # (K,)
        if len(owner) == len(self.owner) and torch.equal(owner, self.owner):
            return replace(self, places=None)
        found = _placed(owner, self.owner)
        return self._at(places) if found is None else replace(self, places=found)

    def _at(self, places: Tensor) -> SourceCache:
        """What is at these places (B,), copied."""
        owner = places if self.owner is None else self.owner.index_select(0, places)
        blocks = tuple(block.select(places).settled() for block in self.blocks)
        return SourceCache(blocks, self.real.index_select(0, places), owner)


def _placed(rows: Tensor, there: Tensor) -> Tensor | None:
    """A place (K,) of its own for each of rows of these sources (K,) among those that hold some (P,); None: too few."""
    count = int(there.max()) + 1
    room, wanted = there.bincount(minlength=count), rows.bincount(minlength=count)
    if bool((wanted > room).any()):
        return None
    order, own = there.argsort(stable=True), rows.argsort(stable=True)
    number = torch.arange(len(rows), device=rows.device)
    first, start = room.cumsum(0) - room, wanted.cumsum(0) - wanted  # of each source
    sources = rows[own]
    return torch.empty_like(rows).index_copy_(0, own, order[first[sources] + number - start[sources]])
