"""The side that asks workers: at most two of them, started when needed, and again when one has died."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from chainrule.errors import ChainruleError

MOST = 2
PATIENCE = 3.0  # seconds that a worker has to break off
CALM = 0.5  # seconds that an opened page has to itself before a worker imports what it needs
LARGEST = 1 << 29  # bytes of an answer
DIED = "The process that answered this has died ({how}). The next question starts a new one."


class Died(ChainruleError):
    """A worker ended in the middle of an answer."""


@dataclass
class Worker:
    """One process, and the models it was last asked about."""

    process: asyncio.subprocess.Process
    models: list[str] = field(default_factory=list)
    busy: bool = False
    killed: bool = False

    @classmethod
    async def started(cls, folder: Path, log: Path) -> Worker:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "chainrule.studio.worker",
                str(folder),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=LARGEST,
                start_new_session=True,  # Ctrl-C is for the studio, which closes the pipe
            )
        return cls(process)

    @property
    def lives(self) -> bool:
        return self.process.returncode is None and not self.killed

    async def tell(self, words: Mapping[str, Any]) -> None:
        """A line for it."""
        assert self.process.stdin is not None
        with suppress(ConnectionError):
            self.process.stdin.write(json.dumps(words).encode() + b"\n")
            await self.process.stdin.drain()

    async def line(self) -> dict[str, Any]:
        """A line from it."""
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Died(DIED.format(how=_how(await self.process.wait())))
        found: dict[str, Any] = json.loads(line)
        return found

    def kill(self) -> None:
        """At once, whatever it is doing."""
        self.killed = True
        with suppress(ProcessLookupError):
            self.process.kill()


def _ends(told: Mapping[str, Any]) -> bool:
    """Whether this is the last line about a question."""
    return "result" in told or "error" in told


async def _cancelled(worker: Worker, id: int) -> None:
    """A text is broken off; what cannot be is ended with the process, and the next question has a new one."""
    try:
        await worker.tell({"cancel": id})
        async with asyncio.timeout(PATIENCE):
            while not _ends(await worker.line()):
                pass
    except (Died, TimeoutError):
        worker.kill()


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


@dataclass
class Pool:
    """Questions to whoever is free, and holds the model if possible."""

    folder: Path
    log: Path
    workers: list[Worker] = field(default_factory=list)
    free: asyncio.Condition = field(default_factory=asyncio.Condition)
    numbers: Any = field(default_factory=lambda: count(1))
    known: asyncio.Task[dict[str, Any]] | None = None
    warming: asyncio.Task[None] | None = None

    def warm(self) -> None:
        """Get ready for questions, once, as soon as the page that has just opened is drawn."""
        if self.warming is None:
            self.warming = asyncio.ensure_future(self._warmed())

    async def _warmed(self) -> None:
        await asyncio.sleep(CALM)
        with suppress(Died):  # the first question tells it
            await self.catalogue()

    async def catalogue(self) -> dict[str, Any]:
        """What there is to choose from: asked once, and to the end, also when the browser that asked has gone.

        Whoever has answered it has imported everything, and is ready for other questions.
        """
        if self.known is None or (self.known.done() and self.known.exception()):
            self.known = asyncio.ensure_future(self._catalogue())
        return await asyncio.shield(self.known)

    async def _catalogue(self) -> dict[str, Any]:
        return [told async for told in self.ask({"do": "catalogue"})][-1]

    async def ask(self, question: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Pieces, then the result or an error. Whoever stops listening ends it."""
        id = next(self.numbers)
        async with self._worker(question.get("model")) as worker:
            await worker.tell({**question, "id": id})
            ended = False
            try:
                while not ended:
                    told = await worker.line()
                    ended = _ends(told)
                    yield told
            finally:
                if not ended:
                    await _cancelled(worker, id)

    @asynccontextmanager
    async def _worker(self, model: str | None) -> AsyncIterator[Worker]:
        async with self.free:
            while (worker := await self._idle(model)) is None:
                await self.free.wait()
            worker.busy = True
        if model:
            worker.models = [model, *(one for one in worker.models if one != model)][:3]
        try:
            yield worker
        finally:
            worker.busy = False
            async with self.free:
                self.free.notify()

    async def _idle(self, model: str | None) -> Worker | None:
        """One that holds the model, or any that is free, or a new one; none if all are busy."""
        self.workers = [one for one in self.workers if one.lives]
        free = [one for one in self.workers if not one.busy]
        holding = [one for one in free if model in one.models]
        if holding or free:
            return (holding or free)[0]
        if len(self.workers) >= MOST:
            return None
        worker = await Worker.started(self.folder, self.log)
        self.workers.append(worker)
        return worker

    async def close(self) -> None:
        """End all of them."""
        if self.warming is not None:
            self.warming.cancel()
        for one in self.workers:
            one.kill()
        begun = [one for one in (self.warming, self.known) if one is not None]
        await asyncio.gather(*(one.process.wait() for one in self.workers), *begun, return_exceptions=True)

    @property
    def pids(self) -> list[int]:
        """Of those that live."""
        return [one.process.pid for one in self.workers if one.lives]
