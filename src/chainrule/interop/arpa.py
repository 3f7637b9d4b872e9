"""ARPA, the text format every n-gram toolkit reads and writes: both ways, plain or gzipped.

A line holds a base-10 log-probability, the words, and (below the highest order) the back-off weight. Words
are separated by white space there, so a symbol that contains any is written with backslash escapes.
"""

from __future__ import annotations

import codecs
import gzip
import io
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.codecs.characters import Characters
from chainrule.codecs.events import Events
from chainrule.codecs.vocabulary import Listing, Vocabulary
from chainrule.codecs.words import Words
from chainrule.errors import ConfigError, DataError, ModelError, suggest
from chainrule.interop.closure import NgramTable, closed_trie, possible
from chainrule.models.ngram import Ngram, NgramConfig
from chainrule.progress import progress
from chainrule.store.files import new_file
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, SPECIALS, UNK

TEN = math.log(10)
SLACK = 1e-4  # what rounding may put above a probability of 1
NEVER = -99.0  # how the format writes the logarithm of zero
UNLISTED = -100.0  # what KenLM gives unknown words where the file has no <unk>
NO_UNKNOWN = "the file has no <unk>: unknown words get the log10 probability -100, as in KenLM"
LONGEST = 1 << 20  # bytes of a line
ROWS = 1 << 16  # n-grams written at a time
SEPARATORS = "\0\t\n\v\f\r "  # what readers of the format take for the end of a word
CODECS: dict[str, type[Listing]] = {"words": Words, "characters": Characters, "events": Events}


def export_arpa(model: Ngram, codec: Codec, path: Path) -> int:
    """Write a model; how many n-grams were written."""
    if model.config.smoothing == "add-k":
        raise ModelError(
            "Add-k gives unseen symbols an equal share whatever the shorter context says, and ARPA has no way to "
            "say that. Fit with --smoothing kneser-ney, absolute or witten-bell to export."
        )
    names = _names(codec)
    absent = [PAD, MASK]
    sizes = model.sizes
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
    names = [_escaped(piece) for piece in codec.tokens(range(codec.size))]
    clash = set(names[FIRST:]) & set(SPECIALS)
    if clash:
        raise ModelError(
            f"The data contain {sorted(clash)[0]!r} as an ordinary symbol, which ARPA keeps for itself. "
            "Replace it in the training text, then fit again."
        )
    return np.array(names, object)


def _escaped(piece: str) -> str:
    """Without the characters that separate words in the file."""
    return "".join(f"\\u{ord(c):04x}" if c in SEPARATORS else c for c in piece) or "\\u200b"


def _unescaped(word: bytes) -> bytes:
    return re.sub(rb"\\u00([0-9a-f]{2})", lambda match: bytes.fromhex(match[1].decode()), word)


def _lines(model: Ngram, names: np.ndarray, nodes: np.ndarray, n: int) -> Iterator[str]:
    words = (" ".join(row) for row in names[_symbols(model, nodes, n)].tolist())
    logs = _written(model.logs_of(nodes)).tolist()
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
    with new_file(path) as raw, ExitStack() as stack:
        packed: Any = raw
        if path.suffix == ".gz":
            packed = stack.enter_context(gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=5, mtime=0))
        file = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        yield file
        file.flush()
        file.detach()


def import_arpa(path: Path, codec: str = "words") -> tuple[Ngram, Codec]:
    """Read a model that any toolkit wrote, and the vocabulary that goes with it; `codec` says what its words are.

    What had to be made up is in the model's `notes`.
    """
    if codec not in CODECS:
        raise ConfigError(f"The symbols of an ARPA file cannot be {codec!r}. {suggest(codec, CODECS)}")
    with _reading(path) as file, progress("reading ARPA") as advance:
        lines = _Lines(file, path)
        sizes = _header(lines)
        unigrams, numbers, listed = _read_unigrams(lines, sizes[0])
        tables = [unigrams]
        for n in range(2, len(sizes) + 1):
            tables.append(_read_table(lines, n, sizes[n - 1], numbers))
            advance(sizes[n - 1])
    has_unknown = bool(np.isfinite(possible(unigrams.logs[unigrams.symbols[:, 0] == UNK])).all())
    words = [word for word, number in numbers.items() if number >= FIRST]
    made = _codec(CODECS[codec], words, has_unknown, path)
    notes = () if listed else (NO_UNKNOWN,)
    config = NgramConfig(vocab_size=made.size, suppressed=made.suppressed, order=len(sizes), imported=True)
    return Ngram(config, closed_trie(tables, made.size), notes), made


