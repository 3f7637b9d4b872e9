"""Which models are tried, from the simplest to the most elaborate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chainrule.codecs.registry import codec as codec_named
from chainrule.errors import ConfigError, suggest


@dataclass(frozen=True)
class Rung:
    """One model to try."""

    name: str
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learns: bool = False  # by gradient, for as long as it is given; those that count take what they take
    codec: str = ""


LEARNERS = tuple(Rung(name, name, learns=True) for name in ("window", "rnn", "gru", "lstm", "gpt"))
PROMISE = ("lstm", "gru", "gpt", "window", "rnn")  # who starts where there is no time for all


def ladder(codec: str, wanted: Sequence[str] = ()) -> list[Rung]:
    """The rungs for a codec, or those of them that are wanted: by name, or by family."""
    orders = (1, 2, 3, 5, 8) if codec_named(codec).letters else (1, 2, 3, 5)
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
    return (families.index(rung.family) + 1 if rung.learns else 0, rung.options.get("order", 0))


def by_promise(rungs: Sequence[Rung]) -> list[Rung]:
    """Those that learn, in the order in which they are worth starting."""
    return sorted((rung for rung in rungs if rung.learns), key=lambda rung: PROMISE.index(rung.family))


def title(family: str, settings: Mapping[str, Any], name: str) -> str:
    """What a model is, in a few words."""
    if family in ("ngram", "mix"):
        return name
    layers, width = settings.get("layers", 1), settings.get("width")
    named = family if family == "window" else family.upper()
    return f"{named}, {layers} × {width}{name.removeprefix(family)}"
