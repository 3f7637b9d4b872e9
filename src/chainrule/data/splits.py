"""Training, validation and test parts of data that came in one piece.

Sequences are divided by a hash of their bytes: 90 % train, 5 % valid, 5 % test, and all copies of a line fall
on one side. Small data (up to 1,000 different sequences) are divided by the rank of the hash, so that no part
is empty. One long sequence is divided by position: its first 90 %, then 5 %, then 5 %, cut at white space or
UNIT if there is any, else between characters. The same data always give the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Texts, cut_before
from chainrule.codecs.scan import separating
from chainrule.runtime import compiled

SHARE = 0.05  # of the data, for each of valid and test
SMALL = 1000  # different sequences up to which ranks are used
TRAIN, VALID, TEST = range(3)
LITTLE = 1 << 26  # bytes of validation and test text that are kept in memory
WINDOW = 1 << 16  # bytes in which a good place to cut is looked for
ALL = 2.0**64
SPACES, UNITS = separating(" \n\t\r\v\f"), separating(UNIT)


@compiled
def _hash(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    """FNV-1a of every sequence, spread over all 64 bits."""
    for sequence in range(len(starts)):
        value = np.uint64(0xCBF29CE484222325)
        for position in range(starts[sequence], ends[sequence]):
            value = (value ^ np.uint64(data[position])) * np.uint64(0x100000001B3)
        value = (value ^ (value >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        value = (value ^ (value >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        out[sequence] = value ^ (value >> np.uint64(33))


def hashes(texts: Texts) -> np.ndarray:
    """(sequences,) uint64: equal sequences, equal numbers."""
    out = np.empty(len(texts), np.uint64)
    _hash(texts.data, texts.starts, texts.ends, out)
    return out


@dataclass(frozen=True)
class Division:
    """The three parts, and what to tell about them."""

    train: Blocks
    valid: Blocks | None
    test: Blocks | None
    how: str  # a sentence for people


def divide(blocks: Blocks, shares: tuple[float, float] = (SHARE, SHARE), position: bool = False) -> Division:
    """Divide data into train, valid and test; `position`: they are one long stream, not many sequences."""
    if position or _single(blocks):
        return _by_position(blocks, shares)
    return _by_hash(blocks, shares)


def _single(blocks: Blocks) -> bool:
    """Whether there is one sequence only."""
    seen = 0
    for texts in blocks():
        seen += texts.sequences
        if seen > 1:
            return False
    return True


def _by_hash(blocks: Blocks, shares: tuple[float, float]) -> Division:
    distinct = np.empty(0, np.uint64)
    for texts in blocks():
        distinct = np.union1d(distinct, hashes(texts))
        if len(distinct) > SMALL:
            break
    limits = _limits(distinct, shares)
    aside = Aside()
    valid = HashPart(blocks, limits, VALID, aside) if limits[0] > limits[1] else None
    test = HashPart(blocks, limits, TEST, aside) if limits[1] else None
    how = "divided by a hash of each sequence"
    if (shares[0] and not valid) or (shares[1] and not test):
        lacking = "validation or test" if not valid else "test"
        how += f"; too few differ ({len(distinct)}), so there is no {lacking} part"
    return Division(HashPart(blocks, limits, TRAIN, aside), valid, test, how)


def _limits(distinct: np.ndarray, shares: tuple[float, float]) -> tuple[int, int]:
    """Hashes below the second limit are test, below the first valid, all others train."""
    valid, test = shares
    if len(distinct) > SMALL:
        return int(ALL * (valid + test)), int(ALL * test)
    ranked = [0, *(int(value) for value in np.sort(distinct))]
    spare = max(0, len(distinct) - 1)
    first = min(spare, max(1, round(valid * len(distinct)))) if valid else 0
    second = min(spare - first, max(1, round(test * len(distinct)))) if test else 0
    return _above(ranked, first + second), _above(ranked, second)


def _above(ranked: list[int], count: int) -> int:
    """A limit with exactly `count` hashes below it."""
    return ranked[count] + 1 if count else 0


@dataclass(frozen=True)
class HashPart:
    """The sequences of one side."""

    blocks: Blocks
    limits: tuple[int, int]
    side: int
    aside: Aside

    def __call__(self) -> Iterator[Texts]:
        if self.aside.complete and self.side != TRAIN:
            yield from self.aside.kept[self.side]
            return
        kept = Aside()
        before = TRAIN
        for texts in self.blocks():
            sides = self._sides(texts)
            if len(sides) and not texts.opens:
                sides[0] = before  # the rest of a long sequence stays with its beginning
            before = int(sides[-1]) if len(sides) else before
            kept.put(texts, sides)
            chosen = texts.only(sides == self.side)
            yield replace(chosen, skipped=texts.skipped) if self.side == TRAIN else chosen
        self.aside.take(kept)

    def _sides(self, texts: Texts) -> np.ndarray:
        found = hashes(texts)
        valid, test = (np.uint64(limit) for limit in self.limits)
        return np.where(found < test, TEST, np.where(found < valid, VALID, TRAIN))


class Aside:
    """The small parts, put aside while the large one is read, so that they need no pass of their own."""

    def __init__(self) -> None:
        self.kept: dict[int, list[Texts]] = {VALID: [], TEST: []}
        self.size, self.complete = 0, False

    def put(self, texts: Texts, sides: np.ndarray) -> None:
        """Copy what is not for training, while it is little."""
        for side, held in self.kept.items():
            chosen = texts.only(sides == side)
            self.size += chosen.bytes
            if self.size <= LITTLE and len(chosen):
                held.append(compact(chosen))

    def take(self, other: Aside) -> None:
        """What another pass has put aside, if it was little enough."""
        if other.size <= LITTLE:
            self.kept, self.complete = other.kept, True


def compact(texts: Texts) -> Texts:
    """The same sequences in a buffer of their own."""
    lengths = texts.ends - texts.starts
    ends = np.cumsum(lengths)
    places = np.arange(int(lengths.sum())) + np.repeat(texts.starts - (ends - lengths), lengths)
    return Texts(texts.data[places], ends - lengths, ends, texts.opens, texts.closes, texts.skipped)


@dataclass(frozen=True)
class PositionPart:
    """Everything between two positions, counted in bytes of sequences."""

    blocks: Blocks
    begin: int
    end: int

    def __call__(self) -> Iterator[Texts]:
        seen = 0
        for texts in self.blocks():
            size = int((texts.ends - texts.starts).sum())
            here = self.begin <= seen < self.end
            if here or (seen < self.end and seen + size > self.begin):
                part = _between(texts, self.begin - seen, self.end - seen, size)
                yield replace(part, skipped=texts.skipped if here else 0)
            seen += size


def _between(texts: Texts, begin: int, end: int, size: int) -> Texts:
    """The part of a block from byte `begin` to `end` of its sequences; a cut opens and closes a sequence."""
    if end < size:
        left, _ = _cut(texts, end)
        texts = replace(left, closes=True)
    if begin > 0:
        _, right = _cut(texts, begin)
        texts = replace(right, opens=True)
    return texts


def _cut(texts: Texts, place: int) -> tuple[Texts, Texts]:
    lengths = np.cumsum(texts.ends - texts.starts)
    sequence = int(np.searchsorted(lengths, place, "right"))
    into = place - int(lengths[sequence - 1] if sequence else 0)
    return texts.divided(sequence, int(texts.starts[sequence]) + into)


def _by_position(blocks: Blocks, shares: tuple[float, float]) -> Division:
    total = sum(int((texts.ends - texts.starts).sum()) for texts in blocks())
    wanted = [int(total * (1 - sum(shares))), int(total * (1 - shares[1]))]
    if total <= WINDOW:
        first, second = _small_places(blocks, shares, total)
    else:
        first, second = (_good_place(blocks, place, total) for place in wanted)
    valid = PositionPart(blocks, first, second) if first < second else None
    test = PositionPart(blocks, second, total) if second < total else None
    how = "divided by position: the beginning is for training, the end for validation and test"
    if (shares[0] and not valid) or (shares[1] and not test):
        how += "; the data are too short for all of them"
    return Division(PositionPart(blocks, 0, first), valid, test, how)


def _good_place(blocks: Blocks, wanted: int, total: int) -> int:
    """The first place from `wanted` on where a symbol ends."""
    seen = 0
    for texts in blocks():
        size = int((texts.ends - texts.starts).sum())
        if seen + size > wanted:
            return seen + _place_in(texts, wanted - seen)
        seen += size
    return total


def _place_in(texts: Texts, wanted: int) -> int:
    lengths = np.cumsum(texts.ends - texts.starts)
    sequence = int(np.searchsorted(lengths, wanted, "right"))
    before = int(lengths[sequence - 1] if sequence else 0)
    start = int(texts.starts[sequence])
    if wanted == before:
        return wanted
    begin, end = start + wanted - before, int(texts.ends[sequence])
    for marks in (UNITS, SPACES):
        place = cut_before(texts.data, begin, min(end, begin + WINDOW), marks)
        if place < min(end, begin + WINDOW):
            return before + place - start
    return before + cut_before(texts.data, begin, end, None) - start


def _small_places(blocks: Blocks, shares: tuple[float, float], total: int) -> tuple[int, int]:
    """Places that leave something for every part, if there are symbols enough."""
    data = np.concatenate([np.frombuffer(sequence, np.uint8) for texts in blocks() for sequence in texts])
    for marks in (UNITS, SPACES):
        inner = marks[data]
        places = 1 + np.flatnonzero(inner[1:] & ~inner[:-1])
        places = places[[bool((~inner[place:]).any()) for place in places]]
        if len(places) >= 2:
            break
    else:
        places = 1 + np.flatnonzero((data[1:] & 0xC0) != 0x80)
    symbols = len(places) + 1
    last = max(1, round(shares[1] * symbols)) if shares[1] and symbols > 2 else 0
    middle = max(1, round(shares[0] * symbols)) if shares[0] and symbols > 1 else 0
    ends = [*places.tolist(), total]
    return ends[symbols - last - middle - 1], ends[symbols - last - 1]
