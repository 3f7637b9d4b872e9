"""Recordings: sequences of frames as files, tables and Python hold them, one after another.

sensors.csv: session, time, x, y, z, activity   # a row for every moment: --column x,y,z --group session --sort time
walk/1.csv, run/2.csv                           # a file for every sequence, a folder for every label; .npy as well
recordings/a.npy, b.npy, labels.csv             # (T, F) each; a column of the table names the files
X.npy, labels.csv                               # (N, T, F), and row i of the table for sequence i
both.npz                                        # X (N, T, F) and y (N,), or one array (T, F) for each sequence
{"signal": [[1, 2], [3, 4]], "label": "walk"}   # lines of JSON, or a table in memory: a row for every sequence
[array, array], array of (N, T, F)              # from Python; with labels {"text": arrays, "label": labels}
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.codecs.base import UNIT
from chainrule.codecs.frames import told
from chainrule.codecs.registry import codec as codec_named
from chainrule.data import tables
from chainrule.data.arrays import NUMBERS, arrays, is_arrays
from chainrule.data.given import Table, as_list, names_files
from chainrule.data.order import OrderCheck, grouped
from chainrule.data.roles import Request
from chainrule.data.rows import LABEL
from chainrule.data.sources import TABLES, Source, read
from chainrule.errors import DataError

FIELD = "\x01"  # between a frame, its label and its sequence while rows are sorted; no blank
X, Y = "X", "y"  # what scikit-learn calls sequences and their labels
LOOKED_AT = 1000  # names of files
ID = "id"  # the role of the names of sequences
SHAPES = "(frames, numbers) for one sequence, or (sequences, frames, numbers)"


@dataclass(frozen=True)
class Recording:
    """One sequence: its frames as text, its label or those of its frames, and what it is called."""

    frames: Sequence[str]
    labels: Sequence[str] = ()  # of its frames, or one for all of them
    id: str = ""


@dataclass(frozen=True)
class Form:
    """What is wanted of the data: columns by what they are for."""

    columns: tuple[str, ...]  # of the numbers; none: all that are not named for something else
    label: str | None  # None: labels are not wanted
    named: bool  # whether somebody has said which column the labels are in
    group: str | None
    sort: str | None
    tags: bool = False  # every frame has a label of its own
    notes: list[str] = field(default_factory=list)  # what was found on the way, for people

    @classmethod
    def of(cls, asked: Request) -> Form:
        """As roles and settings say."""
        role = next((one for one in asked.roles if one.name == LABEL), None)
        label = asked.column(role) if role else None
        kind = codec_named(asked.asked[LABEL] or "labels") if role else None
        column = asked.column(next(one for one in asked.roles if one.name == asked.main), table=False)
        named = tuple(one.strip() for one in (column or "").split(",") if one.strip())
        tags = kind is not None and not kind.one_symbol
        reading = asked.reading
        return cls(named, label, bool(role and role.column), reading.group, reading.sort, tags)

    def numbers(self, header: Sequence[str]) -> list[str]:
        """The columns of a frame, of a table with this header."""
        others = (self.label, self.group, self.sort)
        found = list(self.columns) or [name for name in header if name not in others]
        if not found:
            raise DataError("There is no column of numbers. Name those of a frame: --column x,y,z")
        return found


def names_arrays(given: Any) -> bool:
    """Whether files are named, and some of them hold arrays."""
    if isinstance(given, Mapping):
        return any(names_arrays(one) for one in given.values())
    if isinstance(given, list | tuple):  # of texts, a dot is no folder
        named = [one for one in given[:LOOKED_AT] if isinstance(one, str | os.PathLike)]
        return any(
            is_arrays(Path(one)) or (isinstance(one, os.PathLike) and names_arrays(one)) for one in named
        )
    if not isinstance(given, str | os.PathLike) or not os.path.exists(given):
        return False
    path = Path(given)
    below = path.rglob("*") if path.is_dir() else [path]
    return any(is_arrays(one) for one in below)


def is_nested(given: Any) -> bool:
    """Whether values of Python are arrays of two dimensions or more, or lists of lists of numbers."""
    if isinstance(given, Mapping):
        return any(is_nested(one) for one in given.values())
    if hasattr(given, "ndim") and hasattr(given, "dtype") and given.dtype.kind != "O":
        return bool(given.ndim == 3)
    if not isinstance(given, list | tuple | np.ndarray) or len(given) == 0:
        return False
    first = given[0]
    if hasattr(first, "ndim"):
        return bool(first.ndim == 2 and first.dtype.kind in NUMBERS)
    inner = first[0] if isinstance(first, list | tuple) and first else None
    return isinstance(inner, list | tuple) and all(isinstance(one, int | float | None) for one in inner)


def recordings(given: Any, asked: Request, form: Form) -> tuple[str, Iterator[Recording]]:
    """All sequences, and what messages call the data."""
    if isinstance(given, Mapping) and (is_nested(own := given.get(asked.main)) or names_arrays(own)):
        return "the given arrays", _beside(given, asked, form)
    if is_nested(given):
        return "the given arrays", _listed(given, "the given arrays")
    source = read(given, replace(asked.reading, group=None, sort=None))
    if source.frame or any(not is_arrays(path) for path in source.files):
        tabled = [path for path in source.files if not is_arrays(path)]
        if len(tabled) < len(source.files):
            return source.name, _labelled_arrays(source, tabled, form)
        return source.name, _of_tables(source, form)
    if not source.files:
        raise DataError(f"{source.name}: frames are arrays of numbers, or columns of a table, not texts.")
    return source.name, _of_files(source, form, _array_files(source))


def _beside(given: Mapping[str, Any], asked: Request, form: Form) -> Iterator[Recording]:
    """Sequences and labels, one source for each."""
    found = list(_listed(given[asked.main], "the given arrays"))
    if form.label is None:
        return iter(found)
    labels = given.get(LABEL, given.get(form.label))
    if labels is None:
        raise _unlabelled("The given data")
    return _joined(found, _labels_of(labels, asked), "the given labels")


def _labels_of(given: Any, asked: Request) -> list[tuple[str, ...]]:
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        if is_arrays(path):
            return _as_answers(next(iter(arrays(path, str(path)).values())))
        form = Form.of(asked)
        source = read(given, replace(asked.reading, column=form.label, group=None, sort=None))
        column = form.label if source.table and form.label in source.names() else None
        return [(one.decode(),) for (block,) in source.rows((column,), (False,)) for one in block]
    return _as_answers(given)


def _as_labels(given: Any) -> list[str]:
    return [_label(one) for one in as_list(given)]


def _as_answers(given: Any) -> list[tuple[str, ...]]:
    """Of every sequence its label, or one for each of its frames."""
    rows = (one.tolist() if hasattr(one, "tolist") else one for one in as_list(given))
    return [tuple(_as_labels(one)) if isinstance(one, list | tuple) else (_label(one),) for one in rows]


def _label(given: Any) -> str:
    return "" if given is None else str(given)


def _joined(found: Sequence[Recording], labels: Sequence[Sequence[str]], name: str) -> Iterator[Recording]:
    if len(found) != len(labels):
        raise DataError(
            f"{name}: there are {len(labels):,} labels for {len(found):,} sequences; give one for each."
        )
    return (replace(one, labels=tuple(label)) for one, label in zip(found, labels, strict=True))


def _listed(given: Any, name: str) -> Iterator[Recording]:
    """Sequences that Python holds: a list of arrays (T, F), or one array (N, T, F)."""
    if isinstance(given, str | os.PathLike) or (isinstance(given, list | tuple) and names_files(given)):
        for path in [given] if isinstance(given, str | os.PathLike) else given:
            yield from _of_arrays(arrays(Path(path), str(path)), str(path), Path(path).stem)
        return
    for number, one in enumerate(given, 1):
        yield Recording(_texts(_matrix(one, f"{name}, sequence {number:,}")), id=str(number))


def _matrix(given: Any, name: str) -> np.ndarray:
    """The frames (T, F) of one sequence; numbers alone are frames of one number."""
    try:
        found = np.asarray(given, np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{name} is no array of real numbers: all frames need equally many of them ({error})."
        ) from error
    if found.size == 0:
        return np.empty((0, 1))
    if found.ndim == 1:
        return found[:, None]
    if found.ndim != 2:
        raise DataError(f"{name} has the shape {found.shape}, and {SHAPES} is wanted.")
    return found


def _texts(frames: np.ndarray) -> list[str]:
    return [told(frame) for frame in frames]


def _of_arrays(found: Mapping[str, np.ndarray], name: str, stem: str) -> Iterator[Recording]:
    """The sequences of a file: X with its labels y, or every array by itself."""
    if X in found:
        labels = _as_answers(found[Y]) if Y in found else None
        sequences = list(_rows_of(found[X], f"{name}, {X}", ""))
        yield from sequences if labels is None else _joined(sequences, labels, f"{name}, {Y}")
        return
    for key, one in found.items():
        yield from _rows_of(one, f"{name}, {key}" if key else name, key or stem)


def _rows_of(array: np.ndarray, name: str, stem: str) -> Iterator[Recording]:
    """One sequence, or one for every row; what is NaN altogether at the end of a row is padding."""
    if array.dtype.kind not in NUMBERS or array.ndim not in (1, 2, 3):
        raise DataError(
            f"{name} has the shape {array.shape} and holds {array.dtype}; {SHAPES} of numbers is wanted."
        )
    if array.ndim < 3:
        yield Recording(_texts(_matrix(array, name)), id=stem)
        return
    for number, row in enumerate(array, 1):
        known = np.flatnonzero(~np.isnan(row.astype(np.float64)).all(1))
        yield Recording(_texts(row[: known[-1] + 1 if len(known) else 0]), id=str(number))


def _array_files(source: Source) -> Callable[[Path], Iterator[Recording]]:
    """How a file of arrays is read."""
    return lambda path: _of_arrays(arrays(path, source.label(path)), source.label(path), path.stem)


def _of_files(
    source: Source, form: Form, reading: Callable[[Path], Iterator[Recording]]
) -> Iterator[Recording]:
    """Files without a table beside them: those in different folders are labelled by these."""
    folders = len({path.parent for path in source.files}) > 1
    for path in source.files:
        for one in reading(path):
            if form.label is not None and not one.labels and not folders:
                raise _unlabelled(source.label(path))
            yield one if one.labels or not folders else replace(one, labels=(path.parent.name,))


def _unlabelled(name: str) -> DataError:
    return DataError(
        f"{name} has no labels. Give a table beside it (X.npy labels.csv --label COLUMN), an array y in the .npz, or a "
        "folder for each label; of a table, --label COLUMN."
    )


def _labelled_arrays(source: Source, tabled: Sequence[Path], form: Form) -> Iterator[Recording]:
    """Arrays, and a table with a row for each sequence: in their order, or by the names of the files."""
    files = [path for path in source.files if is_arrays(path)]
    reading = _array_files(source)
    found = [(path, one) for path in files for one in reading(path)]
    table = replace(source, files=tuple(tabled), states=())
    if form.label is None:
        return (one for _, one in found)
    header = table.names()
    tables.column_of(table.name, form.label, header)
    rows = [cells for path in tabled for _, cells in table.located(path, [form.label, *header], lists=False)]
    names = [(path.name, path.stem) for path, _ in found]
    place = _naming(names, rows, len(header)) if len(files) > 1 else None
    if place is None:
        return _joined([one for _, one in found], [(row[0],) for row in rows], table.name)
    form.notes.append(f"labels: by the names of files, column {header[place - 1]!r}")
    by_name = {Path(row[place]).name: row[0] for row in rows}
    return (
        replace(one, labels=(by_name.get(path.name) or by_name.get(path.stem) or "",)) for path, one in found
    )


def _naming(names: Sequence[tuple[str, str]], rows: Sequence[tables.Cells], count: int) -> int | None:
    """The column (from 1) in which most files are named, with or without their suffix; None: no file is."""
    cells = [{Path(row[place]).name for row in rows} for place in range(1, count + 1)]
    hits = [sum(bool({*both} & one) for both in names) for one in cells]
    best = int(np.argmax(hits)) if hits else 0
    return best + 1 if hits and hits[best] else None


def _of_tables(source: Source, form: Form) -> Iterator[Recording]:
    """Rows that are moments, grouped; or rows that are sequences, where a cell is a list of frames."""
    for path in source.files:
        if source.kind(path) not in TABLES:
            raise DataError(
                f"{source.label(path)} is text, and frames are columns of a table (.csv, .tsv, .jsonl, .parquet), "
                "or arrays (.npy, .npz)."
            )
    rows = _nested_rows(source, form)
    if rows is not None:
        return rows
    if form.group or len(source.each_table) == 1:
        return _grouped(source, source.each_table, form)
    return _of_files(source, form, lambda path: _grouped(source, [path], form, path.stem))


def _nested_rows(source: Source, form: Form) -> Iterator[Recording] | None:
    """Rows whose cell is a list of frames; None: they are no such rows."""
    if len(form.columns) > 1 or not (source.frame or source.kind(source.files[0]) == "jsonl"):
        return None
    first = next(_json_rows(source), None)
    column = form.columns[0] if form.columns else tables.USUAL
    cell = first[1].get(column) if first else None
    if not (isinstance(cell, list) and cell and isinstance(cell[0], list)):
        return None
    return (_nested(where, row, column, form, at) for at, (where, row) in enumerate(_json_rows(source), 1))


def _json_rows(source: Source) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if source.frame:
        yield from ((f"{source.name}, row {at}", row) for at, row in enumerate(source.frame.rows(), 1))
    for path in source.files:
        for at, line in enumerate(source.lines_of(path), 1):
            where = f"{source.label(path)}, line {at}"
            row = tables.json_row(where, line)
            if row is not None:
                yield where, row


def _nested(where: str, row: Mapping[str, Any], column: str, form: Form, number: int) -> Recording:
    labels = row.get(tables.column_of(where, form.label, list(row))) if form.label else ()
    given = labels if isinstance(labels, list | tuple) else [labels]
    frames = row.get(column) or []
    return Recording(
        _texts(_matrix(frames, f"{where}, column {column!r}")), _as_labels(given), str(row.get(ID, number))
    )


def _grouped(
    source: Source, found: Sequence[Path | Table], form: Form, stem: str = ""
) -> Iterator[Recording]:
    """Rows of tables as sequences: those of a group, or all of them; sorted on disk if large."""
    header = source.names()
    numbers = form.numbers(header)
    labelled = form.label is not None and (form.named or form.label in header)
    others = [name for name in (form.label if labelled else None, form.group, form.sort) if name]
    checked = (True,) * len(numbers) + (False,) * len(others)
    rows = [source.located(one, [*numbers, *others], False, checked) for one in found]
    order = OrderCheck(form.sort, source.config.decimals) if form.sort else None
    told_rows = [_told_rows(one, len(numbers), labelled, bool(form.group)) for one in rows]
    for at, record in enumerate(grouped(told_rows, bool(form.group), False, order), 1):
        text = record.decode().rstrip(tables.RECORD)
        if text:
            yield _recording(text, form, stem or str(at))
        elif record:
            form.notes.append(f"{len(record):,} rows without a {form.group or form.sort} were left out")
    form.notes.extend(order.notes() if order else ())


def _told_rows(
    rows: Iterable[tables.Located], count: int, labelled: bool, group: bool
) -> Iterator[tables.Located]:
    """Each row as a frame, its label and its group in one cell, and what it is grouped and sorted by."""
    for where, cells in rows:
        frame = " ".join(cell.strip() or tables.MISSING for cell in cells[:count])
        label, keys = (cells[count], cells[count + 1 :]) if labelled else ("", cells[count:])
        name = keys[0] if group else ""
        plain = (one.replace(FIELD, " ").strip() for one in (frame, label, name))
        yield where, (FIELD.join(plain), *keys)


def _recording(text: str, form: Form, name: str) -> Recording:
    """One sequence of sorted rows."""
    frames, labels, names = zip(*(row.split(FIELD) for row in text.split(UNIT)), strict=True)
    called = names[0] or name
    if form.tags:
        return Recording(frames, labels, called)
    different = list(dict.fromkeys(label for label in labels if label))
    if len(different) > 1:
        whose = f"{form.group} {called!r}" if form.group else f"The file {called!r}"
        raise DataError(
            f"{whose} has {len(different):,} labels, such as {different[0]!r} and {different[1]!r}: a sequence has "
            "one. Name the column that tells sequences apart (--group), or the right column of labels (--label)."
        )
    return Recording(frames, different, called)
