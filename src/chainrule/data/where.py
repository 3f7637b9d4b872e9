"""Rows that are wanted: `--where 'stars >= 4'`. A condition compares a column with a value; nothing is executed."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from chainrule.data.decimals import POINT, Decimals
from chainrule.errors import ConfigError

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
FORM = re.compile(r"\s*([^=!<>]+?)\s*(==|!=|<=|>=|<|>|=)\s*(.*?)\s*", re.DOTALL)
QUOTES = "\"'`"


@dataclass(frozen=True)
class Condition:
    """One comparison."""

    column: str
    sign: str
    value: str
    decimals: Decimals = POINT  # how numbers are written

    @classmethod
    def parsed(cls, text: str, decimals: Decimals = POINT) -> Condition:
        """From `label == "pos"`; quotes around a name or a value may be left out."""
        found = FORM.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"--where {text}: a column, a sign ({' '.join(SIGNS)}) and a value were expected, as in 'stars >= 4'."
            )
        column, sign, value = found.groups()
        return cls(_bare(column), sign, _bare(value), decimals)

    def holds(self, cell: str) -> bool:
        """Whether a cell is as wanted: as numbers where both are, as texts otherwise."""
        pair: tuple[Any, Any] = (cell.strip(), self.value)
        with suppress(ValueError):
            pair = (float(self.decimals.read(pair[0])), float(self.decimals.read(pair[1])))
        return bool(SIGNS[self.sign](*pair))


def _bare(text: str) -> str:
    """Without quotes around it."""
    quoted = len(text) > 1 and text[0] in QUOTES and text[0] == text[-1]
    return text[1:-1] if quoted else text
