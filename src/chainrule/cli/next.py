"""`next`: the distribution over the next symbol."""

from __future__ import annotations

import codecs
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose, percent, table, visible
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown

if TYPE_CHECKING:
    from chainrule.use.next import NextSymbols


def next_symbol(
    model: Saved,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The text before the symbol.")] = "",
    k: Annotated[
        int, typer.Option("-k", "--best", min=1, max=1_000_000, help="How many symbols, the best first.")
    ] = 20,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Next-symbol distribution: the most probable symbols after a prompt, with bars."""
    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    tell_unknown(bundle, [prompt], output)
    found = bundle.next(prompt, k)
    output.result(found.to_dict(), _described(found))


def _described(found: NextSymbols) -> str:
    """A table with bars, and what all other symbols have together."""
    from chainrule.draw.bars import bars

    plain = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name != "utf-8"
    drawn = bars([one.probability for one in found], plain=plain)
    rows = [
        ["(end)" if one.ends else visible(one.token), percent(one.probability), bar]
        for one, bar in zip(found, drawn, strict=True)
    ]
    others = [["(all others)", percent(found.rest), ""]] if found.rest > 1e-9 else []
    return table(["next", "probability", ""], [*((a, b, c.ljust(30)) for a, b, c in rows), *others])
