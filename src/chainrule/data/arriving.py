"""Lines of standard input as they arrive: a line is given at once, without waiting for the next."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO

from chainrule.errors import DataError

MOST = 1 << 12  # lines at a time


def arriving(stream: BinaryIO, name: str = "standard input", most: int = MOST) -> Iterator[list[str]]:
    """All lines that are there, blank ones included, at least one; then those that have come meanwhile."""
    waiting: queue.Queue[bytes | None] = queue.Queue(2 * most)
    threading.Thread(target=_pump, args=(stream, waiting), daemon=True).start()
    number = 0
    while (first := waiting.get()) is not None:
        lines, ended = [first], False
        while len(lines) < most and not ended:
            try:
                line = waiting.get_nowait()
            except queue.Empty:
                break
            ended = line is None
            lines += [] if line is None else [line]
        yield [_text(line, name, number + place) for place, line in enumerate(lines, 1)]
        number += len(lines)
        if ended:
            return


def _pump(stream: BinaryIO, waiting: queue.Queue[bytes | None]) -> None:
    with _own(stream) as lines:
        for line in iter(lines.readline, b""):
            waiting.put(line)
    waiting.put(None)


def _own(stream: BinaryIO) -> BinaryIO:
    """A reader nobody else holds: Python cannot end while a thread waits inside standard input's own."""
    try:
        return os.fdopen(os.dup(stream.fileno()), "rb")
    except OSError:  # no file behind it
        return stream


def _text(line: bytes, name: str, number: int) -> str:
    """A line without its end; a mark of byte order at the very beginning is no text."""
    plain = line.removesuffix(b"\n").removesuffix(b"\r")
    try:
        return (plain.removeprefix(b"\xef\xbb\xbf") if number == 1 else plain).decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}, line {number}: not UTF-8 at byte {error.start + 1}. Convert it first."
        ) from error
