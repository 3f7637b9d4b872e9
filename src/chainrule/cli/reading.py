"""The options of every verb that reads data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Streams = Annotated[bool, typer.Option("--stream", help="A text file is one long sequence, not one a line.")]
Columns = Annotated[str | None, typer.Option("--column", help="The column of a table that holds the data.")]
Groups = Annotated[
    str | None, typer.Option("--group", help="The column whose equal values make one sequence of events.")
]
Sorts = Annotated[str | None, typer.Option("--sort", help="The column that orders the events of a sequence.")]
Encodings = Annotated[
    str | None, typer.Option("--encoding", help="How the text is written, if not in UTF-8 (latin-1, …).")
]
Formats = Annotated[
    str | None, typer.Option("--format", help="What the files are: text, jsonl, csv, tsv, parquet, conllu.")
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others are left to their defaults."""
    return {name: value for name, value in options.items() if value not in (None, False)}
