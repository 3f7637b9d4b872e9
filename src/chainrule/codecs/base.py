"""Anything <-> ids. A sequence is UTF-8 text; a codec knows where its symbols begin and end."""

from __future__ import annotations

import hashlib
import json
import tempfile
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
    A sequence too long for one block is spread over several: `closes` is False where its last part is still
    to come, and the next block says `opens=False`.
    """

    data: np.ndarray  # (bytes,) uint8, read-only
    starts: np.ndarray  # (sequences,) int64
    ends: np.ndarray  # (sequences,) int64
    opens: bool = True  # False: the first sequence goes on from the block before
    closes: bool = True  # False: the last sequence goes on in the next block
    skipped: int = 0  # blank lines and empty cells left out

    def __post_init__(self) -> None:
        data = np.ascontiguousarray(self.data).view(np.ndarray)
        data.flags.writeable = False  # one array type means one compilation of each kernel
        object.__setattr__(self, "data", data)

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
        first = int(self.starts[0]) if len(self) else 0
        held = self.data[first : int(self.ends[-1]) if len(self) else 0].tobytes()
        for start, end in zip((self.starts - first).tolist(), (self.ends - first).tolist(), strict=True):
            yield held[start:end]

    @property
    def sequences(self) -> int:
        """How many sequences begin here."""
        return len(self) - (len(self) > 0 and not self.opens)

    @property
    def bytes(self) -> int:
        """How many bytes the sequences have, with one terminator (the newline) each."""
        return int((self.ends - self.starts).sum()) + len(self) - (len(self) > 0 and not self.closes)

    def only(self, chosen: np.ndarray) -> Texts:
        """The sequences marked in `chosen` (sequences,), whole ones; nothing is copied."""
        first, last = (bool(chosen[0]), bool(chosen[-1])) if len(chosen) else (False, False)
        return Texts(
            self.data,
            self.starts[chosen],
            self.ends[chosen],
            self.opens or not first,
            self.closes or not last,
        )

    def divided(self, sequence: int, position: int) -> tuple[Texts, Texts]:
        """What lies before `position`, which is in or at the start of a sequence, and what lies after it."""
        inside = int(position > self.starts[sequence]) if sequence < len(self) else 0
        here = np.array([position], np.int64)
        ends = np.concatenate([self.ends[:sequence], here[:inside]])
        starts = np.concatenate([here[:inside], self.starts[sequence + inside :]])
        opens = not inside and (sequence > 0 or self.opens)
        closes = not inside and (sequence < len(self) or self.closes)
        left = Texts(self.data, self.starts[: sequence + inside], ends, self.opens, closes)
        return left, Texts(self.data, starts, self.ends[sequence:], opens, self.closes)

    def parts(self, count: int, separators: np.ndarray | None = None) -> list[Texts]:
        """At most `count` pieces of about equal bytes; a long sequence is cut before a separator (256,) bool.

        Without separators a sequence is cut between any two code points.
        """
        pieces: list[Texts] = []
        rest = self
        for left in range(count, 1, -1):
            lengths = np.cumsum(rest.ends - rest.starts)
            target = int(lengths[-1]) // left if len(lengths) else 0
            if target < PART:
                break
            sequence = int(np.searchsorted(lengths, target, "right"))
            into = target - int(lengths[sequence - 1] if sequence else 0)
            position = int(rest.starts[sequence])
            if into >= PART:
                position = cut_before(rest.data, position + into, int(rest.ends[sequence]), separators)
            piece, rest = rest.divided(sequence, position)
            pieces += [piece] if len(piece) else []
        return [*pieces, rest]


PART = 1 << 16  # bytes below which work is not worth sharing out


def cut_before(data: np.ndarray, start: int, end: int, separators: np.ndarray | None) -> int:
    """The first place from `start` on where a sequence may be cut; `end` if there is none."""
    for begin in range(start, end, PART):
        window = data[begin : min(begin + PART, end)]
        fits = separators[window] if separators is not None else (window & 0xC0) != 0x80
        first = int(fits.argmax())
        if fits[first]:
            return begin + first
    return end


UNIT = "\x1f"  # between the events or numbers of one sequence: ASCII's unit separator

Blocks = Callable[[], Iterable[Texts]]  # called anew for every pass over the data


@dataclass(frozen=True)
class Encoded:
    """Sequences as ids."""

    ids: np.ndarray  # (positions,) int32, each sequence `BOS x_1 … x_T EOS`
    unknown: int = 0  # symbols that became UNK; a literal `<unk>` in the data does not count


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
        """Ids that are read, never spoken; a closed vocabulary adds UNK unless the data contain it."""
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

    def shown(self, number: int) -> str:
        """One id as it is offered to a person: like its piece, without marks that only machines need."""
        return self.pieces([number])[0]

    def begins(self) -> np.ndarray | None:
        """Which symbols (V,) begin a word, where words are made of several; None: words are symbols, or unknown."""
        return None

    @abstractmethod
    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of these ids; PAD, BOS, EOS and MASK say nothing."""

    def fingerprint(self) -> str:
        """SHA-256 of the name, the settings and everything learnt: equal codecs, equal ids."""
        if "_fingerprint" not in self.__dict__:
            self.__dict__["_fingerprint"] = self._digest()
        return str(self.__dict__["_fingerprint"])

    def _digest(self) -> str:
        digest = hashlib.sha256(json.dumps([self.name, self.config.values()], sort_keys=True).encode())
        with tempfile.TemporaryDirectory() as folder:
            self.save(Path(folder))
            for path in sorted(Path(folder).iterdir()):
                digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what was learnt as plain files; never pickle."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        """The same codec again."""
