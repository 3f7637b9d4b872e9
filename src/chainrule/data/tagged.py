"""Sentences and their tags, one for every word, whatever they come from: CoNLL columns, CoNLL-U, tables, Python lists.

All become rows of three sequences: the words, which a model reads; the same words one below the other, so that each
can be found among the ids of any codec; and the tags. Rows are spooled as JSON lines, as those of questions are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chainrule.chunks import is_iob1, to_bio
from chainrule.codecs.base import UNIT
from chainrule.data import conll
from chainrule.data.conll import MARK, Remarks
from chainrule.data.paths import Stamp
from chainrule.data.room import Spool
from chainrule.data.rows import LABEL, TEXT
from chainrule.data.sources import Given, Source, read
from chainrule.errors import DataError

WORDS, ID = "words", "id"
WORD = re.compile(r"[^ \t\n\r\v\f]+")  # a no-break space is part of a word
BREAK = "\n"  # between two words of the role `words`
IOB1 = "the tags are IOB1 (a chunk begins with B only beside another of its type): they are read as BIO"


@dataclass(frozen=True)
class Sentence:
    """Words, the tags of all that are no mark, and what the user calls them."""

    words: Sequence[str]
    tags: Sequence[str] | None = None
    id: str = ""

    @property
    def tagged(self) -> int:
        """How many words want a tag."""
        return len(self.words) - self.words.count(MARK)


Pass = Callable[[], Iterator[tuple[str, Sentence]]]  # reads all sentences again: where each is, and itself


def is_tagged(names: Iterable[str]) -> bool:
    """Whether these roles are those of words with tags."""
    return WORDS in set(names)


def tagged(given: Given, config: Any, columns: dict[str, str | None]) -> Source:
    """Data of any kind as a table with the wanted `columns`, by role, on disk: nothing is held in memory."""
    source = read(given, replace(config, column=columns[TEXT]))
    reading = Reading(source, columns)
    iob1 = LABEL in columns and is_iob1(one.tags or () for _, one in reading())
    reading = Reading(source, columns)  # counts from the beginning
    lines = (_line(one, columns) for one in _checked(reading(), iob1, LABEL in columns))
    spool = Spool(source.name, lines, ".jsonl")
    notes = (
        *(source.notes if source.table else source.remarks),
        *reading.remarks.notes,
        *((IOB1,) if iob1 else ()),
    )
    plain = replace(source.config, format=None, where=())
    return Source(source.name, (spool.path,), plain, (), None, (spool,), notes, (Stamp.of(spool.path),))


def _checked(found: Iterator[tuple[str, Sentence]], iob1: bool, wanted: bool) -> Iterator[Sentence]:
    """Every sentence has as many tags as words; those of IOB1 become BIO."""
    for where, one in found:
        _check_pieces(where, one)
        if wanted and one.tags and len(one.tags) != one.tagged and one.words:
            raise DataError(
                f"{where}: {one.tagged:,} words and {len(one.tags):,} tags ({' '.join(one.words):.40}…). One tag for "
                "every word is wanted, both separated by spaces; words with spaces inside are given as lists."
            )
        yield replace(one, tags=to_bio(one.tags)) if iob1 and one.tags else one


def _check_pieces(where: str, one: Sentence) -> None:
    """Every word and every tag is one, for whoever reads them later."""
    empty = next((at for at, word in enumerate(one.words, 1) if not word.strip()), None)
    if empty is not None:
        raise DataError(f"{where}: word {empty} is empty, and a tag is wanted for it. Leave both out.")
    parted = next((word for word in one.words if BREAK in word or UNIT in word), None)
    if parted is not None:
        raise DataError(
            f"{where}: the word {parted!r:.40} holds a line break or a separator. Leave that out."
        )
    odd = next((tag for tag in one.tags or () if UNIT in tag or not WORD.fullmatch(tag)), None)
    if odd is not None:
        raise DataError(
            f"{where}: {odd!r:.40} is no tag. Write one for every word, without white space, such as O."
        )


def _line(one: Sentence, columns: dict[str, str | None]) -> bytes:
    cells: dict[str, Any] = {
        TEXT: list(one.words),
        WORDS: BREAK.join(one.words),
        LABEL: list(one.tags or ()),
        ID: one.id,
    }
    row = {column or role: cells[role] for role, column in columns.items()}
    return json.dumps(row).encode() + b"\n"


@dataclass
class Reading:
    """One pass over the sentences of a source; it counts what it leaves out."""

    source: Source
    columns: dict[str, str | None]
    remarks: Remarks = field(default_factory=Remarks)

    @property
    def labelled(self) -> bool:
        """Whether tags are wanted."""
        return LABEL in self.columns

    def __call__(self) -> Iterator[tuple[str, Sentence]]:
        if self.source.items or self.source.frame:
            yield from self._table(self.source)
        for path in self.source.files:
            alone = replace(self.source, files=(path,), states=(), frame=None)
            yield from self._columns(path) if self._is_columns(path) else self._table(alone)
        self.source.check_unchanged()

    def _is_columns(self, path: Path) -> bool:
        if self.source.kind(path) != "text":
            return False
        return self.labelled or conll.is_columns(self.source.lines_of(path))

    def _columns(self, path: Path) -> Iterator[tuple[str, Sentence]]:
        """Of a file of CoNLL columns."""
        name, lines = self.source.label(path), self.source.lines_of
        prefix = conll.language(lines(path))
        self.remarks.language = prefix or self.remarks.language
        for line, words in conll.sentences(name, lines(path), self.remarks):
            where = f"{name}, line {line}"
            if self.labelled and len(words[0]) < 2:
                raise DataError(
                    f"{where}: a word and its tag are wanted, and {words[0][0]!r:.40} is alone. Give CoNLL columns, "
                    "or a table (.csv, .tsv, .jsonl, .parquet, .conllu) with two columns."
                )
            yield from ((where, one) for one in self._sentences(where, words, prefix))

    def _sentences(self, where: str, words: Sequence[conll.Cells], prefix: str) -> Iterator[Sentence]:
        """One, or one for each predicate; without the language before each word."""
        place = conll.column(where, self.columns[TEXT], words[0], conll.word_column(words))
        forms = [row[place].removeprefix(prefix) or row[place] for row in words]
        wanted = (self.columns.get(LABEL) or "").lower()
        if wanted in ("srl", "props", "roles") or (wanted == LABEL and conll.has_roles(words)):
            found = [Sentence(*one) for one in conll.roles(words, forms)]
            self.remarks.unasked += not found
            yield from found
            return
        tag = conll.column(where, self.columns.get(LABEL), words[0], len(words[0]) - 1)
        yield Sentence(forms, [row[tag] for row in words] if self.labelled else None)

    def _table(self, source: Source) -> Iterator[tuple[str, Sentence]]:
        """Rows with two cells, of words and of tags."""
        wanted = {
            role: column or role
            for role, column in self.columns.items()
            if role in (TEXT, LABEL) or (role == ID and column)
        }
        names = [self.columns[role] for role in wanted]
        if len(names) == 1 and any(source.kind(path) == "conllu" for path in source.files):
            names *= 2  # beside another column, words of a range stand for themselves
        number = 0
        for block in source.rows(names, (True,) * len(names)):
            for cells in zip(*block[: len(wanted)], strict=True):
                number += 1
                row = dict(zip(wanted, (cell.decode() for cell in cells), strict=True))
                tags = _items(row[LABEL]) if LABEL in row else None
                yield f"{source.name}, row {number}", Sentence(_items(row[TEXT]), tags, row.get(ID, ""))


def _items(cell: str) -> list[str]:
    """The items of a list, or the words of a text."""
    return cell.removesuffix(UNIT).split(UNIT) if UNIT in cell else WORD.findall(cell)
