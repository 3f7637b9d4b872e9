"""`embed`: texts as vectors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.arguments import Force, named
from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.cli.saved import Int8, Saved, loaded, tell_unknown
from chainrule.errors import ConfigError

Texts = Annotated[
    list[str] | None, typer.Argument(metavar="TEXT", help="Texts; without any, the lines of stdin.")
]
File = Annotated[Path | None, typer.Option("--file", "-f", help="A text file, one text a line.")]
Out = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="OUT.npy", help="Where to save the vectors.")
]
Pooling = Annotated[
    str,
    typer.Option(
        metavar="[mean|first|last]", help="How token vectors become one: mean, first (CLS) or last."
    ),
]
Normalise = Annotated[bool, typer.Option("--normalise", help="L2 normalisation: vectors of length 1.")]
Each = Annotated[bool, typer.Option("--each", help="The vectors of all tokens, as JSON lines.")]


def embed(
    model: Saved,
    texts: Texts = None,
    file: File = None,
    out: Out = None,
    pooling: Pooling = "mean",
    normalise: Normalise = False,
    each: Each = False,
    force: Force = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Embed texts: one vector each.

    For search, clustering or a classifier of your own.
    """
    from chainrule.config import to_json
    from chainrule.use.embed import embed, embed_symbols, stacked

    given = _texts(texts, file)
    if out is not None and out.exists() and not force:
        raise ConfigError(f"{out} exists already. Choose another name, or replace it with --force.")
    bundle, output = loaded(model, int8), Printer(json, quiet, verbose)
    tell_unknown(bundle, given, output)
    if each:
        for one in embed_symbols(bundle, given):
            print(to_json(one.to_dict()))
        return
    found = embed(bundle, given, pooling=pooling, normalise=normalise)
    if out is not None:
        vectors = stacked(found)
        _save(out, vectors)
        count, width = vectors.shape
        return output.result(
            {"output": str(out), "texts": count, "width": width}, f"{out}: {count} x {width}"
        )
    for vector in found:
        print(to_json(vector.to_dict()))


def _texts(texts: list[str] | None, file: Path | None) -> list[str]:
    """The texts to embed: those given, the lines of a file, or those of standard input."""
    from chainrule.data.arriving import arriving

    if texts and file is not None:
        raise ConfigError("Give texts or --file, not both.")
    if texts:
        return texts
    if file is None:
        named("-")
        return [line for lines in arriving(sys.stdin.buffer) for line in lines]
    try:
        with file.open("rb") as opened:
            return [line for lines in arriving(opened, str(file)) for line in lines]
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error


def _save(out: Path, vectors: object) -> None:
    import numpy as np

    from chainrule.store.files import new_file

    with new_file(out) as file:
        np.save(file, vectors, allow_pickle=False)  # type: ignore[arg-type]
