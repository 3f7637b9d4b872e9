"""Tiny data to try things with, one kind each, made by a few lines of code: the same on every machine.

Each has something to find: weather has seasons, visitors have habits, genes have a period and a signal before them,
temperatures have days, and a hand that stirs has a direction. Those with a source and a target show what a text can be
written from. `text` is the documentation that ships inside every Python, so it is that of your version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from chainrule.data.examples import aligned, dates, measured, pictures, series, written
from chainrule.data.examples.chance import Row
from chainrule.errors import ConfigError, suggest

SEED = 1


@dataclass(frozen=True)
class Example:
    """A file that can be made again, and how commands are told what is in it."""

    file: str
    about: str  # a line for people
    rows: Callable[[Random], Iterable[Row | str]]
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


@dataclass(frozen=True)
class Made:
    """A table or a text, and the files that it names, relative to it."""

    file: str
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)


TRAINING = ("--codec", "words", "--where", "part = train")  # the other parts are for testing
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
    "recall": Example(
        "recall.txt",
        "a letter, digits in between, and the letter again: how far back does a model remember? (text)",
        series.recall,
        ("--codec", "words"),
    ),
    "dates": Example(
        "dates.tsv",
        "dates as people write them, and in ISO 8601 (TSV: human, iso)",
        dates.lines,
        ("--codec", "characters"),
        source="human",
        target="iso",
    ),
    "aligned": Example(
        "aligned.tsv",
        "sentences in an invented language, and which word translates which (TSV: source, target, alignment, part)",
        aligned.lines,
        TRAINING,
        source="source",
        target="target",
    ),
    "styles": Example(
        "styles.tsv",
        "what an author writes about a topic (TSV: author, topic, text, part)",
        written.styles,
        TRAINING,
        source="author,topic",
        target="text",
    ),
    "captions": Example(
        "captions.tsv",
        "drawn shapes and what they show (TSV: image, caption, part; and PNG files)",
        pictures.captions,
        TRAINING,
        source="image",
        target="caption",
    ),
    "questions": Example(
        "questions.tsv",
        "questions about two drawn shapes (TSV: question, image, answer, part; and PNG files)",
        pictures.questions,
        TRAINING,
        source="question,image",
        target="answer",
    ),
    "weeks": Example(
        "weeks.jsonl",
        "a week of measurements and its weather report (JSON lines: week, report, part)",
        measured.weeks,
        TRAINING,
        source="week",
        target="report",
    ),
    "digits": Example(
        "digits.tsv",
        "digits said by a synthetic voice, in words (TSV: sound, words, part; and WAV files)",
        measured.digits,
        TRAINING,
        source="sound",
        target="words",
    ),
    "summaries": Example(
        "summaries.tsv",
        "a chronicle, and the news in it (TSV: document, summary, part)",
        written.summaries,
        TRAINING,
        source="document",
        target="summary",
    ),
    "documents": Example(
        "documents.tsv",
        "questions about documents, some of 5,000 words (TSV: question, document, answer, part)",
        written.documents,
        TRAINING,
        source="question,document",
        target="answer",
    ),
}
EXAMPLES: Mapping[str, str] = {name: one.about for name, one in MADE.items()}


def example(name: str) -> tuple[str, str]:
    """The file name and the content of an example."""
    found = made(name)
    return found.file, found.text


def made(name: str) -> Made:
    """All of an example: its table or text, and the files that are named in it."""
    one = example_named(name)
    rows = list(_rows(one.rows(Random(SEED))))
    files = {name: data for row in rows for name, data in row.files.items()}
    return Made(one.file, "".join(f"{row.line}\n" for row in rows), files)


def _rows(given: Iterable[Row | str]) -> Iterator[Row]:
    return (Row(one) if isinstance(one, str) else one for one in given)


def example_named(name: str) -> Example:
    """What there is to know of it."""
    if name not in MADE:
        raise ConfigError(f"There is no example {name!r}. {suggest(name, EXAMPLES)}")
    return MADE[name]
