"""A process for every job, without starting Python for each: one that has imported and read everything forks.

    python -m chainrule.choose.forks OUT

takes names of jobs on standard input. A line of JSON with the child's `pid` begins a job and one with `ended`, its exit
code, ends it; what the child says stands between them. Where a system cannot fork, a new process is started.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chainrule.errors import BundleError

Event = Mapping[str, Any]
LOG = "forks.log"
CAN_FORK = sys.platform == "linux"


class Forks:
    """The side that asks: starts the process that forks when there is a first job, and again if it has died."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.process: subprocess.Popen[str] | None = None
        self.child: int | None = None  # the process that does the job

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is not None:
            self.stop(signal.SIGTERM)  # a training keeps a checkpoint
        self.close()

    def run(self, path: Path) -> Iterator[Event]:
        """What one job says; the last event has its exit code, `ended`."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{path}\n")
            process.stdin.flush()
            for line in process.stdout:
                event = _parsed(line)
                if "pid" in event:
                    self.child = int(event["pid"])
                else:
                    yield event
                if "ended" in event:
                    self.child = None
                    return
        except BrokenPipeError:
            pass
        self.close()
        yield {"ended": process.returncode or -signal.SIGKILL}

    def stop(self, number: signal.Signals) -> None:
        """Send a signal to whoever does the job now."""
        if self.child is not None:
            with suppress(ProcessLookupError):
                os.kill(self.child, number)

    def close(self) -> None:
        """Let it end: nothing more is asked."""
        if self.process is not None:
            assert self.process.stdin is not None
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
        self.process = self.child = None

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            words = [sys.executable, "-m", "chainrule.choose.forks", str(self.out)]
            pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            with (self.out / "jobs" / LOG).open("a") as errors:  # Ctrl-C in a terminal is for whoever asks
                self.process = subprocess.Popen(words, stderr=errors, start_new_session=True, **pipes)
        return self.process


def _parsed(line: str) -> Event:
    """A line of JSON; nothing where something else was printed."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# The side that forks.


def serve(out: Path) -> None:
    """Do one job after another until nothing more is asked."""
    for line in sys.stdin:
        path = Path(line.rstrip("\n"))
        code = _forked(path) if CAN_FORK else _launched(path)
        print(json.dumps({"ended": code}), flush=True)


def _forked(path: Path) -> int:
    """The exit code of a child that has everything this process has."""
    from chainrule.choose.worker import ready

    try:
        ready(path)
    except (BundleError, OSError) as error:
        path.with_suffix(".log").write_text(f"{error}\n")
        return 1
    child = os.fork()
    if child == 0:
        os._exit(_child(path))
    print(json.dumps({"pid": child}), flush=True)
    return _waited(child)


def _waited(child: int) -> int:
    """The exit code of a child, which is stopped when whoever asked has gone: then standard input ends."""
    descriptor = os.pidfd_open(child)
    ended, _, _ = select.select([descriptor, sys.stdin], [], [])
    os.close(descriptor)
    if descriptor not in ended:
        os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _child(path: Path) -> int:
    """One job, complaints going to a file of its own. Whatever happens, the fork ends here."""
    from chainrule.choose.worker import main

    errors = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(errors, 2)
    try:
        code = main(path)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    return code


def _launched(path: Path) -> int:
    """The exit code of a new process."""
    words = [sys.executable, "-m", "chainrule.choose.worker", str(path)]
    with path.with_suffix(".log").open("w") as errors, subprocess.Popen(words, stderr=errors) as process:
        print(json.dumps({"pid": process.pid}), flush=True)
        return process.wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
