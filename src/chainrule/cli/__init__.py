"""The command `chainrule`: each verb is a thin layer over what Python users call."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

GONE = 141  # what a shell calls a program that wrote to a closed pipe


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; the return value is its exit code.

    0 well, 1 error, 2 wrong usage, 130 stopped by Ctrl-C, 141 nobody reads the output any more.
    """
    given = list(sys.argv[1:] if words is None else words)
    from chainrule.cli.app import run
    from chainrule.cli.failure import explain

    try:
        code = run(given)
        if sys.stdout is not None:  # a shell may have closed it
            sys.stdout.flush()
        return code
    except BaseException as error:
        if _reader_left(error):
            # Say nothing more, not even while Python shuts down.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
            return GONE
        return explain(error, as_json="--json" in given, verbose="--verbose" in given)


def _reader_left(error: BaseException) -> bool:
    """Whether the program that read our output has gone; typer makes an exit of it."""
    return isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError)
