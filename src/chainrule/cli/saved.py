"""What all verbs that use a saved model have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chainrule.cli.output import Printer

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.codecs.base import Codec

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


def tell_unknown(bundle: Bundle, texts: Iterable[str], output: Printer, codec: Codec | None = None) -> None:
    """Name the symbols that are not in the vocabulary, or in that of `codec`: a misspelt one would pass unseen."""
    from chainrule.use.unknown import unknown_to

    if output.quiet:
        return
    names = list(dict.fromkeys(name for text in texts for name in unknown_to(codec or bundle.codec, text)))
    for name in names[:NAMED]:
        output.note(f"{name!r} is unknown to this model")
    if len(names) > NAMED:
        output.note(f"and so are {len(names) - NAMED:,} more symbols")
