"""The command `chainrule`: each verb is a thin layer over what Python users call."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

GONE = 141  # what a shell calls a program that wrote to a closed pipe
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
VERBOSE = {"--verbose", "-v", "-vq", "-qv"}


class Ended(BaseException):
    """SIGTERM or SIGHUP arrived. Not a KeyboardInterrupt: that stands for Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}; nothing was written.")
        self.code = 128 + number  # what a shell calls a program that a signal ended


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; the return value is its exit code.

    0 success, 1 error, 2 wrong usage, 129 ended by SIGHUP, 130 stopped by Ctrl-C, 141 broken pipe, 143 ended by
    SIGTERM.
    """
    began = time.monotonic()
    given = list(sys.argv[1:] if words is None else words)
    if sys.stderr is None:  # closed by a shell: what is said there must not land elsewhere
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        with _ending():
            from chainrule.cli.app import run

            for stream in (sys.stdout, sys.stderr):
                if isinstance(
                    stream, io.TextIOWrapper
                ):  # a sign that cannot be shown must not end the program
                    stream.reconfigure(errors="backslashreplace")
            code = run(given, began)
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()
            return code
    except BaseException as error:
        if _reader_left(error):
            _forget(sys.__stdout__)
            return GONE
        return _explained(error, given)


def _explained(error: BaseException, given: Sequence[str]) -> int:
    from chainrule.cli.failure import explain

    options = set(given[: given.index("--")] if "--" in given else given)
    code = explain(error, as_json="--json" in options, verbose=bool(VERBOSE & options))
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _forget(stream)
    return code


def _forget(stream: TextIO | None) -> None:
    """Discard what cannot be written, so that Python does not complain about it while it shuts down."""
    try:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        return


@contextmanager
def _ending() -> Iterator[None]:
    """A stretch in which SIGTERM and SIGHUP are exceptions, so that everything is cleaned up as after Ctrl-C.

    One that is ignored, as by nohup, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        for other in taken:
            signal.signal(other, signal.SIG_IGN)  # cleaning up is not interrupted again
        raise Ended(number)

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _reader_left(error: BaseException) -> bool:
    """Whether the program that read our output has gone; typer makes an exit of it."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)
