"""Word vectors of other programs: word2vec text and binary, and GloVe text, both ways.

text    a line with the number of words and of dimensions, then a line for each word: it and its numbers
glove   the same without the first line
binary  the first line, then for each word its bytes, a space, and its numbers as float32, little-endian
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from chainrule.bundle import Bundle
from chainrule.codecs.vocabulary import UNKNOWN, Vocabulary
from chainrule.codecs.words import Words, WordsConfig
from chainrule.errors import ConfigError, DataError, ModelError
from chainrule.models.vectors import VectorsConfig, WordVectors
from chainrule.progress import Step, progress
from chainrule.store.files import new_file
from chainrule.symbols import FIRST, UNK

FORMATS = ("text", "binary", "glove")
LONGEST = 1 << 20  # bytes of a line, or of a word of a binary file
WIDEST = 65_536  # numbers of a vector
GROWTH = 1 << 14  # rows of memory taken at a time: what a header announces is not believed
SEPARATORS = re.compile(rb"[\s\0]")
HEADER = re.compile(rb"(\d{1,12})[ \t]+(\d{1,12})[ \t]*\r?\n?")

Row = tuple[bytes, np.ndarray]


def import_vectors(path: Path, format: str | None = None) -> Bundle:
    """Read a file of vectors; which of the three formats it has is seen from its beginning."""
    if format not in (None, *FORMATS):
        raise ConfigError(f"Vectors are in one of the formats {', '.join(FORMATS)}, not {format!r}.")
    with _reading(path) as file, progress("reading vectors", None, "words") as step:
        lines = _Lines(file, path)
        header = _header(lines, format)
        format = format or ("glove" if header is None else _guessed(lines, header[1]))
        rows = _binary(lines, header) if format == "binary" else _text(lines, header)
        words, table, twice = _collected(lines, rows, step)
    notes = [f"format: {format}"]
    if twice:
        notes.append(f"{twice:,} words stand there more than once: the first vector of each is taken")
    return _bundle(path, words, table, notes)


def _bundle(path: Path, words: list[bytes], table: np.ndarray, notes: list[str]) -> Bundle:
    known = [at for at, word in enumerate(words) if word != UNKNOWN]
    vectors = np.zeros((FIRST + len(known), table.shape[1]), np.float32)
    vectors[FIRST:] = table[known]
    if len(known) < len(words):
        vectors[UNK] = table[words.index(UNKNOWN)]
    codec = Words(WordsConfig(), Vocabulary(tuple(words[at] for at in known), unknown_seen=True))
    config = VectorsConfig(vocab_size=codec.size, suppressed=codec.suppressed, width=table.shape[1])
    return Bundle.of(
        codec, WordVectors(config, {"vectors": vectors}), {"imported": path.name, "notes": notes}
    )


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as packed:
                yield io.BufferedReader(packed, 1 << 20)
        else:
            with path.open("rb") as file:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error


class _Lines:
    """A file read line by line, with where we are for messages; what was looked at can be given back."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path, self.number, self.held = file, path, 0, io.BytesIO()

    def give_back(self, looked_at: bytes) -> None:
        """What comes next again."""
        self.held = io.BytesIO(looked_at)

    def line(self) -> bytes:
        """The next line with its end, or nothing at the end of the file."""
        found = self.held.read()
        found = found if found.endswith(b"\n") else found + self.file.readline(LONGEST + 1)
        self.number += 1
        if len(found) > LONGEST:
            raise self.error(f"a line of more than {LONGEST:,} bytes: this is no file of word vectors.")
        return found

    def bytes(self, size: int) -> bytes:
        """So many bytes, or fewer at the end of the file."""
        found = self.held.read(size)
        return found + self.file.read(size - len(found))

    def error(self, message: str) -> DataError:
        return DataError(f"{self.path}, line {self.number}: {message}")


def _header(lines: _Lines, format: str | None) -> tuple[int, int] | None:
    """How many words and dimensions the first line announces; None where there is no such line."""
    if format == "glove":
        return None
    line = lines.line()
    found = HEADER.fullmatch(line.removeprefix(codecs.BOM_UTF8))
    if found is None and format is not None:
        raise lines.error("expected the number of words and of dimensions, as in '71291 200'.")
    if found is None:
        lines.give_back(line)
        lines.number = 0
        return None
    count, width = int(found[1]), int(found[2])
    if not count or not 1 <= width <= WIDEST:
        raise lines.error(
            f"{count} words of {width} dimensions are announced; there must be some, of up to {WIDEST}."
        )
    return count, width


