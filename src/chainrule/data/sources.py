"""Where data come from: a path, several, a folder, a pattern, standard input, or values of Python.

    blocks = read("book.txt.gz")            # callable: a fresh pass over the data each time
    for texts in blocks(): ...

Compression goes by content. Formats go by suffix, after a compression suffix is taken off: .jsonl .csv .tsv
.parquet .conllu, and anything else is text, one sequence a line (blank lines are skipped) or, with `stream`, the
whole file as one sequence.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Union

from chainrule.codecs.base import Texts
from chainrule.config import Config, option
from chainrule.data import tables
from chainrule.data.conllu import sentences
from chainrule.data.decimals import Decimals
from chainrule.data.given import Table, from_python, names_files
from chainrule.data.glue import GLUE, as_table
from chainrule.data.lines import lines, stream
from chainrule.data.order import OrderCheck, grouped, telling
from chainrule.data.paths import FORMATS, FoundFiles, Stamp, all_there, find, is_pipe, plain_suffix
from chainrule.data.room import Spool
from chainrule.data.rows import trimmed, whole_sequences
from chainrule.data.streams import CHUNK, chunks, compressed, text_lines, utf8
from chainrule.data.where import Condition
from chainrule.errors import ConfigError, DataError

TABLES = ("jsonl", "csv", "tsv", "parquet")
FIRST_ROWS = 10_000  # looked at to find columns that tell series apart
READING = 6  # to be raised whenever the same files come to give other sequences: what is cached is then old

Given = Union[str, os.PathLike[str], Iterable[Any], "Source", Table]  # and frames, which no type describes


@dataclass(frozen=True, kw_only=True)
class ReadConfig(Config):
    """How files are read."""

    stream: bool = option(False, "a text file is one long sequence, not one a line")
    column: str | None = option(None, "the column of a table that holds the data")
    group: str | None = option(None, "the column whose equal values make one sequence of events")
    sort: str | None = option(None, "the column that orders the events of a sequence")
    where: tuple[str, ...] = option(
        (),
        "only rows of a table where a column compares so, such as 'stars >= 4'; given again, all must hold",
    )
    encoding: str | None = option(None, "how the text is written, if not in UTF-8 (latin-1, cp1252, …)")
    format: str | None = option(
        None, "what the files are, whatever their names say", choices=("text", *TABLES, "conllu", GLUE)
    )
    decimal: str = option(".", "the sign before decimals of numbers, as in pandas", choices=(".", ","))
    thousands: str | None = option(
        None, "the sign between thousands of numbers, if there is one", choices=(",", ".", "'", " ")
    )
    raw: bool = option(False, "take bytes as they are, for the bytes codec", hidden=True)
    joined: bool = option(False, "all rows of a table are one sequence, for events and numbers", hidden=True)
    gaps: bool = option(False, "an empty cell is a missing value, for numbers", hidden=True)
    whole: bool = option(False, "no sequence is given in parts, for levels of numbers", hidden=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.conditions()
        if self.decimal == self.thousands:
            raise ConfigError(f"--decimal and --thousands are both {self.decimal!r}: give two signs.")

    @property
    def decimals(self) -> Decimals:
        """How numbers are written."""
        return Decimals(self.decimal, self.thousands)

    def conditions(self) -> list[Condition]:
        """What rows must fulfil; values are written as in the data."""
        return [Condition.parsed(one, self.decimals) for one in self.where]


@dataclass(frozen=True)
class Source:
    """Data that can be read again and again, in blocks that fit in memory."""

    name: str
    files: tuple[Path, ...]
    config: ReadConfig
    items: tuple[bytes, ...] = ()
    frame: Table | None = None
    spools: tuple[Spool, ...] = ()  # keep temporary files alive as long as they may be read
    remarks: tuple[str, ...] = ()  # what was found out when the files were looked for
    states: tuple[Stamp, ...] = ()  # of the files when they were opened

    def __call__(self) -> Iterator[Texts]:
        found = 0
        for texts in whole_sequences(self._blocks()) if self.config.whole else self._blocks():
            found += len(texts)
            yield texts
        self.check_unchanged()
        if not found:
            raise DataError(
                f"{self.name} holds no sequence: it is empty or blank. Give a file with some text in it."
            )

    def check_unchanged(self) -> None:
        """Refuse files that are not as they were: what one pass has learnt would not fit the next one."""
        for path, state in zip(self.files, self.states, strict=False):
            if Stamp.of(path) != state:
                raise DataError(
                    f"{self.label(path)} changed while it was read: run again when nobody writes to it."
                )

    def _blocks(self) -> Iterator[Texts]:
        self._check_conditions()
        if self.items:
            yield from self._numbers(tables.sequences(self.items), self.name, "sequence")
        elif self.ordered:
            yield from self._grouped()
        elif self.frame:
            yield from self._sequences(self._cells(self.frame, [self.config.column], lists=True))
        else:
            for path in self.files:
                yield from self._file(path)

    def _check_conditions(self) -> None:
        """Refuse conditions on what has no columns."""
        if self.config.where and not self.table:
            raise DataError(
                f"{self.name} is no table, so --where has no columns to look at. If it is one under another name, say "
                "which with --format."
            )

    @property
    def ordered(self) -> bool:
        """Whether rows are grouped or sorted into sequences of events."""
        return bool(self.config.group or self.config.sort)

    def kind(self, path: Path) -> str:
        """What a file is: its format by name, or as the settings say."""
        told = self.config.format if self.config.format != GLUE else "jsonl"  # which it has become
        return told or FORMATS.get(plain_suffix(path), "text")

    @property
    def table(self) -> bool:
        """Whether the data are rows of tables."""
        return bool(self.frame or self.files) and all(self.kind(path) in TABLES for path in self.files)

    def label(self, path: Path) -> str:
        """What messages call a file."""
        return next((spool.name for spool in self.spools if spool.path == path), str(path))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What was decided for the user: files left out, formats mixed, the column and the delimiter taken."""
        kinds = Counter(self.kind(path) for path in self.files)
        counted = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        mixed = (f"the files are of different formats: {counted}",) if len(kinds) > 1 else ()
        order = self._events[1] if self.ordered else ()
        return (*self.remarks, *mixed, *self._table_notes(), *order)

    def _table_notes(self) -> Iterator[str]:
        """How the first table is read."""
        path = next((path for path in self.files if self.kind(path) in TABLES), None)
        if self.frame and self.config.column is None and not self.frame.choice:
            yield tables.column_note(self.name, self.frame.names)
        if path is None:
            return
        header, delimiter = self.header(path)
        if delimiter and delimiter != ("\t" if self.kind(path) == "tsv" else ",") and len(header) > 1:
            yield f"delimiter: {delimiter!r}"
        if self.config.column is None and header:
            yield tables.column_note(self.label(path), header, self.config.decimals)

    def header(self, path: Path) -> tuple[list[str], str]:
        """The names of a table's columns, and what separates them."""
        if self.kind(path) == "parquet":
            with self._unpacked(path) as plain, tables.parquet_file(self.label(path), plain) as file:
                return list(file.schema_arrow.names), ""
        found = self.lines_of(path)
        if self.kind(path) == "jsonl":
            rows = (tables.json_row(self.label(path), line) for line in found)
            return list(next((row for row in rows if row is not None), ())), ""
        table, delimiter = tables.csv_rows(self.label(path), found, self.config.decimals)
        return tables.csv_header(table), delimiter

    def _file(self, path: Path) -> Iterator[Texts]:
        kind = self.kind(path)
        if kind == "text":
            reader = stream if self.config.stream else lines
            found = reader(self._flow(path), strip=not self.config.raw)
            yield from self._numbers(found, self.label(path), "line")
        elif kind == "conllu":
            words = sentences(self.label(path), self.lines_of(path), [self.config.column])
            yield from tables.sequences(one for (one,) in words)
        else:
            yield from self._sequences(self._cells(path, [self.config.column], lists=True))

    def _numbers(self, texts: Iterator[Texts], name: str, what: str) -> Iterator[Texts]:
        """Lines as they are; where they must be numbers, what is none is refused with its place."""
        if not self.config.gaps:
            return texts
        from chainrule.data.values import checked_texts

        return checked_texts(texts, name, what, self.config.decimals)

    def _sequences(self, cells: Iterator[tables.Cells]) -> Iterator[Texts]:
        """Rows of a table: each a sequence, or all of them one."""
        return tables.one_sequence(cells, self.config.gaps) if self.config.joined else tables.rows(cells)

    def rows(
        self, columns: Sequence[str | None], joins: Sequence[bool], numbers: Sequence[bool] = ()
    ) -> Iterator[tuple[Texts, ...]]:
        """Blocks of rows with several columns side by side, blank cells included; no cell is given in parts.

        `joins`: a column's symbols are whole values, not words of a text; `numbers`: they are numbers. Text has one
        column, its lines.
        """
        self._check_conditions()
        clean = trimmed if joins[0] else lambda texts: texts
        if self.items:
            yield from (
                (clean(texts),) for texts in self._numbers(iter([Texts.of(self.items)]), self.name, "row")
            )
        if self.frame:
            yield from tables.row_blocks(self._cells(self.frame, columns, True, numbers), joins)
        for path in self.files:
            if self.kind(path) == "text":
                found = lines(self._flow(path), strip=not self.config.raw, rows=True)
                yield from ((clean(texts),) for texts in self._numbers(found, self.label(path), "line"))
            elif self.kind(path) == "conllu":
                yield from tables.row_blocks(sentences(self.label(path), self.lines_of(path), columns), joins)
            else:
                yield from tables.row_blocks(self._cells(path, list(columns), True, numbers), joins)
        self.check_unchanged()

    def _flow(self, path: Path) -> Iterator[bytes]:
        flow = chunks(path, self.label(path))
        return flow if self.config.raw else utf8(flow, self.label(path), self.config.encoding)

    def lines_of(self, path: Path) -> Iterator[str]:
        return text_lines(utf8(chunks(path, self.label(path)), self.label(path), self.config.encoding))

    def _cells(
        self, table: Path | Table, columns: Sequence[str | None], lists: bool, numbers: Sequence[bool] = ()
    ) -> Iterator[tables.Cells]:
        return (cells for _, cells in self.located(table, columns, lists, numbers))

    def located(
        self, table: Path | Table, columns: Sequence[str | None], lists: bool, numbers: Sequence[bool] = ()
    ) -> Iterator[tables.Located]:
        """The rows that fulfil all conditions, whose columns are read beside the others; `numbers` are checked."""
        conditions, count = self.config.conditions(), len(columns)
        rows = (
            (where, row[:count])
            for where, row in self._all_cells(table, [*columns, *(one.column for one in conditions)], lists)
            if all(one.holds(cell) for one, cell in zip(conditions, row[count:], strict=True))
        )
        checked = {place: columns[place] for place, one in enumerate(numbers or [self.config.gaps]) if one}
        if not checked:
            return rows
        from chainrule.data.values import checked_cells

        return checked_cells(rows, checked, self.config.decimals)

    def _all_cells(
        self, path: Path | Table, columns: list[str | None], lists: bool
    ) -> Iterator[tables.Located]:
        if isinstance(path, Table):
            yield from path.cells(columns, lists)
            return
        kind, name = self.kind(path), self.label(path)
        if kind == "parquet":
            with self._unpacked(path) as plain:
                yield from tables.parquet_cells(name, plain, columns, lists)
        elif kind == "jsonl":
            yield from tables.jsonl_cells(name, self.lines_of(path), columns, lists)
        elif kind in TABLES:
            yield from tables.csv_cells(name, self.lines_of(path), columns, self.config.decimals)
        else:
            raise DataError(
                f"{name} is no table: --group and --sort need .csv, .tsv, .jsonl or .parquet. "
                "If it is one under another name, say which with --format."
            )

    @contextmanager
    def _unpacked(self, path: Path) -> Iterator[Path]:
        """A file that is not compressed: Parquet is read here and there, not from front to back."""
        try:
            packed = compressed(path)
        except OSError as error:
            raise DataError(f"{self.label(path)} cannot be read: {error.strerror}.") from error
        spool = Spool(self.label(path), chunks(path, self.label(path))) if packed else None
        yield spool.path if spool else path

    def _grouped(self) -> Iterator[Texts]:
        flow = chunks(self._events[0].path, self.name)
        return lines(flow, newline=tables.RECORD.encode(), strip=False)

    @cached_property
    def _events(self) -> tuple[Spool, tuple[str, ...]]:
        """Grouped events in a temporary file, sorted once for all passes, and what is odd about their order."""
        group, sort = self.config.group, self.config.sort
        columns = [self.config.column, *(name for name in (group, sort) if name)]
        found = [self.located(one, columns, lists=False) for one in self.each_table]
        order = OrderCheck(sort, self.config.decimals) if sort else None
        spool = Spool(self.name, grouped(found, bool(group), self.config.gaps, order))
        return spool, () if order is None else tuple(order.notes(self.telling() if order.twice else ()))

    def telling(self) -> list[str]:
        """Columns that tell rows of the same moment apart, judged by the first rows: groups they may be."""
        plain = replace(self, config=replace(self.config, gaps=False))
        taken, sort = (self.config.column, self.config.sort), self.config.sort
        names = [name for name in self.names() if name not in taken]
        try:
            rows = plain._cells(self.each_table[0], [*names, sort], lists=True)
            return telling(names, list(islice(rows, FIRST_ROWS)))
        except DataError:  # a cell that is no text
            return []

    @property
    def each_table(self) -> list[Path | Table]:
        return [*self.files, self.frame] if self.frame else [*self.files]

    def names(self) -> Sequence[str]:
        """Of the columns of the first table."""
        return self.frame.names if self.frame else self.header(self.files[0])[0]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content and of how it is read; each byte is read once."""
        digest = hashlib.sha256(json.dumps([READING, self.config.values()], sort_keys=True).encode())
        for item in self.items:
            digest.update(hashlib.sha256(item).digest())
        if self.frame:
            for name in self.frame.names:
                digest.update(hashlib.sha256(repr([name, self.frame.column(name)]).encode()).digest())
        for path in self.files:
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest() + self.kind(path).encode())
            except OSError as error:
                raise DataError(f"{self.label(path)} cannot be read: {error.strerror}.") from error
        self.check_unchanged()
        return digest.hexdigest()


def read(given: Given, config: ReadConfig | None = None) -> Source:
    """Open data: a path, a folder, a pattern, `-` for standard input, a list of paths, or values of Python.

    A list of strings is the data itself, unless they name files; if only some do, that is an error rather than
    data. `Path`s are never data. What else Python may give is told in `data.given`.
    """
    if isinstance(given, Source):
        return replace(given, config=config or given.config)
    config, found = config or ReadConfig(), from_python(given)
    if isinstance(found, Table):
        return Source(found.name, (), config, frame=found)
    if isinstance(found, str | os.PathLike):
        return _opened([found], config)
    if isinstance(found, Mapping):
        raise DataError(f"One source was expected, and there are {len(found)}: {', '.join(map(str, found))}.")
    if names_files(found):
        all_there(found)
        return _opened(found, config)
    return Source("the given strings", (), config, tuple(map(tables.as_bytes, found)))


def _opened(items: Sequence[str | os.PathLike[str]], config: ReadConfig) -> Source:
    """Files of whatever the items name; what comes through a pipe is kept in a temporary file."""
    spools = {number: _piped(item) for number, item in enumerate(items) if is_pipe(item)}
    found = [
        FoundFiles((spools[number].path,))
        if number in spools
        else find(item, anything=config.format is not None)
        for number, item in enumerate(items)
    ]
    names = [spools[number].name if number in spools else str(item) for number, item in enumerate(items[:3])]
    name = ", ".join(names) + ("…" if len(items) > 3 else "")
    files = tuple(path for one in found for path in one.files)
    states = tuple(map(Stamp.of, files))
    if not any(state.size for state in states):
        raise DataError(f"{name} is empty. Give a file with some text in it.")
    remarks = tuple(note for one in found for note in one.notes)
    source = Source(name, files, config, (), None, tuple(spools.values()), remarks, states)
    return as_table(source, items) if config.format == GLUE else source


def _piped(given: str | os.PathLike[str]) -> Spool:
    if os.fspath(given) == "-":
        return Spool("standard input", iter(lambda: sys.stdin.buffer.read(CHUNK), b""))
    return Spool(str(given), chunks(Path(given)))
