"""`evaluate`: figures of a model on data with right answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table, tabled
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed

if TYPE_CHECKING:
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
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a model on data with right answers.

    Labels: accuracy, macro-F1, log-loss and calibration, by class and all together. Answers to questions: exact match
    and F1, of all and of those with and without an answer.
    """
    from chainrule.use.evaluate import evaluate

    bundle = loaded(model, int8)
    reading = typed(context) | ({} if pair is None else {"pair": pair})
    found = evaluate(bundle, sources(data), label, **reading)
    Printer(json, quiet, verbose).result(found.to_dict(), describe(found))


def describe(found: Evaluation) -> str:
    """An evaluation for people."""
    figures = [
        [name.replace("_", " "), number(value), _ends(found, name)] for name, value in found.figures.items()
    ]
    parts = [table(["", "figure", "95 % interval"], figures)]
    return "\n\n".join(
        [*parts, *map(tabled, found.judged.tables()), *(f"{note}." for note in found.judged.notes)]
    )


def _ends(found: Evaluation, name: str) -> str:
    ends = found.intervals.get(name)
    return f"{number(ends[0])} to {number(ends[1])}" if ends else ""
