"""Models of other programs: `import arpa`, `import hf`, `export arpa`, `export hf`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli.output import Json, Output, Plain, Quiet, Verbose, number, seconds
from chainrule.errors import BundleError, ConfigError, ModelError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

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


@imports.command("hf", cls=Plain)
def import_hf(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A folder with a GPT-2 or a BERT, as their library saves it."),
    ],
    out: Out,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read a model folder of Hugging Face: GPT-2 becomes gpt, BERT becomes bert. No network is used."""
    from chainrule.files import check_free
    from chainrule.interop.huggingface import import_hf as read

    check_free(out, force)
    output, began = Output(json, quiet, verbose), time.perf_counter()
    bundle = read(folder)
    bundle.save(out, force)
    took = time.perf_counter() - began
    for note in bundle.card["notes"]:
        output.note(f"note: {note}")
    facts = _facts(bundle)
    values = {"output": str(out), **facts, "notes": list(bundle.card["notes"]), "seconds": took}
    output.result(values, f"{out}: {_told(facts)}, {seconds(took)}")


def _facts(bundle: Bundle) -> dict[str, Any]:
    """What kind of Transformer it is."""
    settings = bundle.model.config.values()
    return {
        "family": bundle.model.family,
        **{name: settings[name] for name in ("layers", "width", "heads", "context")},
        "alphabet": bundle.codec.size,
        "parameters": bundle.model.parameters_count,
    }


def _told(facts: dict[str, Any]) -> str:
    shape = f"{facts['layers']} layers of width {facts['width']} with {facts['heads']} heads"
    size = f"an alphabet of {number(facts['alphabet'])} ids, {number(facts['parameters'])} parameters"
    return f"{facts['family']}, {shape}, {facts['context']} symbols of context, {size}"


@exports.command("hf", cls=Plain)
def export_hf(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved gpt or bert.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write, a new folder.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a model folder of Hugging Face: gpt becomes GPT-2, bert becomes BERT. No network is used."""
    from chainrule.bundle import load
    from chainrule.files import check_free
    from chainrule.interop.huggingface import FILES
    from chainrule.interop.huggingface import export_hf as write

    if folder.resolve() == model.resolve():
        raise BundleError(f"{folder} is the model itself. Choose another name for what is written.")
    check_free(folder, force, FILES)
    output, bundle, began = Output(json, quiet, verbose), load(model), time.perf_counter()
    notes = write(bundle, folder, force)
    took = time.perf_counter() - began
    for note in notes:
        output.note(f"note: {note}")
    facts = _facts(bundle)
    values = {"output": str(folder), **facts, "notes": list(notes), "seconds": took}
    output.result(values, f"{folder}: {_told(facts)}, {seconds(took)}")


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
