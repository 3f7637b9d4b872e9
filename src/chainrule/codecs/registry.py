"""Which codecs there are. A codec is one file that calls `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from chainrule.codecs.base import Codec
from chainrule.errors import ConfigError, suggest

# name -> (module that defines it, one line of help); listed, so that asking imports nothing.
BUILT_IN: dict[str, tuple[str, str]] = {
    "bytes": ("chainrule.codecs.bytes", "every byte is a symbol; reads anything"),
    "characters": ("chainrule.codecs.characters", "every Unicode code point is a symbol"),
    "events": ("chainrule.codecs.events", "every value of a table's column is a symbol"),
    "numbers": ("chainrule.codecs.numbers", "real numbers, each as the bin it falls into"),
    "subwords": ("chainrule.codecs.subwords", "pieces of words, learnt from the data (BPE or unigram)"),
    "tokenizer": (
        "chainrule.codecs.tokenizer",
        "that of a model from Hugging Face; made by chainrule import hf",
    ),
    "words": ("chainrule.codecs.words", "words as given, or split off by a simple tokeniser"),
}
C = TypeVar("C", bound=type[Codec])
_CODECS: dict[str, type[Codec]] = {}


def register(name: str) -> Callable[[C], C]:
    """Make a codec known under `name`."""

    def keep(kind: C) -> C:
        kind.name = name
        _CODECS[name] = kind
        return kind

    return keep


def codec(name: str) -> type[Codec]:
    """The class behind a codec's name."""
    if name not in _CODECS and name in BUILT_IN:
        import_module(BUILT_IN[name][0])
    if name not in _CODECS:
        raise ConfigError(f"There is no codec {name!r}. {suggest(name, codecs())}")
    return _CODECS[name]


def codecs() -> list[str]:
    """All names, built-in and registered since."""
    return sorted({*BUILT_IN, *_CODECS})
