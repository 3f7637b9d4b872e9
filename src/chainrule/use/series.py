"""Data as series: sequences of values or events that know which row, group and moment each value comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import UNIT, Texts
from chainrule.errors import ConfigError, DataError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Codec
    from chainrule.data.sources import Given, Source


@dataclass(frozen=True)
class Series:
    """One sequence, with where its values come from."""

    name: str | None  # of its group
    values: tuple[str, ...]  # as written
    rows: np.ndarray  # (T,) the number of each value's row, counted from 1
    times: tuple[str, ...] | None = None  # what the sort column says
    ids: tuple[str, ...] | None = None  # what the user calls each row

    def encoded(self, codec: Codec) -> np.ndarray:
        """`BOS x_1 … x_T EOS`."""
        return codec.encode(Texts.of([UNIT.join(self.values).encode()])).ids


def series_of(
    bundle: Bundle, data: Given | None, reading: Mapping[str, Any], id: str | None = None
) -> tuple[list[Series], tuple[str, ...]]:
    """The series of data, read as the model's own were, and what is odd about their order, for people.

    None: those data themselves, if they are still there.
    """
    from chainrule.use.score import opened

    if not bundle.codec.joins_rows:
        raise ConfigError(
            f"Series are of events or numbers, and this model reads {bundle.codec.name}. For texts use: "
            "chainrule score --each"
        )
    usual = bundle.card.get("reading", {})
    source = opened(bundle.codec, usual, _given(bundle, data), reading)
    found = list(_of_rows(source, bundle.codec, id) if source.table else _of_lines(source, bundle.codec))
    if not found:
        raise DataError(f"{source.name} holds no series: it is empty or blank.")
    return found, _oddities(source, found)


def _oddities(source: Source, series: Sequence[Series]) -> tuple[str, ...]:
    """What is odd about the times of series, in sentences."""
    from chainrule.data.order import OrderCheck

    if not source.config.sort:
        return ()
    order = OrderCheck(source.config.sort, source.config.decimals)
    for one in series:
        for row, time in sorted(zip(one.rows.tolist(), one.times or (), strict=False)):
            order.see(f"{source.name}, row {row:,}", time)
    if not source.config.group and len(series) == 1:
        again = {time: count for time, count in Counter(series[0].times or ()).items() if count > 1}
        order.see_twice(sum(again.values()), next(iter(again), ""))
    return tuple(order.notes(source.telling() if order.twice else ()))


def _given(bundle: Bundle, data: Given | None) -> Given:
    from pathlib import Path

    if data is not None:
        return data
    name = str(bundle.card.get("data", {}).get("name", ""))
    if not name or not Path(name).exists():
        raise ConfigError(
            f"The data this model was trained on ({name or 'not known'}) cannot be read again. Give a history: "
            "--data FILE, in Python forecast(data)."
        )
    return name


def _of_lines(source: Source, codec: Codec) -> Iterator[Series]:
    """Each line of a text is a series."""
    from chainrule.data.numbered import numbered

    for part in numbered(source):
        for row, (text, blank) in enumerate(zip(part.texts, part.blank.tolist(), strict=True), part.first):
            if not blank:
                yield _of_cell(text.decode("utf-8", "backslashreplace"), row, codec)


def _of_cell(text: str, row: int, codec: Codec) -> Series:
    """A cell that holds a whole series."""
    from chainrule.data.tables import MISSING

    values = codec.from_typed(text).removesuffix(UNIT).split(UNIT) if UNIT in text else codec.symbols_of(text)
    kept = [one or MISSING for one in values] if codec.keeps_gaps else [one for one in values if one]
    return Series(None, tuple(kept), np.full(len(kept), row))


@dataclass(frozen=True)
class _Row:
    """One value of a table."""

    number: int
    value: str
    group: str
    time: str
    id: str


def _of_rows(source: Source, codec: Codec, id: str | None) -> Iterator[Series]:
    """The rows of a table, grouped and ordered as asked; a row that is a list is a series itself."""
    config = source.config
    wanted = {"group": config.group, "time": config.sort, "id": id}
    named = {name: column for name, column in wanted.items() if column}
    columns = (config.column, *named.values())
    groups: dict[str, list[_Row]] = {}
    number, lists = 0, False
    for texts, *others in source.rows(columns, (True, *(False,) * len(named))):
        for cells in zip(texts, *others, strict=True):
            number += 1
            value, *keys = (cell.decode("utf-8", "backslashreplace") for cell in cells)
            row = _Row(number, value, **{**dict.fromkeys(wanted, ""), **dict(zip(named, keys, strict=True))})
            if UNIT in value:
                lists = True
                yield _of_cell(value, number, codec)
            elif codec.keeps_gaps and len(value.split()) > 1:
                raise DataError(f"{source.name}, row {number}: one value was expected, not {value!r:.40}.")
            elif _complete(row, source, codec):
                groups.setdefault(row.group, []).append(row)
    if lists:  # rows without a value are lists without items
        groups = {name: rows for name, rows in groups.items() if any(row.value for row in rows)}
    yield from (_series(rows, source, id) for rows in groups.values())


def _complete(row: _Row, source: Source, codec: Codec) -> bool:
    """Whether a row belongs to a series: as in training, one without a group or a time does not."""
    keys = [
        key for key, column in ((row.group, source.config.group), (row.time, source.config.sort)) if column
    ]
    return all(key.strip() for key in keys) and bool(row.value.strip() or codec.keeps_gaps)


def _series(rows: Sequence[_Row], source: Source, id: str | None) -> Series:
    from chainrule.data.order import OrderCheck
    from chainrule.data.tables import MISSING

    config = source.config
    if config.sort:
        order = OrderCheck(config.sort, config.decimals)
        keys = ((order.position(row.time), row) for row in rows)
        rows = [row for _, row in sorted(keys, key=lambda pair: (isinstance(pair[0], str), pair[0]))]
    return Series(
        rows[0].group if config.group else None,
        tuple(row.value or MISSING for row in rows),
        np.array([row.number for row in rows]),
        tuple(row.time for row in rows) if config.sort else None,
        tuple(row.id for row in rows) if id else None,
    )
