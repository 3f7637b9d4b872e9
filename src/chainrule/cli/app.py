"""The verbs of `chainrule`. Heavy libraries are imported inside the verbs that need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from chainrule import __version__
from chainrule.cli import about, check, compare, demo, example, exchange, fit, mix, read, use, write
from chainrule.cli.failure import STOPPED
from chainrule.cli.output import Open, Plain
from chainrule.progress import hush

app = typer.Typer(
    help="Models of sequences: train, judge, sample, save and exchange them.",
    epilog="Begin with: chainrule demo. Then: chainrule fit book.txt -o my-lm",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Everything click does not know is left to the family and the codec.
app.command("fit", cls=Open, context_settings={"ignore_unknown_options": True})(fit.fit)
app.command("score", cls=Plain)(use.score)
app.command("generate", cls=Plain)(write.generate)
app.command("complete", cls=Plain)(write.complete)
app.command("fill", cls=Plain)(read.fill)
app.command("embed", cls=Plain)(read.embed)
app.command("rank", cls=Plain)(use.rank)
app.command("check", cls=Open, context_settings={"ignore_unknown_options": True})(check.check)
app.command("compare", cls=Open, context_settings={"ignore_unknown_options": True})(compare.compare)
app.command("mix", cls=Plain)(mix.mix)
app.command("models", cls=Plain)(about.models)
app.command("show", cls=Plain)(about.show)
app.add_typer(exchange.imports, name="import")
app.add_typer(exchange.exports, name="export")
app.command("example", cls=Plain)(example.example)
app.command("demo", cls=Plain)(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"chainrule {__version__}")
        raise typer.Exit


@app.callback()
def _front(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Models of sequences: train, judge, sample, save and exchange them."""


def run(words: Sequence[str]) -> int:
    """Run one command; errors are raised, an asked-for exit is its code."""
    with hush("--quiet" in words or "-q" in words):
        code = app(list(words), standalone_mode=False, prog_name="chainrule")
    if code == STOPPED:  # typer makes this number of a KeyboardInterrupt; we have something to say about it
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
