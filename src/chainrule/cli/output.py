"""What commands print: results to stdout for people or as JSON, everything else to stderr."""

from __future__ import annotations

import codecs
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.config import to_json
from chainrule.judge.judged import Cell, Share, Table, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more, and tracebacks of errors.")]


@dataclass(frozen=True)
class Printer:
    """How a command prints."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def result(self, values: Any, text: str) -> None:
        """The outcome: `values` for scripts, `text` for people."""
        print(encoded(values) if self.json else text)

    def note(self, text: str) -> None:
        """Something worth knowing beside the result."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def detail(self, text: str) -> None:
        """Something only the curious want to know."""
        if self.verbose:
            print(text, file=sys.stderr)


def encoded(values: Any) -> str:
    """JSON that standard output can take, whatever its encoding."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return to_json(values, ascii=codecs.lookup(encoding).name != "utf-8")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Columns side by side, the first `left` of them aligned to the left, the others to the right."""
    lines = [[one_line(cell) for cell in header], *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(_cells(line, widths, left)).rstrip() for line in lines)


def tabled(one: Table) -> str:
    """A table of figures, its title above it."""
    rows = [[_cell(cell) for cell in row] for row in one.rows]
    return (f"{one.title}\n" if one.title else "") + table(one.head, rows)


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return one_line(cell)
    return percent(cell) if isinstance(cell, Share) else number(cell)


def _cells(line: Sequence[str], widths: Sequence[int], left: int) -> list[str]:
    sized = enumerate(zip(line, widths, strict=True))
    return [cell.ljust(width) if at < left else cell.rjust(width) for at, (cell, width) in sized]


def visible(piece: str) -> str:
    """A symbol as it can be shown in one cell."""
    return piece if piece.isprintable() and piece.strip() else repr(piece)[1:-1].replace(" ", "␣")


def number(value: float) -> str:
    """A figure as people like it: `141.19`, `1,234,567`, `0.00012`, `infinite`."""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if isinstance(value, int) or abs(value) >= 100_000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value + 0.0:.4g}"  # not -0


def percent(share: float) -> str:
    """A share with two digits that say something, however small: `42.31%`, `0.012%`."""
    value = 100 * share
    if value >= 1 or value == 0:
        return f"{value:.2f}%" if value else "0%"
    return f"{value:.{1 - math.floor(math.log10(value))}f}%" if value >= 1e-6 else f"{value:.1e}%"


def size(count: float) -> str:
    """A number of bytes: `1.2 MB`."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:.0f} bytes"


def seconds(value: float) -> str:
    """A duration: `0.12 s`, `3:05 min`."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes}:{rest:02} min"
