"""Anything <-> ids. A sequence is UTF-8 text; a codec knows where its symbols begin and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from chainrule.config import Config
from chainrule.symbols import BOS, MASK, PAD


@dataclass(frozen=True)
class Texts:
    """Many sequences as UTF-8 in one buffer: sequence i is `data[starts[i]:ends[i]]`.

    Symbols inside a sequence of events or numbers are separated by UNIT, words by white space.
    """

    data: np.ndarray  # (bytes,) uint8
    starts: np.ndarray  # (sequences,) int64
    ends: np.ndarray  # (sequences,) int64

    @classmethod
    def of(cls, items: Iterable[str | bytes]) -> Self:
        """From strings, one a sequence."""
        parts = [item.encode() if isinstance(item, str) else item for item in items]
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if parts else ends
        return cls(np.frombuffer(b"".join(parts), np.uint8), starts, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[bytes]:
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            yield self.data[start:end].tobytes()

    @property
    def bytes(self) -> int:
        """How many bytes the sequences have, with one terminator (the newline) each."""
        return int((self.ends - self.starts).sum()) + len(self)


UNIT = "\x1f"  # between the events or numbers of one sequence: ASCII's unit separator

Blocks = Callable[[], Iterable[Texts]]  # called anew for every pass over the data


@dataclass(frozen=True)
class Encoded:
    """Sequences as ids."""

    ids: np.ndarray  # (positions,) int32, each sequence `BOS x_1 … x_T EOS`
    unknown: int = 0  # symbols outside the alphabet that became UNK; a literal `<unk>` in the data does not count


@dataclass(frozen=True, kw_only=True)
class CodecConfig(Config):
    """Settings of a codec; each codec adds its own."""


class Codec(ABC):
    """A two-way dictionary between sequences and ids; ids below `symbols.FIRST` are the special ones."""

    name: ClassVar[str] = ""
    Config: ClassVar[type[CodecConfig]] = CodecConfig
    config: CodecConfig

    @property
    @abstractmethod
    def size(self) -> int:
        """How many ids there are, special ones included."""

    @property
    def silent(self) -> tuple[int, ...]:
        """Ids that are read, never spoken; a closed vocabulary adds UNK unless the data themselves contain it."""
        return (PAD, BOS, MASK)

    @classmethod
    @abstractmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        """Look through the training data and fix the alphabet."""

    @abstractmethod
    def encode(self, texts: Texts) -> Encoded:
        """All sequences as one flat array; symbols outside the alphabet become UNK."""

    @abstractmethod
    def pieces(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """How each id looks to a person, special ones as in `symbols.SPECIALS`."""

    @abstractmethod
    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of these ids; PAD, BOS, EOS and MASK say nothing."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what was learnt as plain files; never pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        """The same codec again."""
