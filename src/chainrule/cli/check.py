"""`check` looks at data before anything is trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli import words as split
from chainrule.cli.fit import Named, Test, Valid
from chainrule.cli.output import Json, Output, Quiet, Verbose, number, seconds, size, table
from chainrule.cli.reading import Columns, Encodings, Formats, Groups, Sorts, Streams, given

if TYPE_CHECKING:
    from chainrule.checking import Checked
    from chainrule.data.check import Check, Part
    from chainrule.models.base import Forecast

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Files, folders, patterns or -.", show_default=False),
]
LARGE = 100  # different symbols from which on Zipf's line is one


def check(
    context: typer.Context,
    words: Data,
    codec: Named = None,
    valid: Valid = None,
    test: Test = None,
    stream: Streams = False,
    column: Columns = None,
    group: Groups = None,
    sort: Sorts = None,
    encoding: Encodings = None,
    format: Formats = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look at your data before training.

    Sizes, unknown symbols, lengths, copies, leaks, and what each family would need.
    Options of the codec are plain flags, such as --vocab 10k: chainrule models words lists them.
    """
    from chainrule.checking import check as look

    plain, options = split.divide(words, None, codec, split.own_flags(context))
    source = split.sources(plain, "chainrule check DATA")
    for part in (valid, test):
        split.named("." if part is None else part)
    options |= given(stream=stream, column=column, group=group, sort=sort, encoding=encoding, format=format)
    found = look(source, valid=valid, test=test, codec=codec, **options)
    text = f"codec {found.codec.name}: {found.why}\n{describe(found.facts, found.forecast)}"
    Output(json, quiet, verbose).result(_values(found), text)


def _values(found: Checked) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(found.facts).items() if name != "sample"}
    forecast = {name: asdict(cost) for name, cost in found.forecast.items()}
    codec = {"codec": found.codec.name, "why": found.why, "alphabet": found.codec.size}
    return codec | facts | {"forecast": forecast}


def describe(found: Check, forecast: Mapping[str, Forecast]) -> str:
    """The facts for people."""
    parts = [
        f"parts: {found.how}",
        table(["part", "sequences", "symbols", "size", "unknown", "repeated", "also in train"], _rows(found)),
        f"{found.types:,} different symbols in train{_zipf(found)}",
        "lengths in train\n" + _histogram(found.parts["train"]),
        table(["to fit", "memory", "time"], _forecasts(forecast)),
    ]
    return "\n\n".join([*parts, *_warnings(found)])


def _zipf(found: Check) -> str:
    """How counts fall with rank; of a small alphabet that says nothing."""
    if found.types < LARGE:
        return ""
    points = "".join(f", rank {rank:,}: {count:,}" for rank, count in found.zipf.points)
    return f"; Zipf slope {found.zipf.slope:.2f}{points}"


def _rows(found: Check) -> list[list[str]]:
    return [
        [
            name,
            number(part.sequences),
            number(part.symbols),
            size(part.bytes),
            f"{part.unknown_rate:.2%}",
            number(part.duplicates),
            "" if name == "train" else number(part.leaked),
        ]
        for name, part in found.parts.items()
    ]


def _histogram(part: Part) -> str:
    most = max((count for _, count in part.lengths), default=1)
    rows = [
        [f"up to {limit:,}", f"{count:,}", "█" * round(40 * count / most)] for limit, count in part.lengths
    ]
    widths = [max(len(row[column]) for row in rows) if rows else 0 for column in (0, 1)]
    return "\n".join(
        f"  {limit.rjust(widths[0])}  {count.rjust(widths[1])}  {bar}" for limit, count, bar in rows
    )


def _forecasts(forecast: Mapping[str, Forecast]) -> list[list[str]]:
    return [[name, size(one.memory), seconds(one.seconds)] for name, one in forecast.items()]


def _warnings(found: Check) -> list[str]:
    leaks = {name: part.leaked for name, part in found.parts.items() if part.leaked}
    return [
        f"Leak: {count:,} sequence(s) of {name} are in train too; figures on them flatter the model."
        for name, count in leaks.items()
    ]
