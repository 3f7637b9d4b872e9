"""`export`: models for other programs, as ARPA files, Hugging Face folders and word vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.arguments import Force
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, seconds
from chainrule.cli.transformer import described, facts_of
from chainrule.cli.verb import Verb, Verbs
from chainrule.errors import BundleError, ConfigError, ModelError

PACKED = (".xz", ".bz2", ".zst", ".zip", ".lzma", ".7z")  # compressed files that other programs cannot read
exports = typer.Typer(
    cls=Verbs, help="Export a model for another program.", no_args_is_help=True, rich_markup_mode=None
)


@exports.callback()
def _exports() -> None:
    """Export a model for another program."""


@exports.command("hf", cls=Verb)
def export_hf(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The folder of a saved gpt, bert or transformer.")
    ],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write, a new folder.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Export a Hugging Face folder: GPT-2, BERT, Marian or Pegasus.

    gpt becomes GPT-2, bert becomes BERT, a transformer Marian (--norm post) or Pegasus. No network is used.
    """
    from chainrule.bundle import load
    from chainrule.interop.huggingface import FILES
    from chainrule.interop.huggingface import export_hf as write
    from chainrule.store.files import check_free

    if folder.resolve() == model.resolve():
        raise BundleError(f"{folder} is the model itself. Choose another name for what is written.")
    check_free(folder, force, FILES)
    output, bundle, began = Printer(json, quiet, verbose), load(model), time.perf_counter()
    notes = write(bundle, folder, force)
    took = time.perf_counter() - began
    for note in notes:
        output.note(f"note: {note}")
    facts = facts_of(bundle)
    values = {"output": str(folder), **facts, "notes": list(notes), "seconds": took}
    output.result(values, f"{folder}: {described(facts)}, {seconds(took)}")


@exports.command("arpa", cls=Verb)
def export_arpa(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved n-gram model.")],
    file: Annotated[Path, typer.Argument(metavar="FILE.arpa[.gz]", help="Where to write.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Export an n-gram model in ARPA format, for KenLM and speech recognisers."""
    from chainrule.bundle import load
    from chainrule.interop.arpa import export_arpa as write
    from chainrule.models.ngram import Ngram
    from chainrule.store.files import is_stream, opened_as

    if file.suffix.lower() in PACKED:
        raise ConfigError(f"{file} cannot be written: ARPA files are .arpa or, compressed, .arpa.gz.")
    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")
    bundle = load(model)
    if not isinstance(bundle.model, Ngram):
        raise ModelError(f"ARPA holds n-grams, and {model} is of the family {bundle.model.family!r}.")
    began = time.perf_counter()
    count = write(bundle.model, bundle.codec, file)
    took = time.perf_counter() - began
    values = {"output": str(file), "ngrams": count, "seconds": took}
    output, text = Printer(json, quiet, verbose), f"{file}: {number(count)} n-grams, {seconds(took)}"
    if opened_as(file) == 1:  # the model itself is on standard output, and nothing else belongs there
        return output.note(text)
    output.result(values, text)


@exports.command("vectors", cls=Verb)
def export_vectors(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of saved word vectors.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write.")],
    format: Annotated[
        str,
        typer.Option(
            "--format", metavar="[text|binary|glove]", help="word2vec text or binary, or GloVe text."
        ),
    ] = "text",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Export word vectors, for gensim and others."""
    from chainrule.bundle import load
    from chainrule.interop.word2vec import export_vectors as write
    from chainrule.store.files import is_stream, opened_as

    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")
    output, bundle, began = Printer(json, quiet, verbose), load(model), time.perf_counter()
    count, notes = write(bundle, file, format)
    took = time.perf_counter() - began
    for note in notes:
        output.note(f"note: {note}")
    values = {"output": str(file), "words": count, "format": format, "notes": list(notes), "seconds": took}
    text = f"{file}: {number(count)} words, {seconds(took)}"
    if opened_as(file) == 1:
        return output.note(text)
    output.result(values, text)
