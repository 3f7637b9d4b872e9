"""Words: tokens as given, or split by a small reversible tokeniser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from chainrule.codecs import joiner
from chainrule.codecs.base import Blocks, CodecConfig, Encoded, HalfTyped, Texts
from chainrule.codecs.registry import register
from chainrule.codecs.scan import count_words, separating
from chainrule.codecs.vocabulary import Listing, Vocabulary, VocabularyConfig, readable
from chainrule.config import option
from chainrule.symbols import FIRST

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

    def symbols_of(self, text: str) -> list[str]:
        [separated] = self.separated(Texts.of([text]), self.config)
        between = np.flatnonzero(self.separators).tolist()
        alike = bytes(between[0] if byte in between else byte for byte in range(256))
        symbols = separated.translate(alike).split(bytes(between[:1]))
        return [symbol.decode("utf-8", "backslashreplace") for symbol in symbols if symbol]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        return self.glue.join(self.tokens(readable(ids)))


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
        token = self.token(number)
        return joiner.bare(token) if self.config.split == "simple" else token

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        words = self.tokens(readable(ids))
        return joiner.join(words) if self.config.split == "simple" else self.glue.join(words)

    def symbols_of(self, text: str) -> list[str]:
        words = super().symbols_of(text)
        return [joiner.bare(word) for word in words] if self.config.split == "simple" else words

    def caveat(self, stream: bool) -> str | None:
        told = "bits per byte leave out the line ends: between words all white space is alike"
        return told if stream else None

    def half_typed(self, text: str) -> HalfTyped | None:
        words = super().symbols_of(text)
        if not words or text[-1:].isspace() or joiner.JOINER in words[-1]:
            return None
        stem, mark = words[-1].encode(), joiner.JOINER.encode()
        known = ((id, self.vocabulary.symbols[id - FIRST]) for id in self.vocabulary.beginning_with(stem))
        longer = (id for id, word in known if word != stem and mark not in word)
        return HalfTyped(words[-1], tuple(longer))
