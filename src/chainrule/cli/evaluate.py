"""`evaluate`: figures of a model on data with right answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import Force, Source, Target, check_out, named, pairs, sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table, tabled
from chainrule.cli.saved import Int8, loaded
from chainrule.cli.settings import Groups, of_data
from chainrule.cli.verb import Verb, typed
from chainrule.config import settings
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
    typer.Option(
        "--against",
        metavar="MODEL",
        help="Another model on the same data, or texts of another system: is one better?",
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Draw confusion and calibration of a classifier: .svg, .html."
    ),
]
Hypotheses = Annotated[
    list[str] | None,
    typer.Option(
        "--hypotheses",
        metavar="FILE",
        help="Texts that any system wrote, without MODEL; twice: two are compared.",
    ),
]
References = Annotated[
    list[str] | None,
    typer.Option(
        "--references",
        metavar="FILE",
        help="What these texts should have been, line by line; again: other references of the same lines.",
    ),
]


class EvaluateVerb(Verb):
    """Its settings are those of reading data, and of figures of texts."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.decode.config import GenerationConfig
        from chainrule.judge.meteor import MeteorConfig
        from chainrule.use.translate import WriteConfig

        writing = [*settings(GenerationConfig), *settings(WriteConfig)]
        return {
            **of_data(),
            "Texts": settings(MeteorConfig),
            "Generation, of a model that translates": writing,
        }


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
    out: Picture = None,
    force: Force = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate a model on data with right answers.

    Labels: accuracy, macro-F1, log-loss and calibration, by class and all together. Answers to questions: exact match
    and F1, of all and of those with and without an answer. Translations: BLEU, chrF and TER with sacrebleu's signature,
    ROUGE, METEOR, word and character error rate, perplexity; also of texts that any other system wrote. --against tells
    the difference to another model, or to other texts, and whether it is significant.
    """
    output, reading = Printer(json, quiet, verbose), typed(context) | ({} if pair is None else {"pair": pair})
    check_out(out, (".svg", ".html"), force)
    names = [str(one) for one in (model, against) if one is not None]
    found: Evaluation | PairedEvaluation
    if hypotheses or references:
        names = [*(hypotheses or []), *([] if against is None else [str(against)])]
        found = _texts(model, names, references or [], reading)
    elif model is None:
        raise ConfigError("Give a MODEL and DATA, or --hypotheses and --references.")
    else:
        found = _model([loaded(Path(one), int8) for one in names], data or [], label, source, target, reading)
    _drawn(found, out)
    _told(found, names, output)


def _drawn(found: Evaluation | PairedEvaluation, out: Path | None) -> None:
    """Write the picture that was wanted, of the first of two models."""
    from chainrule.store.files import write_text
    from chainrule.use.against import PairedEvaluation

    if out is not None:
        one = found.first if isinstance(found, PairedEvaluation) else found
        write_text(out, one.plot().written(out.suffix.lower()))


def _told(found: Evaluation | PairedEvaluation, names: list[str], output: Printer) -> None:
    from chainrule.use.evaluate import Evaluation

    if isinstance(found, Evaluation):
        return output.result(found.to_dict(), describe(found))
    output.result({"models": names} | found.to_dict(), compared(found, *names))


def _texts(
    model: Path | None, hypotheses: list[str], references: list[str], options: dict[str, Any]
) -> Evaluation | PairedEvaluation:
    from chainrule.use.evaluate_texts import evaluate_texts, evaluate_texts_against

    if not hypotheses or not references or model is not None:
        raise ConfigError("Give --hypotheses and --references together, and no MODEL.")
    if len(hypotheses) > 2:
        raise ConfigError(f"There are {len(hypotheses)} systems: compare two, the first with each other one.")
    first, *others = (named(one) for one in hypotheses)
    wanted = [named(one) for one in references]
    if others:
        return evaluate_texts_against(first, others[0], wanted, **options)
    return evaluate_texts(first, wanted, **options)


def _model(
    bundles: list[Bundle],
    data: list[str],
    label: str | None,
    source: str | None,
    target: str | None,
    reading: dict[str, Any],
) -> Evaluation | PairedEvaluation:
    first, *others = bundles
    if any(one.task.source is not None for one in bundles):
        return _translations(bundles, data, source, target, reading)
    if source or target:
        raise ConfigError(f"--source and --target are for translations, and the task is {first.task.name!r}.")
    if others:
        return first.evaluate_against(others[0], sources(_named(data)), label, **reading)
    return first.evaluate(sources(_named(data)), label, **reading)


def _translations(
    bundles: list[Bundle], data: list[str], source: str | None, target: str | None, options: dict[str, Any]
) -> Evaluation | PairedEvaluation:
    from chainrule.use.evaluate_texts import evaluate_translations, evaluate_translations_against

    columns = {"source": source, "target": target} if data else {}
    given, (first, *others) = pairs(data, source, target), bundles
    if others:
        return evaluate_translations_against(first, others[0], given, **columns, **options)
    return evaluate_translations(first, given, **columns, **options)


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
        tests = [number(p) for p in one.p_values.values()]
        rows.append(
            [name.replace("_", " "), *own, number(one.value), ends, *tests, "yes" if one.real else "no"]
        )
    tests = [f"p ({name})" for one in both.differences.values() for name in one.p_values]
    head = ["", first, second, "difference", "95 % interval", *dict.fromkeys(tests), "significant"]
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
