"""Hostile input and faults beside models and data: views, what is looked at, ratings, their page, WordNet."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import shim
from faults import Done, Lost, Section, Wrong
from formats import ROWS, TEXT
from mutations import changed, mutated, mutated_json
from workshop import LOOKS, some_model

import chainrule as cr
from chainrule.cli.rate import described
from chainrule.config import visible
from chainrule.errors import DataError
from chainrule.rate.journal import CHOICES, Journal
from chainrule.rate.pairs import Pairs
from chainrule.rate.report import Ratings
from chainrule.rate.server import Server
from chainrule.store import manifest
from chainrule.use.evaluate_texts import evaluate_texts
from chainrule.views.files import FORMATS
from chainrule.views.kinds import kind_named, kinds

PAIRS = Pairs(("one", "two"), ([row["text"] for row in ROWS], [row["text"] + " so" for row in ROWS]))
CLICKS = 4  # ratings that are interrupted


def views(examples: Path, place: Path, random: Random) -> None:
    """Views that were saved as JSON: told in words, drawn, and saved again."""
    source = random.choice(sorted((examples / "views").glob("*.json")))
    data = source.read_bytes()
    data = mutated_json(random, data) if random.random() < 0.7 else mutated(random, data)
    _drawn(cr.View.from_json(data.decode("utf-8", "surrogateescape")), place, random)


def _drawn(view: cr.View, place: Path, random: Random) -> None:
    str(view), repr(view)
    view.save(place / f"view{random.choice(sorted(FORMATS))}")
    if cr.View.from_json(view.to_json()).to_json() != view.to_json():
        raise Wrong("a view that was saved is another one")


def looks(examples: Path, place: Path, random: Random) -> None:
    """Models that are looked at, with odd settings; every other one was changed and signed again."""
    folder = some_model(random, examples)
    if random.random() < 0.5:
        folder = shutil.copytree(folder, place / "lm")
        files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != manifest.MARK)
        changed(random, random.choice(files))
        manifest.write(folder)
    kind, text = (
        random.choice([*kinds(), *LOOKS]),
        random.choice(["she was late", "", "he 3 zebra", "é" * 70]),
    )
    settings = {
        one.name: _odd(random, examples) for one in visible(kind_named(kind)) if random.random() < 0.2
    }
    _drawn(cr.look(cr.load(folder), text, view=kind, **settings), place, random)


def _odd(random: Random, examples: Path) -> Any:
    """A value that some setting has, or none."""
    known = ["0", "1", "2", 1, 2, 0, -1, "she", "shap", "1,0", True, str(examples / "data" / "text.txt")]
    return random.choice([*known, str(examples / "runs" / "lm.run"), "\ud800", "", 10**9, 1e-9, "nan"])


def training_runs(examples: Path, place: Path, random: Random) -> None:
    """What a run has written down, changed."""
    (place / "lm.run").mkdir()
    found = (examples / "runs" / "lm.run" / "metrics.jsonl").read_bytes()
    (place / "lm.run" / "metrics.jsonl").write_bytes(mutated(random, found))
    run = str(place / "lm.run")
    _drawn(cr.look(cr.load(examples / "models" / "gru"), view="training", run=run), place, random)


def wordnets(examples: Path, place: Path, random: Random) -> None:
    """The database of synonyms of METEOR."""
    folder = shutil.copytree(examples / "wordnet", place / "dict")
    path = random.choice(sorted(folder.iterdir()))
    path.write_bytes(mutated(random, path.read_bytes()))
    (place / "said.txt").write_text(TEXT.replace("was", "were"))
    figures = evaluate_texts(place / "said.txt", examples / "data" / "text.txt", wordnet=str(folder)).figures
    if not all(np.isfinite(one) for one in figures.values()):
        raise Wrong(f"{figures}")


def _rated(path: Path, count: int = 9) -> None:
    journal = Journal.opened(path, PAIRS.subject)
    for number in range(count):
        journal.add(("ann", "bob", "Ève")[number % 3], number // 3, CHOICES[number % 3], CHOICES[number % 2])


def ratings(examples: Path, place: Path, random: Random) -> None:
    """A file of ratings: what it tells, and that it can be continued."""
    path = place / "ratings.jsonl"
    _rated(path)
    lines = path.read_bytes().splitlines(keepends=True)
    at = random.randrange(len(lines))
    change = mutated_json if random.random() < 0.7 else mutated
    lines[at] = change(random, lines[at]) + b"\n" * random.randrange(2)
    path.write_bytes(b"".join(lines))
    found = Ratings.of(Journal.opened(path))
    described(found), json.dumps(found.to_dict(), allow_nan=False)
    journal = Journal.opened(path, PAIRS.subject)
    journal.add("zoe", 3, "a", "b")
    PAIRS.put(journal, "ann", PAIRS.next(journal, "ann"))
    if Journal.opened(path).of("zoe").keys() != {3}:
        raise Lost("a rating")


GOOD = b"POST /rate HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
CLICK = b'{"rater": "ann", "pair": 3, "choice": "left"}'
REQUESTS = [
    GOOD,
    GOOD.replace(b"/rate", b"/back"),
    *(
        b"GET " + one + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"
        for one in (b"/", b"/next?rater=ann", b"/page.js")
    ),
]


def requests(examples: Path, place: Path, random: Random) -> str:
    """Requests to the page of a rating: each has an answer, and the next one, too."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        server = Server(PAIRS, Journal.opened(place / "ratings.jsonl", PAIRS.subject), 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
        thread.start()
        try:
            found = _asked(server.port, _request(random, server.port))
            again = _asked(server.port, GOOD % (server.port, len(CLICK), CLICK))
        finally:
            server.shutdown(), server.server_close(), thread.join()
    if "Traceback" in told.getvalue():
        raise RuntimeError(told.getvalue()[-600:])
    if b" 200 " not in again.split(b"\r\n")[0] or Journal.opened(place / "ratings.jsonl").of("ann").keys() < {
        3
    }:
        raise Wrong(f"afterwards: {again[:80]!r}")
    return "success" if b" 200 " in found.split(b"\r\n")[0] else "refused"


