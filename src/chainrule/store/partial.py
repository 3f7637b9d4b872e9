"""Names of what is still being written, `.NAME.xxxxxxxx.partial`; those whose writer is dead are removed.

A writer holds a lock on the file or folder that it is making, and the system lets go of it when the writer ends,
however it ends. So what nobody holds, nobody will finish.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing removed
    fcntl = None  # type: ignore[assignment]

YOUNG = 60.0  # seconds in which a writer surely takes its lock


def beside(target: Path, kind: str = "partial") -> Path:
    """A fresh name in the same folder, so that renaming stays on one disk; made folders obey the umask."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent / f".{target.name}.{secrets.token_hex(4)}.{kind}"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """A stretch in which a file or folder is known to have a writer."""
    descriptor = None
    try:
        with suppress(OSError):
            descriptor = None if fcntl is None else os.open(path, os.O_RDONLY)
        _lock(descriptor)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(descriptor: int | None) -> bool:
    """Whether nobody else has it; of file systems without locks nothing is known."""
    try:
        if fcntl is not None and descriptor is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        pass
    return False


def sweep(target: Path) -> None:
    """Remove what writers of this place have left that were killed."""
    form = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.partial")
    with suppress(OSError):
        for name in filter(form.fullmatch, os.listdir(target.parent)):
            with suppress(OSError):
                _remove_if_dead(target.parent / name)


def _remove_if_dead(path: Path) -> None:
    if path.is_symlink() or time.time() - path.stat().st_mtime < YOUNG:
        return
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if _lock(descriptor):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
