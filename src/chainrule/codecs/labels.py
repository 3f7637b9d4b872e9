"""Labels: every sequence is one symbol, whatever is in it; for the answers of classification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from chainrule.codecs.base import Blocks, CodecConfig, Encoded, Texts
from chainrule.codecs.registry import register
from chainrule.codecs.vocabulary import Listing, Vocabulary, VocabularyConfig, readable
from chainrule.errors import CodecError
from chainrule.symbols import BOS, EOS, UNK

MANY = 12  # labels that are named


@dataclass(frozen=True, kw_only=True)
class LabelsConfig(VocabularyConfig):
    """Labels are a vocabulary like any other."""


@register("labels")
class Labels(Listing):
    """One id for every label, ascending: numbers by value, others by their letters."""

    Config = LabelsConfig
    spells = False
    one_symbol = True

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, VocabularyConfig)
        counts = Counter(label.strip() for texts in blocks() for label in texts)
        kept = [label for label, count in counts.most_common(config.vocab) if count >= config.min_count]
        return cls(config, Vocabulary(tuple(in_order(kept)), len(kept) < len(counts)))

    def encode(self, texts: Texts) -> Encoded:
        if not (texts.opens and texts.closes):
            raise CodecError("A label is longer than a block of data. Is it the column of the labels?")
        known = {
            label: number for number, label in enumerate(self.vocabulary.symbols, self.size - self.count)
        }
        ids = np.array([known.get(label.strip(), UNK) for label in texts], np.int32)
        framed = np.empty((len(ids), 3), np.int32)
        framed[:, 0], framed[:, 1], framed[:, 2] = BOS, ids, EOS
        return Encoded(framed.ravel(), int(np.count_nonzero(ids == UNK)))

    @property
    def notes(self) -> tuple[str, ...]:
        """Which labels there are, in their order."""
        if self.count == 1:
            return (f"only one label, {self.labels[0]!r}: whatever a text says, it is the answer",)
        more = f" and {self.count - MANY:,} more" if self.count > MANY else ""
        return (f"{self.count:,} labels: {', '.join(map(repr, self.labels[:MANY]))}{more}",)

    @property
    def count(self) -> int:
        """How many labels there are."""
        return len(self.vocabulary.symbols)

    @property
    def labels(self) -> tuple[str, ...]:
        """All of them, in the order of their ids."""
        return tuple(self.tokens(range(self.size - self.count, self.size)))

    def symbols_of(self, text: str) -> list[str]:
        return [text.strip()]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return ", ".join(self.tokens(readable(ids)))


def in_order(labels: Iterable[bytes]) -> list[bytes]:
    """Numbers by value, then others by their letters."""
    return sorted(labels, key=_order)


def _order(label: bytes) -> tuple[int, float, bytes]:
    """Numbers before all others."""
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)
