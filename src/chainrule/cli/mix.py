"""`mix` makes one model of several."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.exchange import Force, Out
from chainrule.cli.fit import summary, values
from chainrule.cli.output import Json, Output, Quiet, Verbose


def mix(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Folders of saved models.")],
    out: Out,
    valid: Annotated[str, typer.Option("--valid", help="Text to find the weights on, seen by none of them.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Let several models over the same codec speak together, each with the weight that suits it."""
    from chainrule.bundle import load
    from chainrule.files import check_free
    from chainrule.train.mix import mix as make

    check_free(out, force)
    output = Output(json, quiet, verbose)
    began = time.perf_counter()
    bundle = make([load(model) for model in models], valid)
    bundle.save(out, force)
    took = time.perf_counter() - began
    for note in bundle.card["notes"]:
        output.note(note)
    output.result(values(bundle, out, took), summary(bundle, out, took))
