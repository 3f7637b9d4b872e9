"""Text as people type and read it: out of ids as they come, never half a character nor a letter too far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chainrule.codecs.base import UNIT, Codec

HALF = "\ufffd"  # what an unfinished character looks like
LONG, KEPT = 64, 16  # after so many ids only the last few are decoded again


LISTED = ("events", "numbers")  # codecs whose sequences people type with commas


def typed(codec: Codec, text: str) -> str:
    """A sequence as a person types it: events and numbers are separated by commas."""
    if codec.name not in LISTED or UNIT in text:
        return text
    return UNIT.join(part.strip() for part in text.split(","))


def shown(text: str) -> str:
    """The same for the eye."""
    return text.replace(UNIT, ", ")


def spoken(codec: Codec, prompt: Sequence[int], ids: Iterable[int]) -> Iterator[str]:
    """What each of `ids` adds to the text of `prompt`; an unfinished character waits for its other bytes."""
    known = list(prompt)
    told = len(codec.decode(known))
    for count, one in enumerate(ids, 1):
        known.append(one)
        text = codec.decode(known)
        ready = len(text.rstrip(HALF))
        if ready > told:
            yield text[told:ready]
            told = ready
        if count % LONG == 0 and told == len(text):
            known = known[-KEPT:]
            told = len(codec.decode(known))
    yield codec.decode(known)[told:]


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
