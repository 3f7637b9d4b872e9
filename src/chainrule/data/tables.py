"""Tables as sequences: a column of .csv, .tsv, .jsonl or .parquet, its rows grouped and ordered if asked."""

from __future__ import annotations

import csv
import difflib
import json
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from chainrule.codecs.base import UNIT, Texts
from chainrule.data.decimals import POINT, Decimals
from chainrule.data.lines import BLOCK
from chainrule.errors import DataError

MISSING = "nan"  # a missing value among numbers
RECORD = "\x1e"  # between two sequences of grouped events in a temporary file: ASCII's record separator
USUAL = "text"  # the column taken when none is named

Cells = tuple[str, ...]
Located = tuple[str, Cells]  # where a row is, as messages name it, and its cells


def delimiter(header: str, decimals: Decimals = POINT) -> str:
    """What separates the cells, by the first line: a tab if there is one, else what is there most often."""
    plain = re.sub('"[^"]*"', "", header)
    if "," in (decimals.decimal, decimals.thousands) and decimals.read(plain) != plain:
        return ";"  # the first line is a number with a comma in it
    usual = ";,|" if decimals.decimal == "," else ",;|"  # the first one wins a draw
    return "\t" if "\t" in plain else max(usual, key=plain.count)


def csv_rows(
    name: str, lines: Iterable[str], decimals: Decimals = POINT
) -> tuple[Iterator[tuple[int, list[str]]], str]:
    """Rows with the lines they begin in, and the delimiter they were found by."""
    csv.field_size_limit(1 << 30)
    rest = iter(lines)
    held: list[str] = []
    for line in rest:
        held.append(line)
        if line.strip():
            break
    found = delimiter(held[-1] if held else "", decimals)
    return _csv_rows(name, csv.reader(chain(held, rest), delimiter=found, strict=True), found), found


def _csv_rows(name: str, reader: Any, found: str) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: {error}. Is a quote that opens a cell here not closed, or not doubled inside "
            f'the cell (""), or is this no table of delimiter {found!r}?'
        ) from error


def csv_header(rows: Iterable[tuple[int, list[str]]]) -> list[str]:
    """The names of the columns, which the first row gives."""
    return next((row for _, row in rows if row), [])


def csv_cells(
    name: str, lines: Iterable[str], columns: Sequence[str | None], decimals: Decimals = POINT
) -> Iterator[Located]:
    """The named columns of every row."""
    rows, _ = csv_rows(name, lines, decimals)
    header = csv_header(rows)
    if not header:
        return
    if _nameless(header, columns, decimals):
        yield f"{name}, line 1", (header[0],)
    places = [header.index(column_of(name, one, header)) for one in columns]
    blank = list[Located]()  # lines at the end are no rows
    for line, row in rows:
        where = f"{name}, line {line}"
        if row:
            yield from blank
            yield where, _row(where, row, header, places)
        blank = [] if row else [*blank, (where, ("",) * len(places))]


def _nameless(header: Sequence[str], columns: Sequence[str | None], decimals: Decimals = POINT) -> bool:
    """One column of numbers needs no name: its first line is data."""
    return len(header) == 1 and list(columns) == [None] and is_number(decimals.read(header[0]))


def _row(where: str, row: list[str], header: list[str], places: list[int]) -> Cells:
    if len(row) <= max(places) or any(row[len(header) :]):
        raise DataError(
            f"{where}: {len(row)} cells where the first line has {len(header)}. "
            "Quote cells that contain the delimiter or a line end."
        )
    return tuple(row[place] for place in places)


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def jsonl_cells(
    name: str, lines: Iterable[str], columns: Sequence[str | None], lists: bool = True
) -> Iterator[Located]:
    """The named fields of every line; a line may also be just a string, a number or a list."""
    values, names = CellReader(lists), list[str]()
    blank = list[Located]()  # lines at the end are no rows
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        row = json_row(where, line)
        if row is None:
            blank.append((where, ("",) * len(columns)))
            continue
        yield from blank
        blank.clear()
        names = names or [column_of(where, one, list(row)) for one in columns]
        for one in names:
            column_of(where, one, list(row))
        yield where, values.cells(where, names, [row[one] for one in names])


def json_row(where: str, line: str) -> Mapping[str, Any] | None:
    """The fields of a line; None if it is blank."""
    if not line.strip():
        return None
    try:
        row = json.loads(line)
    except RecursionError as error:
        raise DataError(f"{where}: lists or objects nested too deep. Write the value as text.") from error
    except ValueError as error:
        raise DataError(f"{where}: not JSON ({error}). Expected one value a line.") from error
    return row if isinstance(row, Mapping) else {USUAL: row}


def parquet_cells(
    name: str, path: Path, columns: Sequence[str | None], lists: bool = True
) -> Iterator[Located]:
    """The named columns of every row."""
    values, row = CellReader(lists), 0
    with parquet_file(name, path) as file:
        names = [column_of(name, one, file.schema_arrow.names) for one in columns]
        for batch in file.iter_batches(1 << 14, columns=list(dict.fromkeys(names))):
            for cells in zip(*(batch.column(one).to_pylist() for one in names), strict=True):
                row += 1
                where = f"{name}, row {row}"
                yield where, values.cells(where, names, cells)


