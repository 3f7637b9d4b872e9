"""Rows of a table grouped and ordered into sequences of events, and what is odd about their order."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from itertools import chain, groupby

from chainrule.codecs.base import UNIT
from chainrule.data.decimals import POINT, Decimals
from chainrule.data.room import room
from chainrule.data.tables import MISSING, RECORD, Located, as_bytes, is_number, symbol

FEWEST = 3  # rows of each series, on average, that a column makes which is worth naming
MANY = 3  # times as many values as a moment has rows


class OrderCheck:
    """What the cells of the sort column are: numbers, dates in ISO 8601, or text; and which comes twice."""

    def __init__(self, column: str, decimals: Decimals = POINT) -> None:
        self.column, self.decimals = column, decimals
        self.counts: Counter[str] = Counter()
        self.first: dict[str, str] = {}  # of each kind, where it is and what it says
        self.twice, self.example = 0, ""

    def see(self, where: str, cell: str) -> None:
        """One more row."""
        kind = kind_of(self.decimals.read(cell))
        self.counts[kind] += 1
        if kind not in self.first:
            self.first[kind] = f"{where} ({cell.strip()!r:.40})"

    def position(self, cell: str) -> int | float | str:
        """Where a cell comes in order."""
        return position(self.decimals.read(cell))

    def see_twice(self, rows: int, example: object) -> None:
        """So many rows come at a moment that another row has, too."""
        self.twice, self.example = rows, str(example)

    def notes(self, candidates: Sequence[str] = ()) -> Iterator[str]:
        """Sentences for people; `candidates` are columns that would tell several series apart."""
        usual = max(self.counts, key=lambda kind: self.counts[kind], default="text")
        strays = [kind for kind in self.counts if kind != usual]
        if (
            usual == "text"
            and not strays
            and any(map(str.isdigit, self.first.get(usual, "").partition("(")[2]))
        ):
            yield (
                f"--sort {self.column}: ordered as text, such as {self.first[usual]}; write dates as 2024-02-27 to "
                "have them ordered by time"
            )
        for kind in strays:
            yield (
                f"--sort {self.column}: {self.counts[kind]:,} of {self.counts.total():,} rows have {KINDS[kind]} where "
                f"others have {KINDS[usual]}, and may be out of order; the first: {self.first[kind]}"
            )
        if self.twice:
            yield (
                f"--sort {self.column}: {self.twice:,} rows come at a moment of another row, such as {self.example}; "
                f"{_advice(candidates)}"
            )


KINDS = {"number": "a number", "date": "a date", "text": "text"}


def _advice(candidates: Sequence[str]) -> str:
    if not candidates:
        return "if they belong to several series, --group COLUMN tells these apart"
    return f"if they belong to several series, tell these apart: --group {' or --group '.join(candidates)}"


def kind_of(cell: str) -> str:
    """What a cell of the sort column is."""
    if is_number(cell):
        return "number"
    try:
        datetime.fromisoformat(cell.strip())
    except ValueError:
        return "text"
    return "date"


def telling(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Of several columns those that tell rows of one moment apart, fewest values first; the last cell is the moment.

    A column with many more values than a moment has rows does so by chance.
    """
    found = []
    most = MANY * max(Counter(row[-1] for row in rows).values(), default=0)
    for place, name in enumerate(names):
        values = {row[place] for row in rows}
        pairs = {(row[place], row[-1]) for row in rows}
        if len(pairs) == len(rows) and FEWEST * len(values) <= len(rows) and len(values) <= most:
            found.append((len(values), name))
    return [name for _, name in sorted(found)]


def grouped(
    tables: Iterable[Iterable[Located]], group: bool, gaps: bool, order: OrderCheck | None
) -> Iterator[bytes]:
    """Events (value, group, sort) as sequences joined by UNIT, a RECORD after each; sorted on disk if large.

    Groups come as they are first seen, events by the sort column (numbers before text), then as read. A row with an
    empty cell belongs nowhere and is left out; whoever reads the sequences counts it as skipped. With `gaps` an empty
    value is a missing one, and stays. What is odd about the order is told to `order`.
    """
    with room(), closing(sqlite3.connect("")) as base:  # a private temporary file, gone when closed
        base.execute("create table events (place integer, position, value text)")
        left: Counter[str] = Counter()
        base.executemany(
            "insert into events values (?, ?, ?)",
            _placed(chain.from_iterable(tables), group, MISSING if gaps else "", left, order),
        )
        if order and not group:
            order.see_twice(*_twice(base))
        found = base.execute("select place, value from events order by place, position, rowid")
        for _, events in groupby(found, key=lambda row: row[0]):
            yield (UNIT.join(value for _, value in events) + RECORD).encode()
        yield RECORD.encode() * left["rows"]


def _twice(base: sqlite3.Connection) -> tuple[int, object]:
    """How many rows come at the position of another one, and the first such position."""
    again = (
        "select count(*) as rows, min(rowid) as first, position from events group by position having rows > 1"
    )
    rows, _, position = base.execute(f"select sum(rows), min(first), position from ({again})").fetchone()
    return rows or 0, position


def _placed(
    rows: Iterable[Located], group: bool, missing: str, left: Counter[str], order: OrderCheck | None
) -> Iterator[tuple[int, int | float | str, str]]:
    places: dict[str, int] = {}
    for where, (value, *keys) in rows:
        told = symbol(value) or missing
        if not told or not all(key.strip() for key in keys):
            left["rows"] += 1
            continue
        if order:
            order.see(where, keys[-1])
        place = places.setdefault(keys[0], len(places)) if group else 0
        yield place, order.position(keys[-1]) if order else "", told


def position(cell: str) -> int | float | str:
    """Where a cell comes in order: whole numbers exactly, as time stamps have more digits than a float holds."""
    try:
        whole = int(cell)
    except ValueError:
        return float(cell) if is_number(cell) else as_bytes(cell).decode()
    return whole if abs(whole) < 2**63 else float(cell)
