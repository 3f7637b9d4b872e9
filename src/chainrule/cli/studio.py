"""`studio`: data, training, models and views on a page of this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.output import Json, Printer, Quiet, Verbose
from chainrule.errors import ConfigError

NEEDED = "The studio needs two packages: pip install 'chainrule[studio]'"


def studio(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Your data and models; nothing outside it is shown.")
    ] = Path(),
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Where to listen. Not on this machine only: the address then has a token; keep it secret.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="The port; 0: any that is free.")
    ] = 8770,
    upload: Annotated[
        int,
        typer.Option("--upload", min=1, max=100_000, metavar="MB", help="The largest file that is taken."),
    ] = 2_000,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Open the studio: a page to look at data, train, compare and use models, and look inside them.

    Trainings are processes of their own: they continue when the page is closed or the studio ends.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"There is no folder {folder}. Name the one with your data, or leave it out for this one."
        )
    try:
        from chainrule.studio.server import opened, serving
    except ImportError as error:
        raise ConfigError(f"{NEEDED} ({error})") from error
    output = Printer(json, quiet, verbose)
    with opened(host, port) as listening:
        server, guard = serving(folder, listening, upload * 1_000_000)
        output.result({"address": guard.address, "folder": str(folder.resolve())}, guard.address)
        output.note("Open it in a browser. Ctrl-C ends the studio; trainings continue.")
        try:
            asyncio.run(server.serve([listening]))
        except KeyboardInterrupt:
            return