def _request(random: Random, port: int) -> bytes:
    """One with something changed: in what it says, or in how."""
    asked = random.choice(REQUESTS)
    if asked.startswith(b"GET"):
        return mutated(random, asked % port)
    body = mutated_json(random, CLICK) if random.random() < 0.6 else mutated(random, CLICK)
    whole = asked % (port, len(body), body)
    return whole if random.random() < 0.6 else mutated(random, whole)


def _asked(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(1 << 16):
                parts.append(part)
    return b"".join(parts)


def clicked(fault: str) -> Callable[[Path, Path, Random], str]:
    """Ratings whose writing is interrupted: what was answered is there, and the file can be continued."""

    def case(examples: Path, place: Path, random: Random) -> str:
        path, (inside, out) = place / "ratings.jsonl", os.pipe()
        child = os.fork()
        if not child:
            _click(path, fault, 1 + int(place.name), out)
        os.close(out)
        with os.fdopen(inside, "rb") as acknowledged:
            found = acknowledged.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        kept = list(Journal.opened(path, PAIRS.subject).of("ann"))
        if kept[: found.count(b".")] != list(range(found.count(b"."))) or len(kept) > found.count(b".") + 1:
            raise Lost(f"{found!r} were answered, and {kept} are there")
        Journal.opened(path, PAIRS.subject).add("ann", 50, "tie", "a")
        if list(Journal.opened(path).of("ann")) != [*kept, 50]:
            raise Wrong("it cannot be continued")
        if code == 0 and found.count(b".") == CLICKS and fault:
            raise Done  # there is no such operation
        if code not in (0, 1, -9):
            raise RuntimeError(f"it ended with {code}")
        return "refused" if code == 1 else "success"

    return case


def _click(path: Path, fault: str, at: int, out: int) -> None:
    code = 99
    try:
        shim.install(fault, at)
        journal = Journal.opened(path, PAIRS.subject)
        for pair in range(CLICKS):
            journal.add("ann", pair, "a", "b")
            os.write(out, b".")
        code = 0
    except (OSError, DataError):
        code = 1
    finally:
        os._exit(code)


SECTIONS = [
    Section("views", 3000, 0.7, views),
    Section("looks", 3000, 1.5, looks),
    Section("runs that are looked at", 500, 0.2, training_runs),
    Section("WordNet folders", 1500, 0.2, wordnets),
    Section("ratings", 2000, 0.2, ratings),
    Section("requests to the page of a rating", 1500, 0.3, requests),
    *(Section(f"ratings: {name}", 100, 0.4, clicked(name)) for name in ("kill", "ENOSPC", "EIO")),
]
