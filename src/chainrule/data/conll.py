"""CoNLL column files: a word a line with its tags beside it, a blank line between sentences.

EU NNP B-NP B-ORG          # CoNLL-2003: word, part of speech, chunk, entity; -DOCSTART- lines are no words
en:Sioux<TAB>B-ORG         # WikiANN: the language stands before every word
The  - (A0*  (A0*          # CoNLL-2005 and 2012: a column of arguments for each predicate, whose own is (V*)

Columns have numbers from 1 on; words stand in the first one and tags in the last one, if nothing else is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from chainrule.errors import DataError

DOCUMENT = "-DOCSTART-"
MARK = "<predicate>"  # stands before the word whose arguments are asked for, and has no tag
FIRST, LAST = ("form", "word", "token", "text"), ("label", "tag", "ner")
LANGUAGE = re.compile(r"[a-z][a-z-]{1,11}:")
ARGUMENT = re.compile(r"(?:\(([^()*\s]+))?\*(\)?)")
LOOKED = 400  # lines that tell whether a file is one of columns
NUMBER = 2  # of CoNLL-2012, the column that counts words, and the one before them

Cells = Sequence[str]
Sentence = tuple[int, list[Cells]]  # the line it begins with, and the cells of its words


@dataclass
class Remarks:
    """What was left out or changed while files were read."""

    documents: int = 0
    language: str = ""
    unasked: int = 0  # sentences without a predicate

    @property
    def notes(self) -> tuple[str, ...]:
        """For people."""
        found = []
        if self.documents:
            found.append(f"{self.documents:,} lines {DOCUMENT} were skipped")
        if self.language:
            found.append(f"the prefix {self.language!r} was removed from every word")
        if self.unasked:
            found.append(f"{self.unasked:,} sentences have no predicate and were skipped")
        return tuple(found)


def is_columns(lines: Iterable[str]) -> bool:
    """Whether lines are words with something beside them: several cells, equally many, and blank lines between."""
    widths: set[int] = set()
    blank = False
    for line in islice(lines, LOOKED):
        cells = _cells(line)
        blank |= not cells and bool(widths)
        widths |= {len(cells)} if cells and not _is_comment(line) else set()
    return blank and len(widths) == 1 and min(widths) > 1


def sentences(name: str, lines: Iterable[str], remarks: Remarks) -> Iterator[Sentence]:
    """The cells of the words of every sentence; all of them have equally many."""
    held: list[Cells] = []
    begin = 1
    for number, line in enumerate(lines, 1):
        cells = _cells(line)
        if cells and not _is_comment(line):
            if cells[0] == DOCUMENT:
                remarks.documents += 1
                continue
            begin = begin if held else number
            held.append(cells)
            if len(cells) != len(held[0]):
                raise DataError(
                    f"{name}, line {number}: {len(cells)} columns where the sentence has {len(held[0])}. Expected is a "
                    "word a line with its tags beside it, and a blank line between sentences."
                )
        elif held:
            yield begin, held
            held = []
    if held:
        yield begin, held


def _cells(line: str) -> list[str]:
    """Separated by tabs, if there are any, else by spaces."""
    line = line.strip("\r\n ")
    if not line.strip():
        return []
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def _is_comment(line: str) -> bool:
    return line.startswith(("#begin", "#end", "# "))


def column(name: str, wanted: str | None, cells: Cells, otherwise: int) -> int:
    """The place of a column: its number from 1 on, or a name of the first or the last one."""
    if wanted is None or wanted.lower() in FIRST + LAST:
        return otherwise if wanted is None else (0 if wanted.lower() in FIRST else len(cells) - 1)
    if not (wanted.isdecimal() and 1 <= int(wanted) <= len(cells)):
        raise DataError(
            f"{name}: there is no column {wanted!r}. Its columns have numbers from 1 to {len(cells)}, words stand in "
            "the first and tags in the last one, if nothing else is said."
        )
    return int(wanted) - 1


def language(lines: Iterable[str]) -> str:
    """What WikiANN writes before every word, such as `en:`; nothing if the first lines have no such thing."""
    words = [cells[0] for line in islice(lines, LOOKED) if (cells := _cells(line))]
    match = LANGUAGE.match(words[0]) if words else None
    return match.group() if match and all(word.startswith(match.group()) for word in words) else ""


def has_roles(words: Sequence[Cells]) -> bool:
    """Whether a sentence has columns of arguments."""
    return bool(argument_columns(words))


def argument_columns(words: Sequence[Cells]) -> list[int]:
    """Those in which every cell is a piece of brackets, and one is the predicate."""
    return [
        at
        for at in range(1, len(words[0]))
        if all(ARGUMENT.fullmatch(row[at]) for row in words)
        and any(row[at].startswith("(V*") for row in words)
    ]


def word_column(words: Sequence[Cells]) -> int:
    """Of CoNLL-2012 the fourth, as the third counts words; else the first."""
    counted = len(words[0]) > NUMBER + 1 and all(row[NUMBER] == str(at) for at, row in enumerate(words))
    return NUMBER + 1 if counted else 0


def roles(words: Sequence[Cells], forms: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
    """For each predicate the words, it being marked, and the tags of its arguments in BIO."""
    for at in argument_columns(words):
        tags = _unbracketed([row[at] for row in words])
        verb = tags.index("B-V")
        yield [*forms[:verb], MARK, *forms[verb:]], tags


def _unbracketed(cells: Sequence[str]) -> list[str]:
    """(A0* * *) is B-A0 I-A0 I-A0."""
    found, inside = [], ""
    for cell in cells:
        match = ARGUMENT.fullmatch(cell)
        assert match is not None
        opened = match[1] or ""
        inside = opened or inside
        found.append(f"{'B' if opened else 'I'}-{inside}" if inside else "O")
        inside = "" if match[2] else inside
    return found
