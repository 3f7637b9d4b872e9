"""Which families there are. A family is one file (or small room) that calls `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from chainrule.errors import ConfigError, suggest
from chainrule.models.base import Model

# name -> (module that defines it, one line for `chainrule models`); listed, so that asking imports nothing.
BUILT_IN: dict[str, tuple[str, str]] = {
    "cache": ("chainrule.models.cache", "what was said lately is said again; a partner for mix"),
    "mix": ("chainrule.models.mix", "several models speak together; made by chainrule mix"),
    "ngram": ("chainrule.models.ngram", "counts of the last few symbols, smoothed; trained in seconds"),
    "window": ("chainrule.models.window", "a feed-forward network over the last few symbols"),
    "rnn": ("chainrule.models.rnn", "a plain recurrent network: one vector of memory per layer"),
    "lstm": ("chainrule.models.lstm", "a recurrent network with gated memory; the best small model of text"),
    "gru": ("chainrule.models.gru", "a recurrent network with fewer gates than an LSTM"),
    "gpt": ("chainrule.models.gpt", "a Transformer that looks back at all symbols it can hold"),
    "bert": ("chainrule.models.bert", "a Transformer that reads both ways and guesses hidden symbols"),
}
M = TypeVar("M", bound=type[Model])
_FAMILIES: dict[str, type[Model]] = {}


def register(name: str) -> Callable[[M], M]:
    """Make a family known under `name`: laws, flags, scoring, search and saving come with it."""

    def keep(family: M) -> M:
        family.family = name
        _FAMILIES[name] = family
        return family

    return keep


def family(name: str) -> type[Model]:
    """The class behind a family's name."""
    if name not in _FAMILIES and name in BUILT_IN:
        import_module(BUILT_IN[name][0])
    if name not in _FAMILIES:
        raise ConfigError(f"There is no model family {name!r}. {suggest(name, families())}")
    return _FAMILIES[name]


def families() -> list[str]:
    """All names, built-in and registered since."""
    return sorted({*BUILT_IN, *_FAMILIES})
