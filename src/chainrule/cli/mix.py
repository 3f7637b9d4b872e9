"""`mix` interpolates several models: an ensemble."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.arguments import Force, Out, named
from chainrule.cli.fitted import summary, values
from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.cli.verb import typed
from chainrule.config import parted


def mix(
    context: typer.Context,
    models: Annotated[list[Path], typer.Argument(metavar="MODEL", help="Folders of saved models.")],
    out: Out,
    valid: Annotated[
        str,
        typer.Option(
            "--valid", metavar="DATA", help="Validation data for the weights, seen by no model in training."
        ),
    ],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Ensemble: interpolate language models over the same codec, or average what several models answer.

    Classifiers, taggers and regressors may each have a codec and a family of their own. The weights are estimated on
    validation data, which are read as for the first model unless flags say otherwise.
    """
    from chainrule.bundle import load
    from chainrule.store.files import check_free
    from chainrule.train.mix import mix as make
    from chainrule.use.adapt import AdaptConfig

    named(valid)
    check_free(out, force)
    output = Printer(json, quiet, verbose)
    began = time.perf_counter()
    adapt, reading = parted(typed(context), AdaptConfig)
    bundle = make([load(model) for model in models], valid, adapt, _names(models), **reading)
    bundle.save(out, force)
    took = time.perf_counter() - began
    for note in bundle.card["notes"]:
        output.note(note)
    output.result(values(bundle, out, took), summary(bundle, out, took))


def _names(folders: list[Path]) -> list[str]:
    """Models by their folders: the last part of the path, or all of it where two would be alike."""
    short = [folder.resolve().name for folder in folders]
    return [name if short.count(name) == 1 else str(path) for name, path in zip(short, folders, strict=True)]
