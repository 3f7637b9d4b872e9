"""`anomalies`: the most surprising values of series, with what was expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, number, table
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed

if TYPE_CHECKING:
    from chainrule.use.anomalies import Anomaly, Total


def anomalies(
    context: typer.Context,
    model: Saved,
    data: Annotated[str, typer.Argument(metavar="DATA", help="A table of numbers or events.")],
    k: Annotated[
        int, typer.Option("-k", "--count", min=1, max=1_000_000_000, help="How many of each kind to show.")
    ] = 10,
    each: Annotated[
        bool, typer.Option("--each", help="Every value in the order of the data, one line each.")
    ] = False,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column with the id of each row.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the most surprising values, days and sessions.

    The score of a value is its surprise in bits, given those before it; that of a day or a session is the mean of its
    values. Beside each value stands what was expected.
    """
    from chainrule.use.anomalies import anomalies as found_in

    output = Printer(json, quiet, verbose)
    found = found_in(loaded(model, int8), named(data), typed(context), id)
    for note in found.notes:
        output.note(note)
    if each:
        for one in found.in_order:
            print(encoded(one.to_dict()) if json else "\t".join(_cells(one, one.probability is None)))
        return
    parts = [
        _events(found.events[:k]),
        _totals("day", found.days[:k]),
        _totals("session", found.sessions[:k]),
    ]
    output.result(found.top(k), "\n\n".join(part for part in parts if part))


def _events(found: Sequence[Anomaly]) -> str:
    numbers = any(one.low is not None for one in found)
    header = [
        "row",
        *_names(found[0]),
        "bits",
        "value",
        "expected",
        *(["80% interval"] if numbers else ["probability"]),
    ]
    return table(header, [_cells(one, numbers) for one in found], left=0)


def _names(one: Anomaly) -> list[str]:
    """Which of the names of a row there are."""
    return [name for name in ("id", "time", "series") if getattr(one, name) is not None]


def _cells(one: Anomaly, numbers: bool) -> list[str]:
    if not numbers:
        interval = "" if one.probability is None else f"{one.probability:.0%}"
    else:
        interval = "" if one.low is None or one.high is None else f"{number(one.low)} to {number(one.high)}"
    names = [str(getattr(one, name)) for name in _names(one)]
    return [str(one.row), *names, number(one.bits), one.value, one.expected, interval]


def _totals(kind: str, found: Sequence[Total]) -> str:
    if not found:
        return ""
    rows = [
        [one.name, number(one.bits), f"{one.values:,}", f"{one.most.value} ({number(one.most.bits)} bits)"]
        for one in found
    ]
    return table([kind, "bits per value", "values", "most surprising"], rows)