def _guessed(lines: _Lines, width: int) -> str:
    """Text, if the line after the header is one word and so many numbers."""
    line = lines.file.readline(LONGEST + 1)
    lines.give_back(line)
    fields = line.split()
    try:
        numbers = [float(field) for field in fields[-width:]]
    except ValueError:
        return "binary"
    return "text" if len(fields) > width and len(numbers) == width else "binary"


def _text(lines: _Lines, header: tuple[int, int] | None) -> Iterator[Row]:
    """Words and vectors of a text; a word may contain spaces, as some files have them."""
    width, count = header[1] if header else 0, 0
    while line := lines.line():
        if not line.strip():
            continue
        width = width or len(line.split()) - 1
        fields = line.rstrip().rsplit(maxsplit=width)
        if len(fields) != width + 1 or not 1 <= width <= WIDEST:
            raise lines.error(f"expected a word and {max(width, 1)} numbers, found {_shown(line)}.")
        try:
            yield fields[0], np.array([float(one) for one in fields[1:]], np.float32)
        except ValueError:
            raise lines.error(f"expected {width} numbers after the word, found {_shown(line)}.") from None
        count += 1
        if header and count > header[0]:
            raise lines.error(f"there are more words than the {header[0]:,} announced.")
    if header and count < header[0]:
        raise lines.error(f"the file is cut off: {header[0] - count:,} of {header[0]:,} words are missing.")


def _binary(lines: _Lines, header: tuple[int, int] | None) -> Iterator[Row]:
    if header is None:
        raise lines.error("a binary file begins with the number of words and of dimensions.")
    count, width = header
    for at in range(count):
        word = _word(lines)
        vector = lines.bytes(4 * width)
        if len(vector) < 4 * width:
            raise lines.error(f"the file is cut off: {count - at:,} of {count:,} words are missing.")
        yield word, np.frombuffer(vector, "<f4")
    if lines.bytes(2).strip():
        raise lines.error(f"there is more than the {count:,} words announced.")


def _word(lines: _Lines) -> bytes:
    """The bytes up to a space; a line end before them belongs to the word before."""
    found = bytearray()
    while (byte := lines.bytes(1)) not in (b" ", b""):
        if byte != b"\n" or found:
            found += byte
        if len(found) > LONGEST:
            raise lines.error(f"a word of more than {LONGEST:,} bytes: the file is damaged.")
    return bytes(found)


def _collected(lines: _Lines, rows: Iterator[Row], step: Step) -> tuple[list[bytes], np.ndarray, int]:
    """All words, their vectors, and how many words came again; memory grows with what is there."""
    seen: dict[bytes, int] = {}
    blocks: list[np.ndarray] = []
    block: list[np.ndarray] = []
    twice = 0
    for word, vector in rows:
        if not word or not np.isfinite(vector).all():
            raise lines.error(f"the word {_shown(word)} has no finite vector, or no letters.")
        if word in seen:
            twice += 1
            continue
        seen[word] = len(seen)
        step(1)
        block.append(vector)
        if len(block) == GROWTH:
            blocks, block = [*blocks, np.stack(block)], []
    if not seen:
        raise DataError(f"{lines.path} has no word vectors in it.")
    return list(seen), np.concatenate([*blocks, np.stack(block)] if block else blocks), twice


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


def export_vectors(bundle: Bundle, path: Path, format: str = "text") -> tuple[int, tuple[str, ...]]:
    """Write vectors; how many words were written, and what there is to say."""
    if format not in FORMATS:
        raise ConfigError(f"Vectors are in one of the formats {', '.join(FORMATS)}, not {format!r}.")
    body, codec = bundle.body, bundle.codec
    if not isinstance(body, WordVectors):
        raise ModelError(
            f"Such a file holds vectors of words, and this is a model of family {body.family!r}."
        )
    named = [(number, codec.shown(number).encode()) for number in range(FIRST, codec.size)]
    if body.table[UNK].any():
        named.append((UNK, UNKNOWN))
    fine = [(number, word) for number, word in named if word and not SEPARATORS.search(word)]
    unique = {word: number for number, word in reversed(fine)}
    rows = sorted((number if number != UNK else codec.size, word) for word, number in unique.items())
    with new_file(path) as file, progress("writing vectors", len(rows), "words") as step:
        if format != "glove":
            file.write(b"%d %d\n" % (len(rows), body.width))
        for number, word in rows:
            vector = body.table[UNK if number == codec.size else number]
            file.write(_written(word, vector, format))
            step(1)
    left = len(named) - len(rows)
    return len(rows), (f"{left:,} words with white space, or alike, are left out",) if left else ()


def _written(word: bytes, vector: np.ndarray, format: str) -> bytes:
    if format == "binary":
        return word + b" " + vector.astype("<f4").tobytes() + b"\n"
    return word + b" " + " ".join(f"{one:.9g}" for one in vector.tolist()).encode() + b"\n"
