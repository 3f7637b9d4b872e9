"""Codecs (tokenizers): anything <-> ids. A sequence is UTF-8 text; a codec knows where its symbols begin and end."""

from __future__ import annotations

import hashlib
import json
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from chainrule.codecs.spelling import spelled, spelled_specials
from chainrule.config import Config
from chainrule.errors import CodecError
from chainrule.symbols import BOS, FIRST, MASK, PAD, SPECIALS, UNK

if TYPE_CHECKING:
    from chainrule.codecs.bins import Bins


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
    opens: bool = True  # False: the first sequence continues that of the block before
    closes: bool = True  # False: the last sequence continues in the next block
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

Blocks = Callable[[], Iterable[Texts]]  # called again for every pass over the data


@dataclass(frozen=True)
class Encoded:
    """Sequences as ids."""

    ids: np.ndarray  # (positions,) int32, each sequence `BOS x_1 … x_T EOS`
    unknown: int = 0  # symbols that became UNK; a literal `<unk>` in the data does not count
    vectors: np.ndarray | None = None  # (positions, F) the numbers of frames that have no ids


@dataclass(frozen=True)
class HalfTyped:
    """The last word of an unfinished text, perhaps not typed to its end."""

    stem: str
    longer: tuple[int, ...]  # ids of the words that begin with it and are longer


@dataclass(frozen=True, kw_only=True)
class CodecConfig(Config):
    """Settings of a codec; each codec adds its own."""


def check_id(number: int, size: int) -> None:
    """Refuse an id outside the vocabulary."""
    if not 0 <= number < size:
        raise CodecError(f"There is no id {number}: this vocabulary has ids 0 to {size - 1}.")


