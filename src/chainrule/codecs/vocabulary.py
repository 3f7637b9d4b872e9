"""Which symbols have ids: chosen by count, kept in a plain file, looked up at speed."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import Blocks, Codec, CodecConfig
from chainrule.codecs.scan import Counts, Lookup
from chainrule.config import option
from chainrule.errors import CodecError
from chainrule.symbols import BOS, FIRST, MASK, PAD, SPECIALS, UNK

UNKNOWN = SPECIALS[UNK].encode()
SUPPRESSED = (PAD, BOS, MASK)
SYMBOLS, FACTS = "vocabulary.txt", "vocabulary.json"


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig(CodecConfig):
    """Settings of every codec whose vocabulary is a list of symbols seen in the data."""

    vocab: int | None = option(
        None, "keep at most so many symbols, the most frequent ones (10k)", low=1, high=100_000_000
    )
    min_count: int = option(1, "leave out symbols seen less often than this", low=1, high=1_000_000_000)
    closed: bool = option(False, "closed vocabulary: unknown symbols get probability 0")


@dataclass(frozen=True)
class Vocabulary:
    """Symbols in the order of their ids, from `FIRST` on."""

    symbols: tuple[bytes, ...]
    unknown_seen: bool = False  # the training data, as encoded, contain UNK

    @classmethod
    def choose(cls, counts: Counts, config: VocabularyConfig, unknown: bytes | None = UNKNOWN) -> Vocabulary:
        """The symbols to keep: by count, descending, then by bytes, so that the same data give the same ids.

        `unknown` is how the data themselves write an unknown symbol.
        """
        symbols, kept = list(counts.words), counts.counts
        wanted = np.ones(len(symbols), np.bool_)
        if unknown in symbols:
            wanted[symbols.index(unknown)] = False
        frequent = wanted & (kept >= _threshold(kept[wanted], config))
        chosen = sorted(np.flatnonzero(frequent).tolist(), key=symbols.__getitem__)
        order = np.argsort(-kept[chosen], kind="stable")[: config.vocab].tolist()
        cut = len(order) < int(wanted.sum())
        return cls(tuple(symbols[chosen[place]] for place in order), cut or not wanted.all())

    def beginning_with(self, stem: bytes) -> list[int]:
        """Ids of the symbols that begin so, in order."""
        words, order = self._in_order
        first, end = bisect_left(words, stem), bisect_left(words, stem + b"\xff")
        return sorted(FIRST + place for place in order[first:end])

    @cached_property
    def _in_order(self) -> tuple[list[bytes], list[int]]:
        """Symbols as in a dictionary, and where each stands in the list."""
        order = sorted(range(len(self.symbols)), key=self.symbols.__getitem__)
        return [self.symbols[place] for place in order], order

    @property
    def size(self) -> int:
        """How many ids there are, special ones included."""
        return FIRST + len(self.symbols)

    def joined(self, other: Vocabulary) -> Vocabulary:
        """With the symbols that only the other one has, after those there are, in their order."""
        own = set(self.symbols)
        new = (symbol for symbol in other.symbols if symbol not in own)
        return Vocabulary((*self.symbols, *new), self.unknown_seen or other.unknown_seen)

    def suppressed(self, closed: bool) -> tuple[int, ...]:
        """Ids never predicted: UNK among them when nothing unknown was seen and none is to be expected."""
        return (*SUPPRESSED[:2], UNK, MASK) if closed and not self.unknown_seen else SUPPRESSED

    @cached_property
    def lookup(self) -> Lookup:
        """From bytes to ids; the data's own way of writing UNK leads to UNK."""
        ids = np.concatenate([np.arange(FIRST, self.size), [UNK]])
        return Lookup([*self.symbols, UNKNOWN], ids)

    def symbol(self, number: int) -> str:
        """The symbol behind the id of one."""
        return self.symbols[number - FIRST].decode("utf-8", "backslashreplace")

    def save(self, folder: Path) -> None:
        """One symbol a line, backslash and line ends escaped, and the facts beside it."""
        lines = [escape(symbol) + "\n" for symbol in self.symbols]
        (folder / SYMBOLS).write_text("".join(lines), encoding="utf-8", newline="\n")
        facts = {"symbols": len(self.symbols), "unknown_seen": self.unknown_seen}
        (folder / FACTS).write_text(json.dumps(facts) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """What `save` wrote."""
        facts = read_facts(folder / FACTS)
        lines = read_file(folder / SYMBOLS).split(b"\n")[:-1]
        if len(lines) != facts.get("symbols"):
            raise CodecError(
                f"{folder / SYMBOLS} has {len(lines)} symbols where {facts.get('symbols')} were written. "
                "The file is damaged: save the model again."
            )
        symbols = tuple(unescape(line) if b"\\" in line else line for line in lines)
        if len(set(symbols)) != len(symbols):  # two ids would share a name, and their probabilities, too
            raise CodecError(
                f"{folder / SYMBOLS} has a symbol twice. The file is damaged: save the model again."
            )
        return cls(symbols, bool(facts.get("unknown_seen")))


class Listing(Codec):
    """A codec whose symbols are listed in a vocabulary."""

    Config = VocabularyConfig
    config: VocabularyConfig

    def __init__(self, config: VocabularyConfig, vocabulary: Vocabulary) -> None:
        self.config = config
        self.vocabulary = vocabulary

    @property
    def size(self) -> int:
        return self.vocabulary.size

    @property
    def suppressed(self) -> tuple[int, ...]:
        return self.vocabulary.suppressed(self.config.closed)

    def symbol(self, number: int) -> str:
        return self.vocabulary.symbol(number)

    def extended(self, blocks: Blocks) -> Self:
        return type(self)(self.config, self.vocabulary.joined(self.learn(blocks, self.config).vocabulary))

    def knowing(self, blocks: Blocks) -> Self:
        config = replace(self.config, vocab=None, min_count=1)
        return type(self)(self.config, self.vocabulary.joined(self.learn(blocks, config).vocabulary))

    def spelling(self, number: int) -> bytes:
        return self.vocabulary.symbols[number - FIRST]

    def save(self, folder: Path) -> None:
        self.vocabulary.save(folder)

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        assert isinstance(config, VocabularyConfig)
        return cls(config, Vocabulary.load(folder))


def readable(ids: Sequence[int] | np.ndarray) -> list[int]:
    """The ids that stand for text: all but PAD, BOS, EOS and MASK."""
    numbers = np.asarray(ids, np.int64).reshape(-1)
    return [int(number) for number in numbers[(numbers >= FIRST) | (numbers == UNK)]]


def _threshold(counts: np.ndarray, config: VocabularyConfig) -> int:
    """The least count a kept symbol has; sorting by bytes is only worth it above this."""
    if config.vocab is None or config.vocab >= len(counts):
        return config.min_count
    least = np.partition(counts, len(counts) - config.vocab)[len(counts) - config.vocab]
    return max(config.min_count, int(least))


ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
MEANINGS = {written[1:]: plain for plain, written in ESCAPES.items()}


def escape(symbol: bytes) -> str:
    """A symbol on one line of UTF-8: backslash, line ends and bytes that are no UTF-8 are written out."""
    for plain, written in ESCAPES.items():
        symbol = symbol.replace(plain, written)
    return symbol.decode("utf-8", "backslashreplace")


def unescape(line: bytes) -> bytes:
    """The symbol `escape` wrote."""
    return re.sub(rb"\\(x[0-9a-f]{2}|.)", _meaning, line)


def _meaning(match: re.Match[bytes]) -> bytes:
    written = match[1]
    return MEANINGS[written] if written in MEANINGS else bytes.fromhex(written[1:].decode())


def read_file(path: Path) -> bytes:
    """A file of a saved codec."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CodecError(f"{path} cannot be read ({error.strerror}). Is the saved model complete?") from error


def read_facts(path: Path) -> dict[str, object]:
    """The JSON file of a saved codec."""
    try:
        facts = json.loads(read_file(path))
    except ValueError as error:
        raise CodecError(
            f"{path} is not JSON ({error}). The file is damaged: save the model again."
        ) from error
    if not isinstance(facts, dict):
        raise CodecError(
            f"{path} should hold a JSON object, not {type(facts).__name__}: save the model again."
        )
    return facts
