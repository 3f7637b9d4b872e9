"""`similar`: the nearest words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose, table, visible
from chainrule.cli.saved import loaded

if TYPE_CHECKING:
    from chainrule.use.similar import Neighbour

Vectors = Annotated[Path, typer.Argument(metavar="VECTORS", help="The folder of saved word vectors.")]
Best = Annotated[int, typer.Option("-k", "--best", min=1, max=1_000_000, help="How many words, best first.")]


def similar(
    model: Vectors,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word.")],
    k: Best = 10,
    among: Annotated[
        Path | None,
        typer.Option(
            "--among", metavar="VECTORS", help="Words of another model in the same space, as by map-vectors."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Nearest neighbours: the words most similar to a word, by cosine."""
    bundle, output = loaded(model, False), Printer(json, quiet, verbose)
    found = bundle.similar(word, k, among=None if among is None else loaded(among, False))
    if not found.known:
        output.note(f"note: {word!r} is not in the vocabulary; its vector is made of its character n-grams")
    output.result(found.to_dict(), ranked(found.neighbours, "word"))


def ranked(words: Iterable[Neighbour], title: str) -> str:
    """A table of words and their similarities."""
    rows = [[visible(one.word), f"{one.similarity:.4f}"] for one in words]
    return table([title, "similarity"], rows)
