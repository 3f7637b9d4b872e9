"""Sequences as ids, ready to count or to learn from; on disk and memory-mapped when large."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chainrule.codecs.base import Blocks, Codec
from chainrule.data import cache
from chainrule.data.room import room
from chainrule.data.rows import main_of
from chainrule.errors import BundleError
from chainrule.store.files import new_file
from chainrule.symbols import BOS

SMALL = 1 << 24  # bytes of text below which ids stay in memory


@dataclass(frozen=True)
class Corpus:
    """Sequences one after another, each `BOS x_1 … x_T EOS`, and how many bytes of text they stand for."""

    ids: np.ndarray  # (positions,) int32, possibly memory-mapped
    sequences: int
    bytes: int  # of the original text, one terminator a sequence included
    unknown: int = 0  # how many symbols became UNK because the vocabulary lacks them
    skipped: int = 0  # rows left out: blank lines and empty cells
    vectors: np.ndarray | None = None  # (positions, F) the numbers of frames that have no ids
    bare: bool = False  # an encoder need not be told where a sequence ends: it is a label, or frames

    @property
    def symbols(self) -> int:
        """Symbols to predict: everything but BOS."""
        return len(self.ids) - self.sequences

    @property
    def starts(self) -> np.ndarray:
        """(sequences,) where each sequence begins: the place of its BOS."""
        return np.flatnonzero(self.ids == BOS)

    @property
    def lengths(self) -> np.ndarray:
        """(sequences,) how many symbols each sequence has, BOS and EOS left out."""
        return np.diff(self.starts, append=len(self.ids)) - 2

    def select(self, rows: np.ndarray) -> Corpus:
        """Some sequences, in the order of `rows`; bytes and unknown symbols are those of an average sequence."""
        starts = self.starts
        sizes = np.diff(starts, append=len(self.ids))[rows]
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(starts[rows] - (ends - sizes), sizes)
        share = len(rows) / max(1, self.sequences)
        read, unknown = round(share * self.bytes), round(share * self.unknown)
        vectors = None if self.vectors is None else self.vectors[places]
        ids = np.asarray(self.ids[places])
        return Corpus(ids, len(rows), read, unknown, 0, vectors, self.bare)


class Part(Mapping[str, Corpus]):
    """Examples as ids, by role: sequence i of every role belongs to example i."""

    def __init__(self, corpora: Mapping[str, Corpus]) -> None:
        self._corpora = dict(corpora)
        sizes = {role: corpus.sequences for role, corpus in self._corpora.items()}
        if len(set(sizes.values())) != 1:
            raise ValueError(f"Every role must have equally many sequences: {sizes}.")

    def __getitem__(self, role: str) -> Corpus:
        return self._corpora[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._corpora)

    def __len__(self) -> int:
        return len(self._corpora)

    @property
    def main(self) -> Corpus:
        """The main role: `text`, or the first one."""
        return self[main_of(self)]

    @property
    def examples(self) -> int:
        """How many there are."""
        return self.main.sequences

    @property
    def skipped(self) -> int:
        """Rows that were left out because a cell was blank."""
        return self.main.skipped

    def select(self, rows: np.ndarray) -> Part:
        """Some examples, whole, in the order of `rows`."""
        return Part({role: corpus.select(rows) for role, corpus in self.items()})


def encode(codec: Codec, blocks: Blocks, content: str | None = None) -> Corpus:
    """The data as ids. Large data go to disk, a block at a time, and are mapped.

    With `content`, a fingerprint of the data, they are kept there for the next run with an equal codec.
    """
    totals = EncodingTotals(codec)
    flow = totals.encoded(blocks)
    held: list[np.ndarray] = []
    for ids in flow:
        held.append(ids)
        if totals.bytes >= SMALL and not totals.vectors:
            return _kept(codec, content) or _on_disk(totals, held, flow, content) or _again(codec, blocks)
    return totals.corpus(np.concatenate([np.empty(0, np.int32), *held]))


class EncodingTotals:
    """What is to be known of the data besides their ids, gathered while they are encoded."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.sequences = self.bytes = self.unknown = self.skipped = 0
        self.vectors = list[np.ndarray]()  # of frames without ids; they stay in memory

    def encoded(self, blocks: Blocks) -> Iterator[np.ndarray]:
        """The ids of each block."""
        for texts in blocks():
            encoded = self.codec.encode(texts)
            self.sequences += texts.sequences
            self.bytes += texts.bytes
            self.unknown += encoded.unknown
            self.skipped += texts.skipped
            self.vectors += [] if encoded.vectors is None else [encoded.vectors]
            yield encoded.ids

    def corpus(self, ids: np.ndarray) -> Corpus:
        """These ids with what was gathered."""
        vectors = np.concatenate(self.vectors) if self.vectors else None
        told = (self.sequences, self.bytes, self.unknown, self.skipped)
        return Corpus(ids, *told, vectors, is_bare(self.codec))


