"""Characters: every Unicode code point is a symbol."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from chainrule.codecs.base import Blocks, CodecConfig, Encoded, Texts
from chainrule.codecs.registry import register
from chainrule.codecs.scan import Counts
from chainrule.codecs.vocabulary import Listing, Vocabulary, VocabularyConfig, readable
from chainrule.errors import CodecError
from chainrule.runtime import compiled, in_threads, threads
from chainrule.symbols import BOS, EOS, FIRST, SPECIALS, UNK

POINTS = 0x110000
UNKNOWN = "\ufffd"  # how an unknown character looks in decoded text


@compiled
def _point(data: np.ndarray, position: int, end: int) -> tuple[Any, int]:
    """The code point at `position` and how many bytes it has; -1 if these bytes are no UTF-8."""
    first = np.int64(data[position])
    if first < 0x80:
        return first, 1
    width = 2 if first >> 5 == 6 else 3 if first >> 4 == 14 else 4 if first >> 3 == 30 else 0
    if width == 0 or position + width > end:
        return -1, 1
    point = first & (0x7F >> width)
    for step in range(1, width):
        more = np.int64(data[position + step])
        if more >> 6 != 2:
            return -1, 1
        point = point << 6 | (more & 63)
    least = 0x80 if width == 2 else 0x800 if width == 3 else 0x10000
    if point < least or point >= 0x110000 or 0xD800 <= point < 0xE000:
        return -1, 1
    return point, width


@compiled
def _spell(
    data: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    opens: bool,
    closes: bool,
    table: np.ndarray,
    out: np.ndarray,
) -> Any:
    """Write `BOS id … id EOS` for every sequence; how many, or -1 - the place of a bad byte."""
    written = 0
    for sequence in range(len(starts)):
        if opens or sequence > 0:
            out[written] = BOS
            written += 1
        position = starts[sequence]
        while position < ends[sequence]:
            point, width = _point(data, position, ends[sequence])
            if point < 0:
                return -1 - position
            out[written] = table[point]
            written, position = written + 1, position + width
        if closes or sequence < len(starts) - 1:
            out[written] = EOS
            written += 1
    return written


def spell(texts: Texts, table: np.ndarray) -> np.ndarray:
    """Ids of all sequences (positions,) by a table of code points (POINTS,) int32."""
    out = np.empty(int((texts.ends - texts.starts).sum()) + 2 * len(texts), np.int32)
    written = _spell(texts.data, texts.starts, texts.ends, texts.opens, texts.closes, table, out)
    if written < 0:
        raise CodecError(
            f"The byte {texts.data[-1 - written]:#04x} does not belong to any UTF-8 character. "
            "Read the data with the right --encoding, or use --codec bytes, which reads anything."
        )
    return out[:written]


@register("characters")
class Characters(Listing):
    """One id per code point seen in the data."""

    spaced = False
    letters = shareable = True

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, VocabularyConfig)
        counts = np.zeros(FIRST + POINTS, np.int64)
        themselves = np.arange(FIRST, FIRST + POINTS, dtype=np.int32)
        for texts in blocks():
            for ids in in_threads(lambda part: spell(part, themselves), texts.parts(threads())):
                counts += np.bincount(ids, minlength=len(counts))
        points = np.flatnonzero(counts[FIRST:])
        words = Texts.of([chr(point) for point in points])
        return cls(config, Vocabulary.choose(Counts(words, counts[FIRST:][points]), config, unknown=None))

    @cached_property
    def _listed(self) -> list[str]:
        """The characters, from the id FIRST on."""
        found = [symbol.decode("utf-8", "backslashreplace") for symbol in self.vocabulary.symbols]
        odd = next((one for one in found if len(one) != 1), None)
        if odd is not None:
            raise CodecError(f"{odd!r} is listed as a character and is none: copy or save the model again.")
        return found

    @cached_property
    def _table(self) -> np.ndarray:
        """(POINTS,) int32: the id of every code point."""
        table = np.full(POINTS, UNK, np.int32)
        table[[ord(one) for one in self._listed]] = np.arange(FIRST, self.size)
        return table

    def encode(self, texts: Texts) -> Encoded:
        table = self._table
        parts = in_threads(lambda part: spell(part, table), texts.parts(threads()))
        ids = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return Encoded(ids, int(np.count_nonzero(ids == UNK)))

    def letter_kinds(self) -> tuple[np.ndarray, np.ndarray]:
        symbols = [*SPECIALS, *self._listed]
        ids = {symbol: number for number, symbol in enumerate(symbols)}
        kinds = [0 if one.isspace() else 1 if one.isalnum() or one in "_'" else 2 for one in symbols]
        kinds[:FIRST] = [1 if number == UNK else 0 for number in range(FIRST)]
        folded = [ids.get(one.lower(), number) for number, one in enumerate(symbols)]
        return np.array(kinds, np.int8), np.array(folded, np.int32)

    def symbols_of(self, text: str) -> list[str]:
        return list(text)

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return "".join(UNKNOWN if number == UNK else self.token(number) for number in readable(ids))
