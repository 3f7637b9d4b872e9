"""Which models are tried, from the simplest to the most elaborate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from chainrule.codecs.registry import codec as codec_named
from chainrule.errors import ConfigError, suggest
from chainrule.models.readers import CountingReader
from chainrule.models.registry import families, family
from chainrule.tasks.base import task as task_class


@dataclass(frozen=True)
class Rung:
    """One model to try."""

    name: str
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    learns: bool = False  # by gradient, for as long as it is given; those that count take what they take
    codec: str = ""
    first: str | None = (
        None  # the task that its body learns from the same texts, before it is frozen under a head
    )


LEARNERS = tuple(Rung(name, name, learns=True) for name in ("window", "rnn", "gru", "lstm", "gpt"))
PROMISE = ("lstm", "gru", "gpt", "window", "rnn")  # who starts where there is no time for all
WORDS = ("window", "seq2seq", "transformer")  # families whose names are no abbreviations
WRITERS = (
    "seq2seq",
    "attention",
    "transformer",
)  # those that learn to write from a source, the simplest first
READERS = (
    "majority",
    "most-frequent-tag",
    "class-ngram",
    "bag",
)  # made by counting labels, from the simplest on; others come after them
NO_ATTENTION, ATTENTION = "seq2seq", "attention"
TRANSLATORS = (
    Rung("copy", "copy"),
    Rung("ibm1", "ibm1"),
    Rung(NO_ATTENTION, "seq2seq", {"attention": "none"}, learns=True),
    Rung(ATTENTION, "seq2seq", learns=True),
    Rung("transformer", "transformer", learns=True),
)  # what writes from a source
FROZEN_LM, ELMO = "frozen-lm", "elmo"
HEADED = (
    Rung("cnn", "cnn", learns=True),
    Rung("lstm", "lstm", learns=True),  # reads both ways
    Rung(FROZEN_LM, "lstm", learns=True, first="next"),
    Rung(ELMO, "elmo", learns=True, first="both-ways"),
    Rung("bert", "bert", learns=True),
)  # bodies for a head


def rungs_of(codec: str, task: str | None = None, pairs: bool = False) -> list[Rung]:
    """All there are, from the simplest on: for symbols of a codec, or for the answers of a task, perhaps to `pairs`."""
    if task is None:
        orders = (1, 2, 3, 5, 8) if codec_named(codec).letters else (1, 2, 3, 5)
        counted = [
            Rung("unigram" if order == 1 else f"{order}-gram", "ngram", {"order": order}) for order in orders
        ]
        return [*counted, *LEARNERS]
    if task_class(task).source:
        return list(TRANSLATORS)
    readers = [one for one in families() if task in _counted(one)]
    readers.sort(key=lambda name: READERS.index(name) if name in READERS else len(READERS))
    found = [*(Rung(name, name) for name in readers), *HEADED]
    return [rung for rung in found if not pairs or family(rung.family).pairs]


def _counted(name: str) -> tuple[str, ...]:
    """The tasks a family can be made for by counting."""
    kind = family(name)
    return kind.tasks if issubclass(kind, CountingReader) else ()


def ladder(
    codec: str, wanted: Sequence[str] = (), task: str | None = None, pairs: bool = False
) -> list[Rung]:
    """The rungs for a codec, or those of them that are wanted: by name, or by family."""
    rungs = rungs_of(codec, task, pairs)
    known = {rung.name for rung in rungs} | {rung.family for rung in rungs} | {"mix"}
    for name in wanted:
        if name not in known:
            raise ConfigError(f"There is no model {name!r} to compare. {suggest(name, known)}")
    return [rung for rung in rungs if not wanted or rung.name in wanted or _place(rung) in wanted]


def ladders(
    codecs: Sequence[str], wanted: Sequence[str] = (), task: str | None = None, pairs: bool = False
) -> list[Rung]:
    """The rungs for all codecs, those that count first; with several codecs, names tell which one is meant."""
    found = [
        replace(rung, codec=codec, name=f"{rung.name} ({codec})" if len(codecs) > 1 else rung.name)
        for codec in codecs
        for rung in ladder(codec, wanted, task, pairs)
    ]
    return sorted(found, key=_simple)


def liked(
    codecs: Mapping[str | None, str], wanted: Sequence[str], task: str, pairs: bool = False
) -> list[Rung]:
    """The rungs of a task with answers, each with the codec its family likes; `codecs` are those that came of it."""
    rungs = ladder("", wanted, task, pairs)
    return [replace(rung, codec=codecs[_liking(rung, task)]) for rung in rungs]


def likings(wanted: Sequence[str], task: str, pairs: bool = False) -> list[str | None]:
    """What the families of a task like to read words with."""
    return list(dict.fromkeys(_liking(rung, task) for rung in ladder("", wanted, task, pairs)))


def _liking(rung: Rung, task: str) -> str | None:
    """The codec a family likes; where there is a source, one for all, so that what they write is judged alike."""
    asked = task_class(task)
    return family(str(asked.default_model) if asked.source else rung.family).codec


def answers(task: str | None) -> bool:
    """Whether models are compared by what they answer, or write from a source, not by how they predict symbols."""
    return task is not None and (task_class(task).predicts is None or task_class(task).source is not None)


def _simple(rung: Rung) -> tuple[int, int]:
    """Where it stands on the ladder, whatever its codec."""
    learners = ["cnn", *(one.family for one in LEARNERS), FROZEN_LM, ELMO, "bert", *WRITERS]
    return (learners.index(_place(rung)) + 1 if rung.learns else 0, rung.options.get("order", 0))


def _place(rung: Rung) -> str:
    """What it is called among those that learn."""
    return FROZEN_LM if rung.first == "next" else rung.name if rung.family == "seq2seq" else rung.family


def by_promise(rungs: Sequence[Rung]) -> list[Rung]:
    """Those that learn, in the order in which they are worth starting."""
    order = ("cnn", *PROMISE, FROZEN_LM, ELMO, "bert", ATTENTION, "transformer", NO_ATTENTION)
    return sorted((rung for rung in rungs if rung.learns), key=lambda rung: order.index(_place(rung)))


def title(family: str, settings: Mapping[str, Any], name: str) -> str:
    """What a model is, in a few words."""
    layers, width = settings.get("layers", 1), settings.get("width", settings.get("filters"))
    if width is None:  # made by counting, or of others
        return name
    named = family if family in WORDS else family.upper()
    if not name.startswith(family):  # called after what it is for
        return f"{name} ({named}, {layers} × {width})"
    return f"{named}, {layers} × {width}{name.removeprefix(family)}"
