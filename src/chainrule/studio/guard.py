"""Who may ask a studio: its own page, in a browser that calls it by its own name, with its token where it has one.

Another site can make a browser send requests here. Such a browser says so (`Origin`, `Sec-Fetch-Site`), or calls us by
the site's name (`Host`, DNS rebinding); neither is answered.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
BODY = 4_000_000  # bytes of a question
UPLOADS = "/api/files/"


@dataclass(frozen=True)
class Guard:
    """Between the network and the application."""

    app: App
    host: str
    port: int
    token: str | None
    upload: int  # bytes of a file

    @classmethod
    def around(cls, app: App, host: str, port: int, upload: int) -> Guard:
        """With a token of its own unless only this machine can connect."""
        return cls(app, host, port, None if loopback(host) else secrets.token_urlsafe(24), upload)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if given := self._given(scope):
            return await _redirected(send, f"{self.cookie}={given}; HttpOnly; SameSite=Strict; Path=/")
        if refused := self.refusal(scope["method"], scope["path"], headers):
            return await _refused(send, *refused)
        await self.app(scope, _bounded(receive, self._most(scope["path"])), _with_headers(send))

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Why a request is not answered, if it is not."""
        if not self.calls_us(headers.get("host", "")):
            return 403, f"This is the studio at {self.address}: call it by that name."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "Another site may not ask a studio."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return 403, "Another site may not ask a studio."
        if self.token and not hmac.compare_digest(self._cookie(headers).encode(), self.token.encode()):
            return (
                401,
                "Open the address that the studio printed when it was started: its token is missing here.",
            )
        size = headers.get("content-length", "0")
        if not size.isdigit() or int(size) > self._most(path):
            return 413, f"At most {self._most(path):,} bytes are taken here."
        json_wanted = method == "POST" and not path.startswith(UPLOADS)
        if json_wanted and headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, "JSON is expected."
        return None

    def calls_us(self, host: str) -> bool:
        """Whether a name with a port is ours. A number is never another site's name, so any of ours will do."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        name = name.strip("[]").lower()
        if loopback(self.host):
            return name in ("127.0.0.1", "localhost", "::1", self.host)
        with suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return name in (self.host.lower(), socket.gethostname().lower(), "localhost")

    @property
    def cookie(self) -> str:
        """Its name: browsers keep cookies by host, and there may be several studios."""
        return f"studio-{self.port}"

    @property
    def address(self) -> str:
        """What to type into a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def _given(self, scope: Scope) -> str | None:
        """The token of the address, which becomes a cookie, so that it is not seen in it any longer."""
        if not self.token or scope["path"] != "/":
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return given if hmac.compare_digest(given.encode(), self.token.encode()) else None

    def _cookie(self, headers: Mapping[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _most(self, path: str) -> int:
        return self.upload if path.startswith(UPLOADS) else BODY


def loopback(host: str) -> bool:
    """Whether only this machine can connect."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class TooLarge(Exception):
    """More came than was announced or allowed."""


def _bounded(receive: Receive, most: int) -> Receive:
    """Also where no length was announced."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise TooLarge
        return message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


async def _redirected(send: Send, cookie: str) -> None:
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode())]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refused(send: Send, status: int, why: str) -> None:
    body, sent = json.dumps({"error": why}).encode(), _with_headers(send)
    await sent(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]}
    )
    await sent({"type": "http.response.body", "body": body})
