"""Which task the columns are for, where none is named: labels are classified, numbers of many values regressed, and
where there are as many labels as words, these are tagged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from chainrule.config import share
from chainrule.data.columns import Data
from chainrule.data.conll import is_columns
from chainrule.data.frames import are_frames
from chainrule.data.given import plain
from chainrule.data.glue import GLUE, has_numbers
from chainrule.data.paths import FORMATS, plain_suffix
from chainrule.data.roles import Request, Role
from chainrule.data.rows import LABEL, PAIR, TEXT
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import ChainruleError, ConfigError
from chainrule.tasks.base import task as task_class

TRANSLATED = {"source", "target"}  # roles of translation
MULTI_LABEL, NEXT_FRAME = "multi-label", "next-frame"
FEW = 2  # times that a tag comes, at least, on average
LOOKED_AT = 10_000  # answers
FRACTIONS, WHOLE = 10, 20  # more values than these, with fractions or as whole numbers, are no classes


def guessed_task(options: Mapping[str, Any], data: Data | None = None) -> str | None:
    """A label is to be predicted, if there is one; a look at the first ones tells whether they are numbers."""
    if set(options) >= TRANSLATED or (isinstance(data, Mapping) and set(data) >= TRANSLATED):
        return "translate"
    labelled = any(name == LABEL or name.startswith(f"{LABEL}.") for name in options)
    labelled = labelled or options.get("format") == GLUE
    both = isinstance(data, Mapping) and {TEXT, LABEL} <= set(data) and not options.get("column")
    if not (labelled or both):
        return None
    one = options.get("format") == GLUE or PAIR in options or options.get("multi_label")  # no tags
    if not one and _is_conll(data):
        return "tag"
    answers = list(islice(_cells(options, data, _column(options, LABEL), LABEL), LOOKED_AT))
    if _are_measured(answers) or (options.get("format") == GLUE and _has_numbers(data)):
        return "regress"
    if one:
        return "classify"
    texts = islice(_cells(options, data, options.get("column") or _column(options, TEXT), TEXT), LOOKED_AT)
    return "tag" if _one_each(answers, texts) else "classify"


def told(task: str) -> str:
    """Why a task was taken that nobody named."""
    kind = task_class(task)
    what = "sources" if kind.source else "numbers" if kind.answers_numbers else "labels"
    return f"task: {task}, because there is a column of {what}"


def framed(options: Mapping[str, Any], data: Data, codec: str | None = None) -> bool:
    """Whether the data are sequences of frames, vectors of real numbers."""
    return are_frames(data, Request((Role(TEXT),), codec, options, ()))


def forecast(data: Data, options: Mapping[str, Any], codec: str | None) -> str | None:
    """The task of sequences of frames without labels: the next one."""
    return NEXT_FRAME if framed(options, data, codec) else None


def several(task: str | None, multi_label: bool) -> str | None:
    """The task where an example may have several labels."""
    if multi_label and task not in (None, "classify", MULTI_LABEL):
        raise ConfigError(f"--multi-label is for labels, and the task is {task!r}: leave out one of them.")
    return MULTI_LABEL if multi_label else task


def paired(options: Mapping[str, Any], data: Data) -> dict[str, Any]:
    """Options with the column of second texts, where columns are given under the names of roles."""
    there = isinstance(data, Mapping) and {PAIR, LABEL} <= set(data)
    if options.get("format") == GLUE and not isinstance(data, Mapping):
        there = PAIR in read(data, ReadConfig.from_values(share(options, ReadConfig))).names()
    return {**options, PAIR: PAIR} if there and PAIR not in options else dict(options)


def sourced(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with several sources as the task has them: source="question,image", or a list of columns."""
    given = options.get("source")
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or len(names) < 2:
        return dict(options)
    rest = {name: one for name, one in options.items() if name != "source"}
    return {**rest, "sources": tuple(str(one).strip() for one in names)}


def _is_conll(data: Data | None) -> bool:
    """Whether the first file holds a word a line, with tags beside it."""
    if isinstance(data, list | tuple) and data:
        data = data[0]
    if not isinstance(data, str | os.PathLike) or not os.path.isfile(data):
        return False
    path = Path(data)
    if plain_suffix(path) in FORMATS:
        return plain_suffix(path) == ".conllu"
    try:
        return is_columns(read(path).lines_of(path))
    except ChainruleError:  # told when the data are read in earnest
        return False


def _has_numbers(data: Data | None) -> bool:
    """Whether the first file of GLUE is one of those whose labels are numbers."""
    first = data[0] if isinstance(data, list | tuple) and data else data
    try:
        return isinstance(first, str | os.PathLike) and os.path.isfile(first) and has_numbers(Path(first))
    except ChainruleError:  # told when the data are read in earnest
        return False


def _one_each(answers: list[bytes], texts: Iterator[bytes]) -> bool:
    """Whether every label has as many words as its text, some have several, and labels come again."""
    pairs = [
        (words, tags)
        for text, label in zip(texts, answers, strict=False)
        if (words := _words(text)) and (tags := _words(label))
    ]
    different = {tag for _, tags in pairs for tag in tags}
    several = any(len(tags) > 1 for _, tags in pairs)
    fits = several and all(len(words) == len(tags) for words, tags in pairs)
    return fits and FEW * len(different) <= sum(len(tags) for _, tags in pairs)


def _words(cell: bytes) -> list[bytes]:
    return [word for word in re.split(rb"[ \x1f]+", cell) if word]


def _column(options: Mapping[str, Any], role: str) -> str | None:
    given = options.get(role, options.get(f"{role}.column"))
    column: str | None = given.get("column") if isinstance(given, Mapping) else given
    return column or (role if options.get("format") == GLUE else None)


def _cells(options: Mapping[str, Any], data: Data | None, column: str | None, role: str) -> Iterator[bytes]:
    """The cells of a column, where they can be looked at without using them up."""
    if data is None or isinstance(data, Iterator) or (isinstance(data, str) and data == "-"):
        return
    reading = {**share(options, ReadConfig), "column": column, "group": None, "sort": None, "stream": False}
    try:
        if isinstance(data, Mapping) and role in data:
            yield from (_listed(plain(one)).encode() for one in data[role])  # type: ignore[union-attr]
            return
        source = read(data, ReadConfig.from_values(reading))
        for (block,) in source.rows((column,), (False,)) if source.table else ():
            yield from block
    except (ChainruleError, TypeError):  # told when the data are read in earnest
        return


def _listed(value: Any) -> str:
    """A value, or the items of a list, as words."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _are_measured(answers: list[bytes]) -> bool:
    """Whether they are numbers that are no classes: fractions of many values, or hardly one twice."""
    try:
        numbers = [float(one) for one in answers if one.strip()]
    except ValueError:
        return False
    values = set(numbers)
    fractions = any(not one.is_integer() for one in values)
    return len(values) > FRACTIONS if fractions else len(values) > max(WHOLE, len(numbers) // 2)
