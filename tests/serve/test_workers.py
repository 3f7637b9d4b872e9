"""Several processes: one that is killed is replaced, and a signal ends them all, whenever it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAM = """
import os, time
from chainrule.serve.workers import Workers

def work(number):
    os.write(1, f"{number}\\n".encode())  # in one piece: the other writes, too
    time.sleep(60)

Workers(2, work).run()
print("over", flush=True)
"""


@contextmanager
def begun() -> Iterator[subprocess.Popen[str]]:
    """A program with two workers, which does not outlive a test that fails."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_one_that_is_killed_is_replaced_and_a_signal_ends_all() -> None:
    with begun() as process:
        assert process.stdout is not None
        assert sorted(process.stdout.readline() for _ in range(2)) == ["0\n", "1\n"]
        first = children(process.pid)[0]
        os.kill(first, signal.SIGKILL)
        assert process.stdout.readline() in ("0\n", "1\n")
        after = children(process.pid)
        assert len(after) == 2 and first not in after
        process.terminate()
        assert process.stdout.readline() == "over\n" and process.wait(20) == 0
        assert not any(Path(f"/proc/{one}").exists() for one in after)


def test_a_signal_that_comes_while_one_is_replaced_ends_all() -> None:
    with begun() as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)]
        os.kill(children(process.pid)[0], signal.SIGKILL)
        process.terminate()
        assert process.wait(20) == 0
