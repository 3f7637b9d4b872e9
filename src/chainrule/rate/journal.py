"""Ratings in a file of JSON lines: each is on the disk before it is answered, so that nothing is lost.

The first line says what is rated. A line that was cut off by a crash is left out when the file is opened again; who
rates a pair again changes their mind, and the last rating counts.
"""

from __future__ import annotations

import json
import os
import threading
import time
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

    def __init__(self, path: Path, subject: Subject, ratings: list[Rating], damaged: int = 0) -> None:
        self.path, self.subject, self.ratings = path, subject, ratings
        self.damaged = damaged  # lines that are no ratings and do not count
        self.lock = threading.Lock()

    @classmethod
    def opened(cls, path: Path, subject: Subject | None = None) -> Self:
        """A file of ratings; begun if it is not there and what is to be rated is told."""
        if subject is not None and not (path.exists() and path.stat().st_size):
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, {"kind": KIND, **asdict(subject)})
        known, *lines = _lines(path)
        if subject is not None and known.fingerprint != subject.fingerprint:
            raise DataError(
                f"{path} holds ratings of other texts ({known.a}, {known.b}). Choose another file: -o NEW"
            )
        if subject is not None and known.pairs != subject.pairs:
            raise DataError(
                f"The first line of {path} is damaged: it says {known.pairs} pairs, and these texts are "
                f"{subject.pairs:,}. Correct the number there; ratings of pairs beyond it would not count."
            )
        ratings = [one for one in lines if isinstance(one, Rating) and 0 <= one.pair < known.pairs]
        return cls(path, known, ratings, len(lines) - len(ratings))

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


def _lines(path: Path) -> tuple[Subject, *tuple[Rating | None, ...]]:
    """What is rated, then a rating for each line, or nothing where a line was damaged or cut off."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise DataError(f"The ratings in {path} cannot be read: {error.strerror}.") from error
    first, *rest = [_parsed(line) for line in text.split("\n") if line.strip()] or [{}]
    subject = {name: value for name, value in first.items() if name != "kind"}
    if first.get("kind") != KIND or not _typed(Subject, subject) or subject["pairs"] < 1:
        raise DataError(f"{path} holds no ratings: `chainrule rate A.txt B.txt -o FILE` makes such a file.")
    return Subject(**subject), *map(_rating, rest)


def _rating(values: dict[str, Any]) -> Rating | None:
    sound = _typed(Rating, values) and values["choice"] in CHOICES and values["left"] in (A, B)
    return Rating(**values) if sound else None


def _typed(kind: type[Subject] | type[Rating], values: dict[str, Any]) -> bool:
    """Whether these are its fields, each of its type."""
    wanted = {"str": str, "int": int, "float": int | float}
    return values.keys() == kind.__dataclass_fields__.keys() and all(
        isinstance(values[name], wanted[str(one.type)]) and not isinstance(values[name], bool)
        for name, one in kind.__dataclass_fields__.items()
    )


def _parsed(line: str) -> dict[str, Any]:
    """A line of values; none for one that was damaged or cut off."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
