"""`example`: tiny data to try things with."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from chainrule.cli.output import Json, Output, Quiet, Verbose, size, table
from chainrule.errors import BundleError, ConfigError

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Which example; without it, a list of them.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write; not given: a name of its own, here."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def example(
    name: Name = None,
    out: Out = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write tiny example data.

    Weather, visits of a shop, DNA, temperatures or text, with something to find in each of them.
    """
    from chainrule.examples import EXAMPLES

    output = Output(json, quiet, verbose)
    if name is not None:
        return _write(name, out, force, output)
    if out is not None:
        raise ConfigError(f"Which example is to be written to {out}? One of: {', '.join(EXAMPLES)}.")
    text = table(["example", ""], EXAMPLES.items(), left=2)
    output.result({"examples": dict(EXAMPLES)}, f"{text}\n\nWrite one: chainrule example weather -o FILE")


def _write(name: str, out: Path | None, force: bool, output: Output) -> None:
    from chainrule.examples import EXAMPLES
    from chainrule.examples import example as made
    from chainrule.files import opened_as, write_text

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
    from chainrule.files import is_stream

    if file.is_dir():
        raise BundleError(f"{file} is a folder, and a file is to be written there. Choose another name.")
    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")


def _next(name: str, file: Path) -> str:
    """What to do with it."""
    from chainrule.examples import OPTIONS

    return shlex.join(["chainrule", "compare", str(file), *OPTIONS[name]])
