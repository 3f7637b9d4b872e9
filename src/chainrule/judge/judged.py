"""Answers beside the right ones: what one can say about a model that answers, whatever its task."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    import numpy as np


class Share(float):
    """A number that people read in percent."""


Cell = str | int | float | Share
LINE_ENDS = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")  # tabs, too


def one_line(text: str) -> str:
    """A text in one cell of one line: its line ends and tabs written as in Python."""
    return "".join(repr(sign)[1:-1] if sign in LINE_ENDS else sign for sign in text)


@dataclass(frozen=True)
class Table:
    """Rows for people."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""


class Judged(ABC):
    """The answers of a model to the examples of one part of the data, and what was right."""

    sure: ClassVar[tuple[str, ...]] = ()  # the figures that are given an interval

    @property
    @abstractmethod
    def examples(self) -> int:
        """How many there are."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """The figures of one number each."""

    @abstractmethod
    def resampled(self, rows: np.ndarray) -> Self:
        """The same with these examples, some of them several times: for the bootstrap."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """What else there is to say, for scripts."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """What else there is to say, for people."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said beside the figures."""
        return ()


RESAMPLES, FEWEST = 1000, 100  # of the bootstrap: at least so few, where more would take too long


def resamples(judged: Judged, seconds: float, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Figures (R,) of test sets drawn with replacement from this one, by name; those that are `sure` if none is named.

    The same draws for every model that answered the same examples, so that figures of two of them are paired.
    """
    import numpy as np

    names = names or judged.sure
    count, random, began = judged.examples, np.random.default_rng(1), time.perf_counter()
    found: list[dict[str, float]] = []
    while count > 1 and len(found) < RESAMPLES:
        if len(found) >= FEWEST and time.perf_counter() - began > seconds:
            break
        found.append(judged.resampled(random.integers(0, count, count)).figures())
    return {name: np.array([one.get(name, np.nan) for one in found]) for name in names}
