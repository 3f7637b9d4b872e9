"""From what a user names to what a learner needs: the one place where data are opened, codecs chosen, settings merged.

data = open_data("book.txt")                    # .train .valid .test: the sequences of every role
ready = prepare("book.txt")                     # .codec, and .train .valid .test as ids
ready = prepare({"source": "train.en", "target": "train.de"})
ready = prepare("reviews.csv", roles=[Role("text"), Role("label", column="stars", codec="events")])
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from chainrule.codecs.base import Blocks, Codec, Texts
from chainrule.codecs.registry import codec as codec_named
from chainrule.config import Config
from chainrule.data.choices import codec_choices, with_sources
from chainrule.data.columns import ByRole, Columns, Data, every_row, opened
from chainrule.data.corpus import Corpus, Part, encode
from chainrule.data.roles import Request, Role
from chainrule.data.rows import TEXT, Rows, main_of
from chainrule.data.splits import Division
from chainrule.data.squad import ID
from chainrule.progress import progress


@dataclass(frozen=True)
class Dataset:
    """The parts of the data, how they came about, and the codecs that suit them."""

    source: Columns
    train: ByRole
    valid: ByRole | None
    test: ByRole | None
    how: str  # a sentence for people
    sources: tuple[Columns, ...]  # every one that was opened
    roles: Mapping[str, Role]  # with their codecs and all settings
    why: Mapping[str, str]  # role -> how its codec was chosen, for people
    held: tuple[str, ...] = ()  # parts that were taken from the training data: valid and test, or valid alone

    @property
    def main(self) -> str:
        """The main role: `text`, or the first one."""
        return main_of(self.roles)

    def alike(self, role: str) -> list[str]:
        """This role, and those that are read by the same codec."""
        return [name for name, one in self.roles.items() if role in (name, one.like)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided while files were looked at, those of validation and test included."""
        own = self.source.notes
        others = (f"{one.name}: {note}" for one in self.sources[1:] for note in one.notes if note not in own)
        return (*own, *dict.fromkeys(others))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything the parts are made from."""
        marks = [source.fingerprint for source in self.sources]
        return hashlib.sha256("\n".join([self.how, *marks]).encode()).hexdigest()


def open_data(
    given: Data,
    valid: Data | None = None,
    test: Data | None = None,
    *,
    roles: Sequence[Role] = (),
    codec: str | None = None,
    options: Mapping[str, Any] | None = None,
    allowed: Sequence[type[Config]] = (),
    divide: bool = True,
) -> Dataset:
    """The data in three parts: as given, or divided as `data.splits` says. Nothing is held in memory but small tables.

    `roles` say what the columns are for; without any, the data are text, or what a mapping of data names. `codec` is
    for roles that name none; where none is named, the one that suits the data is taken. `options` are settings of
    reading (`column`), of the codecs (`vocab`), of one role's codec in a group of its name (`{"label": {…}}`), and of
    the configs `allowed`, which are not looked at; any other is refused. With `valid` given nothing is taken from the
    training data; with `test` only, a validation part is held out. Without `divide` nothing ever is.
    """
    asked = Request.of(_roles(given, roles), codec, options or {}, allowed)
    found = opened(given, asked)
    asked = with_sources(found, asked)
    choices = codec_choices(found, asked)
    settled = {role.name: role for role in asked.settled(choices)}
    source = found.suited(settled)
    others = [None if one is None else opened(one, asked).suited(settled) for one in (valid, test)]
    sources = (source, *(other for other in others if other))
    parts = _parts(source, others[0], others[1], divide)
    divided = {"valid": parts.valid if valid is None else None, "test": parts.test if test is None else None}
    held = tuple(name for name, part in divided.items() if part is not None)
    why = {name: choices[name].reason if name in choices else "as asked" for name in settled}
    return Dataset(source, parts.train, parts.valid, parts.test, parts.how, sources, settled, why, held)


def _roles(given: Data, roles: Sequence[Role]) -> Sequence[Role]:
    """Those asked for; else one for each of several sources or columns of a dict, or text alone."""
    named = list(given) if isinstance(given, Mapping) and given else [TEXT]
    return roles or [Role(name) for name in named]


def _parts(
    source: Columns, valid: Columns | None, test: Columns | None, divide: bool = True
) -> Division[ByRole]:
    held = test.whole() if test else None
    if not divide and not valid:
        return Division(source.whole(), None, held, "all of them to learn from")
    if valid:
        return Division(source.whole(), valid.whole(), held, "in parts as given")
    parts = source.divided(test=not test)
    return Division(parts.train, parts.valid, held or parts.test, parts.how)


@dataclass(frozen=True)
class Prepared:
    """Codecs by role and the parts of the data as their ids: what a learner is given."""

    codecs: Mapping[str, Codec]
    train: Part
    valid: Part | None
    test: Part | None
    data: Dataset
    words: Codec | None = (
        None  # that of the main role with all words of all parts, which their ids then are of
    )
    remarks: tuple[str, ...] = ()  # what was done to the parts afterwards, for people

    @property
    def codec(self) -> Codec:
        """That of the main role."""
        return self.codecs[main_of(self.codecs)]

    @property
    def origin(self) -> str:
        """SHA-256 of the data and of the codecs: what a run was started on."""
        marks = [self.data.fingerprint, *(f"{role} {one.fingerprint()}" for role, one in self.codecs.items())]
        return hashlib.sha256("\n".join(marks).encode()).hexdigest()

    @property
    def skipped(self) -> int:
        """Rows that were left out: blank lines and empty cells."""
        return sum(part.skipped for part in (self.train, self.valid, self.test) if part)

    @property
    def gaps(self) -> int:
        """Missing values of the main role, which keep their places."""
        parts = (part.main.ids for part in (self.train, self.valid, self.test) if part)
        return sum(self.codec.missing(ids) for ids in parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was chosen and left out while reading, for people."""
        several = len(self.codecs) > 1
        chosen = (
            f"codec{f' of {role}' if several else ''}: {self.codecs[role].name} ({reason})"
            for role, reason in self.data.why.items()
        )
        what = "rows with an empty cell" if several else "blank lines or empty cells"
        skipped = (f"{self.skipped:,} {what} were skipped",) if self.skipped else ()
        gaps = (f"{self.gaps:,} values are missing and kept as gaps",) if self.gaps else ()
        told = (f"data: {self.data.how}{self._held}", *self.data.notes, *skipped, *gaps, *self.remarks)
        return (*chosen, *told, *(note for codec in self.codecs.values() for note in codec.notes))

    def everything(self) -> Prepared:
        """All data as they were before parts were held out of them; nothing is left to judge on."""
        blocks = self.data.source.whole()
        whole = _part(self.codecs, blocks, "everything", self.data.fingerprint)
        if self.words:
            whole = _spelled(whole, blocks, self.words, self._read)
        return replace(self, train=whole, valid=None, test=None, remarks=())

    def spelled_out(self) -> Prepared:
        """For models that read letters: words outside the vocabulary have ids, too, behind those of the codec."""
        parts = [(self.train, self.data.train), (self.valid, self.data.valid), (self.test, self.data.test)]
        every = [_together(blocks, self._read) for _, blocks in parts if blocks]
        words = self.codec.knowing(lambda: (texts for blocks in every for texts in blocks()))
        train, valid, test = (
            _spelled(one, blocks, words, self._read) if one and blocks else None for one, blocks in parts
        )
        assert train is not None
        return replace(self, train=train, valid=valid, test=test, words=words)

    @property
    def _read(self) -> list[str]:
        """The roles that a body reads."""
        return self.data.alike(main_of(self.codecs))

    @property
    def _held(self) -> str:
        """How many symbols were held out."""
        parts = {"valid": self.valid, "test": self.test}
        counts = (parts[name] for name in self.data.held)
        told = " and ".join(f"{part.main.symbols:,}" for part in counts if part)
        return f" ({told} symbols)" if told else ""


