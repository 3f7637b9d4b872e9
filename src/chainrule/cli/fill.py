"""`fill`: masked symbols of a text."""

from __future__ import annotations

from typing import Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose, percent, table
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown


def fill(
    model: Saved,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A text with [MASK] where tokens are missing.")],
    k: Annotated[int, typer.Option("-k", min=1, max=1_000, help="How many symbols for each mask.")] = 5,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fill masks: chainrule fill my-bert "she went to [MASK]"."""
    from chainrule.use.fill import MASKED

    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    tell_unknown(bundle, text.split(MASKED), output)
    found = bundle.fill(text, k)
    rows = [
        [str(place) if not rank else "", percent(guess.probability), guess.symbol, guess.text]
        for place, guesses in enumerate(found.masks, 1)
        for rank, guess in enumerate(guesses)
    ]
    output.result(found.to_dict(), table(["mask", "", "symbol", "text"], rows))
