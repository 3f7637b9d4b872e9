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
    from chainrule.data.examples import EXAMPLES, made
    from chainrule.store.files import new_file, opened_as, write_text

    found = made(name)
    file = Path(found.file) if out is None else out
    attached = {file.parent / place: data for place, data in found.files.items()}
    for one in (file, *{path.parent for path in attached}):
        _check_free(one, force, one != file)
    for path, data in attached.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as held:
            held.write(data)
    write_text(file, found.text)
    command, count = _next(name, file), len(found.text.encode()) + sum(map(len, found.files.values()))
    values = {"name": name, "output": str(file), "bytes": count, "next": command}
    beside = f" and {len(attached):,} files beside it" if attached else ""
    text = f"{file}{beside}: {EXAMPLES[name]}, {size(count)}\nNext: {command}"
    if opened_as(file) == 1:  # the data themselves are on standard output, and nothing else belongs there
        return output.note(text)
    output.result(values | ({"files": len(attached)} if attached else {}), text)


def _check_free(file: Path, force: bool, folder: bool) -> None:
    """Refuse a place that is taken."""
    from chainrule.store.files import is_stream

    if file.is_dir() and not folder:
        raise BundleError(f"{file} is a folder, and a file is to be written there. Choose another name.")
    if file.exists() and not is_stream(file) and not force:
        raise BundleError(f"{file} exists already. Choose another name, or replace it with --force.")


def _next(name: str, file: Path) -> str:
    """A command that uses it."""
    from chainrule.data.examples import example_named

    one = example_named(name)
    if not one.task:
        return shlex.join(["chainrule", "compare", str(file), *one.options])
    return shlex.join(
        ["chainrule", "fit", str(file), *one.task, *one.options, "-o", one.label or f"{name}-model"]
    )
