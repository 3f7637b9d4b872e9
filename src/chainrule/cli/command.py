"""One command from beginning to end: signals, streams, what is told of errors, and its exit code."""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, TextIO

GONE = 141  # what a shell calls a program that wrote to a closed pipe
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
SOON = 0.01  # seconds
VERBOSE = {"--verbose", "-v", "-vq", "-qv"}


class Ended(BaseException):
    """SIGTERM or SIGHUP arrived. Not a KeyboardInterrupt: that stands for Ctrl-C."""

    def __init__(self, number: int, handler: Any = signal.SIG_DFL) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}; nothing was written.")
        self.number, self.handler = number, handler  # which signal, and what raised this when it came
        self.code = 128 + number  # what a shell calls a program that a signal ended


class CtrlC:
    """The handler of Ctrl-C while a verb works. It remembers that it came: C code may make another error of it."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def meant(self, error: BaseException) -> BaseException:
        """An import that Ctrl-C has broken off is told as Ctrl-C."""
        return KeyboardInterrupt() if self.came and isinstance(error, ImportError) else error


def run(given: Sequence[str], began: float, alone: bool) -> int:
    """Run one command, which `began` at a moment of `time.monotonic`; `alone`: the process is for nothing else."""
    if sys.stderr is None:  # closed by a shell: what is said there must not land elsewhere
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    ctrl_c = CtrlC()
    try:
        with _ending():
            from chainrule.cli.app import run as run_verb

            for stream in (sys.stdout, sys.stderr):
                if isinstance(
                    stream, io.TextIOWrapper
                ):  # a sign that cannot be shown must not end the program
                    stream.reconfigure(errors="backslashreplace")
            _ctrl_c(ctrl_c, alone)
            code = run_verb(given, began)
            _ctrl_c(signal.SIG_DFL, alone)
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()
            return code
    except BaseException as error:
        _ctrl_c(signal.SIG_DFL, alone)
        if _reader_left(error):
            _forget(sys.__stdout__)
            return GONE
        return _explained(ctrl_c.meant(error), given)


def _ctrl_c(handler: Any, alone: bool) -> None:
    """What Ctrl-C does from here on: an exception while a verb works; the end when all is done and Python tidies up."""
    if alone:
        signal.signal(signal.SIGINT, handler)


def _raised_again(usual: Callable[[Any], object], unraisable: Any) -> None:
    """A signal in a place that cannot raise, such as a callback of an import, is not lost: it comes again."""
    number, error = signal.SIGINT, unraisable.exc_value
    if isinstance(error, Ended):
        number = signal.Signals(error.number)
        signal.signal(number, error.handler)
    elif not isinstance(error, KeyboardInterrupt):
        usual(unraisable)
        return
    again = threading.Timer(SOON, _thread.interrupt_main, (number,))  # at once, it would be raised right here
    again.daemon = True
    again.start()


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
        raise Ended(number, end)

    for number in taken:
        signal.signal(number, end)
    before = sys.unraisablehook
    sys.unraisablehook = partial(_raised_again, before)
    try:
        yield
    finally:
        sys.unraisablehook = before
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _reader_left(error: BaseException) -> bool:
    """Whether the program that read our output has gone; typer makes an exit of it."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)
