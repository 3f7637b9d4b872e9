"""`complete`: what a search box would offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose, percent, table, visible
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown

if TYPE_CHECKING:
    from chainrule.use.complete import Completions


def complete(
    model: Saved,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The text to complete.")] = "",
    k: Annotated[int, typer.Option("-k", "--best", min=1, help="How many of each.")] = 5,
    length: Annotated[int, typer.Option(min=0, help="How many symbols to add at most.")] = 10,
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
    found = bundle.complete(prompt, k, length, unknown=unknown)
    tell_unknown(bundle, [prompt.removesuffix(found.half)], output)
    output.result(found.to_dict(), describe_completions(prompt, found))


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
