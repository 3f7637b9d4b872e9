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
    from chainrule.use.against import PairedEvaluation
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
SecondColumn = Annotated[
    str | None,
    typer.Option("--pair", metavar="COLUMN", help="The column of second texts, if it has another name."),
]
Against = Annotated[
    Path | None,
    typer.Option("--against", metavar="MODEL", help="Another model on the same data: is one better?"),
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
    pair: SecondColumn = None,
    source: Source = None,
    target: Target = None,
    hypotheses: Hypotheses = None,
    references: References = None,
    against: Against = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a model on data with right answers.

    Labels: accuracy, macro-F1, log-loss and calibration, by class and all together. Answers to questions: exact match
    and F1, of all and of those with and without an answer. Translations: BLEU, chrF and TER with sacrebleu's signature,
    ROUGE, word and character error rate, perplexity; also of texts that any other system wrote. --against tells the
    difference to another model.
    """
    output, reading = Printer(json, quiet, verbose), typed(context) | ({} if pair is None else {"pair": pair})
    if hypotheses is not None or references is not None:
        found = _texts(model, hypotheses, references)
    elif model is None:
        raise ConfigError("Give a MODEL and DATA, or --hypotheses and --references.")
    elif against is not None:
        both = _both(model, against, int8, data or [], label, reading)
        told = {"models": [str(model), str(against)]}
        return output.result(told | both.to_dict(), compared(both, str(model), str(against)))
    else:
        found = _model(loaded(model, int8), data or [], label, source, target, reading)
    output.result(found.to_dict(), describe(found))


def _both(
    model: Path, against: Path, int8: bool, data: list[str], label: str | None, reading: dict[str, Any]
) -> PairedEvaluation:
    from chainrule.use.against import evaluate_against

    return evaluate_against(
        loaded(model, int8), loaded(against, int8), sources(_named(data)), label, **reading
    )


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
    return evaluate(bundle, sources(_named(data)), label, **reading)


def _named(data: list[str]) -> list[str]:
    if not data:
        raise ConfigError("Give DATA to evaluate the model on: with right answers, of any kind fit reads.")
    return data


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
