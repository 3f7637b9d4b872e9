"""Ratings in a file of JSON lines: each is on the disk before it is answered, so that nothing is lost.

The first line says what is rated. A line that was cut off by a crash is left out when the file is opened again; who
rates a pair again changes their mind, and the last rating counts.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from chainrule.errors import DataError

KIND = "chainrule ratings"
A, B, TIE = CHOICES = ("a", "b", "tie")


@dataclass(frozen=True)
class Subject:
    """What is rated."""

    a: str  # names of the two systems
    b: str
    pairs: int
    fingerprint: str  # of all texts


@dataclass(frozen=True)
class Rating:
    """One click."""

    rater: str
    pair: int  # from 0 on, as in the files
    choice: str  # which system is better, or neither
    left: str  # the system that stood on the left
    time: float


class Journal:
    """The ratings of a file, and a place for more."""

    def __init__(self, path: Path, subject: Subject, ratings: list[Rating]) -> None:
        self.path, self.subject, self.ratings = path, subject, ratings
        self.lock = threading.Lock()

    @classmethod
    def opened(cls, path: Path, subject: Subject | None = None) -> Self:
        """A file of ratings; begun if it is not there and what is to be rated is told."""
        if subject is not None and not (path.exists() and path.stat().st_size):
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, {"kind": KIND, **asdict(subject)})
        found, *lines = _lines(path)
        known = Subject(**{name: found[name] for name in Subject.__dataclass_fields__})
        if subject is not None and known.fingerprint != subject.fingerprint:
            raise DataError(
                f"{path} holds ratings of other texts ({known.a}, {known.b}). Choose another file: -o NEW"
            )
        return cls(path, known, [Rating(**one) for one in lines])

    def add(self, rater: str, pair: int, choice: str, left: str) -> None:
        """One more rating, on the disk when this returns."""
        one = Rating(rater, pair, choice, left, round(time.time(), 3))
        with self.lock:
            _append(self.path, asdict(one))
            self.ratings.append(one)

    def of(self, rater: str) -> dict[int, Rating]:
        """What one rater thinks of every pair, in the order in which it was rated."""
        found: dict[int, Rating] = {}
        for one in list(self.ratings):
            if one.rater == rater:
                found.pop(one.pair, None)
                found[one.pair] = one
        return found

    @property
    def raters(self) -> list[str]:
        """All who rated, in order of appearance."""
        return list(dict.fromkeys(one.rater for one in self.ratings))


def _append(path: Path, values: Any) -> None:
    """A line at the end of a file, after whatever a crash has left of another one."""
    line = (json.dumps(values, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """All whole lines; the first must be ours."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"The ratings in {path} cannot be read: {error.strerror}.") from error
    first, *rest = [_parsed(line) for line in text.split("\n")]
    if first is None or first.get("kind") != KIND or not Subject.__dataclass_fields__.keys() <= first.keys():
        raise DataError(f"{path} holds no ratings: `chainrule rate A.txt B.txt -o FILE` makes such a file.")
    yield first
    for one in rest:
        if one is not None and one.keys() == Rating.__dataclass_fields__.keys() and one["choice"] in CHOICES:
            yield one


def _parsed(line: str) -> dict[str, Any] | None:
    """A line of values; nothing for one that was cut off."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
