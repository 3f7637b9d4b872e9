"""Files as a flow of UTF-8: decompressed, decoded, checked, a chunk at a time."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from chainrule.errors import DataError

CHUNK = 1 << 24  # bytes read at once
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
ZSTANDARD = ".zst"
BROKEN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
# The longer marks first: UTF-32's begins like UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, decompressed if its name says so."""
    try:
        yield from _zstandard(path) if path.suffix == ZSTANDARD else _plain(path)
    except BROKEN as error:
        raise DataError(
            f"{path} cannot be decompressed ({error or 'it ends too early'}). "
            "The file is cut short or damaged: fetch or compress it again."
        ) from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error


def _plain(path: Path) -> Iterator[bytes]:
    with COMPRESSED.get(path.suffix, open)(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


def _zstandard(path: Path) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError as error:
        raise DataError(f"{path} needs the package zstandard: `pip install zstandard`.") from error
    frame = None
    with path.open("rb") as file:
        try:
            while data := file.read(CHUNK >> 3):
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
    while len(first) < 4 and (part := next(parts, b"")):
        first += part
    mark, found = next(((mark, name) for mark, name in MARKS if first.startswith(mark)), (b"", "utf-8"))
    encoding = _known(encoding) if encoding else found
    if encoding == "utf-8":
        start = len(codecs.BOM_UTF8) if mark == codecs.BOM_UTF8 else 0
        return _checked(_chain(first[start:], parts), name, start)
    return _recoded(_chain(first, parts), name, encoding)


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError as error:
        raise DataError(
            f"There is no encoding {encoding!r}. Common ones: utf-8, latin-1, cp1252, utf-16, shift-jis."
        ) from error


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
            f"{name}, line {line}, byte {offset + error.start}: {wrong!r} is no UTF-8. "
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
        start = offset + getattr(error, "start", 0)
        raise DataError(
            f"{name}, about line {line}, byte {start}: not {encoding} ({getattr(error, 'reason', error)}). "
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
