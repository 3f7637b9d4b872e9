"""Numbers as not everybody writes them: with a decimal comma, or with a sign between thousands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

SPACES = " \u00a0\u202f"  # a space between thousands may be one that no line is broken at
COMMA = re.compile(r"[-+]?\d[\d.]*,\d[\d.,]*")


@dataclass(frozen=True)
class Decimals:
    """How numbers are written: the sign before decimals, and the one between thousands."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def usual(self) -> bool:
        """Whether every number is written as Python writes it."""
        return self.decimal == "." and self.thousands is None

    @property
    def spaced(self) -> bool:
        """Whether a number may have a space in it."""
        return self.thousands == " "

    def read(self, cell: str) -> str:
        """A number with a decimal point and nothing between thousands; what is no number, as it is."""
        found = None if self.usual else self._form.fullmatch(cell.strip())
        if found is None or not re.search(r"\d", found[0]):
            return cell
        sign, whole, decimals, exponent = found.groups(default="")
        digits = re.sub(r"\D", "", whole)
        return f"{sign}{digits or 0}{f'.{decimals}' if decimals else ''}{exponent}"

    def number(self, cell: str) -> float:
        """The value of a cell; ValueError if it is none, or is written in another way than was said."""
        if not self.usual and "." in cell and self.read(cell) == cell and self.decimal != ".":
            raise ValueError(cell)
        return float(self.read(cell))

    @cached_property
    def _form(self) -> re.Pattern[str]:
        mark = re.escape(self.thousands or "")
        between = f"[{SPACES}]" if self.spaced else mark
        groups = rf"\d{{1,3}}(?:{between}\d{{3}})+|" if mark else ""
        return re.compile(rf"([-+]?)({groups}\d*)(?:{re.escape(self.decimal)}(\d*))?([eE][-+]?\d+)?")


POINT = Decimals()


def advice(word: str) -> str:
    """What to add where a word looks like a number with a comma; an empty text if it does not."""
    if not COMMA.fullmatch(word):
        return ""
    if re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+\.\d+", word) or word.count(",") > 1:
        return "If commas stand between thousands, add --thousands , (a comma). "
    if "." in word:
        return "If this is a decimal comma, add --decimal , --thousands . (a comma, a point). "
    other = " or, between thousands, --thousands ," if re.fullmatch(r"[-+]?\d{1,3},\d{3}", word) else ""
    return f"If this is a decimal comma, add --decimal ,{other} (a comma). "
