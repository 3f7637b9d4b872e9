"""`forecast`: what comes next in series of numbers or events."""

from __future__ import annotations

import csv
import io
import json as jsons
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import check_out, named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table
from chainrule.cli.saved import Int8, Saved, loaded
from chainrule.cli.settings import Groups, of_data
from chainrule.cli.verb import Verb, typed
from chainrule.config import parted, settings

if TYPE_CHECKING:
    from chainrule.use.forecast import Forecast, Forecasts, ForecastStep

KINDS = (".csv", ".json", ".svg", ".html")
MOST = 60  # rows that are printed of many series


class ForecastVerb(Verb):
    """Its settings are those of forecasting, and how files are read."""

    def groups(self, asked: Mapping[str, str]) -> Groups:
        from chainrule.use.forecast import ForecastConfig

        return {"Forecast": settings(ForecastConfig), **of_data()}


def forecast(
    context: typer.Context,
    model: Saved,
    data: Annotated[
        str | None,
        typer.Option("--data", "-f", metavar="FILE", help="The history; not given: the data of training."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a table (.csv, .json) or a picture (.svg, .html) here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out.")] = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Forecast the next values of each series, from the end of the history on.

    Paths are sampled from the model. For numbers: their median and an interval; for events: the most frequent ones.
    """
    from chainrule.use.forecast import ForecastConfig
    from chainrule.use.forecast import forecast as forecasts

    output, options = Printer(json, quiet, verbose), typed(context)
    check_out(out, KINDS, force)
    config, reading = parted(options, ForecastConfig)
    found = forecasts(loaded(model, int8), data and named(data), config, reading)
    for note in found.notes:
        output.note(note)
    if out is not None:
        _write(found, out)
        output.note(f"written to {out}")
    if out is None or json:
        output.result(found.to_dict(), _told(found))


def _write(found: Forecasts, out: Path) -> None:
    from chainrule.store.files import write_text

    kind = out.suffix.lower()
    if kind == ".csv":
        write_text(out, _csv(found))
    elif kind == ".json":
        write_text(out, jsons.dumps(found.to_dict(), indent=2) + "\n")
    else:
        write_text(out, found.plot().written(kind))


def _csv(found: Forecasts) -> str:
    rows = found.rows()
    names = list(dict.fromkeys(name for row in rows for name in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()


def _told(found: Forecasts) -> str:
    """All series in one table, for people; of many series the first ones."""
    fit = max(1, MOST // len(found[0].steps))
    shown = found.each[:fit]
    named, dated = (any(each) for each in (_names(shown), _times(shown)))
    events = bool(shown[0].steps[0].events)
    ahead = ["events"] if events else ["median", f"{shown[0].interval:.0%} from", "to"]
    header = [*(["series"] if named else []), *(["time"] if dated else []), "step", *ahead]
    rows = [
        [
            *([one.name or ""] if named else []),
            *([step.time or ""] if dated else []),
            str(step.step),
            *_cells(step),
        ]
        for one in shown
        for step in one.steps
    ]
    told = table(header, rows, left=len(header) if events else named + dated)
    if len(shown) == len(found):
        return told
    return f"{told}\n\nThe first {len(shown):,} of {len(found):,} series. All of them: -o forecast.csv, or --json"


def _names(found: Sequence[Forecast]) -> list[bool]:
    return [one.name is not None for one in found]


def _times(found: Sequence[Forecast]) -> list[bool]:
    return [step.time is not None for one in found for step in one.steps]


def _cells(step: ForecastStep) -> list[str]:
    if step.events:
        return [", ".join(f"{name} {share:.0%}" for name, share in step.events)]
    return [number(float(value or 0.0)) for value in (step.median, step.low, step.high)]
