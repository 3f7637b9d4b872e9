"""Plain text as sequences: one a line, or the whole file as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from chainrule.codecs.base import UNIT, Texts
from chainrule.runtime import compiled

BLOCK = 1 << 24  # a longer line is given in parts
WINDOW = 1 << 20  # where the end of a part is looked for; a word longer than this is cut


@compiled
def _find(
    data: np.ndarray,
    newline: int,
    strip: bool,
    first: bool,
    blanks: bool,
    starts: np.ndarray,
    ends: np.ndarray,
) -> tuple[int, int]:
    """Where the lines are, blank ones left out (but not the `first`) unless `blanks`; how many of both."""
    found, blank, begin = 0, 0, 0
    while begin < len(data):
        stop = begin
        empty = True
        while stop < len(data) and data[stop] != newline:
            empty = empty and (data[stop] == 32 or 9 <= data[stop] <= 13)
            stop += 1
        end = stop - 1 if strip and stop > begin and data[stop - 1] == 13 else stop
        if empty and not blanks and not (first and begin == 0):
            blank += 1
        else:
            starts[found], ends[found] = begin, end
            found += 1
        begin = stop + 1
    return found, blank


def lines(
    parts: Iterable[bytes], newline: bytes = b"\n", strip: bool = True, rows: bool = False
) -> Iterator[Texts]:
    """Blocks of lines; `strip` takes the carriage return off CRLF; blank lines are skipped and counted.

    `rows`: lines are the rows of a column, so that blank ones keep their place and none is given in parts.
    """
    held, opens = b"", True
    for part in parts:
        held = held + part if held else part
        cut = held.rfind(newline) + 1
        if cut:
            yield _block(held[:cut], newline, strip, opens, rows)
            held, opens = held[cut:], True
        if len(held) >= BLOCK and not rows:
            cut = place_to_cut(held)
            yield _one(held[:cut], opens, False)
            held, opens = held[cut:], False
    if held or not opens:
        yield _block(held + newline, newline, strip, opens, rows)


def stream(parts: Iterable[bytes], strip: bool = True) -> Iterator[Texts]:
    """One sequence, line ends and all, in parts; CRLF becomes LF, and the last line end is dropped."""
    held, opens = b"", True
    for part in parts:
        held = held + part if held else part
        if len(held) >= BLOCK:
            cut = place_to_cut(held)
            yield _one(_unified(held[:cut], strip), opens, False)
            held, opens = held[cut:], False
    held = _unified(held, strip).removesuffix(b"\n") if strip else held
    if held.strip() or not opens:
        yield _one(held, opens, True)


def place_to_cut(text: bytes) -> int:
    """A place near the end where a long sequence may be cut: before UNIT, white space, or any character."""
    floor = max(1, len(text) - WINDOW)
    for marks in ((UNIT.encode(),), (b" ", b"\n", b"\t")):
        place = max(text.rfind(mark, floor) for mark in marks)
        place -= text[place - 1 : place + 1] == b"\r\n"
        if place > 0:
            return place
    place = len(text) - 1
    while place > max(1, len(text) - 4) and text[place] & 0xC0 == 0x80:
        place -= 1
    return place


def _unified(text: bytes, strip: bool) -> bytes:
    return text.replace(b"\r\n", b"\n") if strip else text


def _block(text: bytes, newline: bytes, strip: bool, opens: bool, rows: bool) -> Texts:
    data = np.frombuffer(text, np.uint8)
    most = text.count(newline) + 1
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    found, blank = _find(data, newline[0], strip, not opens, rows, starts, ends)
    return Texts(data, starts[:found], ends[:found], opens, skipped=blank)


def _one(text: bytes, opens: bool, closes: bool) -> Texts:
    ends = np.array([len(text)], np.int64)
    return Texts(np.frombuffer(text, np.uint8), np.zeros(1, np.int64), ends, opens, closes)
