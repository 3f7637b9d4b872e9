"""What all verbs that use a saved model have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.output import Printer

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

Saved = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")]
Int8 = Annotated[
    bool,
    typer.Option("--int8", help="Quantize weights to int8: faster for large models, hardly worse."),
]
Draft = Annotated[
    Path | None,
    typer.Option(
        "--draft",
        metavar="MODEL",
        help="Speculative decoding: a smaller model drafts. The same distribution, sooner; the text of a seed "
        "may differ.",
    ),
]
Tree = Annotated[
    bool,
    typer.Option(
        "--tree",
        help="The whole search tree as JSON: log-probabilities of a beam, and why ways were dropped.",
    ),
]
NAMED = 10  # unknown symbols named one by one


def loaded(model: Path, int8: bool) -> Bundle:
    """A saved model, quantized if wanted."""
    from chainrule.bundle import load

    return load(model).compressed() if int8 else load(model)


def tell_unknown(bundle: Bundle, texts: Iterable[str], output: Printer) -> None:
    """Name the symbols that are not in the vocabulary: a misspelt one would pass unseen."""
    name_unknown((name for text in texts for name in bundle.unknown(text)), output)


def name_unknown(symbols: Iterable[str], output: Printer) -> None:
    """Say of each of these symbols once that it is unknown, and of very many how many there are."""
    if output.quiet:
        return
    names = list(dict.fromkeys(symbols))
    for name in names[:NAMED]:
        output.note(f"{name!r} is unknown to this model")
    if len(names) > NAMED:
        output.note(f"and so are {len(names) - NAMED:,} more symbols")
