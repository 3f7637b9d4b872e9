"""Taps: hear or replace what the parts of a model compute, by name. Unused, they cost nothing.

    with listening(model, "blocks.*.attention") as heard:
        model.read(tokens, state)
    heard["blocks.0.attention.weights"]  # one value for each time that part was run

    with replacing(model, "layers.0.hidden", lambda hidden: hidden * kept):
        model.read(tokens, state)  # whatever comes after it computes with the replaced value

A name is the path of a part and what it tells. In a pattern, `*` is any text, dots included; a pattern that names a
part means all it tells: `layers.0` is `layers.0.*`. Models that are no nn.Modules have taps, too: they tell arrays, and
name their parts by a method `named_children`, as modules do.

Functions replace first, in the order in which their blocks were entered. Then all listeners hear the same value: the
one the model continues with. Values are told as they are, gradients included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, TypeVar

from chainrule.errors import ModelError, suggest

Value = TypeVar("Value")  # a tensor, or an array
Function = Callable[[Any], Any]


class Heard(dict[str, list[Any]]):
    """What was heard: all values of a name, in the order in which they were told."""

    def __missing__(self, name: str) -> list[Any]:
        known = suggest(name, self) if self else "Run the model inside the block; is there such a pattern?"
        raise ModelError(f"Nothing called {name!r} was heard. {known}")


@dataclass(frozen=True)
class Tap:
    """Somebody at the taps of one model: a listener, or a function that replaces."""

    paths: Mapping[int, str]  # of the model's parts, by their id
    patterns: re.Pattern[str]
    does: Heard | Function

    def named(self, part: object, what: str) -> str | None:
        """The name of a value, if it is wanted here."""
        path = self.paths.get(id(part))
        if path is None:
            return None
        name = f"{path}.{what}" if path else what
        return name if self.patterns.match(name) else None


_TAPS: ContextVar[tuple[Tap, ...]] = ContextVar("taps", default=())


@contextmanager
def listening(model: object, *patterns: str) -> Iterator[Heard]:
    """Hear what the parts of `model` tell within this block: what matches any of the patterns; none: everything."""
    heard = Heard()
    with _tapped(model, patterns, heard):
        yield heard


@contextmanager
def replacing(model: object, pattern: str, function: Function) -> Iterator[None]:
    """Within this block the model continues with function(value) wherever a value's name matches.

    Recurrent layers go step by step then: the function is given one symbol (B, 1, …) at a time, and what it gives is
    what the next step remembers.
    """
    with _tapped(model, (pattern,), function):
        yield


@contextmanager
def _tapped(model: object, patterns: tuple[str, ...], does: Heard | Function) -> Iterator[None]:
    wanted = [translate(one) for pattern in patterns or ("*",) for one in (pattern, f"{pattern}.*")]
    tap = Tap(_paths(model), re.compile("|".join(wanted)), does)
    token = _TAPS.set((*_TAPS.get(), tap))
    try:
        yield
    finally:
        _TAPS.reset(token)


def is_tapped(part: object, *names: str) -> bool:
    """Whether anybody wants to hear or to replace one of these values of `part`."""
    taps = _TAPS.get()
    return bool(taps) and any(tap.named(part, name) for tap in taps for name in names)


def is_replaced(part: object, name: str) -> bool:
    """Whether anybody wants to replace this value of `part`."""
    taps = _TAPS.get()
    return bool(taps) and any(not isinstance(tap.does, Heard) and tap.named(part, name) for tap in taps)


def tell(part: object, name: str, value: Value) -> Value:
    """Offer a value at a tap of `part`: the value to continue with comes back."""
    if not _TAPS.get():
        return value
    value = replaced(part, name, value)
    hear(part, name, value)
    return value


def replaced(part: object, name: str, value: Value) -> Value:
    """What the functions at this tap make of a value; nobody hears it yet."""
    for tap in _TAPS.get():
        if not isinstance(tap.does, Heard) and (full := tap.named(part, name)):
            value = _checked(full, value, tap.does(value))
    return value


def hear(part: object, name: str, value: object) -> None:
    """Let listeners hear a value that is replaced already, or cannot be."""
    for tap in _TAPS.get():
        if isinstance(tap.does, Heard) and (full := tap.named(part, name)):
            tap.does.setdefault(full, []).append(value)


def announce(part: object, name: str, value: object) -> None:
    """Let listeners hear a value from which nothing is computed; who wants to replace it is refused."""
    if is_replaced(part, name):
        raise ModelError(f"{name!r} can be heard, not replaced: nothing is computed from it.")
    hear(part, name, value)


def _checked(name: str, old: Value, new: Any) -> Value:
    shape, wanted = getattr(new, "shape", None), getattr(old, "shape", None)
    if shape != wanted:
        raise ModelError(f"{name!r} has the shape {wanted}; the function that replaces it gave {shape}.")
    return new  # type: ignore[no-any-return]


def _paths(model: object) -> dict[int, str]:
    """The path of every part of a model, by the part's id."""
    found: dict[int, str] = {}

    def walk(part: Any, path: str) -> None:
        if id(part) not in found:
            found[id(part)] = path
            for name, child in getattr(part, "named_children", tuple)():
                walk(child, f"{path}.{name}" if path else name)

    walk(model, "")
    return found
