"""`predict`: labels of texts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, percent, table
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chainrule.use.predict import Prediction


def predict(
    context: typer.Context,
    model: Saved,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, the lines of stdin.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Data to predict, of any kind fit reads.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="K", min=1, max=1_000_000, help="Only the K most probable labels."),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column with the id of each row.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Predict labels: one line for each text, in order.

    One text is shown with the probability of each label. Of data, every row has its line: row or id, label,
    probability.
    """
    from chainrule.use.predict import predict, predict_each, predict_lines

    reading, output = typed(context), Printer(json, quiet, verbose)
    if texts and (file is not None or reading or id):
        raise ConfigError("Give texts, or --file with what says how to read it, not both.")
    bundle = loaded(model, int8)
    if texts:
        found = predict(bundle, texts, top)
        return _shown(found[0], output) if len(found) == 1 else _lines(found, output)
    if file is None and not reading and id is None:
        named("-")
        return _lines(predict_lines(bundle, sys.stdin.buffer, top), output, waiting=True)
    _lines(predict_each(bundle, named(file or "-"), id=id, top=top, **reading), output)


def _shown(one: Prediction, output: Printer) -> None:
    """One text: all labels with their probabilities."""
    rows = [[label, percent(chance)] for label, chance in one.probabilities.items()]
    output.result(one.to_dict(), "blank" if one.blank else table(["label", "probability"], rows))


def _lines(found: Iterable[Prediction], output: Printer, waiting: bool = False) -> None:
    for one in found:
        name = str(one.row) if one.id is None else one.id
        plain = f"{name}\t\t" if one.blank else f"{name}\t{one.label}\t{one.probability:.4f}"
        print(encoded(one.to_dict()) if output.json else plain, flush=waiting)
