"""Several processes behind one address: forks of one that has loaded the models, so that they share the weights.

One that dies is replaced. All accept from the same socket, so no connection is lost with it but its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

AGAIN = 1.0  # seconds between two starts of the same worker


class Workers:
    """Keeps so many processes running until a signal says stop."""

    def __init__(self, count: int, work: Callable[[int], None]) -> None:
        self.work = work
        self.numbers: dict[int, int] = {}  # of each process, which worker it is
        self.count, self.stopping = count, False

    def run(self) -> None:
        """Start them, replace those that die, and stop them all in the end."""
        kept = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for number in range(self.count):
                self._start(number)
            while self.numbers:
                self._wait()
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self.numbers[process] = number
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # Ctrl-C is for the one that started us, which tells us
            self.work(number)
            code = 0
        finally:
            os._exit(code)

    def _wait(self) -> None:
        """Until one has ended; unless all are to end, another takes its place."""
        try:
            process, _ = os.wait()
        except (ChildProcessError, InterruptedError):
            return
        number = self.numbers.pop(process, None)
        if number is not None and not self.stopping:
            print(f"worker {number} ended and is started again", file=sys.stderr, flush=True)
            time.sleep(0.0 if len(self.numbers) else AGAIN)
            if not self.stopping:
                self._start(number)

    def _stop(self, number: int, frame: object) -> None:
        self.stopping = True
        for process in list(self.numbers):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
