"""`import`: models of other programs, from ARPA files (KenLM, SRILM), Hugging Face folders and word vectors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.arguments import Force, Out
from chainrule.cli.output import Json, Printer, Quiet, Verbose, number, seconds
from chainrule.cli.transformer import described, facts_of
from chainrule.cli.verb import Verb, Verbs

imports = typer.Typer(
    cls=Verbs, help="Import a model of another program.", no_args_is_help=True, rich_markup_mode=None
)


@imports.callback()
def _imports() -> None:
    """Import a model of another program."""


@imports.command("arpa", cls=Verb)
def import_arpa(
    file: Annotated[Path, typer.Argument(metavar="FILE.arpa[.gz]", help="An n-gram model in ARPA format.")],
    out: Out,
    codec: Annotated[
        str, typer.Option("--codec", metavar="[words|characters|events]", help="What its symbols are.")
    ] = "words",
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Import an n-gram model in ARPA format (KenLM, SRILM)."""
    from chainrule.bundle import Bundle
    from chainrule.interop.arpa import import_arpa as read
    from chainrule.store.files import check_free

    check_free(out, force)
    output, began = Printer(json, quiet, verbose), time.perf_counter()
    model, vocabulary = read(file, codec)
    notes = list(model.notes)
    Bundle.of(vocabulary, model, {"imported": file.name, "notes": notes}).save(out, force)
    took = time.perf_counter() - began
    for note in notes:
        output.note(f"note: {note}")
    facts = {"order": model.config.order, "ngrams": model.sizes, "notes": notes, "seconds": took}
    text = f"{out}: order {model.config.order}, {number(sum(model.sizes))} n-grams, {seconds(took)}"
    output.result({"output": str(out), **facts}, text)


@imports.command("hf", cls=Verb)
def import_hf(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder with a GPT-2, BERT, Marian or Pegasus, as save_pretrained writes it.",
        ),
    ],
    out: Out,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Import a Hugging Face folder: GPT-2, BERT, Marian or Pegasus.

    GPT-2 becomes gpt, BERT becomes bert, Marian and Pegasus become transformer. No network is used.
    """
    from chainrule.interop.huggingface import import_hf as read
    from chainrule.store.files import check_free

    check_free(out, force)
    output, began = Printer(json, quiet, verbose), time.perf_counter()
    bundle = read(folder)
    bundle.save(out, force)
    took = time.perf_counter() - began
    for note in bundle.card["notes"]:
        output.note(f"note: {note}")
    facts = facts_of(bundle)
    values = {"output": str(out), **facts, "notes": list(bundle.card["notes"]), "seconds": took}
    output.result(values, f"{out}: {described(facts)}, {seconds(took)}")


@imports.command("vectors", cls=Verb)
def import_vectors(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE[.gz]", help="Word vectors: word2vec text or binary, or GloVe text."),
    ],
    out: Out,
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="[text|binary|glove]", help="Its format; seen from its beginning."),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Import word vectors (word2vec, GloVe, gensim)."""
    from chainrule.interop.word2vec import import_vectors as read
    from chainrule.store.files import check_free
    from chainrule.symbols import FIRST

    check_free(out, force)
    output, began = Printer(json, quiet, verbose), time.perf_counter()
    bundle = read(file, format)
    bundle.save(out, force)
    took = time.perf_counter() - began
    notes = list(bundle.card["notes"])
    for note in notes:
        output.note(f"note: {note}")
    words, width = bundle.codec.size - FIRST, bundle.body.width
    values = {"output": str(out), "words": words, "width": width, "notes": notes, "seconds": took}
    output.result(values, f"{out}: {number(words)} words, {width} numbers each, {seconds(took)}")
