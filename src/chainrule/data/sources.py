"""Where data come from: a path, several, a folder, a pattern, standard input, or strings.

    blocks = read("book.txt.gz")            # callable: a fresh pass over the data each time
    for texts in blocks(): ...

Formats go by suffix, after a compression suffix is taken off: .jsonl .csv .tsv .parquet .conllu, and anything
else is text, one sequence a line (blank lines are skipped) or, with `stream`, the whole file as one sequence.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Union

from chainrule.codecs.base import Texts
from chainrule.config import Config, option
from chainrule.data import tables
from chainrule.data.conllu import sentences
from chainrule.data.lines import lines, stream
from chainrule.data.streams import CHUNK, COMPRESSED, ZSTANDARD, chunks, text_lines, utf8
from chainrule.errors import DataError

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
FORMATS |= {".conllu": "conllu"}
TABLES = ("jsonl", "csv", "tsv", "parquet")

Given = Union[str, os.PathLike[str], Sequence[str], Sequence[os.PathLike[str]], "Source"]


@dataclass(frozen=True, kw_only=True)
class ReadConfig(Config):
    """How files are read."""

    stream: bool = option(False, "a text file is one long sequence, not one a line")
    column: str | None = option(None, "the column of a table that holds the data")
    group: str | None = option(None, "the column whose equal values make one sequence of events")
    sort: str | None = option(None, "the column that orders the events of a sequence")
    encoding: str | None = option(None, "how the text is written, if not in UTF-8 (latin-1, cp1252, …)")
    format: str | None = option(
        None, "what the files are, whatever their names say", choices=("text", *TABLES, "conllu")
    )
    raw: bool = option(False, "take bytes as they are, for the bytes codec", hidden=True)
    joined: bool = option(False, "all rows of a table are one sequence, for events and numbers", hidden=True)


@dataclass(frozen=True)
class Source:
    """Data that can be read again and again, in blocks that fit in memory."""

    name: str
    files: tuple[Path, ...]
    config: ReadConfig
    items: tuple[bytes, ...] = ()
    spool: Spool | None = None  # keeps a temporary file alive as long as it may be read

    def __call__(self) -> Iterator[Texts]:
        found = 0
        for texts in self._blocks():
            found += len(texts)
            yield texts
        if not found:
            raise DataError(
                f"{self.name} holds no sequence: it is empty or blank. Give a file with some text in it."
            )

    def _blocks(self) -> Iterator[Texts]:
        if self.items:
            yield from tables.sequences(self.items)
        elif self.ordered:
            yield from self._grouped()
        else:
            for path in self.files:
                yield from self._file(path)

    @property
    def ordered(self) -> bool:
        """Whether rows are grouped or sorted into sequences of events."""
        return bool(self.config.group or self.config.sort)

    def kind(self, path: Path) -> str:
        """What a file is: its format by name, or as the settings say."""
        return self.config.format or FORMATS.get(plain_suffix(path), "text")

    @property
    def table(self) -> bool:
        """Whether the data are rows of tables."""
        return bool(self.files) and all(self.kind(path) in TABLES for path in self.files)

    def _file(self, path: Path) -> Iterator[Texts]:
        kind = self.kind(path)
        if kind == "text":
            reader = stream if self.config.stream else lines
            yield from reader(self._flow(path), strip=not self.config.raw)
        elif kind == "conllu":
            found = sentences(path, text_lines(self._flow(path)), self.config.column)
            yield from tables.sequences(found)
        else:
            cells = self._cells(path, [self.config.column])
            yield from tables.one_sequence(cells) if self.config.joined else tables.rows(cells)

    def _flow(self, path: Path) -> Iterator[bytes]:
        if self.config.raw:
            return chunks(path)
        return utf8(chunks(path), str(path), self.config.encoding)

    def _cells(self, path: Path, columns: list[str | None]) -> Iterator[tables.Cells]:
        kind = self.kind(path)
        if kind == "parquet":
            return tables.parquet_cells(path, columns)
        if kind not in TABLES:
            raise DataError(f"{path} is no table: --group and --sort need .csv, .tsv, .jsonl or .parquet.")
        found = text_lines(utf8(chunks(path), str(path), self.config.encoding))
        if kind == "jsonl":
            return tables.jsonl_cells(path, found, columns)
        return tables.csv_cells(path, found, columns, "\t" if kind == "tsv" else ",")

    def _grouped(self) -> Iterator[Texts]:
        flow = chunks(self._events.path)
        return lines(flow, newline=tables.RECORD.encode(), strip=False)

    @cached_property
    def _events(self) -> Spool:
        """Grouped events in a temporary file, sorted once for all passes."""
        group, sort = self.config.group, self.config.sort
        columns = [self.config.column, *(name for name in (group, sort) if name)]
        found = (self._cells(path, columns) for path in self.files)
        return Spool(tables.grouped(found, bool(group), bool(sort)))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content and of how it is read; each byte is read once."""
        digest = hashlib.sha256(json.dumps(self.config.values(), sort_keys=True).encode())
        for item in self.items:
            digest.update(hashlib.sha256(item).digest())
        for path in self.files:
            try:
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest() + self.kind(path).encode())
            except OSError as error:
                raise DataError(f"{path} cannot be read: {error.strerror}.") from error
        return digest.hexdigest()


