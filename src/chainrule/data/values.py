"""Numbers as files write them: what is none is refused with the place where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from chainrule.codecs.base import UNIT, Texts
from chainrule.codecs.numbers import LARGEST, is_missing, is_number
from chainrule.data.decimals import POINT, Decimals, advice
from chainrule.data.tables import MISSING, Located
from chainrule.errors import DataError

ODD = re.compile(rb"[^0-9.+\-\s\x1f]")  # text without any of these is looked at by the codec alone
WORD = re.compile(r"[^\s\x1f]+")
CELL = re.compile(r"[^\x1f]+")  # where numbers may have spaces in them


def checked_cells(
    rows: Iterable[Located], columns: Mapping[int, str | None], decimals: Decimals = POINT
) -> Iterator[Located]:
    """The same rows, the cells of these columns a number, several, or none; what a list lacks is a missing value."""
    for where, row in rows:
        cells = list(row)
        for place, column in columns.items():
            cells[place] = _checked(where, cells[place], column, decimals)
        yield where, tuple(cells)


def _checked(where: str, cell: str, column: str | None, decimals: Decimals) -> str:
    if UNIT in cell:
        cell = "".join((one.strip() or MISSING) + UNIT for one in cell.removesuffix(UNIT).split(UNIT))
    place = where if column is None else f"{where}, column {column!r}"
    return _numbers(cell, place, column, decimals, decimals.spaced)


def checked_texts(
    blocks: Iterable[Texts], name: str, what: str = "line", decimals: Decimals = POINT, before: int = 0
) -> Iterator[Texts]:
    """The same lines, all of them numbers with white space between; `before` lines have come already."""
    if decimals.spaced:
        raise DataError(
            f"{name}: white space stands between the numbers of a line, so it cannot stand between thousands. "
            "Give a table (.csv, .tsv), or leave out --thousands."
        )
    for texts in blocks:
        data = texts.data.tobytes()
        count = data.count(b"\n") if what == "line" else len(texts)
        if ODD.search(data) or not decimals.usual:
            texts = _checked_lines(texts, data, f"{name}, {what}", before, decimals)
        before += count
        yield texts


def _checked_lines(texts: Texts, data: bytes, name: str, before: int, decimals: Decimals) -> Texts:
    """Line ends are counted where there are any: blank lines are no sequences."""
    found, ends = list[str](), b"\n" in data
    for number, (start, line) in enumerate(zip(texts.starts.tolist(), texts, strict=True)):
        at = 1 + before + (data.count(b"\n", 0, start) if ends else number)
        text = line.decode("utf-8", "backslashreplace")
        found.append(_numbers(text, f"{name} {at:,}", None, decimals))
    return texts if decimals.usual else _like(texts, found)


def _like(texts: Texts, lines: list[str]) -> Texts:
    """Other lines in the place of these."""
    return replace(Texts.of(lines), opens=texts.opens, closes=texts.closes, skipped=texts.skipped)


def _numbers(text: str, place: str, column: str | None, decimals: Decimals, spaced: bool = False) -> str:
    """The text with its numbers as Python writes them; refuses the first word that is none and not a missing one."""
    if decimals.usual and _is_one(text):
        return text
    form = CELL if spaced else WORD
    wrong = next((word for word in form.findall(text) if not _is_value(word.strip(), decimals)), None)
    if wrong is not None:
        raise DataError(f"{place}: {_told(wrong, decimals)} {_advice(column, wrong)}")
    return text if decimals.usual else form.sub(lambda found: decimals.read(found[0]), text)


def _is_one(text: str) -> bool:
    """Whether a text is one number, as it is nearly always."""
    try:
        return abs(float(text)) <= LARGEST
    except ValueError:
        return False


def _is_value(word: str, decimals: Decimals) -> bool:
    """Whether a word is a number, or says that one is missing."""
    plain = word.encode("utf-8", "backslashreplace")
    if not word or is_missing(plain):
        return True
    try:
        return is_number(plain) if decimals.usual else abs(decimals.number(word)) <= LARGEST
    except ValueError:
        return False


def _told(word: str, decimals: Decimals) -> str:
    written = "" if decimals.decimal == "." else " with a decimal comma"
    return f"{word!r:.60} is no number up to {LARGEST:g}{written}."


def _advice(column: str | None, word: str) -> str:
    decimals = advice(word)
    rows = column and not decimals  # a comma is seldom alone
    where = f"leave such rows out (--where {f'{column} != {word}'!r}), " if rows else ""
    return (
        f"{decimals}Repair it or leave the value empty, which makes a gap, {where}"
        "or take every value as a symbol: --codec events."
    )