def prepare(
    given: Data,
    valid: Data | None = None,
    test: Data | None = None,
    *,
    roles: Sequence[Role] = (),
    codec: str | None = None,
    options: Mapping[str, Any] | None = None,
    allowed: Sequence[type[Config]] = (),
    divide: bool = True,
) -> Prepared:
    """From paths to ids: open the data as `open_data` does, learn the codecs from the training part, encode all."""
    data = open_data(
        given, valid, test, roles=roles, codec=codec, options=options, allowed=allowed, divide=divide
    )
    return encoded(data, learn_codecs(data))


def read_part(
    given: Data,
    codecs: Mapping[str, Codec],
    *,
    roles: Sequence[Role] = (),
    options: Mapping[str, Any] | None = None,
) -> Part:
    """All of the data as ids of codecs that exist already, to judge a model on; `options` are those of reading."""
    return encoded_part(codecs, read_columns(given, codecs, roles=roles, options=options).whole())


def encoded_part(codecs: Mapping[str, Codec], blocks: ByRole) -> Part:
    """Sequences by role as ids."""
    return Part({role: encode(codecs[role], one) for role, one in blocks.items()})


def read_columns(
    given: Data,
    codecs: Mapping[str, Codec],
    *,
    roles: Sequence[Role] = (),
    options: Mapping[str, Any] | None = None,
) -> Columns:
    """The data by role, opened for codecs that exist already."""
    named = [replace(role, codec=codecs[role.name].name, settings={}) for role in roles or map(Role, codecs)]
    asked = Request.of(named, None, options or {}, ())
    return opened(given, asked).suited({role.name: role for role in asked.roles})


