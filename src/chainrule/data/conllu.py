"""CoNLL-U: one sentence a sequence, one column of its words.

By the rules of Universal Dependencies a range such as `3-4` is the surface form of the words 3 and 4: it
stands for them in FORM, and they stand for themselves in every other column. Empty nodes (`8.1`) are no words
of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chainrule.errors import DataError, suggest

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")


def sentences(name: str, lines: Iterable[str], column: str | None) -> Iterator[str]:
    """Every sentence as words separated by spaces; a space inside a form becomes a no-break space."""
    wanted = (column or "FORM").upper()
    if wanted not in COLUMNS:
        raise DataError(f"{name} has no column {column!r}. {suggest(wanted, COLUMNS)}")
    words: list[str] = []
    covered = 0  # up to this word a range has given the form already
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            yield from [" ".join(words)] if words else []
            words, covered = [], 0
        elif not line.startswith("#"):
            word, covered = _word(name, number, line.split("\t"), wanted, covered)
            words += [word.replace(" ", "\u00a0")] if word else []
    yield from [" ".join(words)] if words else []


def _word(name: str, number: int, cells: list[str], column: str, covered: int) -> tuple[str, int]:
    """The word this line adds, or nothing, and how far ranges reach."""
    first, dash, last = cells[0].partition("-")
    if (
        len(cells) != len(COLUMNS)
        or not first.replace(".", "", 1).isdecimal()
        or (dash and not last.isdecimal())
    ):
        raise DataError(
            f"{name}, line {number}: not CoNLL-U. Expected an ID such as 3, 3-4 or 8.1 and {len(COLUMNS)} "
            f"columns separated by tabs, found {len(cells)} beginning with {cells[0]!r}."
        )
    if "." in first or (dash and column != "FORM"):
        return "", covered
    if dash:
        return cells[1], int(last)
    return ("" if column == "FORM" and int(first) <= covered else cells[COLUMNS.index(column)]), covered
