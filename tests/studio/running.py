"""A studio that runs in a thread of the test, on a folder with small models."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chainrule.studio import pool
from chainrule.studio.server import opened, serving
from fitted import LINES, fitted
from views.seen import gpt, small

HOSTILE = "<img src=x onerror=\"document.title = 'taken'\"><script>document.title = 'taken'</script>"
HOST = "127.0.0.1"


def furnished(folder: Path) -> Path:
    """Data, and a model of each kind that the tests use."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "book.txt").write_text("\n".join(LINES * 20), encoding="utf-8")
    (folder / "hostile.txt").write_text(f"{HOSTILE}\n{HOSTILE} again\n" * 20, encoding="utf-8")
    fitted().save(folder / "my-lm")
    fitted(order=1).save(folder / "small-lm")
    small("lstm", layers=1, width=4).save(folder / "my-lstm")
    gpt().save(folder / "my-gpt")
    return folder


class Running:
    """Server, guard and folder."""

    def __init__(self, folder: Path) -> None:
        pool.MOST = 1  # a process more would take seconds to start
        self.folder = folder
        self.listening = opened(HOST, 0)
        self.server, self.guard = serving(folder, self.listening, 1_000_000)
        self.port = self.guard.port
        self.address = self.guard.address
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        until(lambda: self.server.started)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.server.serve([self.listening]))
        self.loop.close()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.listening.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """A request by hand: status, headers, and what came."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=240)
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} if method == "POST" else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, sent, {**given, **named})
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        told = json.loads(content) if "json" in (answer.getheader("content-type") or "") else content
        return answer.status, answer.headers, told


def until(holds: Callable[[], Any], seconds: float = 240.0) -> Any:
    """Wait for something that another process or thread does."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := holds():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")
