"""Rows that keep their identity: their number and, if wanted, the user's own id; blank ones are there, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chainrule.codecs.base import Texts
from chainrule.data.rows import trimmed, whole_sequences
from chainrule.data.sources import Source
from chainrule.errors import ConfigError

MANY = 1 << 12  # rows at a time


@dataclass(frozen=True)
class Numbered:
    """Some rows of the data, in their order."""

    first: int  # the number of the first row, counted from 1
    texts: Texts
    blank: np.ndarray  # (rows,) which of them say nothing
    ids: tuple[str, ...] | None  # what the user calls each of them

    @property
    def filled(self) -> Texts:
        """Those that say something."""
        return self.texts.only(~self.blank)


def numbered(source: Source, ids: str | None = None) -> Iterator[Numbered]:
    """All rows of data; where several rows make one sequence, all sequences."""
    config = source.config
    if source.ordered or config.stream or (config.joined and source.table):
        if ids is not None:
            raise ConfigError(f"--id {ids} is a name for every row, and here several rows make one sequence.")
        yield from _sequences(source)
        return
    columns = (config.column, ids) if ids is not None else (config.column,)
    _check(source, ids)
    first = 1
    for texts, *named in source.rows(columns, (False,) * len(columns)):
        yield from parts(texts, named[0] if named else None, first)
        first += len(texts)


def _check(source: Source, ids: str | None) -> None:
    if ids is not None and not (source.table or any(source.kind(path) == "conllu" for path in source.files)):
        raise ConfigError(f"--id {ids} is a column of a table, and {source.name} is text, which has none.")


def parts(texts: Texts, named: Texts | None, first: int) -> Iterator[Numbered]:
    """At most MANY rows at a time."""
    inner = trimmed(texts)
    blank = inner.starts == inner.ends
    ids = None if named is None else tuple(one.decode("utf-8", "backslashreplace") for one in named)
    for begin in range(0, len(texts), MANY):
        some = slice(begin, begin + MANY)
        part = Texts(texts.data, texts.starts[some], texts.ends[some])
        yield Numbered(first + begin, part, blank[some], None if ids is None else ids[some])


def _sequences(source: Source) -> Iterator[Numbered]:
    first = 1
    for texts in whole_sequences(source()):
        yield from parts(texts, None, first)
        first += len(texts)