def read_rows(given: Data, roles: Sequence[Role], options: Mapping[str, Any]) -> Iterator[Rows]:
    """All rows, block by block, with the columns of roles whose codecs are named."""
    asked = Request.of(roles, None, options, ())
    source = opened(given, asked).suited({role.name: role for role in asked.roles})
    blocks = source.whole()
    for texts in zip(*(blocks[role.name]() for role in asked.roles), strict=True):
        yield Rows(dict(zip(asked.names, texts, strict=True)))


def read_sources(
    given: Data,
    codecs: Mapping[str, Codec],
    columns: Mapping[str, str],
    id: str | None,
    options: Mapping[str, Any],
) -> Iterator[tuple[Rows, Sequence[str] | None]]:
    """All rows with what is written from, blank cells included, and what a user calls each of them."""
    roles = [Role(name, columns.get(name), codec.name, empty=True) for name, codec in codecs.items()]
    named = [Role(ID, id, "bytes", empty=True)] if id else []
    blocks = every_row(given, Request.of([*roles, *named], None, options, ()))
    for texts in zip(*(blocks[role.name]() for role in [*roles, *named]), strict=True):
        names = [one.decode("utf-8", "backslashreplace") for one in texts[-1]] if id else None
        yield Rows(dict(zip(codecs, texts, strict=False))), names


def learn_codecs(data: Dataset) -> dict[str, Codec]:
    """The codec of every role, learnt from the training part; one for several roles from all of them."""
    owners = {name: role.like or _owner(data.roles, role) for name, role in data.roles.items()}
    groups = {owner: [name for name in owners if owners[name] == owner] for owner in owners.values()}
    codecs = {
        owner: _learnt(_together(data.train, names), data.roles[owner]) for owner, names in groups.items()
    }
    return {name: codecs[owner] for name, owner in owners.items()}


def _owner(roles: Mapping[str, Role], role: Role) -> str:
    """Whose codec a role has: its own, or that of the role it shares one with, if both are read the same way."""
    other = roles.get(role.shares or "")
    alike = other is not None and (other.codec, other.settings) == (role.codec, role.settings)
    kind = codec_named(str(role.codec))
    shareable = kind.shareable or (role.alike and kind.spells)
    return other.name if other and alike and shareable else role.name


def _together(parts: ByRole, roles: Sequence[str]) -> Blocks:
    """The sequences of several roles, one role after another."""
    return lambda: (texts for role in roles for texts in parts[role]())


def _learnt(blocks: Blocks, role: Role) -> Codec:
    kind = codec_named(str(role.codec))
    return kind.learn(watched(blocks, "reading"), kind.Config.from_values(role.settings))


def encoded(data: Dataset, codecs: Mapping[str, Codec]) -> Prepared:
    """Train, valid and test as ids, from the cache where possible."""
    train, valid, test = (
        _part(codecs, parts, name, data.fingerprint) if parts else None
        for name, parts in (("train", data.train), ("valid", data.valid), ("test", data.test))
    )
    assert train is not None
    return Prepared(codecs, train, valid, test, data)


def _part(codecs: Mapping[str, Codec], parts: ByRole, name: str, data: str) -> Part:
    return Part({role: _corpus(codec, parts[role], name, role, data) for role, codec in codecs.items()})


def _corpus(codec: Codec, blocks: Blocks, part: str, role: str, data: str) -> Corpus:
    what = part if role == TEXT else f"{part} {role}"
    return encode(codec, watched(blocks, f"encoding {what}"), f"{data} {what}")


def _spelled(part: Part, blocks: ByRole, words: Codec, roles: Sequence[str]) -> Part:
    """A part with some roles encoded again, by a codec that knows all words; what was unknown stays counted."""
    again = {role: replace(encode(words, blocks[role]), unknown=part[role].unknown) for role in roles}
    return Part({**part, **again})


def watched(blocks: Blocks, title: str) -> Blocks:
    """The same blocks, telling how many bytes have gone by."""

    def again() -> Iterator[Texts]:
        with progress(title, None, "B") as step:
            for texts in blocks():
                yield texts
                step(texts.bytes)

    return again
