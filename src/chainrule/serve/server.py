"""One process of a server: its socket, its loop, its end."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from chainrule.errors import ConfigError
from chainrule.serve.app import application
from chainrule.serve.config import ServeConfig
from chainrule.serve.guard import Guard
from chainrule.serve.metrics import Metrics
from chainrule.serve.served import Served

HEADER_SECONDS = 20  # that the headers of a request may take
HEADER_BYTES = 65_536  # that they may have
IDLE_SECONDS = 75  # between two requests of a connection
PATIENCE = 30  # seconds that a stopping server waits for what runs
SWITCH = 0.0005  # seconds that a thread keeps Python to itself while others wait


class Protocol(HttpToolsProtocol):
    """A connection whose headers must come soon, and be short."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.header_bytes: int | None = 0  # None: headers have come
        self.opening = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.opening.cancel()
        self.opening = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def data_received(self, data: bytes) -> None:
        if self.header_bytes is not None:
            self.header_bytes += len(data)
        super().data_received(data)
        if self.header_bytes is not None and self.header_bytes > HEADER_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self.header_bytes = None
        self.opening.cancel()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.header_bytes = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.opening.cancel()
        super().connection_lost(exc)


class Server(uvicorn.Server):
    """Ends on a signal with what runs finished, and lets the process end well."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        kept = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)


def listening(config: ServeConfig) -> socket.socket:
    """A socket that clients may connect to."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((config.host, config.port))
    except OSError as error:
        found.close()
        why = f"Nobody can listen on {config.host}, port {config.port} ({error.strerror})."
        raise ConfigError(f"{why} Name another with --port; --port 0 takes any that is free.") from error
    found.listen(1024)
    found.set_inheritable(True)
    return found


def many_files() -> None:
    """As many open connections as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def run(served: Served, metrics: Metrics, place: socket.socket, log: TextIO | None) -> None:
    """Answer until a signal says stop."""
    many_files()
    sys.setswitchinterval(SWITCH)
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # our own log tells of every request
    served.start()
    app = Guard(application(served, metrics), served.config, metrics, log)
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=PATIENCE,
        backlog=1024,
    )
    server = Server(config)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(server.serve(sockets=[place]))
    finally:
        served.stop()