def _codec(kind: type[Listing], words: list[bytes], has_unknown: bool, path: Path) -> Codec:
    """A codec with the words of the file, in their order; where spaces lie between symbols, none is escaped inside."""
    symbols = words if kind.glue == " " else [_unescaped(word) for word in words]
    if len(set(symbols)) < len(symbols):
        twice = next(word for word, times in Counter(symbols).items() if times > 1)
        raise DataError(f"{path}: two of its words stand for {_shown(twice)}. Import it with --codec words.")
    if kind.letters and (long := [word for word in symbols if len(word.decode("utf-8", "replace")) != 1]):
        raise DataError(
            f"{path}: {_shown(long[0])} is more than one character. Import it with --codec words."
        )
    return kind(kind.Config(closed=not has_unknown), Vocabulary(tuple(symbols), has_unknown))


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
    """The lines of a file that are not blank, with where we are for messages."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file, self.path, self.number = file, path, 0

    def next(self) -> bytes:
        """The next line, or nothing at the end of the file."""
        while some := self.some(1):
            [line] = some
            self.number += 1
            if line := line.removeprefix(codecs.BOM_UTF8).strip():
                return line
        return b""

    def some(self, wanted: int) -> list[bytes]:
        """Up to `wanted` lines as they are, blank ones included."""
        found = list(islice(self._read(), wanted))
        if max(map(len, found), default=0) > LONGEST:
            raise self.error(f"a line of more than {LONGEST:,} bytes follows. This is no ARPA file.")
        return found

    def _read(self) -> Iterator[bytes]:
        """Lines, long ones in parts: a file without line ends must not fill the memory."""
        return iter(partial(self.file.readline, LONGEST + 1), b"")

    def error(self, message: str) -> DataError:
        return DataError(f"{self.path}, line {self.number}: {message}")


def _header(lines: _Lines) -> list[int]:
    """How many n-grams of each order are announced, up to the line `\\1-grams:`."""
    sizes: list[int] = []
    begun = False
    while line := lines.next():
        if begun and line == b"\\1-grams:":
            if not 1 <= len(sizes) <= 9:
                raise lines.error(
                    f"n-grams up to order {len(sizes)} are announced; orders 1 to 9 can be read."
                )
            return sizes
        if line == b"\\data\\":
            begun = True
        elif begun and line.startswith(b"ngram "):
            order, _, size = line.removeprefix(b"ngram ").partition(b"=")
            if order.strip() != b"%d" % (len(sizes) + 1) or not re.fullmatch(rb"\s*\d{1,15}\s*", size):
                raise lines.error(f"expected 'ngram {len(sizes) + 1}=COUNT', found {_shown(line)}.")
            sizes.append(int(size))
        elif not begun and lines.number > 100:
            break
    raise DataError(f"{lines.path} is not an ARPA file: it has no \\data\\ section followed by \\1-grams:.")


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "replace"))


Entries = tuple[
    list[bytes], list[float], list[float]
]  # words of all n-grams one after another, logs, weights


def _entries(lines: _Lines, n: int, size: int) -> Iterator[Entries]:
    """One section, some thousand n-grams at a time; logarithms are still to base 10."""
    left = size
    while left:
        block = lines.some(min(left, ROWS))
        found = _together(block, n)
        if found is None:
            found = _one_by_one(block, lines, n, size)
        else:
            lines.number += len(block)
        left -= len(found[1])
        if not block:
            raise lines.error(f"the file is cut off: {left} of {size} {n}-grams are missing.")
        yield found
    if lines.next() not in (b"\\%d-grams:" % (n + 1), b"\\end\\"):
        raise lines.error(f"there are more {n}-grams than the {size} announced, or the file is cut off.")


def _together(block: list[bytes], n: int) -> Entries | None:
    """All lines at once when they have equally many columns, as most files do; None when they have not."""
    fields = b"".join(block).split()
    columns, rest = divmod(len(fields), max(1, len(block)))
    if rest or columns not in (n + 1, n + 2):
        return None
    try:
        logs = list(map(float, fields[::columns]))
        weights = list(map(float, fields[n + 1 :: columns])) if columns == n + 2 else [0.0] * len(logs)
    except ValueError:
        return None
    words = [b""] * (n * len(logs))
    for k in range(n):
        words[k::n] = fields[k + 1 :: columns]
    return words, logs, weights


def _one_by_one(block: list[bytes], lines: _Lines, n: int, size: int) -> Entries:
    words: list[bytes] = []
    logs: list[float] = []
    weights: list[float] = []
    for line in block:
        lines.number += 1
        fields = line.split()
        if not fields:
            continue
        if len(fields) not in (n + 1, n + 2) or line.startswith(b"\\"):
            raise lines.error(
                f"expected {n + 1} or {n + 2} columns for a {n}-gram (of {size} announced), found {_shown(line)}."
            )
        try:
            logs.append(float(fields[0]))
            weights.append(float(fields[n + 1]) if len(fields) == n + 2 else 0.0)
        except ValueError:
            raise lines.error(f"expected numbers, found {_shown(line)}.") from None
        words += fields[1 : n + 1]
    return words, logs, weights


def _checked(lines: _Lines, n: int, logs: list[float], weights: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Natural logarithms, if these can be logarithms of probabilities and of weights."""
    found, backs = np.array(logs), np.array(weights)
    wrong = ~(found <= SLACK) | ~(backs < np.inf)
    if wrong.any():
        which = int(np.flatnonzero(wrong)[0])
        raise lines.error(
            f"a {n}-gram up to here has the log-probability {found[which]} and the weight {backs[which]}: a logarithm "
            "of at most 0 and a finite weight were expected."
        )
    return np.minimum(found, 0.0) * TEN, backs * TEN


