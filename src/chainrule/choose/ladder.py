"""Which models are tried, from the simplest to the most elaborate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chainrule.errors import ConfigError, suggest

LETTERS = ("characters", "bytes")  # codecs whose symbols are small, so that n-grams look further back


@dataclass(frozen=True)
class Rung:
    """One model to try."""

    name: str
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 0.0  # of its share of the time; 0: it takes what it takes
    codec: str = ""


LEARNERS = (
    Rung("window", "window", weight=1.0),
    Rung("rnn", "rnn", weight=1.0),
    Rung("gru", "gru", weight=1.5),
    Rung("lstm", "lstm", weight=2.5),
    Rung("gpt", "gpt", weight=2.0),
)
MIX, CURVE = 0.6, 2.4  # weights of what comes after them


def ladder(codec: str, wanted: Sequence[str] = ()) -> list[Rung]:
    """The rungs for a codec, or those of them that are wanted: by name, or by family."""
    orders = (1, 2, 3, 5, 8) if codec in LETTERS else (1, 2, 3, 5)
    counted = [
        Rung("unigram" if order == 1 else f"{order}-gram", "ngram", {"order": order}) for order in orders
    ]
    rungs = [*counted, *LEARNERS]
    known = {rung.name for rung in rungs} | {rung.family for rung in rungs} | {"mix"}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"There is no model {name!r} to compare. {suggest(name, known)}")
    return [rung for rung in rungs if not wanted or rung.name in wanted or rung.family in wanted]


def ladders(codecs: Sequence[str], wanted: Sequence[str] = ()) -> list[Rung]:
    """The rungs for all codecs, those that count first; with several codecs, names tell which one is meant."""
    found = [
        replace(rung, codec=codec, name=f"{rung.name} ({codec})" if len(codecs) > 1 else rung.name)
        for codec in codecs
        for rung in ladder(codec, wanted)
    ]
    return sorted(found, key=_simple)


def _simple(rung: Rung) -> tuple[int, int]:
    """Where it stands on the ladder, whatever its codec."""
    families = [one.family for one in LEARNERS]
    return (families.index(rung.family) + 1 if rung.weight else 0, rung.options.get("order", 0))


def title(family: str, settings: Mapping[str, Any], name: str) -> str:
    """What a model is, in a few words."""
    if family in ("ngram", "mix"):
        return name
    layers, width = settings.get("layers", 1), settings.get("width")
    named = family if family == "window" else family.upper()
    return f"{named}, {layers} × {width}{name.removeprefix(family)}"
