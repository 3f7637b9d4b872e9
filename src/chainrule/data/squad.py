"""Questions about passages: SQuAD 1 and 2 as published (.json), or a table with columns question, passage and answer.

{"data": [{"paragraphs": [{"context": …, "qas": [{"id": …, "question": …, "answers": [{"text", "answer_start"}]}]}]}]}

Whatever comes becomes rows of three sequences: the words of question and passage together, which a model reads; the
passage as it is, of which every answer is a part; and the right answers with their places, as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chainrule.data.paths import Stamp, plain_suffix
from chainrule.data.room import Spool
from chainrule.data.sources import Given, Source, read
from chainrule.data.streams import chunks, utf8
from chainrule.errors import ConfigError, DataError

QUESTION, PASSAGE, ANSWER, ID = "question", "passage", "answer", "id"
LARGEST = 1 << 28  # characters of one article
NOWHERE = -1  # where an answer begins that does not stand in its passage
BLANK = re.compile(r"\s*")
AFTER = tuple(",:]} \t\r\n")  # what ends a value
DECODER = json.JSONDecoder()
SINGLE = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # scripts without spaces: a word is a character
)
WORD = re.compile(rf"[{SINGLE}]|\d+|[^\W\d_{SINGLE}]+|[^\w\s]|_")
EXPECTED = "Expected is SQuAD: data > paragraphs > context and qas > id, question and answers."


@dataclass(frozen=True)
class Question:
    """One question, its passage and the right answers: texts and where they begin, none where there is no answer."""

    question: str
    passage: str
    answers: Sequence[tuple[str, int]] = ()
    id: str = ""

    @property
    def read(self) -> str:
        """What a model reads: the words of both; nothing where one of them says nothing."""
        own, passage = words(self.question), words(self.passage)
        return " ".join([*own, *passage]) if own and passage else ""

    @property
    def wrong(self) -> int:
        """Answers that do not stand where they are said to."""
        return sum(start == NOWHERE for _, start in self.answers)


def words(text: str) -> list[str]:
    """Runs of letters, runs of digits, and marks one by one."""
    return WORD.findall(text)


def is_questions(names: Iterable[str]) -> bool:
    """Whether these roles are those of questions about passages."""
    return {QUESTION, PASSAGE} <= set(names)


def questions(given: Given, config: Any, columns: dict[str, str | None]) -> Source:
    """Data of either kind as a table with the wanted `columns`, by role, on disk: nothing is held in memory.

    A table whose rows have no name of their own has no column of ids: None.
    """
    source = read(given, replace(config, column=columns[QUESTION]))
    wrong = Wrong()
    found = wrong.counted(_squad(source, ANSWER in columns) if _is_squad(source) else _table(source, columns))
    spool = Spool(source.name, (_line(one, columns) for one in found), ".jsonl")
    states = (Stamp.of(spool.path),)
    plain = replace(source.config, format=None, where=())
    return Source(
        source.name, (spool.path,), plain, (), None, (spool,), (*source.remarks, *wrong.notes), states
    )


@dataclass
class Wrong:
    """Counts answers that do not stand in their passage."""

    answers: int = 0

    def counted(self, found: Iterable[Question]) -> Iterator[Question]:
        """The same questions."""
        for one in found:
            self.answers += one.wrong
            yield one

    @property
    def notes(self) -> tuple[str, ...]:
        """For people."""
        told = (
            f"{self.answers:,} answers do not stand in their passage where they are said to: "
            "nothing is learnt from them, and figures compare with their text"
        )
        return (told,) if self.answers else ()


def _line(one: Question, columns: dict[str, str | None]) -> bytes:
    cells = {QUESTION: one.read, PASSAGE: one.passage, ANSWER: json.dumps(list(one.answers)), ID: one.id}
    row = {column or role: cells[role] for role, column in columns.items()}
    return json.dumps(row).encode() + b"\n"


def _is_squad(source: Source) -> bool:
    return bool(source.files) and all(plain_suffix(path) == ".json" for path in source.files)


def _table(source: Source, columns: dict[str, str | None]) -> Iterator[Question]:
    """Rows of a table; an answer is taken where it stands first, and an empty cell means that there is none."""
    plain = [source.label(path) for path in source.files if source.kind(path) == "text"]
    if plain or source.items:
        raise DataError(
            f"{plain[0] if plain else source.name}: questions about passages are SQuAD files (.json), or a table "
            "(.csv, .tsv, .jsonl, .parquet) with the columns question, passage and answer."
        )
    wanted = {role: column for role, column in columns.items() if column}
    for block in source.rows(list(wanted.values()), (False,) * len(wanted)):
        for cells in zip(*block, strict=True):
            row = {role: cell.decode() for role, cell in zip(wanted, cells, strict=True)}
            answer = row.get(ANSWER, "")
            place = ((answer, row[PASSAGE].find(answer)),) if answer.strip() else ()
            yield Question(row[QUESTION], row[PASSAGE], place, row.get(ID, ""))


def _squad(source: Source, labelled: bool = True) -> Iterator[Question]:
    """The questions of SQuAD files; those that need no answers may have none."""
    if source.config.where:
        raise ConfigError("--where is for rows of a table, and SQuAD files have none.")
    for path in source.files:
        name = source.label(path)
        parts = utf8(chunks(path, name), name, source.config.encoding)
        document = Document(name, (part.decode() for part in parts))
        for number, article in enumerate(_articles(document), 1):
            where = f"{name}, article {number}"
            for paragraph in _field(where, article, "paragraphs", list):
                passage = _field(where, paragraph, "context", str)
                for asked in _field(where, paragraph, "qas", list):
                    yield _question(where, asked, passage, labelled)
    source.check_unchanged()


def _question(where: str, asked: Any, passage: str, labelled: bool) -> Question:
    answers = [] if _impossible(asked) or not labelled else _field(where, asked, "answers", list)
    found = [_placed(where, one, passage) for one in answers]
    question = _field(where, asked, "question", str)
    return Question(question, passage, found, str(asked.get("id", "")))


def _impossible(asked: Any) -> bool:
    return isinstance(asked, dict) and asked.get("is_impossible") is True


def _placed(where: str, answer: Any, passage: str) -> tuple[str, int]:
    text, start = _field(where, answer, "text", str), _field(where, answer, "answer_start", int)
    right = start >= 0 and bool(text) and passage[start : start + len(text)] == text
    return text, start if right else NOWHERE


def _field(where: str, value: Any, name: str, kind: type) -> Any:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise DataError(f"{where}: no {name!r} where one should be. {EXPECTED}")
    return found


def _articles(document: Document) -> Iterator[Any]:
    """The items of `data`, one after another."""
    document.take("{")
    found = False
    while document.sign() != "}":
        key = document.value()
        document.take(":")
        if key != "data":
            document.value()
        else:
            found = True
            yield from document.items()
        if document.sign() != "}":
            document.take(",")
    if not found:
        raise DataError(f"{document.name} has no 'data'. {EXPECTED}")


class Document:
    """One JSON document, read piece by piece: no more than one article is held."""

    def __init__(self, name: str, parts: Iterator[str]) -> None:
        self.name, self.parts = name, parts
        self.text, self.at = "", 0

    def sign(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            found = BLANK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or not self._more():
                return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> None:
        """Go past one of these characters."""
        if self.sign() not in tuple(expected):
            raise self._damaged(f"{' or '.join(expected)} expected, found {self.sign() or 'the end'!r}")
        self.at += 1

    def items(self) -> Iterator[Any]:
        """Those of a list."""
        self.take("[")
        while self.sign() != "]":
            yield self.value()
            if self.sign() != "]":
                self.take(",")
        self.take("]")

    def value(self) -> Any:
        """The next value, whole."""
        while True:
            self.sign()
            try:
                found, end = DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if not self._more():
                    raise self._damaged(error.msg) from error
            except RecursionError as error:
                raise self._damaged("lists in lists without end") from error
            else:
                if self.text[end : end + 1] in AFTER or not self._more():  # a number may continue
                    self.at = end
                    return found

    def _more(self) -> bool:
        """Read on, twice as much as is held, so that a large article is not begun again too often."""
        held = [self.text[self.at :]]
        size = wanted = len(held[0])
        if wanted > LARGEST:
            raise DataError(f"{self.name}: an article is larger than {LARGEST:,} characters. {EXPECTED}")
        while size <= 2 * wanted and (part := next(self.parts, None)) is not None:
            held.append(part)
            size += len(part)
        self.text, self.at = "".join(held), 0
        return size > wanted

    def _damaged(self, reason: str) -> DataError:
        near = self.text[self.at : self.at + 40]
        return DataError(f"{self.name} is no JSON document: {reason}, near {near!r}. {EXPECTED}")