def _read_unigrams(lines: _Lines, size: int) -> tuple[NgramTable, dict[bytes, int], bool]:
    """The words with their ids, and whether <unk> is one of them."""
    numbers = {SPECIALS[special].encode(): special for special in (BOS, EOS, UNK)}
    ids = {BOS: (NEVER * TEN, 0.0), EOS: (NEVER * TEN, 0.0), UNK: (UNLISTED * TEN, 0.0)}
    listed = set()
    for words, some, weights in _entries(lines, 1, size):
        logs, backs = _checked(lines, 1, some, weights)
        for word, log, weight in zip(words, logs.tolist(), backs.tolist(), strict=True):
            word = SPELT.get(word, word)
            if word in listed:
                raise lines.error(f"{_shown(word)} stands twice among the 1-grams.")
            listed.add(word)
            ids[numbers.setdefault(word, FIRST + len(numbers) - 3)] = (log, weight)
    numbers |= {spelt: numbers[word] for spelt, word in SPELT.items()}
    values = np.array(list(ids.values()))
    table = NgramTable(np.array(list(ids), np.int32)[:, None], values[:, 0], values[:, 1])
    return table, numbers, SPECIALS[UNK].encode() in listed


SPELT = {b"<S>": b"<s>", b"</S>": b"</s>", b"<UNK>": b"<unk>"}  # as some toolkits write them


def _room(lines: _Lines, size: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        return np.empty((size, n), np.int32), np.empty(size), np.empty(size)
    except (MemoryError, ValueError):
        raise lines.error(f"{size} {n}-grams are announced, more than memory holds.") from None


def _read_table(lines: _Lines, n: int, size: int, numbers: dict[bytes, int]) -> NgramTable:
    symbols, logs, backs = _room(lines, size, n)
    done = 0
    for words, some, weights in _entries(lines, n, size):
        stop = done + len(some)
        try:
            symbols[done:stop] = np.array([numbers[word] for word in words], np.int32).reshape(-1, n)
        except KeyError as error:
            where = DataError(
                f"{lines.path}: {_shown(error.args[0])} in a {n}-gram is not among the 1-grams."
            )
            raise where from None
        logs[done:stop], backs[done:stop] = _checked(lines, n, some, weights)
        done = stop
    return NgramTable(symbols, logs, backs)
