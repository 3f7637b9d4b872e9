"""`map-vectors`: the vectors of one language in the space of another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.arguments import Force, Out
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, percent, seconds
from chainrule.cli.saved import loaded
from chainrule.cli.similar import Vectors
from chainrule.errors import DataError

if TYPE_CHECKING:
    from chainrule.use.map_vectors import Mapped


def map_vectors(
    source: Vectors,
    target: Vectors,
    dictionary: Annotated[
        Path,
        typer.Argument(metavar="DICTIONARY.tsv", help="Lines of two words: of the source, of the target."),
    ],
    out: Out,
    method: Annotated[
        str,
        typer.Option("--method", metavar="[orthogonal|linear]", help="A rotation, or least squares."),
    ] = "orthogonal",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Map word vectors into the space of another language: then similar --among translates words.

    The map is learnt from a dictionary, and judged on a fifth of its source words.
    """
    from chainrule.store.files import check_free
    from chainrule.use.map_vectors import map_vectors as learn

    check_free(out, force)
    output, began = Printer(json, quiet, verbose), time.perf_counter()
    found = learn(loaded(source, False), loaded(target, False), _pairs(dictionary), method)
    found.bundle.save(out, force)
    took = time.perf_counter() - began
    values = {"output": str(out), **found.to_dict(), "seconds": took}
    output.result(values, f"{out}: {_described(found)}, {seconds(took)}")


def _pairs(path: Path) -> list[tuple[str, str]]:
    """Two words a line, between them a tab or, where there is none, a space."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.") from error
    found = []
    for at, line in enumerate(lines, 1):
        words = [word.strip() for word in (line.split("\t") if "\t" in line else line.split())]
        if words and (len(words) != 2 or not all(words)):
            raise DataError(f"{path}, line {at}: expected two words, found {line[:60]!r}.")
        found += [(words[0], words[1])] if words else []
    return found


def _described(found: Mapped) -> str:
    told = f"{found.method} map from {number(found.pairs)} pairs"
    if found.precision_at_1 is None or found.precision_at_5 is None:
        return f"{told}, too few to judge it"
    shares = f"{percent(found.precision_at_1)} at 1, {percent(found.precision_at_5)} at 5"
    return f"{told}; precision on {number(found.held_out)} held-out words {shares}"
