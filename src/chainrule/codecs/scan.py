"""Words to ids, fast: a byte-level scan with hash interning.

A table is five arrays, so that a kernel takes it as it is. `slots` (capacity,) holds -1 or the upper bits of
a hash beside the number of a type; `hashes` (types,) the whole hashes; `offsets` (types + 1,) where in `pool`
(bytes,) each type's bytes are; `counts` (types,) how often it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.codecs.base import Blocks, Texts
from chainrule.runtime import compiled, in_threads, threads
from chainrule.symbols import BOS, EOS, UNK

BASIS = np.uint64(0xCBF29CE484222325)  # FNV-1a: its one multiplication a byte hides behind the scan
PRIME = np.uint64(0x100000001B3)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
HALF, TAG = np.uint64(32), np.uint64(33)  # a tag of 31 bits keeps the slot positive
ONE = np.ones(1, np.int64)
Array = np.ndarray


@compiled
def _word(data: Array, position: int, end: int, separators: Array) -> tuple[int, Any]:
    """Where the word at `position` ends, and its hash; it is empty where a separator stands."""
    value = BASIS
    while position < end and not separators[data[position]]:
        value = (value ^ np.uint64(data[position])) * PRIME
        position += 1
    value = (value ^ (value >> HALF)) * SPREAD
    return position, value ^ (value >> HALF)


@compiled
def _find(data: Array, start: int, end: int, value: Any, slots: Array, offsets: Array, pool: Array) -> Any:
    """The slot where this word is, or the empty one where it would go."""
    mask = len(slots) - 1
    place = np.int64(value & np.uint64(mask))
    while slots[place] >= 0:
        if slots[place] >> 32 == np.int64(
            value >> TAG
        ):  # other words are passed by without fetching their bytes
            kind, step = slots[place] & 0xFFFFFFFF, 0
            begin, width = offsets[kind], offsets[kind + 1] - offsets[kind]
            while width == end - start and step < width and pool[begin + step] == data[start + step]:
                step += 1
            if width == end - start and step == width:
                break
        place = (place + 1) & mask
    return place


@compiled
def _wider(slots: Array, hashes: Array, types: int) -> Array:
    """Twice the slots, every type in its new place."""
    mask = 2 * len(slots) - 1
    wide = np.full(2 * len(slots), -1, np.int64)
    for kind in range(types):
        place = np.int64(hashes[kind] & np.uint64(mask))
        while wide[place] >= 0:
            place = (place + 1) & mask
        wide[place] = np.int64(hashes[kind] >> TAG) << 32 | kind
    return wide


@compiled
def _intern(
    data: Array,
    starts: Array,
    ends: Array,
    weights: Array,
    separators: Array,
    slots: Array,
    hashes: Array,
    offsets: Array,
    pool: Array,
    counts: Array,
    types: int,
) -> tuple[Array, Array, Array, Array, Array, int]:
    """Count every word of every sequence, `weights` times each; give the arrays back, grown as needed."""
    for sequence in range(len(starts)):
        position, end = starts[sequence], ends[sequence]
        weight = weights[sequence] if len(weights) > 1 else weights[0]
        while position < end:
            begin = position
            position, value = _word(data, position, end, separators)
            if position == begin:
                position += 1
                continue
            place = _find(data, begin, position, value, slots, offsets, pool)
            if slots[place] >= 0:
                counts[slots[place] & 0xFFFFFFFF] += weight
                continue
            if types == len(hashes):
                hashes = np.concatenate((hashes, np.zeros_like(hashes)))
                counts = np.concatenate((counts, np.zeros_like(counts)))
                offsets = np.concatenate((offsets, np.zeros_like(offsets)))
            used = offsets[types]
            if used + position - begin > len(pool):
                pool = np.concatenate((pool, np.zeros(len(pool) + position - begin, np.uint8)))
            pool[used : used + position - begin] = data[begin:position]
            slots[place] = np.int64(value >> TAG) << 32 | types
            hashes[types], counts[types] = value, weight
            types += 1
            offsets[types] = used + position - begin
            if 2 * types > len(slots):
                slots = _wider(slots, hashes, types)
    return slots, hashes, offsets, pool, counts, types


@compiled
def _look_up(
    data: Array,
    starts: Array,
    ends: Array,
    opens: bool,
    closes: bool,
    separators: Array,
    slots: Array,
    offsets: Array,
    pool: Array,
    ids: Array,
    out: Array,
) -> tuple[int, int]:
    """Write `BOS id … id EOS` for every sequence; give how many positions, and how many were unknown."""
    written, unknown, last = 0, 0, len(starts) - 1
    for sequence in range(len(starts)):
        position, end = starts[sequence], ends[sequence]
        if opens or sequence > 0:
            out[written] = BOS
            written += 1
        while position < end:
            begin = position
            position, value = _word(data, position, end, separators)
            if position == begin:
                position += 1
                continue
            entry = slots[_find(data, begin, position, value, slots, offsets, pool)]
            unknown += entry < 0
            out[written] = ids[entry & 0xFFFFFFFF] if entry >= 0 else UNK
            written += 1
        if closes or sequence < last:
            out[written] = EOS
            written += 1
    return written, unknown


class WordCounts:
    """Types and how often each came, growing."""

    def __init__(self) -> None:
        self.slots = np.full(1 << 12, -1, np.int64)
        self.hashes = np.zeros(1 << 10, np.uint64)
        self.offsets = np.zeros((1 << 10) + 1, np.int64)
        self.pool = np.zeros(1 << 14, np.uint8)
        self.counts = np.zeros(1 << 10, np.int64)
        self.types = 0

    def add(self, texts: Texts, separators: np.ndarray, weights: np.ndarray = ONE) -> WordCounts:
        """Count the words of `texts`, those of sequence i `weights[i]` times each."""
        arrays = (self.slots, self.hashes, self.offsets, self.pool, self.counts, self.types)
        grown = _intern(texts.data, texts.starts, texts.ends, weights, separators, *arrays)
        self.slots, self.hashes, self.offsets, self.pool, self.counts, self.types = grown
        return self

    def words(self) -> Texts:
        """The types, one a sequence, in the order they were first seen."""
        return Texts(self.pool, self.offsets[: self.types], self.offsets[1 : self.types + 1])


@dataclass(frozen=True)
class Counts:
    """Types with their counts, in no particular order."""

    words: Texts
    counts: np.ndarray  # (types,) int64


def separating(characters: str) -> np.ndarray:
    """(256,) bool, True for the bytes of these ASCII characters."""
    table = np.zeros(256, np.bool_)
    table[np.frombuffer(characters.encode(), np.uint8)] = True
    return table


NOTHING = separating("")


def count_words(blocks: Blocks, separators: np.ndarray) -> Counts:
    """Every type of the data and how often it came, one pass, all cores."""
    tables = [WordCounts() for _ in range(threads())]
    for texts in blocks():
        parts = texts.parts(len(tables), separators)
        in_threads(lambda pair: pair[0].add(pair[1], separators), list(zip(tables, parts, strict=False)))
    total = tables[0]
    for table in tables[1:]:
        if table.types:
            total.add(table.words(), NOTHING, table.counts[: table.types])
    return Counts(total.words(), total.counts[: total.types])


class Lookup:
    """From words to ids: symbol i of `symbols` has `ids[i]`, any other word is UNK."""

    def __init__(self, symbols: Sequence[bytes], ids: np.ndarray) -> None:
        self.table = WordCounts().add(Texts.of(symbols), NOTHING)
        self.ids = ids.astype(np.int32)

    def encode(self, texts: Texts, separators: np.ndarray) -> tuple[np.ndarray, int]:
        """Flat ids (positions,) int32 of all sequences, and how many symbols were unknown; all cores."""
        done = in_threads(lambda part: self._encode(part, separators), texts.parts(threads(), separators))
        ids = done[0][0] if len(done) == 1 else np.concatenate([ids for ids, _ in done])
        return ids, sum(unknown for _, unknown in done)

    def _encode(self, texts: Texts, separators: np.ndarray) -> tuple[np.ndarray, int]:
        most = (int((texts.ends - texts.starts).sum()) + len(texts)) // 2 + 2 * len(texts)
        out = np.empty(most, np.int32)
        table = self.table
        written, unknown = _look_up(
            *(texts.data, texts.starts, texts.ends, texts.opens, texts.closes, separators),
            *(table.slots, table.offsets, table.pool, self.ids, out),
        )
        return out[:written].copy(), unknown
