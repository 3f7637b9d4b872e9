"""The engine of one model: continuous batching. One thread owns the model and takes turns among all requests.

A turn is some pieces of prompts that are being read, side by side, then one step of all texts that are being written.
Calls of other verbs run in the same thread, and before each of their steps there is a turn, so nobody waits for long.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from chainrule.models.base import LanguageModel
from chainrule.nn.product import steady
from chainrule.nn.threads import in_threads
from chainrule.runtime import taking_turns
from chainrule.runtime import threads as cores
from chainrule.serve.config import ServeConfig
from chainrule.serve.prefix import PrefixCache
from chainrule.serve.reading import Found, Reading, read_together
from chainrule.serve.refusals import Cancelled, Refused, busy
from chainrule.serve.rows import Row, Rows
from chainrule.serve.text import Text, Written
from chainrule.serve.work import Call, Outbox, Prompt, Read, Ticket, Work, Writing
from chainrule.symbols import BOS, EOS
from chainrule.use.text import endless

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

BUDGET = 256  # symbols of prompts read in one turn
PACK = 256  # symbols of several prompts read in one product
NESTED = 4  # calls that may interrupt one another


@dataclass(eq=False)
class Opening:
    """A prompt being read; with a `row`, one read again because the model could hold no more of it."""

    ticket: Ticket
    reading: Reading
    prompt: Prompt
    row: Row | None = None

    @property
    def texts(self) -> int:
        """How many texts will begin."""
        return 1 if self.row is not None else self.prompt.texts


@dataclass
class Counts:
    """What an engine has done, for metrics."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    steps: int = 0
    calls: int = 0
    cancelled: int = 0


