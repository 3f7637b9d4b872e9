"""Tables as sequences: a column of .csv, .tsv, .jsonl or .parquet, its rows grouped and ordered if asked."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from chainrule.codecs.base import UNIT, Texts
from chainrule.data.lines import BLOCK
from chainrule.errors import DataError, suggest

RECORD = "\x1e"  # between two sequences of grouped events in a temporary file: ASCII's record separator
USUAL = "text"  # the column taken when none is named

Cells = tuple[str, ...]


def csv_cells(
    path: Path, lines: Iterable[str], columns: Sequence[str | None], delimiter: str
) -> Iterator[Cells]:
    """The named columns of every row; the first row gives the names."""
    reader = csv.reader(lines, delimiter=delimiter)
    csv.field_size_limit(1 << 30)
    try:
        header = next(reader, None)
        if header is None:
            return
        if len(header) == 1 and columns == [None] and _is_number(header[0]):
            yield (header[0],)  # one column of numbers needs no name
        places = [header.index(_named(path, name, header)) for name in columns]
        for row in reader:
            if row:
                yield _row(path, reader.line_num, row, header, places)
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}. Is it a table of delimiter {delimiter!r}?"
        ) from error


def _row(path: Path, line: int, row: list[str], header: list[str], places: list[int]) -> Cells:
    if len(row) <= max(places):
        raise DataError(
            f"{path}, line {line}: {len(row)} cells where the first line has {len(header)}. "
            "Quote cells that contain the delimiter or a line end."
        )
    return tuple(row[place] for place in places)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def jsonl_cells(path: Path, lines: Iterable[str], columns: Sequence[str | None]) -> Iterator[Cells]:
    """The named fields of every line; a line may also be just a string, a number or a list."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f"{path}, line {number}: not JSON ({error}). Expected one value a line."
            ) from error
        if not isinstance(row, Mapping):
            row = {USUAL: row}
        try:
            yield tuple(as_text(row[_named(path, name, list(row))]) for name in columns)
        except DataError as error:
            raise DataError(f"Line {number}: {error}") from None


def parquet_cells(path: Path, columns: Sequence[str | None]) -> Iterator[Cells]:
    """The named columns of every row."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{path} is a Parquet file, and reading it needs pyarrow: `pip install 'chainrule[parquet]'`."
        ) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = [_named(path, name, file.schema_arrow.names) for name in columns]
            for batch in file.iter_batches(1 << 14, columns=list(dict.fromkeys(names))):
                lists = [batch.column(name).to_pylist() for name in names]
                yield from (tuple(map(as_text, row)) for row in zip(*lists, strict=True))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error


def _named(path: Path, name: str | None, header: Sequence[str]) -> str:
    if name is None and len(header) == 1:
        return header[0]
    if name is None and USUAL in header:
        return USUAL
    listed = ", ".join(header)
    if name is None:
        raise DataError(f"{path} has several columns. Choose one with --column: {listed}.")
    if name not in header:
        raise DataError(f"{path} has no column {name!r}. {suggest(name, header)} Its columns are {listed}.")
    return name


def as_text(value: Any) -> str:
    """A cell as text; the items of a list are symbols; a missing value says nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "".join(symbol(as_text(item)) + UNIT for item in value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else str(value)


def symbol(cell: str) -> str:
    """A cell as one event: it must not look like two."""
    as_bytes(cell)  # half a character is refused here
    return cell.replace(UNIT, " ").replace(RECORD, " ")


def sequences(items: Iterable[str | bytes]) -> Iterator[Texts]:
    """Blocks of items, one a sequence; blank ones are skipped and counted."""
    held: list[bytes] = []
    size = skipped = 0
    for item in items:
        text = as_bytes(item)
        skipped += not text.strip()
        held += [text] if text.strip() else []
        size += len(text)
        if size >= BLOCK:
            yield replace(Texts.of(held), skipped=skipped)
            held, size, skipped = [], 0, 0
    if held or skipped:
        yield replace(Texts.of(held), skipped=skipped)


def rows(cells: Iterable[Cells]) -> Iterator[Texts]:
    """One sequence a row; the items of a list become words."""
    return sequences(cell.removesuffix(UNIT).replace(UNIT, " ") for cell, *_ in cells)


def one_sequence(cells: Iterable[Cells]) -> Iterator[Texts]:
    """All rows as the events of one sequence, in parts; a row that is a list is a sequence itself."""
    rest = (cell for cell, *_ in cells)
    first = next(rest, "")
    column = chain([first], rest)
    return sequences(cell.removesuffix(UNIT) for cell in column) if UNIT in first else _joined(column)


def _joined(column: Iterable[str]) -> Iterator[Texts]:
    held: list[str] = []
    size = skipped = 0
    opens = True
    for cell in column:
        skipped += not cell.strip()
        held += [symbol(cell)] if cell.strip() else []
        size += len(cell) + 1
        if size >= BLOCK:
            yield replace(
                Texts.of([as_bytes(UNIT.join(held) + UNIT)]), opens=opens, closes=False, skipped=skipped
            )
            held, size, skipped, opens = [], 0, 0, False
    if held or not opens:
        yield replace(Texts.of([as_bytes(UNIT.join(held))]), opens=opens, skipped=skipped)


def as_bytes(item: object) -> bytes:
    """An item of the data as UTF-8."""
    if isinstance(item, bytes):
        return item
    if not isinstance(item, str):
        raise DataError(f"A sequence should be a string, not {type(item).__name__} ({item!r:.40}).")
    try:
        return item.encode()
    except UnicodeEncodeError as error:
        wrong = item[error.start : error.end]
        raise DataError(f"{wrong!r} is half a character (a lone surrogate). Repair the data.") from error


def grouped(tables: Iterable[Iterable[Cells]], grouping: bool, sorting: bool) -> Iterator[bytes]:
    """Events (value, group, sort) as sequences joined by UNIT, a RECORD after each; sorted on disk if large.

    Groups come as they are first seen, events by the sort column (numbers before text), then as read.
    """
    with closing(sqlite3.connect("")) as base:  # a private temporary file, gone when closed
        base.execute("create table events (place integer, position, value text)")
        base.executemany(
            "insert into events values (?, ?, ?)", _placed(chain.from_iterable(tables), grouping, sorting)
        )
        found = base.execute("select place, value from events order by place, position, rowid")
        for _, events in groupby(found, key=lambda row: row[0]):
            yield (UNIT.join(value for _, value in events) + RECORD).encode()


def _placed(cells: Iterable[Cells], grouping: bool, sorting: bool) -> Iterator[tuple[int, float | str, str]]:
    places: dict[str, int] = {}
    for value, *keys in cells:
        place = places.setdefault(keys[0], len(places)) if grouping else 0
        position = keys[-1] if sorting else ""
        if value.strip():
            yield place, float(position) if _is_number(position) else position, symbol(value)
