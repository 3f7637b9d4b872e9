"""Opened data: one column of sequences, or several columns whose rows belong together.

Columns of one table and parallel files, one column each, are the same thing: both give `Rows`.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from chainrule.codecs.base import Blocks, Codec, Texts
from chainrule.codecs.choose import Choice
from chainrule.codecs.registry import codec as codec_named
from chainrule.data.attached import Attached, attaches
from chainrule.data.frames import are_frames, frames_table
from chainrule.data.given import from_python
from chainrule.data.labelled_text import is_labelled_text, labelled_text
from chainrule.data.roles import Request, Role
from chainrule.data.rows import (
    LABEL,
    TARGET,
    TEXT,
    Remembered,
    RowBlocks,
    Rows,
    columns,
    main_of,
    side_by_side,
    without_blanks,
)
from chainrule.data.sources import Given, ReadConfig, Source, read
from chainrule.data.splits import Division, divide, divide_rows
from chainrule.data.squad import ID, PASSAGE, is_questions, questions
from chainrule.data.tagged import is_tagged, tagged
from chainrule.errors import ConfigError, DataError

Data = Given | Mapping[str, Given]  # one source for all roles, or one for each of them
ByRole = Mapping[str, Blocks]  # the sequences of every role, to be read again and again
MADE = ("group", "sort", "where", "format", "decimal", "thousands", "encoding")  # what rows were made by


class Columns(ABC):
    """Data that were opened, by role."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call them."""

    @property
    @abstractmethod
    def config(self) -> ReadConfig:
        """How they are read."""

    @property
    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What was decided for the user while the files were looked at."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """Those of the notes that tell what of the data was left out."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the content and of how it is read."""

    @abstractmethod
    def sample(self) -> Mapping[str, Texts]:
        """The first sequences of every role, to choose codecs by."""

    @abstractmethod
    def is_table(self, role: str) -> bool:
        """Whether the sequences of a role are rows of a table."""

    @abstractmethod
    def choice(self, role: str) -> Choice | None:
        """The codec of a role, where the data themselves say it; else it is chosen by a sample."""

    @abstractmethod
    def suited(self, roles: Mapping[str, Role]) -> Self:
        """The same data, read as their codecs need them."""

    @abstractmethod
    def whole(self) -> ByRole:
        """All sequences of every role."""

    @abstractmethod
    def divided(self, test: bool) -> Division[ByRole]:
        """In three parts as `data.splits` says, or without one for testing."""


def opened(given: Data, asked: Request) -> Columns:
    """Open what a user named, for the roles that are asked for."""
    if are_frames(given, asked):
        return _frames(given, asked)
    given = from_python(given)
    if isinstance(given, Mapping) and sorted(given) != sorted(asked.names):
        raise ConfigError(
            f"Data are given for {_listed(given)}, and wanted are {_listed(asked.names)}: give one for each."
        )
    if len(asked.roles) == 1:
        return _one_column(given, asked)
    return _several_columns(given, asked)


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return " and ".join(names)


def kind_of(role: Role) -> type[Codec]:
    """The codec of a role that is settled."""
    return codec_named(str(role.codec))


@dataclass(frozen=True)
class OneColumn(Columns):
    """One sequence a line or a row, or one long sequence."""

    source: Source
    role: str

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def config(self) -> ReadConfig:
        return self.source.config

    @property
    def notes(self) -> tuple[str, ...]:
        return self.source.notes

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.source.remarks

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    def sample(self) -> Mapping[str, Texts]:
        return {self.role: next(iter(self.source()))}

    def is_table(self, role: str) -> bool:
        return self.source.table and not self.source.ordered

    def choice(self, role: str) -> Choice | None:
        return self.source.frame.choice if self.source.frame else None

    def suited(self, roles: Mapping[str, Role]) -> Self:
        role = roles[self.role]
        kind, ordered = kind_of(role), self.source.ordered
        whole = kind.reads_whole(kind.Config.from_values(role.settings))
        if not (self.config.decimals.usual or kind.keeps_gaps or self.config.sort or self.config.where):
            raise ConfigError(f"--decimal and --thousands are for numbers, and the codec is {kind.name}.")
        joined = kind.joins_rows and not ordered
        config = replace(self.config, raw=kind.reads_bytes, joined=joined, gaps=kind.keeps_gaps, whole=whole)
        return replace(self, source=replace(self.source, config=config))

    def whole(self) -> ByRole:
        return {self.role: self.source}

    def divided(self, test: bool) -> Division[ByRole]:
        long = self.config.stream or self.config.joined
        ordered = self.source.ordered
        values = ordered or self.config.joined
        found = divide(self.source, test, position=long, series=ordered, values=values)
        return found.map(lambda part: {self.role: part})


