"""File operations that fail, end the process, or are watched: kill -9, a full disk, a broken one.

Operations are counted: opening for writing, handing bytes to the system, renaming, exchanging, syncing, making and
removing names. Processes that are forked from this one count together with it. What a kill leaves on the disk is what
is there before an operation, so a folder that is `watched` is copied there, once for each of its states: one run shows
what every kill leaves.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import mmap
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

WRITING = ("write", "open", "mkdir", "fsync")  # what a full or broken disk refuses
NAMES = ("replace", "rename", "mkdir", "unlink", "rmdir", "fsync", "truncate", "link")


def fingerprint(place: Path) -> str:
    """Of all that is in a folder, or of a file."""
    found = sha256()
    for path in [place, *sorted(place.rglob("*"))]:
        found.update(f"{path.relative_to(place)}\0{path.is_dir()}\0".encode())
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()[:20]


class Watched:
    """A folder, and copies of what it held before each operation."""

    def __init__(self, place: Path, copies: Path) -> None:
        self.place, self.copies = place, copies
        self.inside = threading.local()
        self.lock = threading.Lock()

    def look(self, count: int) -> None:
        """Note the state of the folder; what is done to do so is not counted."""
        with self.lock:
            self.inside.here = True
            try:
                with (self.copies / "states").open("ab", buffering=0) as states:
                    fcntl.lockf(states, fcntl.LOCK_EX)  # other processes wait
                    state = fingerprint(self.place)
                    if not (self.copies / state).exists():
                        shutil.copytree(self.place, self.copies / state, symlinks=True)
                    states.write(f"{count} {state}\n".encode())
            finally:
                self.inside.here = False

    def states(self) -> dict[int, str]:
        """By operation, the fingerprint of what was there."""
        rows = (line.split() for line in (self.copies / "states").read_text().splitlines())
        return {int(count): state for count, state in rows}


class Points:
    """Counts operations, and lets the fault happen at one of them."""

    def __init__(self, fault: str, at: int, watched: Watched | None = None) -> None:
        self.fault, self.at, self.watched = fault, at, watched
        self.counts = memoryview(mmap.mmap(-1, 16)).cast("q")  # shared by processes
        self.stretch: Any = None  # in which they are passed by

    @property
    def count(self) -> int:
        """Operations so far."""
        return self.counts[0]

    @property
    def disk(self) -> int:
        """Those among them that a disk can refuse."""
        return self.counts[1]

    def pass_by(self, kind: str) -> None:
        """An operation is about to happen."""
        if self.watched and getattr(self.watched.inside, "here", False):
            return
        self.counts[0] += 1
        if self.watched:
            self.watched.look(self.count)
        if self.count == self.at and self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count == self.at and self.fault == "kill all":
            os.killpg(0, signal.SIGKILL)
        if kind in WRITING:
            self._refuse(kind)

    def _refuse(self, kind: str) -> None:
        self.counts[1] += 1
        if self.fault == "EIO" and self.disk == self.at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.fault == "ENOSPC" and self.disk >= self.at and kind != "fsync":  # it stays full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def installed(points: Points) -> Iterator[None]:
    """A stretch in which the operations of this process pass by the points."""
    from chainrule.store import files

    usual = [(os, name, getattr(os, name)) for name in (*NAMES, "open")]
    usual += [(builtins, "open", io.open), (io, "open", io.open), (files, "_exchanged", files._exchanged)]
    for name in NAMES:
        setattr(os, name, _passing(points, name, getattr(os, name)))
    os.open = _low_opening(points, os.open)
    builtins.open = io.open = _opening(points, io.open)  # type: ignore[assignment]
    files._exchanged = _passing(points, "rename", files._exchanged)  # it is a call into the C library
    try:
        yield
    finally:
        for owner, name, one in usual:
            setattr(owner, name, one)


def install(fault: str = "", at: int = 0) -> Points:
    """Let the operations of this process pass by the points until it ends."""
    points = Points(fault, at)
    points.stretch = installed(points)
    points.stretch.__enter__()
    return points


def _passing(points: Points, kind: str, usual: Callable[..., Any]) -> Callable[..., Any]:
    def passing(*words: Any, **more: Any) -> Any:
        points.pass_by(kind)
        return usual(*words, **more)

    return passing


def _low_opening(points: Points, usual: Callable[..., int]) -> Callable[..., int]:
    def opening(path: Any, flags: int, *words: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and path != os.devnull:
            points.pass_by("open")
        return usual(path, flags, *words, **more)

    return opening


def _opening(points: Points, usual: Callable[..., Any]) -> Callable[..., Any]:
    class Raw(io.FileIO):
        """A file whose writing passes by the points."""

        def write(self, data: Any) -> int | None:  # type: ignore[override]
            if not self.isatty():
                points.pass_by("write")
            return super().write(data)

    def opening(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not set(mode) & set("wax+") or file == os.devnull:
            return usual(file, mode, buffering, encoding, errors, newline, closefd, opener)
        points.pass_by("open")
        raw = Raw(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        binary: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return binary
        return io.TextIOWrapper(binary, encoding or "utf-8", errors, newline)

    return opening
