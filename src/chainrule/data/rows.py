"""Rows of several columns: a block holds, for every role, the same number of sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from chainrule.codecs.base import UNIT, Blocks, Texts
from chainrule.codecs.scan import separating
from chainrule.errors import DataError
from chainrule.runtime import compiled

LABEL = "label"  # the role of the answers of classification
PAIR = "pair"  # the role of the second of two texts that are read together
TARGET = "target"  # the role that is written, where others are the sources it is written from
TEXT = "text"  # the role of data that have only one, and the main one of those that have several
LITTLE = 1 << 26  # bytes of rows that are kept in memory once they were read


def main_of(roles: Iterable[str]) -> str:
    """The main role: `text`, or the first one where there is none. Rows are divided by it."""
    names = list(roles)
    return TEXT if TEXT in names else names[0]


@dataclass(frozen=True)
class Rows:
    """A block of examples: sequence i of every role belongs to row i."""

    columns: Mapping[str, Texts]  # role -> its sequences, equally many for all

    @property
    def main(self) -> Texts:
        """The sequences of the main role."""
        return self.columns[main_of(self.columns)]

    def __len__(self) -> int:
        return len(self.main)

    @property
    def bytes(self) -> int:
        """Of all roles."""
        return sum(texts.bytes for texts in self.columns.values())

    def map(self, function: Callable[[Texts], Texts]) -> Rows:
        """The same done to every column."""
        return Rows({role: function(texts) for role, texts in self.columns.items()})

    def only(self, chosen: np.ndarray, skipped: int = 0) -> Rows:
        """The rows marked in `chosen` (rows,), and how many were left out before; nothing is copied."""
        return self.map(lambda texts: replace(texts.only(chosen), skipped=skipped))

    def between(self, begin: int, end: int | None = None) -> Rows:
        """The rows from `begin` on, up to `end`."""
        return self.map(lambda texts: Texts(texts.data, texts.starts[begin:end], texts.ends[begin:end]))


RowBlocks = Callable[[], Iterable[Rows]]  # called again for every pass over the data


@dataclass(frozen=True)
class Column:
    """The sequences of one role."""

    rows: RowBlocks
    role: str

    def __call__(self) -> Iterator[Texts]:
        for rows in self.rows():
            yield rows.columns[self.role]


def columns(rows: RowBlocks, roles: Iterable[str]) -> dict[str, Blocks]:
    """Every role's sequences by themselves; each can be read again and again."""
    return {role: Column(rows, role) for role in roles}


class Remembered:
    """Rows that stay in memory after the first pass, if they are few: parsing a table takes longer than keeping it."""

    def __init__(self, rows: RowBlocks) -> None:
        self.rows, self.kept = rows, list[Rows]()
        self.complete = False

    def __call__(self) -> Iterator[Rows]:
        if self.complete:
            yield from self.kept
            return
        kept: list[Rows] = []
        size = 0
        for rows in self.rows():
            size += rows.bytes
            if size <= LITTLE:
                kept.append(rows)
            else:
                kept.clear()
            yield rows
        if size <= LITTLE:
            self.kept, self.complete = kept, True


def side_by_side(flows: Mapping[str, Iterator[Rows]]) -> Iterator[Rows]:
    """Rows of several flows joined, whatever the sizes of their blocks; all must have equally many rows."""
    held: dict[str, Rows | None] = {name: _next(flow) for name, flow in flows.items()}
    done = 0
    while blocks := [rows for rows in held.values() if rows is not None]:
        if len(blocks) < len(held):
            raise _unequal({name: done + _count(held[name], flow) for name, flow in flows.items()})
        size = min(map(len, blocks))
        yield Rows({role: texts for rows in blocks for role, texts in rows.between(0, size).columns.items()})
        done += size
        for (name, flow), rows in zip(flows.items(), blocks, strict=True):
            held[name] = rows.between(size) if len(rows) > size else _next(flow)


def _next(flow: Iterator[Rows]) -> Rows | None:
    """The next block that holds any row."""
    return next((rows for rows in flow if len(rows)), None)


def _count(held: Rows | None, flow: Iterator[Rows]) -> int:
    return (len(held) if held is not None else 0) + sum(map(len, flow))


def _unequal(counts: Mapping[str, int]) -> DataError:
    listed = ", ".join(f"{name} has {count:,}" for name, count in counts.items())
    return DataError(
        f"Parallel data need equally many lines, one for each example: {listed}. "
        "Line i of each must belong to line i of the others; a blank line keeps its place."
    )


SPACES = separating(" \t\n\r\v\f" + UNIT)


@compiled
def _trim(data: np.ndarray, spaces: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> None:
    """Move starts and ends inwards over white space."""
    for sequence in range(len(starts)):
        start, end = starts[sequence], ends[sequence]
        while start < end and spaces[data[start]]:
            start += 1
        while start < end and spaces[data[end - 1]]:
            end -= 1
        starts[sequence], ends[sequence] = start, end


def trimmed(texts: Texts) -> Texts:
    """The same sequences without white space around them; a blank one is empty."""
    starts, ends = texts.starts.copy(), texts.ends.copy()
    _trim(texts.data, SPACES, starts, ends)
    return replace(texts, starts=starts, ends=ends)


def without_blanks(rows: Rows, empty: Sequence[str]) -> Rows:
    """Rows with a blank cell are left out, for all roles, and counted; roles in `empty` may have blank cells.

    A blank cell that may stay becomes an empty sequence.
    """
    keep = np.ones(len(rows), np.bool_)
    columns = {}
    for role, texts in rows.columns.items():
        inner = trimmed(texts)
        blank = inner.starts == inner.ends
        keep &= np.bool_(role in empty) | ~blank
        columns[role] = replace(texts, ends=np.where(blank, texts.starts, texts.ends))
    return Rows(columns).only(keep, int(np.count_nonzero(~keep)))


def whole_sequences(blocks: Iterable[Texts]) -> Iterator[Texts]:
    """The same sequences in blocks that cut none of them; one spread over several blocks is put together."""
    held: list[bytes] = []
    for texts in blocks:
        inside = np.ones(len(texts), np.bool_)
        if len(texts) and not texts.opens:
            inside[0] = False
            held.append(texts.data[texts.starts[0] : texts.ends[0]].tobytes())
            if len(texts) > 1 or texts.closes:
                yield Texts.of([b"".join(held)])
                held = []
        if len(texts) and not texts.closes and inside[-1]:
            inside[-1] = False
            held = [texts.data[texts.starts[-1] : texts.ends[-1]].tobytes()]
        yield Texts(texts.data, texts.starts[inside], texts.ends[inside], skipped=texts.skipped)
