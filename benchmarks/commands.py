"""One command, in this process or in one of its own, with a fault at one of its file operations or a signal."""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import served
import shim
import typer.main
from faults import Hang
from verbs import SAVES

from chainrule.cli import main
from chainrule.cli.failure import explain

PATIENCE = 240.0  # seconds for one command, which takes a few: other programs may keep the machine busy
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
typer.main.get_command = cache(typer.main.get_command)  # made once, not for every command


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    told: str
    counts: tuple[int, int] = (0, 0)  # file operations, and those a disk can refuse
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """Success or a clean refusal; anything else is an error of the program."""
        if "Traceback" in self.told or "chainrule: unexpected" in self.told:
            begin = max(0, self.told.find("Traceback") - 200)
            raise RuntimeError(f"{self.code}: {self.told[begin:].strip()[:900]}")
        if self.code not in (0, 1, 2, -signal.SIGKILL, *SIGNALS.values(), *(-one for one in SIGNALS)):
            raise RuntimeError(f"it ended with {self.code}: {self.told.strip()[-300:]}")
        return "success" if self.code == 0 else "refused"


@contextmanager
def beside_it(examples: Path) -> Iterator[Path]:
    """A folder for a command, beside the examples."""
    with tempfile.TemporaryDirectory(dir=examples.parent) as folder:
        yield Path(folder)


def _run(words: list[str], alone: bool) -> int:
    """What a command does, or what Python users do, told as a command tells it."""
    if words[0] not in SAVES:
        return main() if alone else main(words)
    try:
        SAVES[words[0]](*words[1:])
    except Exception as error:
        return explain(error, False, False)
    except KeyboardInterrupt:  # a program in Python decides itself what becomes of it
        return SIGNALS[signal.SIGINT]
    return 0


def here(words: list[str], points: shim.Points) -> Ended:
    """A command in this process, its file operations passing by the points."""
    out, err, began = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), time.monotonic()
    served.install()
    with redirect_stdout(out), redirect_stderr(err), shim.installed(points):
        code = _run(words, False)
    return Ended(code, err.getvalue(), (points.count, points.disk), time.monotonic() - began)


def executed(
    words: list[str],
    fault: str = "",
    at: int = 0,
    send: tuple[int, float] | None = None,
    points: shim.Points | None = None,
) -> Ended:
    """A command in a process of its own."""
    points, began = points or shim.Points(fault, at), time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the command is there to hear it
    with tempfile.TemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as told:
        child = os.fork()
        if not child:
            _execute(words, points, told.fileno())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        if send is not None:
            time.sleep(send[1])
            os.kill(child, send[0])
        code = _waited(child)
        told.seek(0)
        text = told.read().decode("utf-8", "replace")
    return Ended(code, text, (points.count, points.disk), time.monotonic() - began)


def _execute(words: list[str], points: shim.Points, told: int) -> None:
    code = 99
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(told, 1), os.dup2(told, 2)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w")) for number in (1, 2))
        served.install()
        sys.argv = ["chainrule", *words]
        with shim.installed(points):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            code = _run(words, True)  # with the handlers of a command
        sys.stdout.flush(), sys.stderr.flush()
    finally:
        os._exit(code)


def _waited(child: int) -> int:
    until, pause = time.monotonic() + PATIENCE, 0.001
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.02, 1.2 * pause)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Hang


def command(*words: object) -> str:
    """The outcome of a command."""
    return executed([*map(str, words), "-q"]).outcome
