"""`example`: small data sets to try things with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.arguments import Force
from chainrule.cli.output import Json, Printer, Quiet, Verbose, size, table
from chainrule.errors import BundleError, ConfigError

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Which example; without it, all are listed.")
]
Out = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write; else under its own name, here."),
]


def example(
    name: Name = None,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a small example data set.

    Weather, visits to a shop, DNA, temperatures, a sensor or text, each with a pattern to learn; and texts with the
    sources they are written from, such as dates.
    """
    from chainrule.data.examples import EXAMPLES

    output = Printer(json, quiet, verbose)
    if name is not None:
        return _write(name, out, force, output)
    if out is not None:
        raise ConfigError(f"Which example is to be written to {out}? One of: {', '.join(EXAMPLES)}.")
    text = table(["example", ""], EXAMPLES.items(), left=2)
    output.result({"examples": dict(EXAMPLES)}, f"{text}\n\nWrite one: chainrule example weather -o FILE")


def _write(name: str, out: Path | None, force: bool, output: Printer) -> None:
    from chainrule.data.examples import EXAMPLES
    from chainrule.data.examples import example as made
    from chainrule.store.files import opened_as, write_text

    usual, content = made(name)
    file = Path(usual) if out is None else out
    _check_free(file, force)
    write_text(file, content)
    command = _next(name, file)
    values = {"name": name, "output": str(file), "bytes": len(content.encode()), "next": command}
    text = f"{file}: {EXAMPLES[name]}, {size(len(content.encode()))}\nNext: {command}"
    if opened_as(file) == 1:  # the data themselves are on standard output, and nothing else belongs there
        return output.note(text)
    output.result(values, text)


def _check_free(file: Path, force: bool) -> None:
    """Refuse a place that is taken."""
    from chainrule.store.files import is_stream

    if file.is_dir():
        raise BundleError(f"{file} is a folder, and a file is to be written there. Choose another name.")
    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")


def _next(name: str, file: Path) -> str:
    """A command that uses it."""
    from chainrule.data.examples import example_named

    one = example_named(name)
    if not one.task:
        return shlex.join(["chainrule", "compare", str(file), *one.options])
    return shlex.join(["chainrule", "fit", str(file), *one.task, *one.options, "-o", one.label or name])
