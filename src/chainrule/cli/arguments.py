"""Arguments and options that several verbs have."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from chainrule.errors import ConfigError, DataError

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Files, folders, patterns, or - (stdin).", show_default=False),
]
Valid = Annotated[
    str | None,
    typer.Option("--valid", metavar="DATA", help="Validation data; else a part of the data is held out."),
]
Test = Annotated[
    str | None, typer.Option("--test", metavar="DATA", help="Test data; else a part of the data is held out.")
]
Codec = Annotated[
    str | None,
    typer.Option("--codec", metavar="NAME", help="The tokenization; chosen from the data if not given."),
]
Out = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where to save the model, a new folder.")
]
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="FILE", help="What is written from: a file, or columns of the data."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="FILE", help="What is written: a file, or a column of the data."),
]
MultiLabel = Annotated[
    bool,
    typer.Option(
        "--multi-label",
        help="An example may have several labels, or none: a cell such as a,b (--separator), or a list.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def sources(words: Sequence[str]) -> str | list[Path]:
    """The data: one name, or several files, as a shell makes them of a pattern."""
    for word in words:
        named(word)
    return words[0] if len(words) == 1 else [Path(word) for word in words]


def pairs(words: Sequence[str], source: str | None, target: str | None) -> dict[str, str] | str | list[Path]:
    """Two parallel files, or a table, whose columns may be named."""
    if words:
        return sources(words)
    if source is None or target is None:
        raise ConfigError("Give --source FILE and --target FILE, or a table with both columns.")
    return {"source": named(source), "target": named(target)}


def check_named(*parts: str | None) -> None:
    """Refuse names of data that are empty; those not given are no names."""
    for part in parts:
        if part is not None:
            named(part)


def named(source: str) -> str:
    """A name of data as it was given; refuses one that is empty, and standard input that is closed."""
    if not source:
        raise ConfigError("The name of the data is empty. Name a file or a folder; this folder is . (a dot).")
    if source == "-" and sys.stdin is None:
        raise DataError("Standard input is closed, and data were to be read from it. Name a file instead.")
    return source


def check_out(out: Path | None, kinds: Sequence[str], force: bool) -> None:
    """Refuse a file that cannot be written as what its name says, before the work."""
    if out is None:
        return
    if out.suffix.lower() not in kinds:
        raise ConfigError(f"--out {out}: the name must end in {', '.join(kinds)}.")
    if out.exists() and not force:
        raise ConfigError(f"{out} exists already. Add --force to replace it.")
