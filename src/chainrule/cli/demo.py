"""`demo`: what there is to see without any data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.compare import told, watching
from chainrule.cli.output import Json, Output, Quiet, Verbose

if TYPE_CHECKING:
    from chainrule.choose.compare import Comparison

SHOWN = 300  # characters of a sample


def demo(
    budget: Annotated[str, typer.Option(help="How long it may take.")] = "3m",
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="Where report, results and models go.")
    ] = Path("demo"),
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Watch all kinds of models compete.

    They are trained on Python's own documentation, letter by letter, and judged on paragraphs they never saw.
    What is in OUT already is not done again.
    """
    from chainrule.choose.compare import compare
    from chainrule.examples import example

    output, sample = Output(json, quiet, verbose), example("text")[1].splitlines()
    output.note(f"The sample: {len(sample):,} paragraphs of Python's documentation. Time: {budget}.")
    with watching(quiet) as board:
        found = compare(
            sample,
            out=out,
            budget=budget,
            codec="characters",
            resume=True,
            watch=board.see,
            command=f"chainrule demo --budget {budget} -o {out}",
        )
    text = f"{_written(found)}\n\n{told(found)}\n\nOn your own file: chainrule compare book.txt"
    output.result(found.results, text)


def _written(found: Comparison) -> str:
    """What the worst and the best of them write."""
    rows = [row for row in found.results["models"] if not row["failed"]]
    lines = [f"{row['title']} writes:\n  {row['samples'][0].strip()[:SHOWN]}" for row in (rows[-1], rows[0])]
    return "\n\n".join(lines)
