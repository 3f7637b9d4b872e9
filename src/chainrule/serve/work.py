"""What an engine is asked for: prompts to be continued, and calls of other verbs; and what it answers with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from chainrule.decode.config import GenerationConfig
from chainrule.serve.reading import SymbolLog
from chainrule.serve.refusals import Cancelled, late
from chainrule.serve.text import Written


@dataclass(frozen=True)
class Prompt:
    """One prompt, and the texts that are to follow it."""

    text: str
    ids: tuple[int, ...]  # `[BOS, x_1 … x_n]`
    config: GenerationConfig  # seeded for its first text
    first: int = 0  # the number of its first text
    logprobs: int | None = None
    echo: bool = False
    streams: bool = False

    @property
    def texts(self) -> int:
        """How many texts are to be written."""
        return self.config.count if self.config.length else 0


@dataclass(frozen=True)
class Read:
    """A prompt has been read; how probable its symbols were, if that was asked for."""

    first: int
    logs: tuple[SymbolLog, ...]
    cached: int  # symbols that the prefix cache spared


Event = Read | Written | Any


class Ticket:
    """A request in the hands of an engine: events come out of it, and giving it up stops the work on it.

    The engine puts events in from its thread; they are handed over to the loop together, once a step.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.until = limit, time.monotonic() + limit
        self.loop = asyncio.get_running_loop()
        self.events: list[Event] = []
        self.left = 1  # parts that are still being worked on
        self.given_up = False
        self.error: BaseException | None = None
        self.woken = asyncio.Event()

    @property
    def gone(self) -> bool:
        """Whether nobody waits for it any more, or has waited too long."""
        return self.given_up or self.error is not None or time.monotonic() > self.until

    def give_up(self) -> None:
        """The client has gone."""
        self.given_up = True

    def end(self, error: BaseException) -> None:
        """Whoever waits for it is told this."""
        self.error = self.error or error
        self.woken.set()

    def check(self) -> None:
        """Stop here if nobody waits for it any more."""
        if self.gone:
            raise Cancelled

    async def next(self) -> list[Event]:
        """What has come since the last time; nothing when all has come."""
        while not self.events and self.left and self.error is None:
            await self._wait()
        if self.error is not None:
            raise self.error
        found, self.events = self.events, []
        return found

    async def _wait(self) -> None:
        self.woken.clear()
        try:
            async with asyncio.timeout(max(0.0, self.until - time.monotonic())):
                await self.woken.wait()
        except TimeoutError:
            self.give_up()
            raise late(self.limit) from None

    async def all(self) -> list[Event]:
        """Everything, when it is done."""
        found: list[Event] = []
        try:
            while more := await self.next():
                found += more
        finally:
            self.give_up()
        return found


@dataclass
class Outbox:
    """What an engine has to tell, until the end of its turn."""

    waiting: list[tuple[Ticket, Event | None, BaseException | None, int]] = field(default_factory=list)

    def tell(self, ticket: Ticket, event: Event | None = None, done: int = 0) -> None:
        """One event of a ticket; `done` parts of it are finished."""
        self.waiting.append((ticket, event, None, done))

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """It cannot be answered."""
        self.waiting.append((ticket, None, error, 0))

    def send(self) -> None:
        """Hand everything over, one call for each loop."""
        if not self.waiting:
            return
        told, self.waiting = self.waiting, []
        for loop in {ticket.loop for ticket, *_ in told}:
            own = [one for one in told if one[0].loop is loop]
            try:
                loop.call_soon_threadsafe(_deliver, own)
            except RuntimeError:  # the loop is closed: nobody waits
                continue


def _deliver(told: list[tuple[Ticket, Event | None, BaseException | None, int]]) -> None:
    for ticket, event, error, done in told:
        if event is not None:
            ticket.events.append(event)
        ticket.left -= done
        ticket.end(error) if error is not None else ticket.woken.set()


@dataclass(frozen=True)
class Writing:
    """Prompts of one request."""

    ticket: Ticket
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True)
class Call:
    """A call of another verb."""

    ticket: Ticket
    run: Callable[[], Any]


Work = Writing | Call
