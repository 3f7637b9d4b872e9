"""Several processes behind one address: forks of one that has loaded the models, so that they share the weights.

One that dies is replaced. All accept from the same socket, so no connection is lost with it but its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM)
AGAIN = 1.0  # seconds between two starts of the same worker


class Workers:
    """Keeps so many processes running until a signal says stop."""

    def __init__(self, count: int, work: Callable[[int], None]) -> None:
        self.work = work
        self.numbers: dict[int, int] = {}  # of each process, which worker it is
        self.began = [0.0] * count  # when each was started
        self.count, self.stopping = count, False

    def run(self) -> None:
        """Start them, replace those that die, and stop them all in the end."""
        kept = {number: signal.signal(number, self._stop) for number in ENDING}
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
        self.began[number] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # one that comes now is for parent and child alike
        process = os.fork()
        if not process:
            self._worked(number)
        self.numbers[process] = number
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def _worked(self, number: int) -> NoReturn:
        """In the new process. Ctrl-C is for the one that started it, which tells it to end."""
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            self.work(number)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
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
            time.sleep(max(0.0, AGAIN - (time.monotonic() - self.began[number])))
            if not self.stopping:
                self._start(number)

    def _stop(self, number: int, frame: object) -> None:
        self.stopping = True
        for process in list(self.numbers):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)