@contextmanager
def parquet_file(name: str, path: Path) -> Iterator[Any]:
    """An open Parquet file; whatever is wrong with it is a DataError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(
            f"{name} is a Parquet file, and reading it needs pyarrow: `pip install 'chainrule[parquet]'`."
        ) from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{name} cannot be read as Parquet: {error}") from error


def column_of(where: str, column: str | None, header: Sequence[str]) -> str:
    """The column a user means: the one named, the only one, or the usual one."""
    if column is None and len(header) == 1:
        return header[0]
    if column is None and USUAL in header:
        column = USUAL
    listed = ", ".join(header)
    if column is None:
        raise DataError(f"{where}: there are several columns. Choose one with --column: {listed}.")
    if column not in header:
        near = difflib.get_close_matches(column, header, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise DataError(f"{where}: there is no column {column!r}. {hint}The columns are: {listed}.")
    if header.count(column) > 1:
        raise DataError(
            f"{where}: {header.count(column)} columns are called {column!r}. "
            f"Give each a name of its own; they are: {listed}."
        )
    return column


def column_note(where: str, header: Sequence[str], decimals: Decimals = POINT) -> str:
    """Which column was taken when none was named, a sentence for people."""
    if _nameless(header, [None], decimals):
        return "column: the only one; it has no name, its first line is a number"
    others = "the only one" if len(header) == 1 else f"of {', '.join(header)}"
    return f"column: {column_of(where, None, header)} ({others})"


class CellReader:
    """Cells as text. If `lists` may come and a column's first value is one, lists are sequences of symbols.

    Anywhere else a list is an error, and so is an object: neither is a symbol. UNIT follows every item of a list.
    """

    def __init__(self, lists: bool) -> None:
        self.allowed = lists
        self.lists: dict[str, bool] = {}  # by column, from its first value on

    def cells(self, where: str, names: Sequence[str], row: Sequence[Any]) -> Cells:
        """A row as text."""
        return tuple(self._cell(where, name, value) for name, value in zip(names, row, strict=True))

    def _cell(self, where: str, name: str, value: Any) -> str:
        if value is not None and name not in self.lists:
            self.lists[name] = self.allowed and isinstance(value, list)
        return self._text(f"{where}, column {name!r}", value, self.lists.get(name, False))

    def _text(self, where: str, value: Any, lists: bool) -> str:
        if isinstance(value, list) and lists:
            missing = MISSING if any(isinstance(item, int | float) for item in value) else ""
            return "".join((self._item(where, item) or missing) + UNIT for item in value)
        if isinstance(value, list | Mapping):
            kind = "a list" if isinstance(value, list) else "an object"
            raise DataError(
                f"{where}: {kind} ({reprlib.repr(value):.40}) where a text or a number was expected. "
                "Choose another --column, or write the value as text."
            )
        return as_text(value)

    def _item(self, where: str, item: Any) -> str:
        """One of a list: a symbol, or a frame of numbers with tabs between, which no symbol has."""
        if isinstance(item, list) and item and all(isinstance(one, int | float | None) for one in item):
            return "\t".join(MISSING if one is None else str(one) for one in item)
        return symbol(self._text(where, item, False))


def as_text(value: Any) -> str:
    """A plain value as text; a missing one says nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def symbol(cell: str) -> str:
    """A cell as one event: it must not look like two, and blanks around it mean nothing."""
    as_bytes(cell)  # half a character is refused here
    return cell.replace(UNIT, " ").replace(RECORD, " ").strip()


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
    return sequences(_words(cell) for cell, *_ in cells)


def row_blocks(cells: Iterable[Cells], joins: Sequence[bool]) -> Iterator[tuple[Texts, ...]]:
    """Every column as sequences, one a row, blank cells included; `joins`: the symbols of a column are whole values."""
    held: list[list[bytes]] = [[] for _ in joins]
    size = 0
    for row in cells:
        for column, cell, join in zip(held, row, joins, strict=True):
            column.append(as_bytes(_values(cell) if join else _words(cell)))
            size += len(column[-1])
        if size >= BLOCK:
            yield tuple(map(Texts.of, held))
            held, size = [[] for _ in joins], 0
    if held[0]:
        yield tuple(map(Texts.of, held))


def _words(cell: str) -> str:
    """A cell as text; the items of a list become words."""
    return cell.removesuffix(UNIT).replace(UNIT, " ")


def _values(cell: str) -> str:
    """A cell as one symbol, or as those of a list; UNIT after the only item tells that it was one."""
    if not cell.endswith(UNIT):
        return symbol(cell)
    return cell if cell.count(UNIT) == 1 else cell.removesuffix(UNIT)


def one_sequence(cells: Iterable[Cells], gaps: bool = False) -> Iterator[Texts]:
    """All rows as the events of one sequence, in parts; a row that is a list is a sequence itself.

    With `gaps` an empty cell is a missing value, otherwise it is skipped.
    """
    rest = (cell for cell, *_ in cells)
    held = list[str]()
    for cell in rest:
        held.append(cell)
        if cell:  # nothing tells a list without items from a missing value
            break
    column = chain(held, rest)
    if held and UNIT in held[-1]:
        return sequences(cell.removesuffix(UNIT) for cell in column)
    return _joined(column, MISSING if gaps else "")


def _joined(column: Iterable[str], missing: str) -> Iterator[Texts]:
    """In parts; `missing` stands for an empty cell."""
    held: list[str] = []
    size = skipped = 0
    opens = True
    for cell in column:
        event = symbol(cell) or missing
        skipped += not event
        held += [event] if event else []
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
