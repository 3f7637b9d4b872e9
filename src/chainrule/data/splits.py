"""Training, validation and test parts of data that came in one piece.

A held-out part is as large as a sure figure needs, not a fixed share. Of small data each part gets 10 %, until that is
25,000 bytes, which an interval needs; then 25,000 bytes, until they are 5 %; then 5 %, until that is 250,000 bytes; of
all larger data 250,000 bytes: about 100,000 symbols, halfway between characters and words, and bits per byte of English
are then known to about 1 %. At least 50 different sequences are held out, or 10 % of them where they are few, and one
at least. The rule counts bytes and knows no codec, so models of all codecs are judged on the same text.

Sequences are divided by a hash of their bytes, and all copies of a line fall on one side. Of rows with several columns
the main role is hashed, and a row stays whole: a text that comes twice, with two labels or two translations, is on one
side too. Small data (up to 1,000 different sequences) are divided by the rank of the hash, so that no part is empty.
Few long sequences of events or numbers (up to 50, each of more than 50) are divided by time, the end of each is held
out. One long sequence is divided by position: train, then valid, then test, cut at white space or UNIT if there is any,
else between characters. The same data always give the same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Texts, cut_before
from chainrule.codecs.scan import separating
from chainrule.data.rows import LITTLE, TEXT, Column, RowBlocks, Rows
from chainrule.runtime import compiled

MOST, USUAL = 0.1, 0.05  # shares of the data, for each of valid and test
ENOUGH, SURE = 25_000, 250_000  # bytes: what an interval needs, and what makes a figure sure
FEWEST = 50  # different sequences of a part, where they are less than MOST of all
SERIES, LONG = 50, 50  # sequences of events at most, of so many events at least: each is divided by time
SMALL = 1000  # different sequences up to which ranks are used
TRAIN, VALID, TEST = range(3)
WINDOW = 1 << 16  # bytes in which a good place to cut is looked for
ALL = 2.0**64
P = TypeVar("P")
Q = TypeVar("Q")
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
class Division(Generic[P]):
    """The three parts, and what to tell about them."""

    train: P
    valid: P | None
    test: P | None
    how: str  # a sentence for people

    def map(self, function: Callable[[P], Q]) -> Division[Q]:
        """The same done to every part there is."""
        valid, test = (None if part is None else function(part) for part in (self.valid, self.test))
        return Division(function(self.train), valid, test, self.how)


def held_share(size: int) -> float:
    """The share of data of `size` bytes that each held-out part gets."""
    size = max(1, size)
    return min(SURE / size, max(USUAL, min(MOST, ENOUGH / size)))


def _why(size: int, test: bool) -> str:
    """What is held out and the reason, for people."""
    share, each = held_share(size), " each for validation and test" if test else " for validation"
    if share < USUAL:
        return f"about {SURE:,} bytes{each}, enough for a sure figure"
    if share == USUAL:
        return f"5 %{each}"
    return f"{'10 %' if share == MOST else f'{ENOUGH:,} bytes'}{each}, as the data are small"


def divide(
    blocks: Blocks, test: bool = True, position: bool = False, series: bool = False, values: bool = False
) -> Division[Blocks]:
    """Divide data into train, valid and, unless it is not wanted, test.

    `position`: they are one long stream, not many sequences. `series`: sequences are of events, and where they are few
    and long the end of each is held out. `values`: symbols are whole values, which are never cut.
    """
    if position or _single(blocks):
        return _by_position(blocks, test, values)
    if series and (few := _few_long(blocks)):
        return _each_by_position(few, test)
    found = divide_rows(lambda: (Rows({TEXT: texts}) for texts in blocks()), test)
    return found.map(lambda part: Column(part, TEXT))


def _few_long(blocks: Blocks) -> list[bytes]:
    """All sequences, if they are few and each of them is long enough to be divided; else none."""
    held: list[bytes] = []
    for texts in blocks():
        parts = list(texts)
        if parts and held and not texts.opens:
            held[-1] += parts.pop(0)
        held += parts
        if len(held) > SERIES or sum(map(len, held)) > LITTLE:
            return []
    return held if all(one.count(UNIT.encode()) >= LONG for one in held) else []


@dataclass(frozen=True)
class Listed:
    """Some sequences in memory."""

    sequences: tuple[bytes, ...]

    def __call__(self) -> Iterator[Texts]:
        yield Texts.of(self.sequences)


def _each_by_position(sequences: list[bytes], test: bool) -> Division[Blocks]:
    """The end of every sequence is held out."""
    share, unit = held_share(sum(map(len, sequences))), UNIT.encode()
    sides: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
    for events in (one.split(unit) for one in sequences):
        held = max(1, round(share * len(events)))
        ends = len(events) - (1 + test) * held, len(events) - test * held
        for side, some in zip(sides, np.split(np.array(events, object), ends), strict=True):
            side.append(unit.join(some))
    train, valid, tested = (Listed(tuple(side)) for side in sides)
    size = sum(map(len, sequences))
    how = (
        f"divided by time, the end of each of the {len(sequences)} sequences is held out: {_why(size, test)}"
    )
    return Division(train, valid, tested if test else None, how)


def _single(blocks: Blocks) -> bool:
    """Whether there is one sequence only."""
    seen = 0
    for texts in blocks():
        seen += texts.sequences
        if seen > 1:
            return False
    return True


def divide_rows(rows: RowBlocks, test: bool = True, what: str = "sequence") -> Division[RowBlocks]:
    """Divide rows by a hash of their main role; `what` people call it."""
    census = _census(rows)
    limits = _limits(census, test)
    aside = Aside()
    valid = HashPart(rows, limits, VALID, aside) if limits[0] > limits[1] else None
    tested = HashPart(rows, limits, TEST, aside) if limits[1] else None
    how = f"divided by a hash of each {what}, {_why(census.size, test)}"
    if not valid or (test and not tested):
        lacking = "validation or test" if not valid else "test"
        how += f"; too few differ ({len(census.lowest)}), so there is no {lacking} part"
    return Division(HashPart(rows, limits, TRAIN, aside), valid, tested, how)


@dataclass(frozen=True)
class Census:
    """What a pass over the data finds out."""

    size: int  # bytes of the main role
    lowest: np.ndarray  # (at most SMALL + 1,) the smallest of the different hashes


def _census(rows: RowBlocks) -> Census:
    size, lowest = 0, np.empty(0, np.uint64)
    for block in rows():
        size += block.main.bytes
        found = hashes(block.main)[0 if block.main.opens else 1 :]
        if len(lowest) > SMALL:
            found = found[found < lowest[-1]]
        lowest = np.union1d(lowest, found)[: SMALL + 1]
    return Census(size, lowest)


def _limits(census: Census, test: bool) -> tuple[int, int]:
    """Hashes below the second limit are test, below the first valid, all others train."""
    lowest, share = census.lowest, held_share(census.size)
    if len(lowest) > SMALL:
        second = _limit(lowest, 0, share) if test else 0
        return _limit(lowest, second, share), second
    ranked, spare = [0, *(int(value) for value in lowest)], max(0, len(lowest) - 1)
    wanted = max(1, round(max(share * len(lowest), min(FEWEST, MOST * len(lowest)))))
    valid = min(spare, wanted)
    tested = min(spare - valid, wanted) if test else 0
    return _above(ranked, valid + tested), _above(ranked, tested)


def _limit(lowest: np.ndarray, begin: int, share: float) -> int:
    """From `begin` to this limit lies a share of all hashes, and FEWEST of those there are."""
    few = lowest[lowest >= np.uint64(begin)][:FEWEST]
    least = int(few[-1]) + 1 if len(few) == FEWEST else 0
    return max(begin + int(ALL * share), least)


def _above(ranked: list[int], count: int) -> int:
    """A limit with exactly `count` hashes below it."""
    return ranked[count] + 1 if count else 0


@dataclass(frozen=True)
class HashPart:
    """The rows of one side."""

    rows: RowBlocks
    limits: tuple[int, int]
    side: int
    aside: Aside

    def __call__(self) -> Iterator[Rows]:
        if self.aside.complete and self.side != TRAIN:
            yield from self.aside.kept[self.side]
            return
        kept = Aside()
        before = TRAIN
        for rows in self.rows():
            sides = self._sides(rows.main)
            if len(sides) and not rows.main.opens:
                sides[0] = before  # the rest of a long sequence stays with its beginning
            before = int(sides[-1]) if len(sides) else before
            kept.put(rows, sides)
            yield rows.only(sides == self.side, rows.main.skipped if self.side == TRAIN else 0)
        self.aside.take(kept)

    def _sides(self, texts: Texts) -> np.ndarray:
        found = hashes(texts)
        valid, test = (np.uint64(limit) for limit in self.limits)
        return np.where(found < test, TEST, np.where(found < valid, VALID, TRAIN))


class Aside:
    """The small parts, put aside while the large one is read, so that they need no pass of their own."""

    def __init__(self) -> None:
        self.kept: dict[int, list[Rows]] = {VALID: [], TEST: []}
        self.size, self.complete = 0, False

    def put(self, rows: Rows, sides: np.ndarray) -> None:
        """Copy what is not for training, while it is little."""
        for side, held in self.kept.items():
            chosen = rows.only(sides == side)
            self.size += chosen.bytes
            if self.size <= LITTLE and len(chosen):
                held.append(chosen.map(compact))

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


def _by_position(blocks: Blocks, test: bool, values: bool) -> Division[Blocks]:
    total = sum(int((texts.ends - texts.starts).sum()) for texts in blocks())
    share = held_share(total)
    last = share if test else 0.0
    if total <= WINDOW:
        first, second = _small_places(blocks, (share, last), total, values)
    else:
        wanted = int(total * (1 - share - last)), int(total * (1 - last))
        first, second = (_good_place(blocks, place, total) for place in wanted)
    valid = PositionPart(blocks, first, second) if first < second else None
    tested = PositionPart(blocks, second, total) if second < total else None
    how = f"divided by position, its end is held out: {_why(total, test)}"
    if not valid or (test and not tested):
        how += "; the data are too short for all of them"
    return Division(PositionPart(blocks, 0, first), valid, tested, how)


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


def _small_places(blocks: Blocks, shares: tuple[float, float], total: int, values: bool) -> tuple[int, int]:
    """Places that leave something for every part, if there are symbols enough."""
    data = np.concatenate([np.frombuffer(sequence, np.uint8) for texts in blocks() for sequence in texts])
    places = _ends((UNITS if UNITS[data].any() else SPACES)[data])
    if len(places) < 2 and not values and not UNITS[data].any():
        places = 1 + np.flatnonzero((data[1:] & 0xC0) != 0x80)
    symbols = len(places) + 1
    last = max(1, round(shares[1] * symbols)) if shares[1] and symbols > 2 else 0
    middle = max(1, round(shares[0] * symbols)) if shares[0] and symbols > 1 else 0
    ends = [*places.tolist(), total]
    return ends[symbols - last - middle - 1], ends[symbols - last - 1]


def _ends(inner: np.ndarray) -> np.ndarray:
    """Places before separators (bytes,) bool that end a symbol and have another behind them."""
    places = 1 + np.flatnonzero(inner[1:] & ~inner[:-1])
    found: np.ndarray = places[[bool((~inner[place:]).any()) for place in places]]
    return found
