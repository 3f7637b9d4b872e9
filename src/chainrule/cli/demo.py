"""`demo`: a comparison without any data of your own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.compare import Out, told
from chainrule.cli.live import watching
from chainrule.cli.output import Json, Printer, Quiet, Verbose

if TYPE_CHECKING:
    from chainrule.choose.compare import Comparison

SHOWN = 300  # characters of a sample


def demo(
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take.")] = "3m",
    out: Out = Path("demo"),
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare all kinds of models on a built-in sample of text.

    They are trained on Python's own documentation, character by character, and evaluated on held-out paragraphs.
    A demo that was stopped continues.
    """
    from chainrule.choose.compare import compare
    from chainrule.data.examples import example

    output, sample = Printer(json, quiet, verbose), example("text")[1].splitlines()
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
    """Samples of the worst and the best of those that have learnt something."""
    rows = [row for row in found.results["models"] if not (row["failed"] or row["unfinished"])]
    lines = [
        f"{row['title']} generates:\n  {row['samples'][0].strip()[:SHOWN]}" for row in (rows[-1], rows[0])
    ]
    return "\n\n".join(lines)
