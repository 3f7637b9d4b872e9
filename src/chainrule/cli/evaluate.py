"""`evaluate`: figures of a model on data with right answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table, tabled
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed

if TYPE_CHECKING:
    from chainrule.use.against import PairedEvaluation
    from chainrule.use.evaluate import Evaluation


def evaluate(
    context: typer.Context,
    model: Saved,
    data: Annotated[
        list[str],
        typer.Argument(metavar="DATA", help="Labelled data, of any kind fit reads.", show_default=False),
    ],
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="The column of labels, if it has another name."),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option("--pair", metavar="COLUMN", help="The column of second texts, if it has another name."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="MODEL", help="Another model on the same data: is one better?"),
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a model on data with right answers.

    Labels: accuracy, macro-F1, log-loss and calibration, by class and all together. Answers to questions: exact match
    and F1, of all and of those with and without an answer. --against tells the difference to another model.
    """
    from chainrule.use.evaluate import evaluate

    bundle = loaded(model, int8)
    reading = typed(context) | ({} if pair is None else {"pair": pair})
    output = Printer(json, quiet, verbose)
    if against is not None:
        from chainrule.use.against import evaluate_against

        both = evaluate_against(bundle, loaded(against, int8), sources(data), label, **reading)
        told = {"models": [str(model), str(against)]}
        return output.result(told | both.to_dict(), compared(both, str(model), str(against)))
    found = evaluate(bundle, sources(data), label, **reading)
    output.result(found.to_dict(), describe(found))


def compared(both: PairedEvaluation, first: str, second: str) -> str:
    """Two models side by side for people."""
    rows = []
    for name, one in both.differences.items():
        own = [number(found.figures[name]) for found in (both.first, both.second)]
        ends = f"{number(one.low)} to {number(one.high)}"
        rows.append([name.replace("_", " "), *own, number(one.value), ends, "yes" if one.real else "no"])
    head = ["", first, second, "difference", "95 % interval", "significant"]
    notes = dict.fromkeys([*both.first.notes, *both.second.notes])
    return "\n\n".join([table(head, rows), *(f"{note}." for note in notes)])


def describe(found: Evaluation) -> str:
    """An evaluation for people."""
    figures = [
        [name.replace("_", " "), number(value), _ends(found, name)] for name, value in found.figures.items()
    ]
    parts = [table(["", "figure", "95 % interval"], figures)]
    return "\n\n".join([*parts, *map(tabled, found.judged.tables()), *(f"{note}." for note in found.notes)])


def _ends(found: Evaluation, name: str) -> str:
    ends = found.intervals.get(name)
    return f"{number(ends[0])} to {number(ends[1])}" if ends else ""
