"""ARPA, the text format every n-gram toolkit reads and writes: both ways, plain or gzipped.

A line holds a base-10 log-probability, the words, and (below the highest order) the back-off weight. Words
are separated by white space there, so a symbol that contains any is written with backslash escapes.
"""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.codecs.vocabulary import Vocabulary
from chainrule.codecs.words import Words, WordsConfig
from chainrule.errors import DataError, ModelError
from chainrule.files import new_file
from chainrule.interop.closure import Table, closed_trie
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.progress import progress
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, SPECIALS, UNK

TEN = math.log(10)
NEVER = -99.0  # how the format writes the logarithm of zero
ROWS = 1 << 16  # n-grams written at a time


def export_arpa(model: Ngram, codec: Codec, path: Path) -> int:
    """Write a model; how many n-grams were written."""
    if model.config.smoothing == "add-k":
        raise ModelError(
            "Add-k gives unseen symbols an equal share whatever the shorter context says, and ARPA has no way to "
            "say that. Fit with --smoothing kneser-ney, absolute or witten-bell to export."
        )
    names = _names(codec)
    absent = [PAD, MASK]
    sizes = [model.sizes[0] - len(absent), *model.sizes[1:]]
    with _writing(path) as file, progress("writing ARPA", sum(sizes)) as advance:
        file.write("\\data\\\n" + "".join(f"ngram {n}={size}\n" for n, size in enumerate(sizes, 1)))
        for n in range(1, len(sizes) + 1):
            file.write(f"\n\\{n}-grams:\n")
            for low in range(int(model.levels[n]), int(model.levels[n + 1]), ROWS):
                nodes = np.arange(low, min(low + ROWS, int(model.levels[n + 1])))
                nodes = nodes[~np.isin(model.word[nodes], absent)] if n == 1 else nodes
                file.writelines(_lines(model, names, nodes, n))
                advance(len(nodes))
        file.write("\n\\end\\\n")
    return sum(sizes)


def _names(codec: Codec) -> np.ndarray:
    """How each id is written; a symbol of the data must not look like a special one."""
    names = [_escaped(piece) for piece in codec.pieces(range(codec.size))]
    clash = set(names[FIRST:]) & set(SPECIALS)
    if clash:
        raise ModelError(
            f"The data contain {sorted(clash)[0]!r} as an ordinary symbol, which ARPA keeps for itself. "
            "Replace it in the training text, then fit again."
        )
    return np.array(names, object)


def _escaped(piece: str) -> str:
    if piece and not any(character.isspace() for character in piece):
        return piece
    return "".join(f"\\u{ord(c):04x}" if c.isspace() else c for c in piece) or "\\u200b"


def _lines(model: Ngram, names: np.ndarray, nodes: np.ndarray, n: int) -> Iterator[str]:
    words = (" ".join(row) for row in names[_symbols(model, nodes, n)].tolist())
    logs = _written(model.logs[nodes]).tolist()
    if n == len(model.levels) - 2:
        return (f"{log:.7g}\t{text}\n" for log, text in zip(logs, words, strict=True))
    weights = _written(model.backoff[nodes]).tolist()
    return (f"{log:.7g}\t{text}\t{back:.7g}\n" for log, text, back in zip(logs, words, weights, strict=True))


def _written(logs: np.ndarray) -> np.ndarray:
    return np.maximum(logs.astype(np.float64) / TEN, NEVER)


def _symbols(model: Ngram, nodes: np.ndarray, n: int) -> np.ndarray:
    """All symbols of n-grams of one length: (nodes,) -> (nodes, n)."""
    columns = []
    for _ in range(n):
        columns.append(model.word[nodes])
        nodes = np.searchsorted(model.child, nodes, "right") - 1
    return np.stack(columns[::-1], 1)


@contextmanager
def _writing(path: Path) -> Iterator[TextIO]:
    with new_file(path) as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=5, mtime=0) as packed:
                with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as file:
                    yield file
        else:
            file = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
            yield file
            file.flush()
            file.detach()


