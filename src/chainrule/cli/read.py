"""What a saved model makes of a text: fill, embed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.output import Json, Output, Quiet, Verbose, percent, table
from chainrule.cli.use import Int8, Saved, loaded, tell_unknown
from chainrule.errors import ConfigError


def fill(
    model: Saved,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A text with [MASK] where symbols are missing.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="How many guesses for each hole.")] = 5,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Guess what is missing: chainrule fill my-bert "she went to [MASK]"."""
    from chainrule.filling import HOLE

    bundle, output = loaded(model, int8), Output(json, quiet, verbose)
    tell_unknown(bundle, text.split(HOLE), output)
    holes = bundle.fill(text, k)
    values = [
        [{"symbol": g.symbol, "probability": g.probability, "text": g.text} for g in one] for one in holes
    ]
    rows = [
        [str(place) if not rank else "", percent(guess.probability), guess.symbol, guess.text]
        for place, guesses in enumerate(holes, 1)
        for rank, guess in enumerate(guesses)
    ]
    output.result({"holes": values}, table(["hole", "", "symbol", "text"], rows))


def embed(
    model: Saved,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT…", help="Texts; without any, lines of standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A text file, one text a line.")] = None,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="OUT.npy", help="Where to save the vectors.")
    ] = None,
    pooling: Annotated[str, typer.Option(help="One vector a text: mean, first (CLS) or last.")] = "mean",
    normalise: Annotated[bool, typer.Option("--normalise", help="Vectors of length 1.")] = False,
    each: Annotated[bool, typer.Option("--each", help="The vector of every symbol, as JSON lines.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there already.")] = False,
    int8: Int8 = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Texts as vectors, for search, clustering or a classifier of your own."""
    from chainrule.config import to_json

    given = _texts(texts, file)
    if out is not None and out.exists() and not force:
        raise ConfigError(f"{out} exists already. Choose another name, or replace it with --force.")
    bundle, output = loaded(model, int8), Output(json, quiet, verbose)
    tell_unknown(bundle, given, output)
    if each:
        for text, (pieces, vectors) in zip(given, bundle.embed_symbols(given), strict=True):
            print(to_json({"text": text, "symbols": pieces, "vectors": vectors.tolist()}))
        return
    vectors = bundle.embed(given, pooling=pooling, normalise=normalise)
    if out is not None:
        _save(out, vectors)
        count, width = vectors.shape
        return output.result(
            {"output": str(out), "texts": count, "width": width}, f"{out}: {count} x {width}"
        )
    for text, vector in zip(given, vectors.tolist(), strict=True):
        print(to_json({"text": text, "vector": vector}))


def _texts(texts: list[str] | None, file: Path | None) -> list[str]:
    """What is to be embedded, whoever holds it."""
    if texts and file is not None:
        raise ConfigError("Give texts or --file, not both.")
    if texts:
        return texts
    if file is None:
        return sys.stdin.read().splitlines()
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is no UTF-8. Convert it, or send it through standard input.") from error


def _save(out: Path, vectors: object) -> None:
    import numpy as np

    from chainrule.files import new_file

    with new_file(out) as file:
        np.save(file, vectors, allow_pickle=False)  # type: ignore[arg-type]
