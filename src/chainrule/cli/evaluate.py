"""`evaluate`: figures of a model on data with right answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import Source, Target, named, pairs, sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table, tabled
from chainrule.cli.saved import Int8, loaded
from chainrule.cli.verb import typed
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.use.evaluate import Evaluation

Model = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="The folder of a saved model.", show_default=False)
]
Labelled = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA", help="Data with right answers, of any kind fit reads.", show_default=False
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The column of labels, if it has another name."),
]
Hypotheses = Annotated[
    str | None,
    typer.Option("--hypotheses", metavar="FILE", help="Texts that any system wrote; needs no MODEL."),
]
References = Annotated[
    str | None,
    typer.Option("--references", metavar="FILE", help="What these texts should have been, line by line."),
]


def evaluate(
    context: typer.Context,
    model: Model = None,
    data: Labelled = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    hypotheses: Hypotheses = None,
    references: References = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a model on data with right answers.

    Labels: accuracy, macro-F1, log-loss and calibration, by class and all together. Answers to questions: exact match
    and F1, of all and of those with and without an answer. Translations: BLEU, chrF and TER with sacrebleu's signature,
    ROUGE, word and character error rate, perplexity; also of texts that any other system wrote.
    """
    if hypotheses is not None or references is not None:
        found = _texts(model, hypotheses, references)
    elif model is None:
        raise ConfigError("Give a MODEL and DATA, or --hypotheses and --references.")
    else:
        found = _model(loaded(model, int8), data or [], label, source, target, typed(context))
    Printer(json, quiet, verbose).result(found.to_dict(), describe(found))


def _texts(model: Path | None, hypotheses: str | None, references: str | None) -> Evaluation:
    from chainrule.use.evaluate_texts import evaluate_texts

    if hypotheses is None or references is None or model is not None:
        raise ConfigError("Give --hypotheses and --references together, and no MODEL.")
    return evaluate_texts(named(hypotheses), named(references))


def _model(
    bundle: Bundle,
    data: list[str],
    label: str | None,
    source: str | None,
    target: str | None,
    reading: dict[str, Any],
) -> Evaluation:
    from chainrule.use.evaluate import evaluate

    if bundle.task.source is not None:
        from chainrule.use.evaluate_texts import evaluate_translations

        columns = {"source": source, "target": target} if data else {}
        return evaluate_translations(bundle, pairs(data, source, target), columns, **reading)
    if source or target:
        raise ConfigError(
            f"--source and --target are for translations, and the task is {bundle.task.name!r}."
        )
    if not data:
        raise ConfigError(
            "Give DATA to evaluate the model on: data with right answers, of any kind fit reads."
        )
    return evaluate(bundle, sources(data), label, **reading)


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