def is_bare(codec: Codec) -> bool:
    """Whether an encoder need not be told where a sequence ends."""
    return codec.one_symbol or codec.features > 0


def _kept(codec: Codec, content: str | None) -> Corpus | None:
    """What an earlier run has kept."""
    found = cache.find(_key(codec, content), codec.size) if content else None
    if found is None:
        return None
    ids, entry = found
    return Corpus(ids, entry.sequences, entry.bytes, entry.unknown, entry.skipped, None, is_bare(codec))


def _key(codec: Codec, content: str) -> str:
    return hashlib.sha256(json.dumps([content, codec.fingerprint()]).encode()).hexdigest()


def _on_disk(
    totals: EncodingTotals, held: list[np.ndarray], flow: Iterator[np.ndarray], content: str | None
) -> Corpus | None:
    """In the cache, or in a temporary file if there is none; None: the cache became full on the way."""
    if content is None or not _writable(cache.folder()):
        return _unnamed(totals, held, flow)
    key = _key(totals.codec, content)
    path = cache.ids_path(key)
    try:
        with new_file(path) as file:
            writer = _write(cache.Writer(file), held, flow)
    except (BundleError, OSError):
        return None
    gathered = (totals.sequences, totals.bytes, totals.unknown, totals.skipped)
    facts = cache.Entry(writer.positions, writer.checksum, *gathered)
    corpus = totals.corpus(cache.mapped(path, writer.positions))
    try:
        cache.keep(key, facts)
    except (BundleError, OSError):  # what is mapped stays readable without its name
        cache.forget(key)
    return corpus


def _again(codec: Codec, blocks: Blocks) -> Corpus:
    """From the beginning, without the cache."""
    totals = EncodingTotals(codec)
    return _unnamed(totals, [], totals.encoded(blocks))


def _unnamed(totals: EncodingTotals, held: list[np.ndarray], flow: Iterator[np.ndarray]) -> Corpus:
    """In a temporary file that goes when the ids do."""
    with room(), _temporary() as path:
        with path.open("wb") as file:
            writer = _write(cache.Writer(file), held, flow)
        return totals.corpus(cache.mapped(path, writer.positions))


def _write(writer: cache.Writer, held: list[np.ndarray], flow: Iterator[np.ndarray]) -> cache.Writer:
    for ids in held:
        writer.write(ids)
    held.clear()
    for ids in flow:
        writer.write(ids)
    return writer


@contextmanager
def _temporary() -> Iterator[Path]:
    """A file whose name is gone at the end; what is mapped stays readable."""
    with tempfile.TemporaryDirectory(prefix="chainrule-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "ids"


def _writable(folder: Path) -> bool:
    try:
        with new_file(folder / ".probe") as file:
            file.write(b"")
        (folder / ".probe").unlink(missing_ok=True)
    except (BundleError, OSError):
        return False
    return True
