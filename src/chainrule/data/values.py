"""Numbers as files write them: what is none is refused with the place where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.numbers import LARGEST, is_missing, is_number
from chainrule.data.tables import MISSING, Located
from chainrule.errors import DataError

ODD = re.compile(rb"[^0-9.+\-\s\x1f]")  # text without any of these is looked at by the codec alone
COMMA = re.compile(r"[-+\d.]*\d,\d[\d.,]*")


def checked_cells(rows: Iterable[Located], column: str | None) -> Iterator[Located]:
    """The same rows, the first cell of each a number, several, or none; what a list lacks is a missing value."""
    for where, (cell, *others) in rows:
        value = cell
        if UNIT in cell:
            value = "".join((one.strip() or MISSING) + UNIT for one in cell.removesuffix(UNIT).split(UNIT))
        wrong = _wrong(value.replace(UNIT, " "))
        if wrong is not None:
            place = where if column is None else f"{where}, column {column!r}"
            raise DataError(f"{place}: {_told(wrong)} {_advice(column, wrong)}")
        yield where, (value, *others)


def checked_texts(blocks: Iterable[Texts], name: str, what: str = "line") -> Iterator[Texts]:
    """The same lines, all of them numbers with white space between."""
    before = 0
    for texts in blocks:
        data = texts.data.tobytes()
        if ODD.search(data):
            _check_lines(texts, data, name, what, before)
        before += data.count(b"\n") if what == "line" else len(texts)
        yield texts


def _check_lines(texts: Texts, data: bytes, name: str, what: str, before: int) -> None:
    for number, (start, line) in enumerate(zip(texts.starts.tolist(), texts, strict=True)):
        wrong = _wrong(line.decode("utf-8", "backslashreplace").replace(UNIT, " "))
        if wrong is not None:
            at = 1 + before + (data.count(b"\n", 0, start) if what == "line" else number)
            raise DataError(f"{name}, {what} {at:,}: {_told(wrong)} {_advice(None, wrong)}")


def _wrong(text: str) -> str | None:
    """The first word that is no number and does not say that one is missing."""
    try:
        if abs(float(text)) <= LARGEST:  # nearly always
            return None
    except ValueError:
        pass
    words = (word.encode("utf-8", "backslashreplace") for word in text.split())
    odd = (word for word in words if not is_number(word) and not is_missing(word))
    return next((word.decode("utf-8", "backslashreplace") for word in odd), None)


def _told(word: str) -> str:
    return f"{word!r:.60} is no number up to {LARGEST:g}."


def _advice(column: str | None, word: str) -> str:
    decimals = "Decimals have a point, and thousands no sign between them. " if COMMA.fullmatch(word) else ""
    rows = column and not decimals  # a comma is seldom alone
    where = f"leave such rows out (--where {f'{column} != {word}'!r}), " if rows else ""
    return (
        f"{decimals}Repair it or leave the value empty, which makes a gap, {where}"
        "or take every value as a symbol: --codec events."
    )
