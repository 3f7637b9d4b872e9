"""CoNLL-U: one sentence a row, and of its columns those that are asked for.

By the rules of Universal Dependencies a range such as `3-4` is the surface form of the words 3 and 4: it
stands for them in FORM, and they stand for themselves in every other column. Where FORM is read beside other
columns they stand for themselves there too, so that word i of every column is the same word. Empty nodes (`8.1`)
are no words of the sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chainrule.errors import DataError, suggest

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
FORM = COLUMNS.index("FORM")
DIGITS = 18  # of the number of a word


def sentences(name: str, lines: Iterable[str], columns: Sequence[str | None]) -> Iterator[tuple[str, ...]]:
    """Of every sentence the columns as words separated by spaces; a space inside a form becomes a no-break space."""
    places = [_place(name, column) for column in columns]
    words: list[list[str]] = []  # of this sentence, the cells of every word
    covered = 0  # up to this word a range has given the form already
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r\n")
        if not line.strip():
            yield from _sentence(words, places)
            words, covered = [], 0
        elif not line.startswith("#"):
            first, last = _word_id(name, number, cells := line.split("\t"))
            if last and places == [FORM]:
                words, covered = [*words, cells], int(last)
            elif not last and "." not in first and int(first) > covered:
                words.append(cells)
    yield from _sentence(words, places)


def _place(name: str, column: str | None) -> int:
    wanted = (column or "FORM").upper()
    if wanted not in COLUMNS:
        raise DataError(f"{name} has no column {column!r}. {suggest(wanted, COLUMNS)}")
    return COLUMNS.index(wanted)


def _sentence(words: list[list[str]], places: Sequence[int]) -> Iterator[tuple[str, ...]]:
    if len(places) == 1:
        words = [word for word in words if word[places[0]]]
    if words:
        yield tuple(" ".join(word[place].replace(" ", "\u00a0") or "_" for word in words) for place in places)


def _word_id(name: str, number: int, cells: list[str]) -> tuple[str, str]:
    """The number of a word, and that of the last word if the line stands for a range of them."""
    first, dash, last = cells[0].partition("-")
    if (
        len(cells) != len(COLUMNS)
        or not first.replace(".", "", 1).isdecimal()
        or (dash and not last.isdecimal())
        or max(len(first), len(last)) > DIGITS
    ):
        raise DataError(
            f"{name}, line {number}: not CoNLL-U. Expected an ID such as 3, 3-4 or 8.1 and {len(COLUMNS)} "
            f"columns separated by tabs, found {len(cells)} beginning with {cells[0]!r:.60}."
        )
    return first, last
