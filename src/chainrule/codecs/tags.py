"""Tags: one symbol for every word of another column, separated by white space; for the answers of tagging."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from chainrule.codecs.base import Blocks, CodecConfig
from chainrule.codecs.registry import register
from chainrule.codecs.scan import separating
from chainrule.codecs.vocabulary import VocabularyConfig
from chainrule.codecs.words import WHITE, Listed

MANY = 24  # tags that are named


@register("tags")
class Tags(Listed):
    """One id for every tag, in the order of their letters."""

    Config = VocabularyConfig
    separators = separating(WHITE)
    glue = " "
    spells = False

    @classmethod
    def learn(cls, blocks: Blocks, config: CodecConfig) -> Self:
        found = super().learn(blocks, config)
        vocabulary = replace(found.vocabulary, symbols=tuple(sorted(found.vocabulary.symbols)))
        return cls(found.config, vocabulary)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which tags there are."""
        names = [symbol.decode("utf-8", "backslashreplace") for symbol in self.vocabulary.symbols]
        more = f" and {len(names) - MANY:,} more" if len(names) > MANY else ""
        return (f"{len(names):,} tags: {', '.join(names[:MANY])}{more}",)