def import_arpa(path: Path) -> tuple[Ngram, Words]:
    """Read a model that any toolkit wrote, and the vocabulary that goes with it."""
    with _reading(path) as file:
        lines = _numbered(file)
        sizes = _header(lines, path)
        if not 1 <= len(sizes) <= 9:
            raise DataError(f"{path} has n-grams up to order {len(sizes)}; orders 1 to 9 can be read.")
        unigrams, numbers = _read_unigrams(lines, sizes[0], path)
        tables = [unigrams]
        for n in range(2, len(sizes) + 1):
            tables.append(_read_table(lines, n, sizes[n - 1], numbers, path))
    symbols = tuple(word.encode() for word in numbers if word not in SPECIALS)
    has_unknown = bool(unigrams.logs[list(unigrams.symbols[:, 0]).index(UNK)] > NEVER * TEN + 1)
    codec = Words(WordsConfig(closed=not has_unknown), Vocabulary(symbols, has_unknown))
    config = NgramConfig(alphabet=codec.size, silent=codec.silent, order=len(sizes), smoothing="given")
    return Ngram(config, closed_trie(tables, codec.size)), codec


@contextmanager
def _reading(path: Path) -> Iterator[TextIO]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
                yield file  # type: ignore[misc]
        else:
            with path.open(encoding="utf-8", newline="\n") as file:
                yield file
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}); is it a binary model? Only ARPA can be read.") from error


Lines = Iterator[tuple[int, str]]


def _numbered(file: TextIO) -> Lines:
    for number, line in enumerate(file, 1):
        line = line.rstrip("\r\n")
        if line:
            yield number, line


def _header(lines: Lines, path: Path) -> list[int]:
    """How many n-grams of each order are announced, up to the line `\\1-grams:`."""
    sizes: list[int] = []
    begun = False
    for number, line in lines:
        if begun and line == "\\1-grams:":
            return sizes
        if line == "\\data\\":
            begun = True
        elif begun and line.startswith("ngram "):
            order, _, size = line.removeprefix("ngram ").partition("=")
            if order.strip() != str(len(sizes) + 1) or not size.strip().isdigit():
                raise DataError(f"{path}, line {number}: expected 'ngram {len(sizes) + 1}=COUNT', found {line!r}.")
            sizes.append(int(size))
    raise DataError(f"{path} is not an ARPA file: it has no \\data\\ section followed by \\1-grams:.")


def _entries(lines: Lines, n: int, size: int, path: Path) -> Iterator[tuple[int, list[str], float, float]]:
    """(line number, words, log-probability, back-off weight) of one section, logarithms natural."""
    for _ in range(size):
        number, line = next(lines, (0, "\\end of file"))
        fields = line.split()
        if len(fields) not in (n + 1, n + 2) or line.startswith("\\"):
            raise DataError(
                f"{path}, line {number}: expected {n + 1} or {n + 2} columns for a {n}-gram (of {size} announced), "
                f"found {line[:60]!r}."
            )
        try:
            back = float(fields[n + 1]) if len(fields) == n + 2 else 0.0
            yield number, fields[1 : n + 1], float(fields[0]) * TEN, back * TEN
        except ValueError:
            raise DataError(f"{path}, line {number}: expected numbers, found {line[:60]!r}.") from None
    number, line = next(lines, (0, ""))
    if line not in (f"\\{n + 1}-grams:", "\\end\\"):
        raise DataError(f"{path}, line {number}: more {n}-grams than the {size} announced, or the file is cut off.")


def _read_unigrams(lines: Lines, size: int, path: Path) -> tuple[Table, dict[str, int]]:
    numbers = {SPECIALS[special]: special for special in (BOS, EOS, UNK)}
    ids, logs, backs, seen = [], [], [], set()
    for number, (word,), log, back in _entries(lines, 1, size, path):
        if word in ("<S>", "</S>", "<UNK>"):
            word = word.lower()
        ids.append(numbers.setdefault(word, FIRST + len(numbers) - 3))
        if ids[-1] in seen:
            raise DataError(f"{path}, line {number}: {word!r} stands twice among the 1-grams.")
        seen.add(ids[-1])
        logs.append(log)
        backs.append(back)
    for special in (BOS, EOS, UNK):
        if special not in seen:
            ids.append(special)
            logs.append(NEVER * TEN)
            backs.append(0.0)
    return Table(np.array(ids, np.int32)[:, None], np.array(logs), np.array(backs)), numbers


def _read_table(lines: Lines, n: int, size: int, numbers: dict[str, int], path: Path) -> Table:
    symbols, logs, backs = np.empty((size, n), np.int32), np.empty(size), np.empty(size)
    for row, (number, words, log, back) in enumerate(_entries(lines, n, size, path)):
        try:
            symbols[row] = [numbers[word] for word in words]
        except KeyError as error:
            raise DataError(f"{path}, line {number}: {error.args[0]!r} is not among the 1-grams.") from None
        logs[row], backs[row] = log, back
    return Table(symbols, logs, backs)
