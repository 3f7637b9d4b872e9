"""`predict`: labels of texts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, tabled
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.verb import typed
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chainrule.use.predict import Prediction


Given = Annotated[
    list[str] | None,
    typer.Argument(metavar="TEXT", help="Texts; without any, or for -, the lines of stdin."),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--top", metavar="K", min=1, max=1_000_000, help="Only the K most probable labels or answers."
    ),
]
Question = Annotated[
    str | None, typer.Option("--question", metavar="TEXT", help="A question about the passage.")
]
Passage = Annotated[
    str | None, typer.Option("--passage", metavar="TEXT", help="The passage that holds the answer.")
]


Pair = Annotated[
    str | None,
    typer.Option(
        "--pair", metavar="TEXT", help="The second text of a pair; with --file, the column of second texts."
    ),
]


def predict(
    context: typer.Context,
    model: Saved,
    texts: Given = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="Data to predict, of any kind fit reads.")
    ] = None,
    pair: Pair = None,
    question: Question = None,
    passage: Passage = None,
    top: Top = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column with the id of each row.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Predict labels, or the answers to questions: one line for each text, in order.

    One text is shown with the probability of each label, one question with that of each answer. Of data, every row
    has its line: row or id, label or answer, probability.
    """
    from chainrule.use.predict import predict, predict_each, predict_lines

    reading, output = typed(context), Printer(json, quiet, verbose)
    texts = None if texts == ["-"] else texts
    if texts and (file is not None or reading or id):
        raise ConfigError("Give texts, or --file with what says how to read it, not both.")
    if (question is None) != (passage is None) or (question is not None and (texts or file)):
        raise ConfigError("Give --question and --passage together, and no other texts.")
    bundle = loaded(model, int8)
    if question is not None and passage is not None:
        from chainrule.use.questions import answer

        return _shown(answer(bundle, question, passage, top), output)
    if texts:
        found = predict(bundle, texts, None if pair is None else [pair] * len(texts), top)
        return _shown(found[0], output) if len(found) == 1 else _lines(found, output)
    if file is None and not reading and id is None and pair is None:
        named("-")
        return _lines(predict_lines(bundle, sys.stdin.buffer, top), output, waiting=True)
    reading |= {} if pair is None else {"pair": pair}
    _lines(predict_each(bundle, named(file or "-"), id=id, top=top, **reading), output)


def _shown(one: Prediction, output: Printer) -> None:
    """One text: all there is to say."""
    output.result(one.to_dict(), "blank" if one.answer is None else tabled(one.answer.table()))


def _lines(found: Iterable[Prediction], output: Printer, waiting: bool = False) -> None:
    for one in found:
        name = str(one.row) if one.id is None else one.id
        plain = f"{name}\t\t" if one.answer is None else f"{name}\t{one.answer.line()}"
        print(encoded(one.to_dict()) if output.json else plain, flush=waiting)
