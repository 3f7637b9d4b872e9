"""The process in which a comparison forks its jobs, forked itself and not started, so that faults happen in it, too."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

from chainrule.choose import forks, worker

assert worker  # what is imported here need not be imported by every fork


def install() -> None:
    """Comparisons of this process fork."""
    forks.Forks._started = _begun  # type: ignore[method-assign]


class Server:
    """The process in which a comparison forks its jobs, forked itself, so that faults happen in it, too."""

    def __init__(self, out: Path) -> None:
        asked, ask = os.pipe()
        tell, told = os.pipe()
        self.returncode: int | None = None
        self.child = os.fork()
        if not self.child:
            os.close(ask), os.close(tell)
            self._serve(out, asked, told)
        os.close(asked), os.close(told)
        self.stdin, self.stdout = os.fdopen(ask, "w"), os.fdopen(tell)

    def _serve(self, out: Path, asked: int, told: int) -> None:
        try:
            with (out / "jobs" / forks.LOG).open("a") as errors:
                os.dup2(asked, 0), os.dup2(told, 1), os.dup2(errors.fileno(), 2)
            sys.stdin, sys.stdout = os.fdopen(0), io.TextIOWrapper(io.FileIO(1, "w"))
            forks.serve(out)
        finally:
            os._exit(0)

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        return self.returncode


def _begun(self: forks.Forks) -> Any:
    if self.process is None:
        self.process = Server(self.out)  # type: ignore[assignment]
    return self.process
