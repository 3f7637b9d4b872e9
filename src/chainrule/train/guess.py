"""Which task the columns are for, where none is named: labels are classified, numbers of many values regressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from chainrule.config import share
from chainrule.data.columns import Data
from chainrule.data.frames import are_frames
from chainrule.data.roles import Request, Role
from chainrule.data.rows import LABEL, TEXT
from chainrule.data.sources import ReadConfig, read
from chainrule.errors import ChainruleError

LOOKED_AT = 10_000  # answers
FRACTIONS, WHOLE = 10, 20  # more values than these, with fractions or as whole numbers, are no classes


def guessed_task(options: Mapping[str, Any], data: Data | None = None) -> str | None:
    """A label is to be predicted, if there is one; a look at the first ones tells whether they are numbers."""
    labelled = any(name == LABEL or name.startswith(f"{LABEL}.") for name in options)
    both = isinstance(data, Mapping) and {TEXT, LABEL} <= set(data) and not options.get("column")
    if not (labelled or both):
        return None
    return "regress" if _are_measured(list(islice(_answers(options, data), LOOKED_AT))) else "classify"


def framed(options: Mapping[str, Any], data: Data, codec: str | None = None) -> bool:
    """Whether the data are sequences of frames, vectors of real numbers."""
    return are_frames(data, Request((Role(TEXT),), codec, options, ()))


def _answers(options: Mapping[str, Any], data: Data | None) -> Iterator[bytes]:
    """The first answers, where they can be looked at without using them up."""
    if data is None or isinstance(data, Iterator) or (isinstance(data, str) and data == "-"):
        return
    given = options.get(LABEL, options.get(f"{LABEL}.column"))
    column = given.get("column") if isinstance(given, Mapping) else given
    reading = {**share(options, ReadConfig), "column": column, "group": None, "sort": None, "stream": False}
    try:
        if isinstance(data, Mapping) and LABEL in data:
            yield from (str(one).encode() for one in data[LABEL])  # type: ignore[union-attr]
            return
        source = read(data, ReadConfig.from_values(reading))
        for (block,) in source.rows((column,), (False,)) if source.table else ():
            yield from block
    except (ChainruleError, TypeError):  # told when the data are read in earnest
        return


def _are_measured(answers: list[bytes]) -> bool:
    """Whether they are numbers that are no classes: fractions of many values, or hardly one twice."""
    try:
        numbers = [float(one) for one in answers if one.strip()]
    except ValueError:
        return False
    values = set(numbers)
    fractions = any(not one.is_integer() for one in values)
    return len(values) > FRACTIONS if fractions else len(values) > max(WHOLE, len(numbers) // 2)
