"""`rank`: candidates by probability."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, table
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown


def rank(
    model: Saved,
    candidates: Annotated[
        list[str] | None, typer.Argument(metavar="CANDIDATE", help="Texts; without any, the lines of stdin.")
    ] = None,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rerank candidates, the most probable first.

    As for the hypotheses (n-best list) of a speech recogniser.
    """
    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    texts = candidates or list(_lines())
    tell_unknown(bundle, candidates or [], output)
    found = bundle.rank(texts)
    lines = [
        [one.text, number(one.log2prob), number(one.perplexity), number(one.unknown)] for one in found.ranked
    ]
    header = ["text", "log2 probability", "perplexity", "unknown"]
    output.result(found.to_dict(), table(header, lines))


def _lines() -> Iterator[str]:
    named("-")
    return (line.rstrip("\n") for line in sys.stdin if line.strip())
