"""The text of a request as its symbols come: whole characters, up to a stop, and how probable each symbol was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from chainrule.codecs.base import Codec
from chainrule.serve.reading import SymbolLog
from chainrule.use.text import StopGate, TextStream, typed_already

KEPT = 64  # symbols of a prompt that decide how what follows is written


@dataclass(frozen=True)
class Written:
    """More of one text."""

    choice: int
    text: str = ""
    ids: tuple[int, ...] = ()
    logs: tuple[SymbolLog, ...] = ()
    offsets: tuple[int, ...] = ()  # where in the text each of these symbols begins
    finish: str | None = None  # why it ended, if it did


@dataclass
class Text:
    """What follows a prompt, symbol by symbol."""

    codec: Codec
    prompt: str
    known: Sequence[int]
    stops: tuple[str, ...]
    length: int = 0  # letters so far, those that wait included
    written: str = ""  # what has been let through
    drop: str = field(init=False)

    def __post_init__(self) -> None:
        self.stream = TextStream(self.codec, self.known[-KEPT:])
        self.gate = StopGate(self.stops)
        self.drop = typed_already(self.codec, self.prompt, self.known)

    @property
    def stopped(self) -> bool:
        """Whether a stop has come."""
        return self.gate.stopped

    def add(self, id: int) -> str:
        """What one more symbol adds."""
        return self._through(self.stream.add(id))

    def rest(self) -> str:
        """What still waited when the text ended."""
        if self.stopped:
            return ""
        return self._through(self.stream.rest()) + ("" if self.stopped else self.gate.waiting)

    def _through(self, piece: str) -> str:
        """As it follows what a person typed: no second space after one that is there."""
        if self.drop:
            piece = piece.lstrip(self.drop)
            self.drop = "" if piece else self.drop
        self.length += len(piece)
        return self.gate.add(piece)