def _one_column(given: Data, asked: Request) -> OneColumn:
    (role,) = asked.roles
    source = given[role.name] if isinstance(given, Mapping) else given
    return OneColumn(read(source, replace(asked.reading, column=asked.column(role))), role.name)


@dataclass(frozen=True)
class Member:
    """A table, or one of several parallel files, and what is read from it."""

    source: Source
    roles: tuple[str, ...]
    columns: tuple[str | None, ...]  # None: the usual one
    joins: tuple[bool, ...]  # by role: whether its symbols are whole values
    numbers: tuple[bool, ...] = ()  # by role: whether they are numbers

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.source.name} ({', '.join(self.roles)})"

    def rows(self) -> Iterator[Rows]:
        """Blocks of rows, blank cells included."""
        for block in self.source.rows(self.columns, self.joins, self.numbers):
            yield Rows(dict(zip(self.roles, block, strict=True)))

    def suited(self, roles: Mapping[str, Role]) -> Member:
        """The same, read as the codecs need it."""
        kinds = [kind_of(roles[name]) for name in self.roles]
        joins = tuple(kind.joins_rows for kind in kinds)
        numbers = tuple(kind.keeps_gaps and not kind.framed for kind in kinds)
        raw = all(kind.reads_bytes for kind in kinds)
        config = replace(self.source.config, raw=raw, gaps=numbers == (True,))  # gaps: of a file of its own
        return replace(self, source=replace(self.source, config=config), joins=joins, numbers=numbers)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content and of what is read."""
        read_as = json.dumps([self.source.fingerprint, self.roles, self.columns, self.joins])
        return hashlib.sha256(read_as.encode()).hexdigest()


@dataclass(frozen=True)
class SeveralColumns(Columns):
    """Rows of one table, or of parallel files; a row with a blank cell is left out, for all roles."""

    members: tuple[Member, ...]
    empty: tuple[str, ...]  # roles whose cells may be blank
    whole_role: str | None = None  # rows that have the same here stay together when parts are divided
    chosen: Choice | None = None  # the codec of the main role, where the data themselves say it
    asked: ReadConfig | None = None  # how the data were read to make these rows of them
    files: Mapping[str, type[Codec]] = field(default_factory=dict)  # roles whose cells may name files

    @property
    def name(self) -> str:
        return ", ".join(member.source.name for member in self.members)

    @property
    def config(self) -> ReadConfig:
        return self.asked or self.members[0].source.config

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for member in self.members for note in member.source.notes))

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for member in self.members for note in member.source.remarks))

    @cached_property
    def fingerprint(self) -> str:
        marks = [self.empty, *(member.fingerprint for member in self.members)]
        return hashlib.sha256(json.dumps(marks).encode()).hexdigest()

    @property
    def roles(self) -> list[str]:
        """Names of the roles."""
        return [role for member in self.members for role in member.roles]

    def __call__(self) -> Iterator[Rows]:
        found = 0
        for rows in side_by_side({member.name: member.rows() for member in self.members}):
            filled = without_blanks(rows, self.empty)
            found += len(filled)
            yield filled
        if not found:
            raise DataError(f"{self.name} has no row in which {_listed(self.roles)} are all filled.")

    @cached_property
    def rows(self) -> RowBlocks:
        """All rows, kept in memory if they are few."""
        return Remembered(self)

    def sample(self) -> Mapping[str, Texts]:
        return next(rows.columns for rows in self() if len(rows))

    def is_table(self, role: str) -> bool:
        return any(member.source.table for member in self.members if role in member.roles)

    def choice(self, role: str) -> Choice | None:
        return self.chosen if role == main_of(self.roles) else None

    def suited(self, roles: Mapping[str, Role]) -> Self:
        found = replace(self, members=tuple(member.suited(roles) for member in self.members))
        kinds = {name: kind_of(roles[name]) for name in self.roles}
        writes = TARGET in roles
        files = {name: kind for name, kind in kinds.items() if attaches(kind) and (name != TEXT or writes)}
        return replace(found, files=files, whole_role=_divided_by(kinds) if writes else self.whole_role)

    def whole(self) -> ByRole:
        return self._attached(columns(self.rows, self.roles))

    def _attached(self, parts: Mapping[str, Blocks]) -> ByRole:
        """With files that cells name."""
        folders = tuple(dict.fromkeys(path.parent for one in self.members for path in one.source.files))
        found = {role: Attached(parts[role], kind, folders) for role, kind in self.files.items()}
        return {**parts, **found}

    def divided(self, test: bool) -> Division[ByRole]:
        by = self.whole_role or main_of(self.roles)
        found = divide_rows(lambda: map(led_by(by), self.rows()), test, f"row's {by}")
        return found.map(lambda part: self._attached(columns(part, self.roles)))


def _divided_by(kinds: Mapping[str, type[Codec]]) -> str:
    """The last source; a label comes too often, and so rows of labels are divided by what is written."""
    sources = [name for name, kind in kinds.items() if name != TARGET and not kind.one_symbol]
    return sources[-1] if sources else TARGET


def led_by(role: str) -> Callable[[Rows], Rows]:
    """Rows with this role as the first one, by which they are divided."""
    return lambda rows: Rows({role: rows.columns[role], **rows.columns})


def _several_columns(given: Data, asked: Request) -> SeveralColumns:
    for name in ("stream", "group", "sort"):
        if getattr(asked.reading, name):
            raise ConfigError(
                f"--{name} makes longer sequences of the data, which is possible with one column only; "
                f"{_listed(asked.names)} are {len(asked.roles)}."
            )
    writes = TARGET in asked.names
    if is_questions(asked.names) and not writes:
        return _questions(given, asked)
    if is_tagged(asked.names) and not writes:
        return _tagged(given, asked)
    if not isinstance(given, Mapping) and sorted(asked.names) == sorted((TEXT, LABEL)):
        source = read(given, asked.reading)
        given = labelled_text(source) if is_labelled_text(source) else given
    members = _parallel(given, asked) if isinstance(given, Mapping) else (_table(given, asked),)
    return SeveralColumns(members, tuple(role.name for role in asked.roles if role.empty))


def every_row(given: Data, asked: Request) -> ByRole:
    """All rows of a table with these roles, even if it is one, and even if cells are blank."""
    names = asked.names
    found = SeveralColumns((_table(from_python(given), asked),), tuple(names))
    return found.suited({role.name: role for role in asked.roles}).whole()


def _frames(given: Data, asked: Request) -> SeveralColumns:
    """Sequences of frames, each a row, whatever held them."""
    source, chosen = frames_table(given, asked)
    empty = tuple(role.name for role in asked.roles if role.empty)
    rows = replace(asked, options={key: one for key, one in asked.options.items() if key not in MADE})
    return SeveralColumns((_table(source, rows),), empty, chosen=chosen, asked=asked.reading)


def _questions(given: Data, asked: Request) -> SeveralColumns:
    """Questions about passages; those about one passage stay together."""
    if isinstance(given, Mapping):
        raise DataError("Questions, passages and answers stand in one file: give a table, or SQuAD as .json.")
    named = {role.name: role.column if role.name == ID else asked.column(role) for role in asked.roles}
    source = questions(given, asked.reading, named)
    empty = tuple(role.name for role in asked.roles if role.empty)
    return SeveralColumns((_table(source, asked),), empty, PASSAGE)


def _tagged(given: Data, asked: Request) -> SeveralColumns:
    """Words and their tags."""
    if isinstance(given, Mapping):
        raise DataError("Words and tags stand in one file: give a table with both, CoNLL columns or CoNLL-U.")
    named = {role.name: role.column if role.name == ID else asked.column(role) for role in asked.roles}
    member = _table(tagged(given, asked.reading, named), asked)
    column = member.columns[0] or TEXT  # of the table on disk, of which nobody needs to be told
    source = replace(member.source, config=replace(member.source.config, column=column))
    empty = tuple(role.name for role in asked.roles if role.empty)
    return SeveralColumns((replace(member, source=source),), empty)


def _parallel(given: Mapping[str, Given], asked: Request) -> tuple[Member, ...]:
    named = {role.name: asked.column(role, table=False) for role in asked.roles}
    return tuple(
        Member(read(given[name], replace(asked.reading, column=column)), (name,), (column,), (False,))
        for name, column in named.items()
    )


def _table(given: Given, asked: Request) -> Member:
    names = {role.name: asked.column(role) for role in asked.roles}
    source = read(given, replace(asked.reading, column=names[asked.main]))
    plain = [source.label(path) for path in source.files if source.kind(path) == "text"]
    if plain or source.items:
        raise DataError(
            f"{plain[0] if plain else source.name}: text has one column, and {_listed(asked.names)} are wanted. "
            "Give a table (.csv, .tsv, .jsonl, .parquet, .conllu), or parallel data, one for each."
        )
    return Member(source, tuple(names), tuple(names.values()), (False,) * len(names))
