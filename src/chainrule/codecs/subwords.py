"""Sub-words: a BPE or unigram tokenizer learnt from the data, over bytes, so that every string comes back exactly.

A run of letters and digits, or of marks, longer than LONG characters is no word: it is cut into parts of LONG,
no sub-word reaches over a cut, and sub-words are learnt from the first LESSONS characters of such parts only. The
library would take time that grows with the square of the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from chainrule.codecs.base import PART, Blocks, Codec, CodecConfig, Encoded, Texts, check_id
from chainrule.codecs.registry import register
from chainrule.codecs.rust import no_panic
from chainrule.codecs.scan import separating
from chainrule.codecs.vocabulary import read_file
from chainrule.codecs.words import WHITE
from chainrule.config import option
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD, UNK

FILE = "tokenizer.json"
SPACES = separating(WHITE)
LONG = 256
LESSONS = 1 << 19
RUNS = re.compile(rf"[^\W_]{{1,{LONG}}}|(?:_|[^\w\s]){{1,{LONG}}}")


@dataclass(frozen=True, kw_only=True)
class SubwordsConfig(CodecConfig):
    """Settings of the sub-words codec."""

    kind: str = option(
        "bpe", "algorithm: byte-pair encoding (BPE) or a unigram language model", choices=("bpe", "unigram")
    )
    vocab: int = option(
        8000, "vocabulary size at most, the 256 bytes included (10k)", low=256, high=10_000_000
    )
    sample: int = option(
        50_000_000, "learn from at most so many bytes at the beginning (50M)", low=1, high=100_000_000_000
    )


@register("subwords")
class Subwords(Codec):
    """Sub-words by the `tokenizers` library; the 256 bytes are among them, so nothing is unknown."""

    Config = SubwordsConfig
    shareable = True
    config: SubwordsConfig

    def __init__(self, config: SubwordsConfig, tokenizer: Any) -> None:
        self.config = config
        self.tokenizer = tokenizer

    @property
    def size(self) -> int:
        return FIRST + int(self.tokenizer.get_vocab_size())

    @property
    def suppressed(self) -> tuple[int, ...]:
        return (PAD, BOS, UNK, MASK)

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, SubwordsConfig)
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        shared: dict[str, Any] = {
            "vocab_size": config.vocab,
            "initial_alphabet": alphabet,
            "show_progress": False,
        }
        kinds: dict[str, tuple[Any, Any]] = {
            "bpe": (models.BPE, trainers.BpeTrainer),
            "unigram": (models.Unigram, trainers.UnigramTrainer),
        }
        model, trainer = kinds[config.kind]
        tokenizer = Tokenizer(model())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        with no_panic("learning sub-words", heard=True):
            tokenizer.train_from_iterator(_lessons(_beginning(blocks, config.sample)), trainer(**shared))
        if config.kind == "unigram":
            tokenizer.model = models.Unigram(_settled(json.loads(tokenizer.to_str())["model"]["vocab"]))
        return cls(config, tokenizer)

    def encode(self, texts: Texts) -> Encoded:
        ids = []
        for part in texts.parts(1 + texts.bytes // PART, SPACES):
            ids += self._encode(part)
        return Encoded(np.concatenate([np.empty(0, np.int32), *ids]))

    def _encode(self, texts: Texts) -> list[np.ndarray]:
        pieces = [cut(text_of(sequence)) for sequence in texts]
        with no_panic("encoding"):
            found = iter(self.tokenizer.encode_batch_fast(list(chain(*pieces)), add_special_tokens=False))
        numbers = (chain.from_iterable(one.ids for one in islice(found, len(own))) for own in pieces)
        parts = [np.array([BOS, *(FIRST + number for number in own), EOS], np.int32) for own in numbers]
        if parts and not texts.opens:
            parts[0] = parts[0][1:]
        if parts and not texts.closes:
            parts[-1] = parts[-1][:-1]
        return parts

    def symbol(self, number: int) -> str:
        return plain(self.tokenizer.id_to_token(number - FIRST)).decode("utf-8", "backslashreplace")

    def begins(self) -> np.ndarray:
        return np.array([piece[:1].isspace() for piece in self.tokens(range(self.size))])

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        numbers = [int(number) for number in ids if number >= FIRST]
        for number in numbers:
            check_id(number, self.size)
        tokens = [self.tokenizer.id_to_token(number - FIRST) for number in numbers]
        return plain("".join(tokens)).decode("utf-8", "replace")

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(self.tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        assert isinstance(config, SubwordsConfig)
        from tokenizers import Tokenizer

        try:
            with no_panic("loading a tokenizer"):
                return cls(config, Tokenizer.from_str(read_file(folder / FILE).decode("utf-8")))
        except Exception as error:  # the library raises bare Exceptions
            raise CodecError(f"{folder / FILE} cannot be used ({error}). Save the model again.") from error


def _settled(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Sub-words with their scores, the same every time.

    The library sums in any order, and gives bytes it never saw the lowest score and ten thousandths more,
    in the random order of a hash map: scores are rounded, and those bytes all get the lowest one.
    """
    lowest = round(min(score for _, score in pieces), 6)
    unseen = lowest + 256 * 0.0001
    scores = {
        piece: lowest if len(piece) == 1 and score < unseen else round(score, 6) for piece, score in pieces
    }
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def _beginning(blocks: Blocks, limit: int) -> Iterator[Texts]:
    """Blocks until `limit` bytes have been seen."""
    seen = 0
    for texts in blocks():
        yield from (
            texts.parts(1 + texts.bytes // limit, SPACES)[:1] if texts.bytes > limit - seen else [texts]
        )
        seen += texts.bytes
        if seen >= limit:
            return


def _lessons(blocks: Iterable[Texts]) -> Iterator[str]:
    """What sub-words are learnt from: everything, but little of what is no words."""
    left = LESSONS
    for sequence in chain.from_iterable(blocks):
        parts = cut(text_of(sequence))
        for part in parts:
            inner = len(parts) > 1 and len(part) == LONG
            left -= LONG if inner else 0
            if left >= 0 or not inner:
                yield part


def cut(text: str) -> list[str]:
    """The text in parts, so that no run of one kind of characters is longer than LONG."""
    if len(text) <= LONG or max(map(len, text.split()), default=0) <= LONG:
        return [text]
    ends = [found.end() for found in RUNS.finditer(text) if found.end() - found.start() == LONG]
    return [text[begin:end] for begin, end in pairwise([0, *ends, len(text)]) if begin < end]


def text_of(sequence: bytes) -> str:
    """Bytes as text, or what to do about them."""
    try:
        return sequence.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CodecError(
            f"The bytes {sequence[error.start : error.end]!r} are no UTF-8. "
            "Read the data with the right --encoding, or use --codec bytes, which reads anything."
        ) from error


def _byte_letters() -> dict[str, int]:
    """The letters that stand for bytes in the library's byte-level tokens: printable ones for themselves."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(256 + place): byte for place, byte in enumerate(others)}


LETTERS = _byte_letters()


def plain(token: str) -> bytes:
    """The bytes behind a byte-level token."""
    return bytes(LETTERS[letter] for letter in token)
