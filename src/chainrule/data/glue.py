"""The files of GLUE and SNLI as published, recognised by their first line: one table with text, pair, label and id.

Cells of a line are what lies between tabs: a quote is a character like any other. Lines with another number of cells
than the first one are broken; they and examples without a gold label (-) are left out, and both are counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainrule.data.paths import Stamp
from chainrule.data.room import Spool
from chainrule.data.rows import LABEL, PAIR, TEXT
from chainrule.data.streams import chunks, text_lines, utf8
from chainrule.errors import DataError

if TYPE_CHECKING:
    from chainrule.data.sources import Source

GLUE = "glue"  # the format's name
NO_GOLD = "-"  # the label of examples that people did not agree on
IDS = ("index", "id", "pairID")
EXPECTED = (
    "Expected is a file of CoLA, SST-2, MRPC, QQP, STS-B, MNLI, QNLI, RTE, WNLI or SNLI as published: train.tsv, "
    "dev.tsv, test.tsv, snli_1.0_train.jsonl, …"
)


@dataclass(frozen=True)
class Layout:
    """How the files of one task look: the columns of its texts and of its labels."""

    task: str
    text: str
    pair: str | None
    label: str

    def fits(self, names: set[str]) -> bool:
        """Whether a file with these columns may be one of them; those to be tested have no labels."""
        return {self.text, self.pair or self.text} <= names


LAYOUTS = (  # those that have a label are looked for first
    Layout("MRPC", "#1 String", "#2 String", "Quality"),
    Layout("QQP", "question1", "question2", "is_duplicate"),
    Layout("STS-B", "sentence1", "sentence2", "score"),
    Layout("MNLI or SNLI", "sentence1", "sentence2", "gold_label"),
    Layout("QNLI", "question", "sentence", "label"),
    Layout("RTE or WNLI", "sentence1", "sentence2", "label"),
    Layout("SST-2", "sentence", None, "label"),
)
NUMBERS = next(one for one in LAYOUTS if one.task == "STS-B")  # whose labels are numbers
COLA = Layout("CoLA", "3", None, "1")  # has no first line of names: its columns are numbers
COLUMNS = 4  # of CoLA


@dataclass
class Reader:
    """Reads files and counts what it leaves out."""

    encoding: str | None
    broken: int = 0
    no_gold: int = 0
    first: str = ""  # where the first broken line is, and what is wrong with it
    tasks: dict[str, Layout] = field(default_factory=dict)

    def rows(self, path: Path, name: str) -> Iterator[bytes]:
        """The examples of one file as lines of JSON."""
        lines = text_lines(utf8(chunks(path, name), name, self.encoding))
        first = next(lines, "").strip("\r\n")
        found = self._json if first.startswith("{") else self._cells
        layout, rows = found(name, first, lines)
        self.tasks[layout.task] = layout
        for row in rows:
            if row.get(layout.label) == NO_GOLD:
                self.no_gold += 1
                continue
            wanted = {TEXT: layout.text, PAIR: layout.pair, LABEL: layout.label}
            told = {role: row[column] for role, column in wanted.items() if column and column in row}
            ids = [row[one] for one in IDS if one in row]
            yield json.dumps(told | ({"id": str(ids[0])} if ids else {})).encode() + b"\n"

    def _cells(
        self, name: str, first: str, lines: Iterator[str]
    ) -> tuple[Layout, Iterator[Mapping[str, Any]]]:
        header = first.split("\t")
        layout = recognised(name, header)
        rows: Iterator[str] = lines
        if layout is COLA:
            header, rows = [str(at) for at in range(COLUMNS)], chain([first], lines)
        return layout, self._whole(name, header, rows, 1 if layout is COLA else 2)

    def _whole(
        self, name: str, header: list[str], lines: Iterator[str], begin: int
    ) -> Iterator[Mapping[str, str]]:
        """The lines that are not broken."""
        for number, line in enumerate(lines, begin):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) == len(header):
                yield dict(zip(header, cells, strict=True))
            elif line.strip():
                self.broken += 1
                self.first = self.first or f"{name}, line {number} has {len(cells)} cells, not {len(header)}"

    def _json(
        self, name: str, first: str, lines: Iterator[str]
    ) -> tuple[Layout, Iterator[Mapping[str, Any]]]:
        try:
            layout = recognised(name, list(json.loads(first)))
        except ValueError as error:
            raise DataError(f"{name}, line 1: not JSON ({error}). {EXPECTED}") from error
        return layout, self._objects(name, chain([first], lines))

    def _objects(self, name: str, lines: Iterator[str]) -> Iterator[Mapping[str, Any]]:
        for number, line in enumerate(lines, 1):
            try:
                if line.strip():
                    yield json.loads(line)
            except ValueError:
                self.broken += 1
                self.first = self.first or f"{name}, line {number} is no JSON"

    @property
    def notes(self) -> Iterator[str]:
        """What people must know of it."""
        for layout in self.tasks.values():
            texts = layout.text if layout.pair is None else f"{layout.text} and {layout.pair}"
            where = "columns by number" if layout is COLA else f"{texts}, labels {layout.label}"
            yield f"format: {layout.task} ({where}), read without quoting"
        if self.broken:
            yield f"{self.broken:,} broken lines were left out (the first: {self.first})"
        if self.no_gold:
            yield f"{self.no_gold:,} examples without a gold label ({NO_GOLD}) were left out"


def recognised(name: str, header: list[str]) -> Layout:
    """The task a file is of, by the names of its columns."""
    names = {one.strip() for one in header}
    labelled = [one for one in LAYOUTS if one.fits(names) and one.label in names]
    found = labelled or [one for one in LAYOUTS if one.fits(names)]
    if found:
        return found[0]
    if len(header) == COLUMNS and header[1] in ("0", "1"):
        return COLA
    raise DataError(
        f"{name} is no file of GLUE or SNLI: its first line is {' | '.join(header)[:80]!r}. {EXPECTED}"
    )


def has_numbers(path: Path, encoding: str | None = None) -> bool:
    """Whether the labels of a file are numbers, as those of STS-B are, however few they may be."""
    lines = text_lines(utf8(chunks(path, str(path)), str(path), encoding))
    first = next(lines, "").strip("\r\n")
    return not first.startswith("{") and recognised(str(path), first.split("\t")) is NUMBERS


def as_table(source: Source, items: Sequence[str | os.PathLike[str]]) -> Source:
    """The same data as one table on disk with columns text, pair, label and id; `items` are what the user named."""
    if folders := [one for one in items if Path(one).is_dir()]:
        listed = ", ".join(sorted(path.name for path in source.files)[:6])
        raise DataError(
            f"{folders[0]} is a folder with {listed}: training, validation and test data are not to be mixed. "
            f"Name the file, such as {folders[0]}/train.tsv, and others with --valid and --test."
        )
    reader = Reader(source.config.encoding)
    rows = (row for path in source.files for row in reader.rows(path, source.label(path)))
    spool = Spool(source.name, rows, ".jsonl")
    remarks, states = (*source.remarks, *reader.notes), (Stamp.of(spool.path),)
    if not states[0].size:
        raise DataError(f"{source.name} has no example that is whole. {' '.join(reader.notes)}")
    return replace(
        source, files=(spool.path,), spools=(*source.spools, spool), remarks=remarks, states=states
    )
