"""File operations that fail or end the process at a chosen one: kill -9, a full disk, a broken one.

Installed in a forked process only. Operations are counted: opening for writing, handing bytes to the system, renaming,
exchanging, syncing, making and removing names. Processes that are forked from it count together with it.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import signal
from collections.abc import Callable
from typing import Any

WRITING = ("write", "open", "mkdir", "fsync")  # what a full or broken disk refuses
NAMES = ("replace", "rename", "mkdir", "unlink", "rmdir", "fsync", "truncate", "link")


class Points:
    """Counts operations, and lets the fault happen at one of them."""

    def __init__(self, fault: str, at: int) -> None:
        self.fault, self.at = fault, at
        self.counts = memoryview(mmap.mmap(-1, 16)).cast("q")  # shared by processes

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
        self.counts[0] += 1
        if self.count == self.at and self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count == self.at and self.fault == "kill all":
            os.killpg(0, signal.SIGKILL)
        if kind not in WRITING:
            return
        self.counts[1] += 1
        if self.fault == "EIO" and self.disk == self.at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.fault == "ENOSPC" and self.disk >= self.at and kind != "fsync":  # it stays full
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def install(fault: str = "", at: int = 0) -> Points:
    """Let the operations of this process pass by the points."""
    points = Points(fault, at)
    for name in NAMES:
        setattr(os, name, _passing(points, name, getattr(os, name)))
    builtins.open = io.open = _opening(points, io.open)  # type: ignore[assignment]
    os.open = _low_opening(points, os.open)
    _exchanging(points)
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


def _exchanging(points: Points) -> None:
    """The exchange of two folders is a call into the C library."""
    from chainrule.store import files

    files._exchanged = _passing(points, "rename", files._exchanged)


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
