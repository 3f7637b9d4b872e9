"""Temporary files, and the error for a full disk: they need room."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from chainrule.errors import DataError
from chainrule.store.files import FULL


@contextmanager
def room() -> Iterator[None]:
    """Turn a full disk into what a person can do about it."""
    try:
        yield
    except OSError as error:
        nowhere = isinstance(error, FileNotFoundError) and error.filename is None  # as `tempfile` says it
        if error.errno not in FULL and not nowhere:
            raise
        raise _advice(_folder(), str(error.strerror or error)) from error
    except sqlite3.OperationalError as error:
        raise _advice(os.environ.get("SQLITE_TMPDIR") or _folder(), str(error)) from error


def _folder() -> str:
    """Where temporary files go; asking `tempfile` fails once the disk is full."""
    return os.environ.get("TMPDIR") or tempfile.tempdir or "/tmp"


def _advice(folder: str, reason: str) -> DataError:
    return DataError(
        f"A temporary file could not be written in {folder} ({reason}). "
        "Free some space there, or set TMPDIR to a folder with more room."
    )


class Spool:
    """A temporary file for data that cannot be read twice; removed when nobody needs it any more."""

    def __init__(self, name: str, parts: Iterable[bytes], suffix: str = "") -> None:
        with room():
            handle, path = tempfile.mkstemp(suffix, "chainrule-")
        self.name, self.path = name, Path(path)  # `name` is where the data come from
        self._end = weakref.finalize(self, self.path.unlink, missing_ok=True)
        with room(), os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)
