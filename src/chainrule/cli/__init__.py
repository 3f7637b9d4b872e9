"""The command `chainrule`: each verb is a thin layer over what Python users call.

Nothing is imported here but what Python imports for its own start, so that a handler for Ctrl-C is in place at once.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    import _signal as signal  # what `signal` is made of, without the enumerations it imports first

STOPPED = 130  # what a shell calls a program that Ctrl-C ended


def main(words: Sequence[str] | None = None) -> int:
    """Run one command, of the command line if none is given; the return value is its exit code.

    0 success, 1 error, 2 wrong usage, 129 ended by SIGHUP, 130 stopped by Ctrl-C, 141 broken pipe, 143 ended by
    SIGTERM.
    """
    began = time.monotonic()
    alone = words is None and ready()
    from chainrule.cli.command import run

    return run(list(sys.argv[1:] if words is None else words), began, alone)


def ready() -> bool:
    """From here on Ctrl-C is a message. Whether this is so: where somebody else has said what it does, it is not."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    return signal.getsignal(signal.SIGINT) is _stop


def _stop(number: int, frame: object) -> None:
    """Ctrl-C before anything was begun. An exception would come out of whatever is being imported, as a traceback."""
    try:
        os.write(2, b"chainrule: stopped; nothing was written.\n")
        if "--json" in sys.argv:
            os.write(1, b'{"error": "stopped; nothing was written."}\n')
    finally:
        os._exit(STOPPED)
