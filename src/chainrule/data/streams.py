"""Files as a flow of UTF-8: decompressed, decoded, checked, a chunk at a time."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

from chainrule.errors import ConfigError, DataError

CHUNK = 1 << 24  # bytes read at once
PIECE = 1 << 12  # compressed bytes of zstandard: four of them may stand for 128 kB
LOOKED = 1 << 12  # bytes at the beginning that tell how a file is written
SUFFIXES = (
    ".gz",
    ".xz",
    ".bz2",
    ".zst",
)  # hide the suffix that says the format; what is inside says the rest
BROKEN = (EOFError, zlib.error, lzma.LZMAError)
# How compressed files begin. None of it is text: the second part of bzip2's mark is there to make sure.
COMPRESSED: tuple[tuple[re.Pattern[bytes], Callable[..., Any]], ...] = (
    (re.compile(rb"\x1f\x8b\x08"), gzip.open),
    (re.compile(rb"\xfd7zXZ\x00"), lzma.open),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.open),
)
ZSTANDARD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
# The longer marks first: UTF-32's begins like UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def chunks(path: Path, name: str | None = None) -> Iterator[bytes]:
    """The bytes of a file, decompressed if they are compressed; `name` is what messages call it."""
    name = name or str(path)
    try:
        with path.open("rb") as file:
            beginning = file.peek(16)
            yield from _zstandard(file, name) if ZSTANDARD.match(beginning) else _plain(file, beginning)
    except BROKEN as error:
        raise _broken(name, error) from error
    except OSError as error:
        if error.errno is None:  # gzip and bz2 complain of what they read in this way
            raise _broken(name, error) from error
        raise DataError(f"{name} cannot be read: {error.strerror}.") from error


def compressed(path: Path) -> bool:
    """Whether a file begins as compressed ones do."""
    with path.open("rb") as file:
        beginning = file.read(16)
    return any(mark.match(beginning) for mark in (ZSTANDARD, *(mark for mark, _ in COMPRESSED)))


def _broken(name: str, error: Exception) -> DataError:
    return DataError(
        f"{name} cannot be decompressed ({error or 'it ends too early'}). "
        "The file is cut short or damaged: fetch or compress it again."
    )


def _plain(file: BufferedReader, beginning: bytes) -> Iterator[bytes]:
    opener = next((opener for mark, opener in COMPRESSED if mark.match(beginning)), None)
    flow = opener(file, "rb") if opener else file
    while chunk := flow.read(CHUNK):
        yield chunk


def _zstandard(file: BufferedReader, name: str) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(f"{name} needs the package zstandard: `pip install zstandard`.") from error
    frame = None
    try:
        while data := file.read(PIECE):
            while data:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(data)
                data = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from error
    if frame is not None:  # the library itself is content with half a frame
        raise EOFError


def utf8(parts: Iterable[bytes], name: str, encoding: str | None = None) -> Iterator[bytes]:
    """The same text as UTF-8 without a byte order mark; every part ends between two characters."""
    parts = iter(parts)
    first = b""
    while len(first) < LOOKED and (part := next(parts, b"")):
        first += part
    mark, found = next(((mark, name) for mark, name in MARKS if first.startswith(mark)), (b"", "utf-8"))
    if not encoding and not mark:
        _refuse_wide(first, name)
    encoding = _known(encoding) if encoding else found
    if encoding == "utf-8":
        start = len(codecs.BOM_UTF8) if mark == codecs.BOM_UTF8 else 0
        return _checked(_chain(first[start:], parts), name, start)
    return _recoded(_chain(first, parts), name, encoding)


def _known(encoding: str) -> str:
    """The usual name of an encoding of text; Python knows others, such as rot13 and base64."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or not found.incrementaldecoder:
        raise ConfigError(
            f"There is no encoding {encoding!r} of text. "
            "Common ones: utf-8, latin-1, cp1252, utf-16, shift-jis."
        )
    return found.name


def _refuse_wide(beginning: bytes, name: str) -> None:
    """Refuse UTF-16 that no mark announces: it looks like text with a NUL at every second byte."""
    nuls = [beginning[side:LOOKED:2].count(0) for side in range(2)]
    pairs = min(LOOKED, len(beginning)) / 2
    most, least = max(nuls), min(nuls)
    if least > most / 100 or not (most > max(2, pairs / 2) or most > max(15, pairs / 10)):
        return
    encoding = "utf-16-be" if nuls[0] > nuls[1] else "utf-16-le"
    raise DataError(
        f"{name} has a NUL at every second byte, as UTF-16 has without its mark. Say so with "
        f"`--encoding {encoding}`; if it is UTF-8 all the same, with `--encoding utf-8`; "
        "`--codec bytes` reads anything."
    )


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _checked(parts: Iterator[bytes], name: str, offset: int) -> Iterator[bytes]:
    held, line = b"", 1
    for part in parts:
        text = held + part if held else part
        used = _valid(text, name, offset, line, final=False)
        line += text.count(b"\n", 0, used)
        offset, held = offset + used, text[used:]
        yield text[:used] if held else text
    _valid(held, name, offset, line, final=True)


def _valid(text: bytes, name: str, offset: int, line: int, final: bool) -> int:
    """How many bytes are whole UTF-8 characters; the next part may complete the rest, unless `final`."""
    try:
        return codecs.utf_8_decode(text, "strict", final)[1]
    except UnicodeDecodeError as error:
        line += text.count(b"\n", 0, error.start)
        wrong = text[error.start : error.end]
        raise DataError(
            f"{name}, line {line}, byte {offset + error.start + 1} of the file (both counted from 1): "
            f"{wrong!r} is no UTF-8. "
            "Say how the file is written, for example `--encoding latin-1`, or use `--codec bytes`, "
            "which reads anything."
        ) from error


def _recoded(parts: Iterator[bytes], name: str, encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    offset, line = 0, 1
    try:
        for part in parts:
            text = decoder.decode(part)
            yield text.encode()
            offset, line = offset + len(part), line + text.count("\n")
        yield decoder.decode(b"", True).encode()
    except UnicodeError as error:
        start = offset + getattr(error, "start", 0) + 1
        raise DataError(
            f"{name}, about line {line}, byte {start} of the file (both counted from 1): "
            f"not {encoding} ({getattr(error, 'reason', error)}). "
            "Give the right `--encoding`, or use `--codec bytes`, which reads anything."
        ) from error


def text_lines(parts: Iterable[bytes]) -> Iterator[str]:
    """The lines of UTF-8 parts with their ends."""
    held = b""
    for part in parts:
        *whole, held = (held + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8") + "\n"
    if held:
        yield held.decode("utf-8")
