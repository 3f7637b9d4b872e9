"""Prompts to ids, and ids to text while they are generated: whole characters only, cut at stop strings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chainrule.codecs.base import Codec, Texts
from chainrule.errors import CodecError, ConfigError

HALF = "\ufffd"  # what an unfinished character looks like
LONG, KEPT = 64, 16  # after so many ids only the last few are decoded again


def typed_texts(codec: Codec, items: Iterable[str]) -> Texts:
    """Texts as people type them, ready to be encoded; what is no text is refused."""
    return encodable(codec.from_typed(text_of(item)) for item in items)


def encodable(texts: Iterable[str]) -> Texts:
    """Texts ready to be encoded."""
    try:
        return Texts.of(texts)
    except UnicodeEncodeError as error:
        raise CodecError("The text is not valid Unicode: it holds bytes that are no UTF-8.") from error


def texts_of(items: object) -> list[str]:
    """The same as a list, if they are texts."""
    if not isinstance(items, Iterable):
        raise ConfigError(
            f"Texts are wanted, and a {type(items).__name__} came: {items!r}. Give a list of str."
        )
    return [text_of(item) for item in items]


def text_of(item: object) -> str:
    """The same, if it is a text."""
    if not isinstance(item, str):
        raise ConfigError(f"A text is wanted, and a {type(item).__name__} came: {item!r}. Give a str.")
    return item


def check_writes(codec: Codec) -> None:
    """Refuse to continue a text where symbols are no values of it."""
    if not codec.writes:
        raise ConfigError(
            "This model knows how far values are from a level (--difference), not values. Use: chainrule forecast"
        )


def endless(card: Mapping[str, Any]) -> bool:
    """Whether a model was trained on a stream (`--stream`): its end is that of a file, and means nothing in a text."""
    return bool(card.get("reading", {}).get("stream"))


def prompt_ids(codec: Codec, prompt: str) -> list[int]:
    """BOS and the symbols of an unfinished text."""
    ids: list[int] = codec.encode(typed_texts(codec, [prompt])).ids.tolist()
    return ids[:-1]


def streamed(codec: Codec, prompt: Sequence[int], ids: Iterable[int]) -> Iterator[str]:
    """What each of `ids` adds to the text of `prompt`; an unfinished character waits for its other bytes."""
    text = TextStream(codec, prompt)
    yield from filter(None, (text.add(one) for one in ids))
    yield text.rest()


class TextStream:
    """The text of ids that come one by one: whole characters only."""

    def __init__(self, codec: Codec, prompt: Sequence[int]) -> None:
        self.codec, self.known, self.count = codec, list(prompt), 0
        self.told = len(shown(codec, self.known))

    def add(self, id: int) -> str:
        """What one more adds; an unfinished character waits for its other bytes."""
        self.known.append(id)
        self.count += 1
        text = shown(self.codec, self.known)
        ready = max(self.told, len(text.rstrip(HALF)))
        piece, self.told = text[self.told : ready], ready
        if self.count % LONG == 0 and self.told == len(text):
            self.known = self.known[-KEPT:]
            self.told = len(shown(self.codec, self.known))
        return piece

    def rest(self) -> str:
        """What still waited."""
        return shown(self.codec, self.known)[self.told :]


def shown(codec: Codec, ids: Sequence[int]) -> str:
    """Ids as people read them."""
    return codec.to_shown(codec.decode(ids))


def joined(codec: Codec, prompt: str, known: Sequence[int], pieces: Iterable[str]) -> Iterator[str]:
    """The pieces as they follow the prompt a person typed: no second space or comma after one that is there."""
    drop = typed_already(codec, prompt, known)
    for piece in pieces:
        if drop:
            piece = piece.lstrip(drop)
            drop = "" if piece else drop
        yield piece


def following(codec: Codec, prompt: str, known: Sequence[int], ids: Sequence[int]) -> str:
    """What `ids` add to a prompt that a person typed and whose ids are `known`, in one."""
    return "".join(joined(codec, prompt, known, [shown(codec, [*known, *ids])[len(shown(codec, known)) :]]))


def typed_already(codec: Codec, prompt: str, known: Sequence[int]) -> str:
    """The letters between two symbols that stand at the end of the prompt and are no symbols themselves."""
    bare, comma = prompt.rstrip(), codec.separator.strip()
    space = " " if prompt != bare else ""
    if comma and bare.endswith(comma):
        return comma + space
    before = codec.decode(known)
    return space if before == before.rstrip() else ""


def until(pieces: Iterable[str], stops: Sequence[str]) -> Iterator[str]:
    """The pieces up to the first of `stops`; what may become a stop is held back until it is known."""
    gate = StopGate(stops)
    for piece in pieces:
        yield gate.add(piece)
        if gate.stopped:
            return
    yield gate.waiting


class StopGate:
    """Lets a text through, piece by piece, up to the first of some stops."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stops, self.waiting, self.stopped = stops, "", False

    def add(self, piece: str) -> str:
        """What is certain to stand before a stop; what may become one is held back until it is known."""
        self.waiting += piece
        found = [place for place in (self.waiting.find(stop) for stop in self.stops) if place >= 0]
        self.stopped = bool(found)
        kept = max((_overlap(self.waiting, stop) for stop in self.stops), default=0)
        safe = min(found) if found else len(self.waiting) - kept
        through, self.waiting = self.waiting[:safe], self.waiting[safe:]
        return through


def has_stop(
    codec: Codec, prompt: str, known: Sequence[int], ids: Sequence[int], stops: Sequence[str]
) -> bool:
    """Whether what `ids` add to a prompt has one of `stops` in it; if so it became whole with the last of them."""
    window = KEPT + 2 * max((len(stop.encode()) for stop in stops), default=0)
    recent = (
        shown(codec, ids[-window:]) if len(ids) > window else following(codec, prompt, known[-KEPT:], ids)
    )
    return any(stop in recent for stop in stops)


def _overlap(text: str, stop: str) -> int:
    """How many letters at the end of `text` could be the beginning of `stop`."""
    sizes = range(min(len(text), len(stop) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(stop[:size])), 0)
