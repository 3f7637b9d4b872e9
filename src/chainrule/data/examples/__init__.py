"""Tiny data to try things with, one kind each, made by a few lines of code: the same on every machine.

Each has something to find: weather has seasons, visitors have habits, genes have a period and a signal before them,
temperatures have days, and a hand that stirs has a direction. Those with a source and a target show what a text can be
written from. `text` is the documentation that ships inside every Python, so it is that of your version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random

from chainrule.data.examples import dates, series
from chainrule.errors import ConfigError, suggest

SEED = 1


@dataclass(frozen=True)
class Example:
    """A file that can be made again, and how commands are told what is in it."""

    file: str
    about: str  # a line for people
    lines: Callable[[Random], Iterator[str]]
    options: tuple[str, ...] = ()  # of every command that reads the data
    label: str | None = None  # the column to predict, where it is not what comes next
    source: str | None = None  # the columns a text is written from,
    target: str | None = None  # and that of the text

    @property
    def task(self) -> tuple[str, ...]:
        """What `fit` is told besides; nothing where symbols are predicted."""
        if self.source and self.target:
            return "--source", self.source, "--target", self.target
        return ("--label", self.label) if self.label else ()


MADE: Mapping[str, Example] = {
    "weather": Example(
        "weather.csv",
        "one state a day for twenty years: sun, cloud, rain or snow (CSV: date, state)",
        series.weather,
        ("--column", "state"),
    ),
    "visits": Example(
        "visits.csv",
        "pages that visitors of a shop looked at (CSV: user, time, page)",
        series.visits,
        ("--column", "page", "--group", "user", "--sort", "time"),
    ),
    "dna": Example(
        "dna.txt",
        "stretches of DNA, one a line, with a signal, a start and a period of three (letters)",
        series.dna,
    ),
    "numbers": Example(
        "numbers.csv",
        "temperature of every hour for two hundred days (CSV: time, value)",
        series.numbers,
        ("--column", "value"),
    ),
    "sensors": Example(
        "sensors.csv",
        "a sensor on a hand that stirs, 20 times a second (CSV: session, time, x, y, z, motion, turns)",
        series.sensors,
        ("--column", "x,y,z", "--group", "session", "--sort", "time"),
        label="motion",
    ),
    "text": Example("text.txt", "paragraphs of Python's own documentation, one a line (text)", series.text),
    "dates": Example(
        "dates.tsv",
        "dates as people write them, and in ISO 8601 (TSV: human, iso)",
        dates.lines,
        ("--codec", "characters"),
        source="human",
        target="iso",
    ),
}
EXAMPLES: Mapping[str, str] = {name: one.about for name, one in MADE.items()}


def example(name: str) -> tuple[str, str]:
    """The file name and the content of an example."""
    found = example_named(name)
    return found.file, "".join(f"{line}\n" for line in found.lines(Random(SEED)))


def example_named(name: str) -> Example:
    """What there is to know of it."""
    if name not in MADE:
        raise ConfigError(f"There is no example {name!r}. {suggest(name, EXAMPLES)}")
    return MADE[name]
