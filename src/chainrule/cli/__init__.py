"""The command `chainrule`: each verb is a thin layer over what Python users call."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; the return value is its exit code: 0 well, 1 error, 2 usage, 130 stopped by Ctrl-C."""
    given = list(sys.argv[1:] if words is None else words)
    from chainrule.cli.app import run
    from chainrule.cli.failure import explain

    try:
        return run(given)
    except BrokenPipeError:
        # Whoever read our output has gone: say nothing more, not even while Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except BaseException as error:
        return explain(error, as_json="--json" in given, verbose="--verbose" in given)
