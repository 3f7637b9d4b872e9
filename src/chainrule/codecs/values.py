"""Values: every sequence is one real number, kept exactly; for the answers of regression."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np

from chainrule.codecs.base import Blocks, Codec, CodecConfig, Encoded, Texts
from chainrule.codecs.registry import register
from chainrule.codecs.vocabulary import read_facts
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, FIRST

WORDS, WORD = 4, 1 << 16  # a float64 is four ids of 16 bits, the highest first
FACTS = "values.json"


@dataclass(frozen=True)
class Spread:
    """What was seen in training: answers are standardised by it."""

    count: int
    mean: float
    scale: float  # the standard deviation; 1 where all are equal
    low: float
    high: float


@register("values")
class Values(Codec):
    """One number for every sequence: the 64 bits of its float, in four ids."""

    spells = False
    one_symbol = True

    def __init__(self, config: CodecConfig, spread: Spread) -> None:
        self.config, self.spread = config, spread

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        found = np.concatenate([np.empty(0), *(_numbers(texts) for texts in blocks())])
        if not len(found):
            raise CodecError("There is not a single number to learn from.")
        mean, scale = float(found.mean()), float(found.std())
        low, high = float(found.min()), float(found.max())
        return cls(config, Spread(len(found), mean, scale if low < high and scale > 0 else 1.0, low, high))

    @property
    def size(self) -> int:
        return FIRST + WORD

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the numbers lie."""
        one = self.spread
        return (f"numbers from {one.low:g} to {one.high:g}, mean {one.mean:g}, deviation {one.scale:g}",)

    def encode(self, texts: Texts) -> Encoded:
        words = _numbers(texts).astype(">f8").view(">u2").reshape(-1, WORDS)  # (numbers, 4)
        framed = np.empty((len(words), WORDS + 2), np.int32)
        framed[:, 0], framed[:, 1:-1], framed[:, -1] = BOS, words.astype(np.int32) + FIRST, EOS
        return Encoded(framed.ravel())

    def numbers(self, ids: np.ndarray) -> np.ndarray:
        """(sequences,) the numbers of whole sequences."""
        return _joined(np.asarray(ids).reshape(-1, WORDS + 2)[:, 1:-1])

    def symbol(self, number: int) -> str:
        return f"{number - FIRST:04x}"

    def symbols_of(self, text: str) -> list[str]:
        return [text.strip()]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        words = np.asarray(ids)
        words = words[words >= FIRST]
        return ", ".join(repr(float(one)) for one in _joined(words[: len(words) // WORDS * WORDS]))

    def save(self, folder: Path) -> None:
        (folder / FACTS).write_text(json.dumps(asdict(self.spread)) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, config: CodecConfig) -> Self:
        facts = read_facts(folder / FACTS)
        try:
            count, *others = (float(str(facts[name])) for name in Spread.__dataclass_fields__)
        except (KeyError, ValueError) as error:
            raise CodecError(f"{folder / FACTS} is damaged ({error}): save the model again.") from error
        if not np.isfinite([count, *others]).all() or others[1] <= 0:
            raise CodecError(f"{folder / FACTS} is damaged: {dict(facts)}. Copy or save the model again.")
        return cls(config, Spread(int(count), *others))


def _joined(words: np.ndarray) -> np.ndarray:
    """(numbers,) of the ids of their words, four each."""
    found: np.ndarray = (words - FIRST).astype(">u2").ravel().view(">f8").astype(np.float64)
    return found


def _numbers(texts: Texts) -> np.ndarray:
    """(sequences,) what the cells say."""
    if not (texts.opens and texts.closes):
        raise CodecError("A number is longer than a block of data. Is it the column of the numbers?")
    return np.array([_number(text) for text in texts], np.float64)


def _number(text: bytes) -> float:
    try:
        found = float(text)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        shown = text.decode("utf-8", "backslashreplace")
        raise CodecError(
            f"{shown[:40]!r} is no finite number, and numbers are to be predicted. Leave such rows out with --where, "
            "or predict labels: --task classify."
        )
    return found
