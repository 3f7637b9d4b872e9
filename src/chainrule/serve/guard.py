"""What stands before every request: who may ask, how much may be sent, how long it may take; and the access log."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TextIO
from urllib.parse import urlsplit

from chainrule.serve.config import ServeConfig
from chainrule.serve.metrics import Metrics
from chainrule.serve.refusals import Refused, late

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = {"localhost", "127.0.0.1", "::1", "[::1]"}
OPEN = {"/health"}  # what needs no key
FACTS = "chainrule.facts"  # where handlers leave what the log is to say
BODY_SECONDS = 20.0  # that the rest of a request may take to come
GRACE = 5.0  # seconds beyond the limit of a request, for its last words


class Gone(Exception):
    """The client has closed the connection."""


class Guard:
    """One request after another, before anybody else looks at it."""

    def __init__(self, app: App, config: ServeConfig, metrics: Metrics, log: TextIO | None) -> None:
        self.app, self.config, self.metrics, self.log = app, config, metrics, log
        self.key = None if config.key is None else config.key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        exchange = Exchange(receive, send, self.config.max_body)
        scope[FACTS] = facts = dict[str, Any]()
        try:
            async with asyncio.timeout(self.config.time_limit + GRACE):
                self._check(scope)
                await self.app(scope, exchange.receive, exchange.send)
        except Refused as error:
            await exchange.refuse(error)
        except TimeoutError:
            await exchange.refuse(late(self.config.time_limit))
        except Gone:
            exchange.status = 0
        except Exception as error:
            facts["error"] = f"{type(error).__name__}: {error}"[:300]
            await exchange.refuse(Refused(500, "The server failed at this. It has been logged."))
        finally:
            self._tell(scope, exchange, facts)
        return None

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self.config.is_loopback:
            _check_caller(headers)
        if self.key is not None and scope["path"] not in OPEN:
            sent = headers.get(b"authorization", b"")
            if not hmac.compare_digest(sent, b"Bearer " + self.key):
                why = "This server wants a key: send it as `Authorization: Bearer KEY`."
                raise Refused(401, why, code="invalid_api_key")
        size = headers.get(b"content-length", b"0")
        if not size.isdigit() or int(size) > self.config.max_body:
            raise too_large(self.config.max_body)

    def _tell(self, scope: Scope, exchange: Exchange, facts: dict[str, Any]) -> None:
        seconds = time.perf_counter() - exchange.began
        path = scope["path"]
        self.metrics.answered(path, exchange.status, seconds)
        if self.log is None:
            return
        client = scope.get("client") or ("",)
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "client": client[0],
            "method": scope["method"][:16],
            "path": path[:200],
            "status": exchange.status,
            "seconds": round(seconds, 4),
            "sent": exchange.sent,
        }
        self.log.write(json.dumps(line | facts) + "\n")
        self.log.flush()


def _check_caller(headers: dict[bytes, bytes]) -> None:
    """Another site may know the address; its browser calls us by another name, or says where it comes from."""
    for name, value in ((b"host", headers.get(b"host")), (b"origin", headers.get(b"origin"))):
        if value is None and name == b"origin":
            continue
        text = (value or b"").decode("latin-1")
        try:
            host = urlsplit(text if "://" in text else f"//{text}").hostname
        except ValueError:
            host = None
        if host not in LOOPBACK:
            raise Refused(
                403, "This server answers this machine only: call it localhost, or start it with --host."
            )


def too_large(most: int) -> Refused:
    """More was sent than is read."""
    return Refused(413, f"A request has at most {most:,} bytes here.", code="body_too_large")


class Exchange:
    """Both sides of one request, counted and bounded."""

    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive, self._send, self.most = receive, send, most
        self.began = time.perf_counter()
        self.status, self.sent, self.read = 0, 0, 0
        self.whole = False  # all of the body has come

    async def receive(self) -> Message:
        """The next part of the body, which must come soon; afterwards, that the client has gone."""
        if self.whole:
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408, "The rest of the request did not come.", code="body_timeout") from None
        if message["type"] == "http.disconnect":
            raise Gone
        self.read += len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        if self.read > self.most:
            raise too_large(self.most)
        return message

    async def send(self, message: Message) -> None:
        """A part of the answer; it waits for slow readers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [(name, value) for name, value in message.get("headers", ()) if name != b"server"]
            message = {**message, "headers": [*headers, (b"x-content-type-options", b"nosniff")]}
        self.sent += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, error: Refused) -> None:
        """An error instead of an answer; where that has begun, the connection ends."""
        if self.status:
            return
        body = json.dumps(error.to_dict()).encode()
        plain = {"content-type": "application/json", "content-length": str(len(body)), **error.headers}
        if not self.whole:
            plain["connection"] = "close"  # what else comes is not read
        headers = [(name.encode(), value.encode()) for name, value in plain.items()]
        await self.send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