class Spool:
    """A temporary file for data that cannot be read twice; removed when nobody needs it any more."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        handle, name = tempfile.mkstemp(prefix="chainrule-")
        self.path = Path(name)
        self._end = weakref.finalize(self, self.path.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            for part in parts:
                file.write(part)


def read(given: Given, config: ReadConfig | None = None) -> Source:
    """Open data: a path, a folder, a pattern, `-` for standard input, a list of paths, or a list of strings.

    A list of strings is the data itself, unless every one of them names a file.
    """
    if isinstance(given, Source):
        return replace(given, config=config or given.config)
    config = config or ReadConfig()
    if isinstance(given, str) and given == "-":
        spool = Spool(_standard_input())
        return _opened("standard input", [spool.path], config, spool)
    if isinstance(given, str | os.PathLike):
        return _opened(str(given), _resolve(given), config)
    items: list[str | os.PathLike[str]] = list(given)
    if all(isinstance(item, os.PathLike) or _is_file(item) for item in items) and items:
        paths = [path for item in items for path in _resolve(item)]
        return _opened(", ".join(map(str, items[:3])) + ("…" if len(items) > 3 else ""), paths, config)
    if not any(len(tables.as_bytes(item).strip()) for item in items):
        raise DataError(
            "The list of strings is empty or blank. Give at least one string with some text in it."
        )
    return Source("the given strings", (), config, tuple(map(tables.as_bytes, items)))


def plain_suffix(path: Path) -> str:
    """The suffix that says the format, behind a compression suffix."""
    compressed = path.suffix in COMPRESSED or path.suffix == ZSTANDARD
    return (Path(path.stem) if compressed else path).suffix.lower()


def _opened(name: str, paths: list[Path], config: ReadConfig, spool: Spool | None = None) -> Source:
    if not any(path.stat().st_size for path in paths):
        raise DataError(f"{name} is empty. Give a file with some text in it.")
    return Source(name, tuple(paths), config, spool=spool)


def _resolve(given: str | os.PathLike[str]) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        return _folder(path)
    if path.exists():
        return [path]
    if has_magic(str(given)):
        found = sorted(Path(name) for name in glob(str(given), recursive=True))
        if files := [path for path in found if path.is_file()]:
            return files
        raise DataError(f"No file fits the pattern {given}. Try it with `ls`.")
    near = difflib.get_close_matches(path.name, _names(path.parent), n=1)
    hint = f"Did you mean {path.parent / near[0]}?" if near else "Strings as data go in a list."
    raise DataError(f"There is no file {given}. {hint}")


def _folder(folder: Path) -> list[Path]:
    """All files below a folder in order of their names, hidden ones left out."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    shown = [
        path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    if not shown:
        raise DataError(
            f"The folder {folder} holds no readable file. Give a folder with text files, or a file."
        )
    return shown


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _is_file(item: object) -> bool:
    try:
        return isinstance(item, str) and Path(item).is_file()
    except (OSError, ValueError):  # too long for a name, or a NUL inside: it is data
        return False


def _standard_input() -> Iterator[bytes]:
    while part := sys.stdin.buffer.read(CHUNK):
        yield part
