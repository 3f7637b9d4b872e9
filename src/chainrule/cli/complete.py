"""`complete`: what a search box would offer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from chainrule.cli.arguments import named
from chainrule.cli.output import Json, Printer, Quiet, Verbose, encoded, percent, table, visible
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.data.arriving import arriving

if TYPE_CHECKING:
    from chainrule.use.complete import Completions


def complete(
    model: Saved,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="The text to complete; -: the lines of stdin.")
    ] = "",
    k: Annotated[
        int,
        typer.Option("-k", "--best", min=1, max=100, help="How many words, next symbols and continuations."),
    ] = 5,
    length: Annotated[int, typer.Option(min=0, max=100_000, help="How many symbols to add at most.")] = 10,
    unknown: Annotated[bool, typer.Option("--unknown", help="Let it predict <unk> too.")] = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Autocomplete: what a search box would offer.

    Words that begin as the last one does, the most probable next symbols, and the most probable continuations.
    """
    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    if prompt == "-":
        for one in (line for lines in arriving(_stdin()) for line in lines):
            found = bundle.complete(one, k, length, unknown=unknown)
            print(encoded(found.to_dict()) if output.json else describe_completions(one, found), flush=True)
        return
    found = bundle.complete(prompt, k, length, unknown=unknown)
    tell_unknown(bundle, [prompt.removesuffix(found.half)], output)
    output.result(found.to_dict(), describe_completions(prompt, found))


def _stdin() -> BinaryIO:
    named("-")
    return sys.stdin.buffer


def describe_completions(prompt: str, found: Completions) -> str:
    """Completions for people."""
    kinds = {
        "word": [[one.shown, percent(one.probability)] for one in found.words],
        "next": [[visible(one.shown) or "(end)", percent(one.probability)] for one in found.next],
        "continuation": [
            [f"{prompt}{one.text}{'' if one.ends else ' …'}", percent(one.probability)]
            for one in found.continuations
        ],
    }
    return "\n\n".join(table([name, "probability"], rows) for name, rows in kinds.items() if rows)
