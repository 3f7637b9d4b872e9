"""Words: tokens as given, or split by a small reversible tokeniser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from chainrule.codecs import joiner
from chainrule.codecs.base import Blocks, CodecConfig, Encoded, Texts
from chainrule.codecs.registry import register
from chainrule.codecs.scan import count_words, separating
from chainrule.codecs.vocabulary import Listing, Vocabulary, VocabularyConfig, spoken
from chainrule.config import option

WHITE = " \t\n\r\v\f"  # ASCII white space: a no-break space is part of a word


@dataclass(frozen=True, kw_only=True)
class WordsConfig(VocabularyConfig):
    """Settings of the words codec."""

    split: str = option(
        "space",
        "space: tokens as given, separated by white space; simple: punctuation split off, reversibly",
        choices=("space", "simple"),
    )


class Listed(Listing):
    """A codec whose symbols are listed in a vocabulary and separated by certain bytes."""

    separators: ClassVar[np.ndarray]  # (256,) bool, the bytes between two symbols
    glue: ClassVar[str]  # what `decode` puts between two symbols

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        assert isinstance(config, VocabularyConfig)
        counts = count_words(lambda: (cls.separated(texts, config) for texts in blocks()), cls.separators)
        return cls(config, Vocabulary.choose(counts, config))

    @classmethod
    def separated(cls, texts: Texts, config: VocabularyConfig) -> Texts:
        """The same sequences with every symbol between separators."""
        return texts

    def encode(self, texts: Texts) -> Encoded:
        texts = self.separated(texts, self.config)
        return Encoded(*self.vocabulary.lookup.encode(texts, self.separators))

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return self.glue.join(self.vocabulary.pieces(spoken(ids)))


@register("words")
class Words(Listed):
    """Words separated by ASCII white space; with `split = "simple"` punctuation is split off first."""

    Config = WordsConfig
    config: WordsConfig
    separators = separating(WHITE)
    glue = " "

    @classmethod
    def separated(cls, texts: Texts, config: VocabularyConfig) -> Texts:
        assert isinstance(config, WordsConfig)
        return joiner.split(texts, cls.separators) if config.split == "simple" else texts

    def shown(self, number: int) -> str:
        piece = self.vocabulary.piece(number)
        return joiner.bare(piece) if self.config.split == "simple" else piece

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        words = self.vocabulary.pieces(spoken(ids))
        return joiner.join(words) if self.config.split == "simple" else self.glue.join(words)
