"""Trainings that are killed at random moments: each is a fork of one process that has imported everything."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SERVER = """
import os, sys
sys.path[:0] = sys.argv[1:3]
from {module} import {function} as job
for line in sys.stdin:
    child = os.fork()
    if not child:
        code = 1
        try:
            job(*sys.argv[3:])
            code = 0
        finally:
            os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def killed_at_random(file: str, function: str, words: Sequence[str], kills: int, seconds: float) -> int:
    """Run a function of a test file again and again, killed up to so many times after it prints "go"; the last time it
    ends by itself. Gives how often it was killed. All times together it is given about 0.2 of the `seconds` that it
    takes without being killed.
    """
    program = SERVER.format(module=Path(file).stem, function=function)
    folders = [str(folder) for folder in Path(file).parents[:2]]
    command, rng, done = [sys.executable, "-c", program, *folders, *words], np.random.default_rng(0), 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, bufsize=0, **pipes) as server:  # type: ignore[call-overload]
        while True:
            server.stdin.write(b"\n")
            child = int(_line(server))
            assert _line(server) == b"go\n"
            left = None if done == kills else 0.4 * seconds / kills * float(rng.random())
            if not select.select([server.stdout], [], [], left)[0]:
                os.kill(child, signal.SIGKILL)
            code = int(_line(server))
            if code == 0:
                server.stdin.close()
                return done
            assert code == -signal.SIGKILL
            done += 1


def _line(server: subprocess.Popen[bytes]) -> bytes:
    """One line, and not a byte more, so that waiting for the next one works."""
    assert server.stdout is not None
    return server.stdout.readline()
