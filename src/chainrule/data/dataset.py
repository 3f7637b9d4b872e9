"""From what a user names to what a learner needs.

data = open_data("book.txt")                     # .train .valid .test, each to be read again and again
ready = prepare(data, model_counts=True)         # .codec, and .train .valid .test as ids
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from chainrule.codecs.base import Blocks, Codec, Texts
from chainrule.codecs.choose import Choice, choose
from chainrule.codecs.registry import codec as codec_named
from chainrule.data.corpus import Corpus, encode
from chainrule.data.sources import Given, ReadConfig, Source, read
from chainrule.data.splits import SHARE, divide
from chainrule.progress import progress

JOINING = ("events", "numbers")  # codecs that read a table's column as one sequence


@dataclass(frozen=True)
class Dataset:
    """The parts of the data, and how they came about."""

    source: Source
    train: Blocks
    valid: Blocks | None
    test: Blocks | None
    how: str  # a sentence for people
    sources: tuple[Source, ...]  # every one that was opened

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything the parts are made from."""
        marks = [source.fingerprint for source in self.sources]
        return hashlib.sha256("\n".join([self.how, *marks]).encode()).hexdigest()


def open_data(
    given: Given,
    valid: Given | None = None,
    test: Given | None = None,
    config: ReadConfig | None = None,
    codec: str | None = None,
) -> Dataset:
    """The data in three parts: as given, or divided as `data.splits` says. Nothing is held in memory.

    With `valid` given nothing is taken from the training data; with `test` only, 5 % of them are put aside.
    `codec` matters to how some files are read: bytes takes anything, events and numbers join a table's rows.
    """
    config = _suited(config or ReadConfig(), codec)
    source = read(given, config)
    others = [read(other, config) if other is not None else None for other in (valid, test)]
    sources = (source, *(other for other in others if other))
    if others[0]:
        return Dataset(source, source, others[0], others[1], "in parts as given", sources)
    shares = (SHARE, 0.0 if others[1] else SHARE)
    parts = divide(source, shares, position=config.stream or config.joined)
    return Dataset(source, parts.train, parts.valid, others[1] or parts.test, parts.how, sources)


def _suited(config: ReadConfig, codec: str | None) -> ReadConfig:
    joined = codec in JOINING and not config.group and not config.sort
    return replace(config, raw=codec == "bytes", joined=joined)


def suggest_codec(given: Given, config: ReadConfig | None = None) -> Choice:
    """The codec that suits the data, why, as a sentence to print, and the settings that go with it."""
    source = read(given, config)
    sample = next(iter(source()))
    return choose(sample, table=source.table and not source.ordered)


@dataclass(frozen=True)
class Prepared:
    """A codec and the parts of the data as its ids: what a learner is given."""

    codec: Codec
    train: Corpus
    valid: Corpus | None
    test: Corpus | None
    data: Dataset
    why: str  # how the codec was chosen, a sentence to print

    @property
    def skipped(self) -> int:
        """Blank lines and empty cells that were left out."""
        return sum(part.skipped for part in (self.train, self.valid, self.test) if part)


def prepare(
    given: Given,
    valid: Given | None = None,
    test: Given | None = None,
    *,
    codec: str | None = None,
    settings: Mapping[str, Any] | None = None,
    config: ReadConfig | None = None,
) -> Prepared:
    """From paths to ids: choose the codec if none is named, learn it from the training part, encode all."""
    if codec is None:
        given = read(given, config)  # standard input can be opened once only
        choice = suggest_codec(given)
    else:
        choice = Choice(codec, "as asked")
    kind = codec_named(choice.name)
    wanted = kind.Config.from_values({**choice.settings, **(settings or {})})
    data = open_data(given, valid, test, config, choice.name)
    learnt = kind.learn(watched(data.train, "reading"), wanted)
    return Prepared(learnt, *encode_parts(learnt, data), data, choice.reason)


def encode_parts(codec: Codec, data: Dataset) -> tuple[Corpus, Corpus | None, Corpus | None]:
    """Train, valid and test as ids of one codec, from the cache where possible."""
    train, valid, test = (
        encode(codec, watched(blocks, f"encoding {name}"), f"{data.fingerprint} {name}") if blocks else None
        for name, blocks in (("train", data.train), ("valid", data.valid), ("test", data.test))
    )
    assert train is not None
    return train, valid, test


def watched(blocks: Blocks, title: str) -> Blocks:
    """The same blocks, telling how many bytes have gone by."""

    def again() -> Iterator[Texts]:
        with progress(title, None, "B") as step:
            for texts in blocks():
                yield texts
                step(texts.bytes)

    return again
