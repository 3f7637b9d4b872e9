"""`fit` trains a model and saves it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chainrule.cli import words as split
from chainrule.cli.caveats import of_parts
from chainrule.cli.exchange import Force, Out
from chainrule.cli.output import Json, Output, Quiet, Verbose, number, seconds, size, table
from chainrule.cli.reading import Columns, Encodings, Formats, Groups, Sorts, Streams, given
from chainrule.errors import ConfigError
from chainrule.judge.names import own_names

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

Data = Annotated[
    list[str],
    typer.Argument(metavar="TRAIN", help="Files, folders, patterns or -.", show_default=False),
]
Valid = Annotated[
    str | None,
    typer.Option(
        "--valid",
        help="Data to choose by what is left open (the order of an n-gram), and to judge on; "
        "else a part of TRAIN is held out.",
    ),
]
Test = Annotated[
    str | None, typer.Option("--test", help="Data to judge on; else a part of TRAIN is held out.")
]
Named = Annotated[
    str | None, typer.Option("--codec", help="What a symbol is; chosen from the data if not given.")
]
GENERIC = ("model", "codec", "valid", "test", "stream", "column", "group", "sort", "encoding", "format")
EXPECTED = "chainrule fit TRAIN... -o OUT"


def fit(
    context: typer.Context,
    words: Data,
    out: Out,
    model: Annotated[
        str | None, typer.Option("--model", help="The family; chainrule models lists them.")
    ] = None,
    codec: Named = None,
    valid: Valid = None,
    test: Test = None,
    stream: Streams = False,
    column: Columns = None,
    group: Groups = None,
    sort: Sorts = None,
    encoding: Encodings = None,
    format: Formats = None,
    config: Annotated[Path | None, typer.Option("--config", help="Settings, name = value, in TOML.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a training that was stopped, exactly.")
    ] = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on your data and save it.

    Options of the family and the codec are plain flags beside those below, such as
    --order 5 --vocab 10k: chainrule models ngram and chainrule models words list them.
    """
    from chainrule.files import check_free

    check_free(out, force)
    asked = given(model=model, codec=codec, valid=valid, test=test, stream=stream, column=column)
    asked |= given(group=group, sort=sort, encoding=encoding, format=format)
    source, options = _settled(words, asked, config, split.own_flags(context))
    output = Output(json, quiet, verbose)
    began = time.perf_counter()
    run = out.with_name(out.name + ".run")  # beside the model: what a stopped training goes on from
    bundle = _fit(source, options | {"run": run, "resume": resume}, output)
    if os.environ.get("RANK", "0") != "0":  # one of several processes of torchrun; the first one saves
        return
    bundle.save(out, force)
    took = time.perf_counter() - began
    output.result(values(bundle, out, took), summary(bundle, out, took))


def _settled(
    words: list[str], asked: dict[str, Any], config: Path | None, own: list[str]
) -> tuple[str | list[Path], dict[str, Any]]:
    """Where the data are, and every setting: what was typed wins over the file."""
    from chainrule.config import read_toml

    written = {**(read_toml(config) if config else {}), **asked}
    _check_kinds(written, config)
    model, codec = written.get("model", "ngram"), written.get("codec")
    plain, typed = split.divide(words, model, codec, own)
    settings = split.settings_of(model, codec)
    options = {"model": "ngram", **split.from_file(config, GENERIC, settings), **asked, **typed}
    return split.sources(plain, EXPECTED), options


def _check_kinds(written: dict[str, Any], config: Path | None) -> None:
    """What a TOML file gives for the options of this verb: texts, and yes or no."""
    for name in GENERIC:
        kind, what = (bool, "true or false") if name == "stream" else (str, "a text in quotes")
        if name in written and not isinstance(written[name], kind):
            raise ConfigError(f"{config}: {name} wants {what}, not {written[name]!r}.")
    for name in ("valid", "test"):
        split.named(written.get(name, "."))


def _fit(source: str | list[Path], options: dict[str, Any], output: Output) -> Bundle:
    from chainrule.progress import progress
    from chainrule.train.fit import fit as train

    bundle = train(source, progress=progress, **options)
    for note in bundle.card.get("notes", ()):
        output.note(note)
    return bundle


def values(bundle: Bundle, out: Path, took: float) -> dict[str, Any]:
    return {
        "output": str(out),
        "family": bundle.model.family,
        "codec": bundle.codec.name,
        "alphabet": bundle.codec.size,
        "parameters": bundle.model.parameters_count,
        "bytes": _bytes(bundle),
        **{name: dict(figures) for name, figures in bundle.card.get("figures", {}).items()},
        "seconds": took,
    }


def _bytes(bundle: Bundle) -> int:
    return sum(array.nbytes for array in bundle.model.arrays().values())


def summary(bundle: Bundle, out: Path, took: float) -> str:
    what = f"{bundle.model.family} on {bundle.codec.name}, {bundle.codec.size:,} ids"
    lines = [f"{out}: {what}, {size(_bytes(bundle))}, {seconds(took)}"]
    names = list(own_names(dict.fromkeys(("perplexity", "bits_per_symbol", "bits_per_byte")), bundle.model))
    rows = [
        [
            name,
            *(number(figures[one]) for one in (*names, "unknown")),
        ]
        for name, figures in bundle.card.get("figures", {}).items()
    ]
    if rows:
        lines.append(table(["", *(name.replace("_", " ") for name in names), "unknown"], rows))
    return "\n".join([*lines, *of_parts(bundle)])
