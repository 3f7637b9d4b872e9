"""Ids kept on disk between runs, by content: what was encoded once is mapped into memory the next time.

An entry is `<key>.ids` (int32) and `<key>.json` (what it must look like, checksum included), both written
aside and renamed; the JSON comes last, so an entry without it is not there. CHAINRULE_CACHE says where,
CHAINRULE_CACHE_LIMIT how much (20G); the entries used longest ago are dropped first.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from chainrule.config import amount
from chainrule.errors import ConfigError
from chainrule.store.files import write_text
from chainrule.symbols import BOS, EOS

LIMIT = 20_000_000_000  # bytes
PART = 1 << 23  # bytes checked at once
DAY = 86_400.0  # seconds: a run that writes is younger


def folder() -> Path:
    """Where ids are kept; for a user without a home, where nothing can be."""
    if given := os.environ.get("CHAINRULE_CACHE"):
        return Path(given)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chainrule"
    except RuntimeError:  # neither HOME nor an entry among the users
        return Path(os.devnull) / "chainrule"


def limit() -> int:
    """How many bytes are kept at most."""
    given = os.environ.get("CHAINRULE_CACHE_LIMIT")
    try:
        return amount(given) if given else LIMIT
    except ValueError as error:
        raise ConfigError(f"CHAINRULE_CACHE_LIMIT should be a size such as 20G, not {given!r}.") from error


@dataclass(frozen=True)
class Entry:
    """What the ids of an entry must look like."""

    positions: int
    checksum: int  # CRC-32
    sequences: int
    bytes: int
    unknown: int
    skipped: int

    def __post_init__(self) -> None:
        for value in self.__dict__.values():
            if type(value) is not int or value < 0:  # a file can say anything
                raise ValueError(f"{value!r} is no count.")


def find(key: str, size: int) -> tuple[np.ndarray, Entry] | None:
    """The ids kept under a key, mapped, if they are there, whole, and ids of a vocabulary of `size`."""
    path, facts = _paths(key)
    try:
        entry = Entry(**json.loads(facts.read_text(encoding="utf-8")))
        if path.stat().st_size != 4 * entry.positions or checksum(path) != entry.checksum:
            return None
        ids = mapped(path, entry.positions)
        os.utime(facts)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return (ids, entry) if _sound(ids, size) else None


def _sound(ids: np.ndarray, size: int) -> bool:
    """Whether kernels may index by these ids: a checksum that fits says nothing of who has written it."""
    if not len(ids) or ids[0] != BOS or ids[-1] != EOS:
        return False
    parts = (ids[begin : begin + PART] for begin in range(0, len(ids), PART))
    return all(part.min() >= 0 and part.max() < size for part in parts)


def mapped(path: Path, positions: int) -> np.ndarray:
    """(positions,) int32 from a file; private, so that kernels take them like any other array."""
    return np.memmap(path, np.int32, "c", shape=(positions,)) if positions else np.empty(0, np.int32)


def checksum(path: Path) -> int:
    """CRC-32 of a file."""
    found = 0
    with path.open("rb") as file:
        while part := file.read(PART):
            found = zlib.crc32(part, found)
    return found


class Writer:
    """Ids on their way to disk: counts and checks as it writes."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.positions, self.checksum = file, 0, 0

    def write(self, ids: np.ndarray) -> None:
        """Add ids at the end."""
        data = np.ascontiguousarray(ids, np.int32).view(np.uint8).data
        self.file.write(data)
        self.positions += len(ids)
        self.checksum = zlib.crc32(data, self.checksum)


def keep(key: str, entry: Entry) -> None:
    """Make an entry whose ids are written known, and drop the oldest ones above the limit."""
    _, facts = _paths(key)
    write_text(facts, json.dumps(entry.__dict__) + "\n")
    drop(limit(), {key})
    _sweep()


def forget(key: str) -> None:
    """Remove an entry."""
    for path in _paths(key)[::-1]:
        path.unlink(missing_ok=True)


def ids_path(key: str) -> Path:
    """Where the ids of a key are."""
    return _paths(key)[0]


def drop(most: int, keys: Iterable[str] = ()) -> None:
    """Remove entries, oldest first, until at most `most` bytes are left; `keys` stay."""
    kept, total = set(keys), 0
    facts = sorted(folder().glob("*.json"), key=_used, reverse=True)
    for path in sorted(facts, key=lambda path: path.stem not in kept):
        ids = path.with_suffix(".ids")
        total += ids.stat().st_size if ids.exists() else 0
        if total > most and path.stem not in kept:
            path.unlink(missing_ok=True)
            ids.unlink(missing_ok=True)


def _sweep() -> None:
    """Remove what runs that were killed have left."""
    for path in folder().iterdir():
        orphan = path.suffix == ".ids" and not path.with_suffix(".json").exists()
        if (orphan or path.suffix == ".partial") and time.time() - _used(path) > DAY:
            path.unlink(missing_ok=True)


def _used(path: Path) -> float:
    """When it was last used."""
    try:
        return path.stat().st_mtime
    except OSError:  # another run dropped it
        return 0.0


def _paths(key: str) -> tuple[Path, Path]:
    return folder() / f"{key}.ids", folder() / f"{key}.json"
