"""Small models to look into."""

from __future__ import annotations

from typing import Any

from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.codecs.registry import codec as codec_class
from chainrule.models.registry import family
from fitted import LINES


def small(name: str, codec: str = "words", seed: int = 0, **settings: Any) -> Bundle:
    """A family with random weights, of a few numbers, over the words or letters of a few lines."""
    kind = codec_class(codec)
    known = kind.learn(lambda: [Texts.of(LINES)], kind.Config())
    family_class: Any = family(name)
    config = family_class.Config(vocab_size=known.size, suppressed=known.suppressed, **settings)
    return Bundle.of(known, family_class.seeded(config, seed))


def gpt(**settings: Any) -> Bundle:
    return small("gpt", **{"layers": 2, "width": 8, "heads": 2, "context": 32, **settings})
