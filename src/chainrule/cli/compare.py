"""`compare` answers the question people come with: which model for my data?"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.arguments import MultiLabel, Source, Target, Test, Valid, check_named
from chainrule.cli.live import watching
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, seconds, size, table
from chainrule.cli.parallel import HeldOutConfig, Named, parallel
from chainrule.cli.settings import Groups, of_codec, of_data, of_roles, of_task, understood
from chainrule.cli.verb import Verb, typed
from chainrule.config import LARGEST_SEED, parted, settings

if TYPE_CHECKING:
    from chainrule.choose.compare import Comparison

Columns = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="Files, folders, patterns, or - (stdin).", show_default=False),
]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where report, results and models go.")
]
Models = Annotated[
    str | None,
    typer.Option("--models", metavar="NAMES", help="Only these, such as 5-gram,lstm,mix; all if not given."),
]
Budget = Annotated[
    str, typer.Option("--budget", metavar="TIME", help="How long it may take, such as 90s, 10m or 1h.")
]
Codecs = Annotated[
    str | None,
    typer.Option(
        "--codec",
        metavar="NAMES",
        help="The tokenization; of several, as in characters,words, each is tried.",
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task", metavar="NAME", help="What models are to do, such as classify; else language modelling."
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="COLUMN", help="The column of labels: what is to be predicted."),
]


TRANSLATE = "translate"


class CompareVerb(Verb):
    """Its settings are those of the codecs and of reading."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        sides = bool(asked.get("source") or asked.get("target"))
        labels = "multi-label" if asked.get("multi_label") else "classify" if asked.get("label") else None
        task = asked.get("task") or (TRANSLATE if sides else labels)
        names = _listed(asked.get("codec"))
        codecs = [of_codec(name) for name in names] or [of_codec(None)]
        own = [of_task(task), of_roles("lstm", task)] if task else []
        own += [{"Parallel files": settings(HeldOutConfig)}] if task == TRANSLATE else []
        return {title: group for one in [*own, *codecs, of_data()] for title, group in one.items()}


def compare(
    context: typer.Context,
    data: Columns = None,
    out: Out = Path("comparison"),
    budget: Budget = "10m",
    task: Task = None,
    label: Label = None,
    source: Source = None,
    target: Target = None,
    multi_label: MultiLabel = False,
    models: Models = None,
    codec: Codecs = None,
    valid: Valid = None,
    test: Test = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Random seed.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a comparison that was stopped.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier comparison in OUT.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the model that suits your data.

    Trains n-grams, feed-forward and recurrent networks, a Transformer and mixes of them within one time
    budget, evaluates all of them on the same test data, and recommends one. With --label, readers of labelled
    texts: n-grams, bag of n-grams, CNN, LSTM, frozen language model, ELMo, BERT, a mix. With --source and --target,
    files or columns, those that translate: copy, IBM 1, seq2seq, attention, a Transformer. Writes an HTML report.
    """
    from chainrule.choose.compare import compare as run

    options = typed(context)
    held, options = parted(options, HeldOutConfig)
    check_named(valid, test)
    files = parallel(data or [], source, target, held, "compare")
    output = Printer(json, quiet, verbose)
    given: dict[str, Any] = {"out": out, "budget": budget, "valid": valid, "test": test, "seed": seed}
    given |= {"label": label} if label else {}
    given |= {"models": [_rung(one, output) for one in _listed(models)]}
    given |= {"codec": [understood("codec", one, output) for one in _listed(codec)]}
    given |= files.settings | files.parts
    given |= {"task": given.get("task") or _task(task, multi_label, {**given, **options}, files.data, output)}
    given |= {"command": shlex.join(["chainrule", *sys.argv[1:]]), "resume": resume, "force": force}
    with watching(quiet) as board:
        found = run(files.data, watch=board.see, **given, **options)
    output.result(found.results, told(found))


def _task(
    named: str | None, multi_label: bool, options: Mapping[str, Any], data: Named, output: Printer
) -> str | None:
    """The task that was named, or the one that the columns are for, which is said."""
    from chainrule.train.guess import guessed_task, several
    from chainrule.train.guess import told as why

    task = several(named and understood("task", named, output), multi_label)
    if task is None:
        task = guessed_task(options, None if data == "-" else data)
        if task:
            output.note(why(task))
    return task


def _rung(name: str, output: Printer) -> str:
    """A model by its name in a comparison, where an n-gram has its order in it: 5-gram."""
    return name.lower() if name.lower().endswith("gram") else understood("model", name, output)


def _listed(words: str | None) -> list[str]:
    return [one.strip() for one in words.split(",") if one.strip()] if words else []


def told(found: Comparison) -> str:
    """The leaderboard, the advice, and where to look."""
    results = found.results
    rows = [row for row in results["models"] if not row["failed"]]
    broken = _broken(results["models"])
    warnings = [f"Note: {warning}" for warning in results["data"]["warnings"]]
    advice = results["advice"]["sentences"]
    parts = [
        answer_table(results, rows) if results["figures"] else symbol_table(results, rows),
        "\n".join(turns(results)),
        "\n".join(broken),
        "\n".join(advice),
        "\n".join([*results["notes"], *warnings]),
        f"Report: {found.report}",
    ]
    return "\n\n".join(part for part in parts if part)


def turns(results: Mapping[str, Any]) -> list[str]:
    """What was decided in which round, and which models have not learnt."""
    told = [f"Round {turn['round']}, {turn['name']}: {turn['why']}." for turn in results["rounds"]]
    rows = (row for row in results["models"] if row.get("unfinished"))
    return [*told, *(f"{row['title']} is unfinished: {row['unfinished']}." for row in rows)]


def _broken(models: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why some have no figures, those with the same reason together."""
    from chainrule.choose.tables import failure

    names: dict[str, list[str]] = {}
    for row in models:
        if row["failed"]:
            names.setdefault(failure(row), []).append(row["name"])
    return [f"{', '.join(named)} {why}" for why, named in names.items()]


def symbol_table(results: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Models that predict symbols."""
    head = [
        "model",
        results["unit"],
        "interval",
        "perplexity",
        *COSTS,
        "scored symbols/s",
        "generated symbols/s",
    ]
    return table(head, [_cells(row) for row in rows])


def answer_table(results: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Models that answer, by the figures of their task, the one that decides with its interval."""
    names = results["figures"]
    head = ["model", *(name.replace("_", " ") for name in names), *COSTS, "texts/s"]
    head.insert(2, "interval")
    return table(head, [_answer_cells(row, names) for row in rows])


COSTS = ("weights", "file", "time", "memory")


def _called(row: Mapping[str, Any]) -> str:
    mark = "unfinished" if row["unfinished"] else "dropped" if row["dropped"] else ""
    return f"{row['title']} ({mark})" if mark else str(row["title"])


def _costs(row: Mapping[str, Any]) -> list[str]:
    return [
        f"{row['parameters']:,}",
        size(row["file_bytes"]),
        seconds(row["seconds"]),
        size(row["memory_bytes"]),
        f"{row['score_per_second']:,.0f}",
    ]


def _answer_cells(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    first, *others = (f"{row['figures'][name]:.4f}" if name in row["figures"] else "" for name in names)
    low, high = row["intervals"].get(names[0], (float("-inf"), float("inf")))
    return [_called(row), first, f"{low:.3f}–{high:.3f}", *others, *_costs(row)]


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        _called(row),
        f"{row['bits']:.4f}",
        f"{row['low']:.3f}–{row['high']:.3f}",
        number(float(row["perplexity"])),
        *_costs(row),
        f"{row['write_per_second']:,.0f}",
    ]
