"""The page of a rating, for browsers of this machine only.

It listens on the loopback device, answers only who calls it by that name (so that no other site can make a browser
talk to it), asks for nothing from elsewhere, and gives texts as JSON, which the page shows as text.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import SplitResult, parse_qs, urlsplit

from chainrule.errors import ConfigError
from chainrule.rate.journal import TIE, A, B, Journal
from chainrule.rate.pairs import Pairs

HOST, LARGEST, LONGEST = "127.0.0.1", 10_000, 60  # bytes of a request, letters of a rater's name
PAGE = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server(ThreadingHTTPServer):
    """Answers browsers until it is told to stop."""

    daemon_threads = True

    def __init__(self, pairs: Pairs, journal: Journal, port: int) -> None:
        self.pairs, self.journal = pairs, journal
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise ConfigError(
                f"Port {port} is not free ({error.strerror}): name another, --port 0 takes any."
            ) from error

    @property
    def port(self) -> int:
        """The one it listens on."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that is gone before it was answered is nothing to tell: what it said is on the disk."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def shown(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The next pair of a rater."""
        rater = named(query)
        return self.pairs.put(self.journal, rater, self.pairs.next(self.journal, rater))

    def rated(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a click, then show the next pair."""
        rater, pair, side = named(values), values.get("pair"), values.get("choice")
        if not isinstance(pair, int) or isinstance(pair, bool) or pair not in self.pairs.shown:
            raise Refused(400, "There is no such pair.")
        left = self.pairs.left(rater, pair)
        choices = {"left": left, "right": B if left == A else A, "tie": TIE}
        if not isinstance(side, str) or side not in choices:
            raise Refused(400, "The choice is left, right or tie.")
        try:
            self.journal.add(rater, pair, choices[side], left)
        except OSError as error:
            raise Refused(500, f"This click was not kept ({error.strerror}): click again.") from error
        return self.pairs.put(self.journal, rater, self.pairs.next(self.journal, rater))

    def back(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The pair that a rater rated before `pair`, or last of all, to think again."""
        rater = named(values)
        rated = list(self.journal.of(rater))
        pair = values.get("pair")
        before = rated[: rated.index(pair)] if pair in rated else rated
        last = before[-1] if before else pair if isinstance(pair, int) and pair in self.pairs.shown else None
        return self.pairs.put(self.journal, rater, last)


def named(values: Mapping[str, Any]) -> str:
    """The name of a rater."""
    rater = str(values.get("rater") or "").strip()
    if not rater or len(rater) > LONGEST or not rater.isprintable():
        raise Refused(400, f"A rater has a name of up to {LONGEST} letters.")
    return rater


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 30  # seconds that a browser may take for it
    server_version, sys_version = "chainrule", ""
    actions: ClassVar = {"/rate": Server.rated, "/back": Server.back}

    def do_GET(self) -> None:
        def answer() -> tuple[bytes, str]:
            place = _split(self.path)
            if place.path in PAGE:
                name, kind = PAGE[place.path]
                return (files("chainrule.rate") / "page" / name).read_bytes(), kind
            if place.path != "/next":
                raise Refused(404, "There is no such page.")
            query = {name: values[0] for name, values in parse_qs(place.query).items()}
            return packed(self.server.shown(query))

        self._answer(answer)

    def do_POST(self) -> None:
        def answer() -> tuple[bytes, str]:
            action = self.actions.get(self.path)
            if action is None:
                raise Refused(404, "There is no such page.")
            return packed(action(self.server, self._values()))

        self._answer(answer)

    def _answer(self, answer: Any) -> None:
        try:
            self._check_caller()
            status, (body, kind) = 200, answer()
        except Refused as error:
            status, (body, kind) = error.status, packed({"error": str(error)})
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _check_caller(self) -> None:
        """Another site may know the address, but its browser calls us by another name, or says where it comes from."""
        ours = {f"{host}:{self.server.port}" for host in (HOST, "localhost")}
        if self.headers.get("Host", "") not in ours:
            raise Refused(403, f"Call this page {self.server.address}")
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in ours:
            raise Refused(403, "Only this page may send ratings.")

    def _values(self) -> dict[str, Any]:
        """What was sent, as JSON."""
        if self.headers.get_content_type() != "application/json":
            raise Refused(415, "JSON is expected.")
        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdigit() and len(size) < 9) or int(size) > LARGEST:
            raise Refused(413, f"At most {LARGEST:,} bytes are expected.")
        try:
            found = json.loads(self.rfile.read(int(size)))
        except (ValueError, RecursionError) as error:
            raise Refused(400, "JSON is expected.") from error
        if not isinstance(found, dict):
            raise Refused(400, "An object is expected.")
        return found

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are nobody's business."""


def _split(path: str) -> SplitResult:
    """The parts of what a browser asks for."""
    try:
        return urlsplit(path)
    except ValueError as error:
        raise Refused(400, "This is no address.") from error


def packed(values: Mapping[str, Any]) -> tuple[bytes, str]:
    """As JSON."""
    return json.dumps(values).encode(), "application/json"
