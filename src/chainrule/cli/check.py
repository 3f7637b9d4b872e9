"""`check` looks at data before anything is trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from chainrule.cli.arguments import Codec, Data, Test, Valid, check_named, sources
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, percent, seconds, size, table
from chainrule.cli.settings import Groups, of_codec, of_data, understood
from chainrule.cli.verb import Verb, typed

if TYPE_CHECKING:
    from chainrule.data.check import Check, PartFacts
    from chainrule.models.base import CostForecast

LARGE = 100  # different symbols from which on Zipf's law says something


class CheckVerb(Verb):
    """Its settings are those of the codec and of reading."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        return {**of_codec(asked.get("codec")), **of_data()}


def check(
    context: typer.Context,
    data: Data,
    codec: Codec = None,
    valid: Valid = None,
    test: Test = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look at your data before training.

    Sizes, unknown symbols, lengths, duplicates, leaks between the parts, and what each family would need.
    """
    from chainrule.use.check import check as look

    source = sources(data)
    check_named(valid, test)
    output = Printer(json, quiet, verbose)
    wanted = None if codec is None else understood("codec", codec, output)
    found = look(source, valid=valid, test=test, codec=wanted, **typed(context))
    text = f"codec {found.codec.name}: {found.why}\n{describe(found.facts, found.forecast)}"
    output.result(found.to_dict(), text)


def describe(found: Check, forecast: Mapping[str, CostForecast]) -> str:
    """The facts for people."""
    parts = [
        f"parts: {found.how}",
        table(
            [
                "part",
                "sequences",
                "symbols",
                "size",
                "unknown",
                "unknown share",
                "duplicates",
                "also in train",
            ],
            _rows(found),
        ),
        f"{found.types:,} different symbols in train{_zipf(found)}",
        "sequences of train by length in symbols\n" + _histogram(found.parts["train"]),
        table(["to fit", "memory", "time"], _forecasts(forecast)),
    ]
    return "\n\n".join([*parts, *_warnings(found)])


def _zipf(found: Check) -> str:
    """How counts fall with rank; left out for small vocabularies."""
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
            number(part.unknown),
            percent(part.unknown_rate),
            number(part.duplicates),
            "" if name == "train" else number(part.leaked),
        ]
        for name, part in found.parts.items()
    ]


def _histogram(part: PartFacts) -> str:
    most = max((count for _, count in part.lengths), default=1)
    rows = [
        [f"up to {limit:,}", f"{count:,}", "█" * round(40 * count / most)] for limit, count in part.lengths
    ]
    widths = [max(len(row[column]) for row in rows) if rows else 0 for column in (0, 1)]
    return "\n".join(
        f"  {limit.rjust(widths[0])}  {count.rjust(widths[1])}  {bar}" for limit, count, bar in rows
    )


def _forecasts(forecast: Mapping[str, CostForecast]) -> list[list[str]]:
    return [[name, size(one.memory), seconds(one.seconds)] for name, one in forecast.items()]


def _warnings(found: Check) -> list[str]:
    leaks = {name: part.leaked for name, part in found.parts.items() if part.leaked}
    return [
        f"Leak: {count:,} sequence(s) of {name} are in train too; figures on them are too good."
        for name, count in leaks.items()
    ]
