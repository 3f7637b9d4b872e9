"""`compare` answers the question people come with: which model for my data?"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli import words as split
from chainrule.cli.fit import Test, Valid
from chainrule.cli.output import Json, Output, Quiet, Verbose, number, seconds, size, table
from chainrule.cli.reading import Columns, Encodings, Formats, Groups, Sorts, Streams, given

if TYPE_CHECKING:
    from chainrule.choose.compare import Comparison

Data = Annotated[
    list[str], typer.Argument(metavar="DATA", help="Files, folders, patterns or -.", show_default=False)
]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where report, results and models go.")
]
Models = Annotated[
    str | None, typer.Option("--models", help="Only these, such as 5-gram,lstm,mix; all if not given.")
]
Codecs = Annotated[
    str | None,
    typer.Option(
        "--codec", help="How data become symbols; of several, as in characters,words, each is tried."
    ),
]
HEADER = [
    "model",
    "bits",
    "interval",
    "perplexity",
    "weights",
    "file",
    "time",
    "memory",
    "reads/s",
    "writes/s",
]


def compare(
    context: typer.Context,
    words: Data,
    out: Out = Path("comparison"),
    budget: Annotated[
        str, typer.Option("--budget", help="How long it may take, such as 90s, 10m or 1h.")
    ] = "10m",
    models: Models = None,
    codec: Codecs = None,
    valid: Valid = None,
    test: Test = None,
    stream: Streams = False,
    column: Columns = None,
    group: Groups = None,
    sort: Sorts = None,
    encoding: Encodings = None,
    format: Formats = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was stopped.")] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the model that suits your data.

    Trains n-grams, windows, recurrent networks, a Transformer and mixes within one budget, judges all of
    them on the same held-out part, and says which one to take and why. Writes a report to look at.
    Options of the codec are plain flags, such as --vocab 10k: chainrule models words lists them.
    """
    from chainrule.choose.compare import compare as run

    codecs = _listed(codec)
    plain, options = split.divide(
        words, None, codecs[0] if len(codecs) == 1 else None, split.own_flags(context)
    )
    options |= given(stream=stream, column=column, group=group, sort=sort, encoding=encoding, format=format)
    with watching(quiet) as board:
        found = run(
            split.sources(plain, "chainrule compare DATA"),
            out=out,
            budget=budget,
            models=_listed(models),
            codec=codecs,
            valid=valid,
            test=test,
            seed=seed,
            resume=resume,
            watch=board.see,
            command=shlex.join(["chainrule", *sys.argv[1:]]),
            **options,
        )
    Output(json, quiet, verbose).result(found.results, told(found))


def _listed(words: str | None) -> list[str]:
    return [one.strip() for one in words.split(",") if one.strip()] if words else []


def told(found: Comparison) -> str:
    """The leaderboard, the advice, and where to look."""
    results = found.results
    rows = [_cells(row) for row in results["models"] if not row["failed"]]
    broken = [f"{row['name']} failed: {row['failed']}" for row in results["models"] if row["failed"]]
    header = [HEADER[0], results["unit"], *HEADER[2:]]
    warnings = [f"Note: {warning}" for warning in results["data"]["warnings"]]
    advice = results["advice"]["sentences"]
    parts = [
        table(header, rows),
        "\n".join(broken),
        "\n".join(advice),
        "\n".join(warnings),
        f"Report: {found.report}",
    ]
    return "\n\n".join(part for part in parts if part)


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        row["title"],
        f"{row['bits']:.4f}",
        f"{row['low']:.3f}–{row['high']:.3f}",
        number(float(row["perplexity"])),
        f"{row['parameters']:,}",
        size(row["file_bytes"]),
        seconds(row["seconds"]),
        size(row["memory_bytes"]),
        f"{row['score_per_second']:,.0f}",
        f"{row['write_per_second']:,.0f}",
    ]


@dataclass
class Board:
    """Where every model stands, as its process tells."""

    budget: float = 0.0  # seconds
    rows: dict[str, list[str]] = field(default_factory=dict)  # state, bits, time
    began: float = field(default_factory=time.monotonic)

    def see(self, event: Mapping[str, Any]) -> None:
        """One thing that happened."""
        if "rungs" in event:
            self.budget = event["budget"]
            self.rows = {name: _waits(event["forecasts"].get(name)) for name in event["rungs"]}
            return
        self.rows[event["name"]] = _cells_of(event)
        self.show(event)

    def show(self, event: Mapping[str, Any]) -> None:
        """Nothing, when nobody looks."""

    @property
    def passed(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self.began


def _waits(forecast: Mapping[str, float] | None) -> list[str]:
    """What is foretold of a model whose turn has not come."""
    if not forecast:
        return ["waits", "", ""]
    return ["waits", "", f"about {seconds(forecast['seconds'])}, {size(round(forecast['memory_bytes']))}"]


def _cells_of(event: Mapping[str, Any]) -> list[str]:
    """State, bits and time of a model, from what it told last."""
    bits, left = event.get("bits"), event.get("left")
    figure = "" if bits is None else f"{bits:.4f}"
    if event.get("done"):
        return ["done", figure, seconds(event["seconds"])]
    if event.get("failed"):
        return [f"failed: {event['failed']}", "", ""]
    if event.get("began"):
        return ["begins", "", f"{seconds(event['seconds'])} given" if event["seconds"] else ""]
    share = f"{100 * event['share']:.0f} %" if event.get("share") is not None else "…"
    return [share, figure, "" if left is None else f"{seconds(left)} left"]


class Lines(Board):
    """A line for what began, ended or failed; for logs."""

    def show(self, event: Mapping[str, Any]) -> None:
        if event.keys() & {"began", "done", "failed"}:
            words = ", ".join(cell for cell in self.rows[event["name"]] if cell)
            print(f"{seconds(self.passed):>8}  {event['name']}: {words}", file=sys.stderr, flush=True)


class Live(Board):
    """A table that is drawn again and again; for terminals."""

    def __init__(self, screen: Any) -> None:
        super().__init__()
        self.screen = screen

    def show(self, event: Mapping[str, Any]) -> None:
        from rich.table import Table

        title = f"comparing: {seconds(self.passed)} of {seconds(self.budget)}"
        drawn = Table("model", "", "bits", "time", box=None, title=title, title_justify="left")
        for name, cells in self.rows.items():
            drawn.add_row(name, *cells)
        self.screen.update(drawn, refresh=True)


@contextmanager
def watching(quiet: bool) -> Iterator[Board]:
    """Somebody who sees what happens: a terminal, a log, or nobody."""
    if quiet:
        yield Board()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.live import Live as Screen

        with Screen(console=Console(stderr=True), auto_refresh=False, transient=True) as screen:
            yield Live(screen)
