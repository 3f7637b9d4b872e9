"""Small models of a few lines, whatever the codec."""

from __future__ import annotations

from typing import Any

from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.models.ngram import Ngram, NgramConfig

LINES = [
    "what is the weather today",
    "what is the time",
    "the weather is fine today",
    "it is héllo € time",
] * 3


def fitted(name: str = "words", order: int = 3, lines: list[str] = LINES, **options: Any) -> Bundle:
    kind = codec_class(name)
    codec = kind.learn(lambda: [Texts.of(lines)], kind.Config())
    config = NgramConfig(vocab_size=codec.size, suppressed=codec.suppressed, order=order, **options)
    return Bundle.of(codec, Ngram.learn(config, codec.encode(Texts.of(lines)).ids), {"seed": 1})
