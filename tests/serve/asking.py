"""Small models, an engine or a server of them, and ways to ask."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx2 as httpx

from chainrule.bundle import Bundle
from chainrule.codecs.base import Codec, Texts
from chainrule.codecs.registry import codec
from chainrule.decode.config import GenerationConfig
from chainrule.models.registry import family
from chainrule.serve.config import ServeConfig
from chainrule.serve.engine import Engine
from chainrule.serve.work import Event, Prompt, Ticket, Writing
from chainrule.use.text import prompt_ids

LINES = ["she went to class", "he was late for class", "what is the weather today", "she was late today"]


@cache
def letters() -> Codec:
    kind = codec("characters")
    return kind.learn(lambda: [Texts.of([*LINES, "0123456789 the lazy dog"])], kind.Config())


@cache
def tiny(name: str) -> Bundle:
    """A model of letters with random weights, wide enough that its answers differ."""
    known: dict[str, Any] = {"vocab_size": letters().size, "suppressed": letters().suppressed}
    if name == "ngram":
        kind: Any = family(name)
        ids = letters().encode(Texts.of(LINES * 3)).ids
        return Bundle.of(letters(), kind.learn(kind.Config(**known, order=3), ids))
    sizes = {"heads": 2, "context": 40} if name in ("gpt", "bert") else {}
    kind = family(name)
    return Bundle.of(letters(), kind.seeded(kind.Config(**known, layers=1, width=16, **sizes), 1))


def prompts_of(
    bundle: Bundle, texts: Sequence[str], config: GenerationConfig, **told: Any
) -> tuple[Prompt, ...]:
    ids = [tuple(prompt_ids(bundle.codec, text)) for text in texts]
    firsts = [config.count * at for at in range(len(texts))]
    each = zip(texts, ids, firsts, strict=True)
    return tuple(Prompt(text, own, config.from_row(first), first, **told) for text, own, first in each)


def ticket_of(prompts: Sequence[Prompt], limit: float = 60.0) -> Ticket:
    ticket = Ticket(limit)
    ticket.left = sum(max(1, one.texts) for one in prompts)
    return ticket


async def ask(engine: Engine, texts: Sequence[str], config: GenerationConfig, **told: Any) -> list[Event]:
    prompts = prompts_of(engine.bundle, texts, config, **told)
    ticket = ticket_of(prompts)
    engine.submit(Writing(ticket, prompts))
    return await ticket.all()


@contextmanager
def working(bundle: Bundle, **settings: Any) -> Iterator[Engine]:
    engine = Engine(bundle, ServeConfig(**settings))
    engine.start()
    try:
        yield engine
    finally:
        engine.stop()


@contextmanager
def server(
    bundles: Mapping[str, Bundle], template: str | None = None, **settings: Any
) -> Iterator[httpx.Client]:
    """A client of a server of these models, in a thread of this process."""
    import uvicorn

    from chainrule.serve.app import PATHS, application
    from chainrule.serve.guard import Guard
    from chainrule.serve.metrics import Metrics
    from chainrule.serve.served import Served

    config = ServeConfig(**settings)
    served, metrics = Served(bundles, config, template), Metrics(PATHS, list(bundles))
    place = socket.create_server(("127.0.0.1", 0))
    app: Any = Guard(application(served, metrics), config, metrics, None)
    running = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", ws="none"))
    served.start()
    thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[place])), daemon=True)
    thread.start()
    key = {} if config.key is None else {"Authorization": f"Bearer {config.key}"}
    address = f"http://127.0.0.1:{place.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=30, headers=key) as client:
            yield client
    finally:
        running.should_exit = True
        thread.join(20)
        served.stop()
        place.close()
