"""`evaluate`: figures of a model on labelled data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, percent, table
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed

if TYPE_CHECKING:
    from chainrule.use.evaluate import Evaluation

MANY = 20  # labels from which on no confusion matrix is printed


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
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a classifier: accuracy, macro-F1, log-loss and calibration, by class and all together."""
    from chainrule.use.evaluate import evaluate

    bundle = loaded(model, int8)
    found = evaluate(bundle, sources(data), label, **typed(context))
    Printer(json, quiet, verbose).result(found.to_dict(), describe(found))


def describe(found: Evaluation) -> str:
    """An evaluation for people."""
    one = found.classified
    figures = [
        [name.replace("_", " "), number(value), _ends(found, name)] for name, value in found.figures.items()
    ]
    classes = [
        [
            each["label"],
            *(percent(each[name]) for name in ("precision", "recall", "f1")),
            number(each["support"]),
        ]
        for each in one.per_class
    ]
    parts = [
        table(["", "figure", "95 % interval"], figures),
        table(["label", "precision", "recall", "f1", "examples"], classes),
    ]
    if len(one.labels) <= MANY:
        parts.append(
            "right label (row), predicted label (column)\n" + _confusion(one.labels, one.confusion.tolist())
        )
    unseen = int((one.answers < 0).sum())
    if unseen:
        parts.append(f"{unseen:,} examples have a label that was not seen in training: they count as wrong.")
    return "\n\n".join(parts)


def _ends(found: Evaluation, name: str) -> str:
    ends = found.intervals.get(name)
    return f"{number(ends[0])} to {number(ends[1])}" if ends else ""


def _confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    rows = [[label, *map(number, row)] for label, row in zip(labels, counts, strict=True)]
    return table(["", *labels], rows)
