"""Text as people type and read it: out of ids as they come, never half a character nor a letter too far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real

from chainrule.codecs.base import UNIT, Codec
from chainrule.errors import ConfigError

HALF = "\ufffd"  # what an unfinished character looks like
LONG, KEPT = 64, 16  # after so many ids only the last few are decoded again


LISTED = ("events", "numbers")  # codecs whose sequences people type with commas
# One item of such a list, as in CSV: in quotes with quotes inside doubled, or bare. A quote that nobody closes
# is a letter like any other (the csv module would take the rest of the line for the item).
ITEM = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|\Z)')
PLAIN = re.compile(r'[^\s",](?:[^,]*[^\s,])?')  # what needs no quotes


SEEDS = -(1 << 63), (1 << 64) - 1  # what 64 bits hold, with a sign or without


def check_drawing(
    seed: int | None, temperature: float, top_k: int | None, top_p: float | None, beam: int | None
) -> None:
    """Refuse wishes about how to draw a text that cannot be met, or not together."""
    for name, value in {"seed": seed, "top_k": top_k, "beam": beam}.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise ConfigError(f"{name} must be a whole number, not {value!r}.")
    for name, share in {"temperature": temperature, "top_p": top_p}.items():
        if share is not None and (isinstance(share, bool) or not isinstance(share, Real)):
            raise ConfigError(f"{name} must be a number, not {share!r}.")
    if seed is not None and not SEEDS[0] <= seed <= SEEDS[1]:
        raise ConfigError(f"The seed must be a number of 64 bits, from {SEEDS[0]} to {SEEDS[1]}, not {seed}.")
    if beam is not None and (temperature != 1.0 or top_k is not None or top_p is not None):
        raise ConfigError(
            "A beam finds the most probable texts; temperature, top-k and top-p are for drawing at random: "
            "they do not go together. Leave out one or the other."
        )


def typed(codec: Codec, text: str) -> str:
    """A sequence as a person types it: events and numbers are separated by commas, quoted as in CSV."""
    return UNIT.join(_items(text)) if codec.name in LISTED and UNIT not in text else text


def _items(text: str) -> Iterator[str]:
    for found in ITEM.finditer(text):
        quoted, bare, comma = found.groups()
        yield bare.strip() if quoted is None else quoted.replace('""', '"')
        if not comma:
            return


def shown(codec: Codec, text: str) -> str:
    """The same for the eye: what `typed` turns back."""
    if codec.name not in LISTED or not text:
        return text
    return ", ".join(_quoted(item) for item in text.split(UNIT))


def _quoted(item: str) -> str:
    return item if PLAIN.fullmatch(item) else '"' + item.replace('"', '""') + '"'


def spoken(codec: Codec, prompt: Sequence[int], ids: Iterable[int]) -> Iterator[str]:
    """What each of `ids` adds to the text of `prompt`; an unfinished character waits for its other bytes."""
    known = list(prompt)
    told = len(_said(codec, known))
    for count, one in enumerate(ids, 1):
        known.append(one)
        text = _said(codec, known)
        ready = len(text.rstrip(HALF))
        if ready > told:
            yield text[told:ready]
            told = ready
        if count % LONG == 0 and told == len(text):
            known = known[-KEPT:]
            told = len(_said(codec, known))
    yield _said(codec, known)[told:]


def _said(codec: Codec, ids: Sequence[int]) -> str:
    return shown(codec, codec.decode(ids))


def joined(codec: Codec, prompt: str, known: Sequence[int], pieces: Iterable[str]) -> Iterator[str]:
    """The pieces as they follow the prompt a person typed: no second space or comma after one that is there."""
    bare = prompt.rstrip()
    drop = " " if prompt != bare and (before := codec.decode(known)) == before.rstrip() else ""
    if codec.name in LISTED and bare.endswith(","):
        drop = ", " if prompt != bare else ","
    for piece in pieces:
        if drop:
            left = piece.lstrip(drop)
            drop = "" if left else drop
            piece = left
        yield piece


def until(pieces: Iterable[str], stops: Sequence[str]) -> Iterator[str]:
    """The pieces up to the first of `stops`; what may become a stop is held back until it is known."""
    waiting = ""
    for piece in pieces:
        waiting += piece
        found = [place for place in (waiting.find(stop) for stop in stops) if place >= 0]
        if found:
            yield waiting[: min(found)]
            return
        safe = len(waiting) - max((_overlap(waiting, stop) for stop in stops), default=0)
        yield waiting[:safe]
        waiting = waiting[safe:]
    yield waiting


def _overlap(text: str, stop: str) -> int:
    """How many letters at the end of `text` could be the beginning of `stop`."""
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(stop[:size])), 0)
