"""Jobs: long commands as processes of their own, with a folder each, so that they outlive the page and the studio.

.studio/jobs/ID/job.json    what was asked for, its process, whether it was told to stop
                log.txt     what it says while it runs: lines of text, progress as lines of JSON
                out.json    what it answers in the end
                alive       locked by the process and those it starts, as long as one of them lives
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chainrule.store.files import write_text
from chainrule.studio.folder import Folder, Outside

JOB, LOG, OUT, ALIVE = "job.json", "log.txt", "out.json", "alive"
ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
RESUMES = ("fit", "compare")
RESUME = "--resume"


@dataclass(frozen=True)
class Job:
    """A command and its process."""

    id: str
    kind: str  # fit, compare, rate or export
    words: tuple[str, ...]  # after `chainrule`
    name: str  # of what it makes
    began: float
    pid: int | None = None
    stopped: bool = False  # it was told to
    times: int = 1  # how often it was started
    about: dict[str, Any] = field(default_factory=dict)  # what the page wants to know again


@dataclass(frozen=True)
class Jobs:
    """All jobs of a folder."""

    folder: Folder

    @property
    def place(self) -> Path:
        """Where their folders are."""
        return self.folder.own / "jobs"

    def all(self) -> list[Job]:
        """The newest first."""
        names = sorted(os.listdir(self.place), reverse=True) if self.place.is_dir() else []
        return [job for name in names if ID.fullmatch(name) and (job := self._read(name))]

    def find(self, id: str) -> Job:
        """One of them."""
        job = self._read(id) if ID.fullmatch(id) else None
        if job is None:
            raise Outside(f"There is no job {id!r}.")
        return job

    def _read(self, id: str) -> Job | None:
        try:
            values = json.loads((self.place / id / JOB).read_text(encoding="utf-8"))
            return Job(**{**values, "words": tuple(values["words"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _write(self, job: Job) -> None:
        write_text(self.place / job.id / JOB, json.dumps(asdict(job)))

    def start(self, kind: str, words: Sequence[str], name: str, **about: Any) -> Job:
        """Begin a command."""
        id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        (self.place / id).mkdir(parents=True)
        job = Job(id, kind, tuple(words), name, time.time(), about=about)
        return self._run(job, job.words)

    def _run(self, job: Job, words: Sequence[str]) -> Job:
        place = self.place / job.id
        with (
            open(place / LOG, "ab") as log,
            open(place / OUT, "wb") as out,
            open(place / ALIVE, "wb") as alive,
        ):
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            log.write(f'{{"began": {job.times}}}\n'.encode())
            log.flush()
            process = subprocess.Popen(
                [sys.executable, "-m", "chainrule", *words, "--json"],
                cwd=self.folder.root,
                env={**os.environ, "CHAINRULE_PROGRESS": "json"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the studio's terminal is not meant for it
                pass_fds=[alive.fileno()],
            )
        job = replace(job, pid=process.pid, began=time.time(), stopped=False)
        self._write(job)
        _reap(process)
        return job

    def lives(self, job: Job) -> bool:
        """Whether its process, or one that it started, still runs."""
        try:
            with open(self.place / job.id / ALIVE, "rb") as alive:
                fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def stop(self, id: str) -> Job:
        """Ask it to end as Ctrl-C does, so that a training keeps a checkpoint; asked again, end it at once."""
        job = self.find(id)
        if job.pid is None or not self.lives(job):
            return job
        with suppress(ProcessLookupError, PermissionError):
            if job.stopped:
                os.killpg(job.pid, signal.SIGKILL)
            else:
                os.kill(job.pid, signal.SIGINT)
        job = replace(job, stopped=True)
        self._write(job)
        return job

    def restart(self, id: str) -> Job:
        """Start a job again: a training that was stopped continues from its checkpoint."""
        job = self.find(id)
        if self.lives(job):
            raise Outside(f"{job.name} is still running.")
        words = [*job.words, RESUME] if job.kind in RESUMES and self._begun(job) else list(job.words)
        return self._run(replace(job, times=job.times + 1), words)

    def _begun(self, job: Job) -> bool:
        """Whether there is something to continue."""
        run = self.folder.root / f"{job.name}.run" if job.kind == "fit" else self.folder.root / job.name
        return run.is_dir()

    def remove(self, id: str) -> None:
        """Forget a job that has ended; what it made stays."""
        job = self.find(id)
        if self.lives(job):
            raise Outside(f"{job.name} is still running. Stop it first.")
        shutil.rmtree(self.place / id)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end in a thread, so that no dead process stays in the system's table."""
    threading.Thread(target=process.wait, daemon=True).start()