class Codec(ABC):
    """A two-way dictionary between sequences and ids; ids below `symbols.FIRST` are the special ones."""

    name: ClassVar[str] = ""
    Config: ClassVar[type[CodecConfig]] = CodecConfig
    separator: ClassVar[str] = ""  # what people type between the items of a list; empty: they type plain text
    spaced: ClassVar[bool] = (
        True  # False: a space is a symbol of its own and cannot be left out beside another
    )
    config: CodecConfig
    # What a codec says of itself, so that nobody has to ask which one it is.
    reads_bytes: ClassVar[bool] = False  # takes files as they are, UTF-8 or not
    joins_rows: ClassVar[bool] = (
        False  # a symbol is a whole value: the rows of a table's column make one sequence
    )
    keeps_gaps: ClassVar[bool] = False  # an empty cell is a missing value, which keeps its place
    letters: ClassVar[bool] = False  # symbols are no more than letters: a useful context has many of them
    shareable: ClassVar[bool] = (
        False  # symbols are no whole words: those of two languages can be one vocabulary
    )
    spells: ClassVar[bool] = True  # symbols spell text, so that bits can be told per byte
    glue: ClassVar[str] = ""  # what `decode` puts between two symbols
    one_symbol: ClassVar[bool] = False  # a sequence is one answer, whatever is in it
    framed: ClassVar[bool] = False  # a symbol is a frame, a vector of real numbers
    source_kind: ClassVar[str] = "symbols"  # what an encoder reads of it: symbols, frames or images
    reads_files: ClassVar[bool] = (
        False  # a sequence is the name of a file, which is opened when it is encoded
    )
    bins: Bins | None = None  # of numbers, where each bin begins and what value stands for it

    @property
    @abstractmethod
    def size(self) -> int:
        """How many ids there are, special ones included."""

    @property
    def features(self) -> int:
        """How many numbers a frame has; 0: symbols are no frames."""
        return 0

    @property
    def scale(self) -> np.ndarray:
        """(F,) the standard deviation of each number of a frame in the training data; symbols have none."""
        return np.empty(0)

    def values(self, frames: np.ndarray) -> np.ndarray:
        """Standardised frames (…, F) in the units of the data."""
        return frames

    @property
    def stride(self) -> int:
        """How many frames a convolution in front of an encoder reads as one."""
        return 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about the data while learning, for people."""
        return ()

    def tail(self, chances: np.ndarray, ids: np.ndarray, values: np.ndarray | None) -> np.ndarray:
        """How probable (n,), in log2, something at least as unusual as each id (n,) was, by the chances (n, V) of ids.

        `values` (n,) are the numbers that became these ids, where they are numbers.
        """
        found: np.ndarray = np.log2(chances[np.arange(len(ids)), ids])
        return found

    @classmethod
    def reads_whole(cls, config: CodecConfig) -> bool:
        """Whether the ids of a sequence depend on all that came before, so that it must not be given in parts."""
        return False

    def missing(self, ids: np.ndarray) -> int:
        """How many values are missing among these whole sequences."""
        return 0

    @property
    def writes(self) -> bool:
        """Whether its symbols are the data themselves, so that they can be continued; else they are forecast."""
        return True

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Ids that stand for something in data, and that generated texts do not have unless asked."""
        return (UNK,)

    @property
    def suppressed(self) -> tuple[int, ...]:
        """Ids that are read, never predicted; a closed vocabulary adds UNK unless the data contain it."""
        return (PAD, BOS, MASK)

    @classmethod
    @abstractmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        """Look through the training data and fix the vocabulary."""

    def extended(self, blocks: Blocks) -> Self:
        """With the symbols of more data at the end of the vocabulary; the ids there are stay as they are."""
        raise CodecError(
            f"--extend-vocab adds symbols to a list of words, characters or events, and {self.name} have no such list. "
            "Leave it out."
        )

    def knowing(self, blocks: Blocks) -> Self:
        """With an id for every symbol of these data, at the end of the vocabulary, for models that read spellings.

        One that lists no symbols has nothing to add.
        """
        return self

    def spellings(self, letters: int, first: int = 0) -> np.ndarray:
        """How the symbols from id `first` on are spelled, (V - first, letters) int16, by the letters of `symbols`.

        A frame is spelled by its numbers.
        """
        words = [self.spelling(number) for number in range(max(first, FIRST), self.size)]
        return np.concatenate([spelled_specials(letters)[first:], spelled(words, letters)])

    def spelling(self, number: int) -> bytes:
        """The bytes of one symbol of the data."""
        return self.symbol(number).encode()

    @abstractmethod
    def encode(self, texts: Texts) -> Encoded:
        """All sequences as one flat array; symbols outside the vocabulary become UNK."""

    @abstractmethod
    def symbol(self, number: int) -> str:
        """How the id of a symbol of the data looks to a person."""

    @final
    def token(self, number: int) -> str:
        """How an id looks to a person, a special one as in `symbols.SPECIALS`."""
        check_id(number, self.size)
        return SPECIALS[number] if number < FIRST else self.symbol(number)

    @final
    def tokens(self, ids: Iterable[int] | np.ndarray) -> list[str]:
        """How each id looks to a person."""
        return [self.token(int(number)) for number in ids]

    def shown(self, number: int) -> str:
        """One id as it is offered to a person: like its token, without marks that only machines need."""
        return self.token(number)

    def letter_kinds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """For every id (V,) whether it is a space 0, a letter 1 or a word by itself 2, and the id of its lower case.

        None: every symbol is a word.
        """
        return None

    def begins(self) -> np.ndarray | None:
        """Which symbols (V,) begin a word, where words are made of several; None: words are symbols, or unknown."""
        return None

    @abstractmethod
    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of these ids; PAD, BOS, EOS and MASK say nothing."""

    def caveat(self, stream: bool) -> str | None:
        """What bits per byte leave out with this codec, a sentence for people; None: they are exact.

        `stream`: the data are whole files, line ends and all. Unknown symbols are counted elsewhere.
        """
        return None

    def from_typed(self, text: str) -> str:
        """A sequence as a person types it, as `encode` wants it."""
        return text

    def to_shown(self, text: str) -> str:
        """A sequence for the eye: what `from_typed` turns back."""
        return text

    def symbols_of(self, text: str) -> list[str]:
        """The names of the symbols of one sequence before they are ids; of sub-words, the words."""
        return text.split()

    def half_typed(self, text: str) -> HalfTyped | None:
        """The word an unfinished text ends in; None: it ends between two words, or symbols are no words."""
        return None

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