class Engine:
    """Answers requests until it is stopped."""

    def __init__(self, bundle: Bundle, config: ServeConfig) -> None:
        self.bundle, self.config = bundle, config
        self.counts = Counts()
        self.cache = PrefixCache(config.prefix_cache)
        self.outbox = Outbox()
        self.arrived: deque[Work] = deque()  # requests that nobody has looked at
        self.waiting: deque[tuple[Ticket, Prompt]] = deque()  # prompts for which there is no room yet
        self.reading: deque[Opening] = deque()
        self.calls: deque[Call] = deque()
        self.texts = Rows(bundle.model) if isinstance(bundle.body, LanguageModel) else None
        self.tickets: dict[Row, tuple[Ticket, Prompt]] = {}
        self.nested = 0
        self.stopping = False
        self.wake = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="chainrule-engine", daemon=True)

    def start(self) -> None:
        """Begin to work."""
        self.thread.start()

    def stop(self, seconds: float = 30.0) -> None:
        """Finish what runs, then end."""
        with self.wake:
            self.stopping = True
            self.wake.notify()
        self.thread.join(seconds)

    @property
    def alive(self) -> bool:
        """Whether it works."""
        return self.thread.is_alive()

    @property
    def queued(self) -> int:
        """How many requests have not begun."""
        return len(self.arrived) + len(self.calls) + len({id(ticket) for ticket, _ in tuple(self.waiting)})

    @property
    def running(self) -> int:
        """How many texts are being written."""
        return 0 if self.texts is None else len(self.texts)

    def submit(self, work: Work) -> None:
        """Take a request on, or refuse it because too many wait."""
        if self.stopping or not self.alive:
            raise Refused(503, "The server is stopping. Ask another one.", wait=1)
        if self.queued >= self.config.queue:
            raise busy()
        with self.wake:
            self.arrived.append(work)
            self.wake.notify()

    # Everything below runs in the engine's own thread.

    def _run(self) -> None:
        with in_threads(max(1, (cores() - 1) // self.config.workers)):  # the front needs one, too
            while self._wait():
                try:
                    self._turn()
                    if self.calls:
                        self._call(self.calls.popleft())
                except (
                    Exception
                ) as error:  # a fault of ours: whoever was being served is told, and others are served
                    self._fail(error)
                self.outbox.send()

    def _fail(self, error: Exception) -> None:
        """Give up all that was being done."""
        tickets = [one.ticket for one in self.reading] + [ticket for ticket, _ in self.waiting]
        tickets += [self.tickets.pop(row)[0] for row in list(self.tickets)]
        self.reading.clear()
        self.waiting.clear()
        if self.texts is not None:
            self.texts.leave(lambda row: False)
        for ticket in tickets:
            self.outbox.fail(ticket, error)

    def _wait(self) -> bool:
        """Until there is something to do; False: there is not, and there will not be."""
        with self.wake:
            while not (self.arrived or self.waiting or self.reading or self.calls or self.running):
                if self.stopping:
                    return False
                self.wake.wait()
        return True

    def _turn(self) -> None:
        """Read some pieces of prompts, write one symbol of every text."""
        self._accept()
        self._read()
        self._write()

    def _accept(self) -> None:
        """Look at what arrived."""
        while self.arrived:
            work = self.arrived.popleft()
            if isinstance(work, Writing):
                self.waiting += [(work.ticket, prompt) for prompt in work.prompts]
            else:
                self.calls.append(work)
        self._admit()

    def _admit(self) -> None:
        """Begin to read prompts while there is room for their texts; one alone always has room."""
        taken = self.running + sum(one.texts for one in self.reading)
        while self.waiting:
            ticket, prompt = self.waiting[0]
            if taken and taken + prompt.texts > self.config.batch_size:
                return
            self.waiting.popleft()
            if self._dropped(ticket):
                continue
            taken += prompt.texts
            self._guarded(ticket, partial(self._begin, ticket, prompt))

    def _begin(self, ticket: Ticket, prompt: Prompt) -> None:
        scored = prompt.logprobs if prompt.echo else None
        reading = Reading(self.bundle.model, prompt.ids, self.cache, scored)
        self.reading.append(Opening(ticket, reading, prompt))

    def _read(self) -> None:
        """Pieces of prompts in turn, so that a short one does not wait for a long one."""
        left = BUDGET
        while left > 0 and (pack := self._pack()):
            left -= sum(len(one.reading.next.ids) for one in pack)
            self._read_pack(pack)
            if any(one.prompt.streams for one in pack):
                self.outbox.send()  # a first symbol waits neither for other prompts nor for the next step
            self._accept()  # who came meanwhile does not wait for it either

    def _pack(self) -> list[Opening]:
        """Prompts whose next pieces are read together."""
        pack, size = list[Opening](), 0
        while self.reading and (not pack or size + len(self.reading[0].reading.next.ids) <= PACK):
            opening = self.reading.popleft()
            if not self._dropped(opening.ticket):
                pack.append(opening)
                size += len(opening.reading.next.ids)
        return pack

    def _read_pack(self, pack: list[Opening]) -> None:
        """The next piece of each; where that fails, of each alone, so that who is to blame is told."""
        try:
            with steady():
                found = read_together([one.reading for one in pack])
        except Exception as error:
            if len(pack) == 1:
                self.outbox.fail(pack[0].ticket, _told(error))
            else:
                for one in pack:
                    self._read_pack([one])
            return
        for opening, own in zip(pack, found, strict=True):
            self._guarded(opening.ticket, partial(self._took, opening, own))

    def _took(self, opening: Opening, found: Found) -> None:
        """A piece has been read: there is more, or texts begin."""
        with steady():
            self.counts.prompt_tokens += opening.reading.took(found)
        if opening.reading.place is None:
            self.reading.append(opening)
        else:
            self._opened(opening)

    def _opened(self, opening: Opening) -> None:
        """A prompt has been read: its texts begin, or one continues."""
        ticket, prompt, reading = opening.ticket, opening.prompt, opening.reading
        assert reading.place is not None and self.texts is not None
        rows = [opening.row] if opening.row else [self._row(ticket, prompt, at) for at in range(prompt.texts)]
        if opening.row is None:
            self.counts.cached_tokens += reading.cached
            self.outbox.tell(
                ticket, Read(prompt.first, tuple(reading.logs), reading.cached), done=int(not rows)
            )
        if rows:
            self.texts.begin(rows, reading.place)

    def _row(self, ticket: Ticket, prompt: Prompt, number: int) -> Row:
        """Text number so-and-so of a prompt."""
        codec, config = self.bundle.codec, prompt.config.from_row(number)
        never: tuple[int, ...] = (EOS,) if endless(self.bundle.card) else ()
        never += () if config.unknown else codec.unwritten
        text = Text(codec, prompt.text, prompt.ids, config.stop)

        def tell(written: Written) -> None:
            self.outbox.tell(ticket, written, done=int(written.finish is not None))

        choice = prompt.first + number
        row = Row(choice, config, never, text, prompt.logprobs, prompt.streams, tell, lambda: ticket.gone)
        self.tickets[row] = (ticket, prompt)
        return row

    def _write(self) -> None:
        """One step of all texts; those the model can hold no more of are read again."""
        if not self.texts:
            return
        for row in self.texts.leave(lambda row: not row.over and not row.gone()):
            ticket, _ = self.tickets.pop(row)
            self.counts.cancelled += not row.over
        for row in self.texts.full():
            ticket, prompt = self.tickets[row]
            again = Reading(self.bundle.model, [BOS, *row.recent, row.ids[-1]], PrefixCache(0))
            self.reading.append(Opening(ticket, again, prompt, row))
        try:
            self.counts.generated_tokens += self.texts.step()
        except Exception as error:  # damaged weights, no memory: these texts fail, the next ones may not
            for row in self.texts.leave(lambda row: False):
                self.outbox.fail(self.tickets.pop(row)[0], error)
        self.counts.steps += 1

    def _call(self, call: Call) -> None:
        """A call of another verb; before each of its steps there is a turn."""

        def turn() -> None:
            call.ticket.check()
            with taking_turns(_nothing):
                self._turn()
                if self.calls and self.nested < NESTED:
                    self._call(self.calls.popleft())
            self.outbox.send()

        self.nested += 1
        self.counts.calls += 1
        try:
            call.ticket.check()
            with taking_turns(turn):
                self._guarded(call.ticket, lambda: self.outbox.tell(call.ticket, call.run(), done=1))
        except Cancelled:
            self._dropped(call.ticket)
        finally:
            self.nested -= 1

    def _guarded(self, ticket: Ticket, work: Callable[[], None]) -> None:
        """What goes wrong with one request is told to who sent it, and to nobody else."""
        try:
            work()
        except Exception as error:
            self.outbox.fail(ticket, _told(error))

    def _dropped(self, ticket: Ticket) -> bool:
        """Whether nobody waits for it any more."""
        self.counts.cancelled += ticket.gone
        return ticket.gone


def _told(error: Exception) -> Exception:
    """What a client is told of it."""
    if isinstance(error, MemoryError):
        return Refused(503, "There is not enough memory for this request.", wait=5)
    return error


def _nothing() -> None:
    """Within a turn there is no other."""
