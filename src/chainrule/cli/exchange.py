"""Models of other programs: `import arpa`, `export arpa`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.output import Json, Output, Plain, Quiet, Verbose, number, seconds
from chainrule.errors import BundleError, ConfigError, ModelError

PACKED = (".xz", ".bz2", ".zst", ".zip", ".lzma", ".7z")  # what other programs pack with
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where to save the model, a new folder.")
]

imports = typer.Typer(
    help="Bring in a model of another program.", no_args_is_help=True, rich_markup_mode=None
)
exports = typer.Typer(help="Hand a model to another program.", no_args_is_help=True, rich_markup_mode=None)


@imports.callback()
def _imports() -> None:
    """Bring in a model of another program."""


@exports.callback()
def _exports() -> None:
    """Hand a model to another program."""


@imports.command("arpa", cls=Plain)
def import_arpa(
    file: Annotated[Path, typer.Argument(metavar="FILE.arpa[.gz]", help="An n-gram model in ARPA format.")],
    out: Out,
    codec: Annotated[
        str, typer.Option("--codec", help="What its symbols are: words, characters or events.")
    ] = "words",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read an n-gram model in ARPA format, as KenLM, SRILM and others write it."""
    from chainrule.bundle import Bundle
    from chainrule.files import check_free
    from chainrule.interop.arpa import import_arpa as read

    check_free(out, force)
    began = time.perf_counter()
    model, alphabet = read(file, codec)
    Bundle(alphabet, model, {"imported": file.name}).save(out, force)
    took = time.perf_counter() - began
    values = {"output": str(out), "order": model.config.order, "ngrams": model.sizes, "seconds": took}
    text = f"{out}: order {model.config.order}, {number(sum(model.sizes))} n-grams, {seconds(took)}"
    Output(json, quiet, verbose).result(values, text)


@exports.command("arpa", cls=Plain)
def export_arpa(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved n-gram model.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.arpa[.gz]", help="Where to write.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write an n-gram model in ARPA format, for KenLM, speech recognisers and others."""
    from chainrule.bundle import load
    from chainrule.files import is_stream, opened_as
    from chainrule.interop.arpa import export_arpa as write
    from chainrule.models.ngram import Ngram

    if file.suffix.lower() in PACKED:
        raise ConfigError(f"{file} cannot be written: ARPA files are .arpa or, packed, .arpa.gz.")
    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")
    bundle = load(model)
    if not isinstance(bundle.model, Ngram):
        raise ModelError(f"ARPA holds n-grams, and {model} is of the family {bundle.model.family!r}.")
    began = time.perf_counter()
    count = write(bundle.model, bundle.codec, file)
    took = time.perf_counter() - began
    values = {"output": str(file), "ngrams": count, "seconds": took}
    output, text = Output(json, quiet, verbose), f"{file}: {number(count)} n-grams, {seconds(took)}"
    if opened_as(file) == 1:  # the model itself is on standard output, and nothing else belongs there
        return output.note(text)
    output.result(values, text)
