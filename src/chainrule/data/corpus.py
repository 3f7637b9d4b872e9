"""Sequences as ids, ready to count or to learn from; on disk and memory-mapped when large."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chainrule.codecs.base import Blocks, Codec
from chainrule.data import cache
from chainrule.data.room import room
from chainrule.errors import BundleError
from chainrule.files import new_file
from chainrule.symbols import BOS

SMALL = 1 << 24  # bytes of text below which ids stay in memory


@dataclass(frozen=True)
class Corpus:
    """Sequences one after another, each `BOS x_1 … x_T EOS`, and how many bytes of text they stand for."""

    ids: np.ndarray  # (positions,) int32, possibly memory-mapped
    sequences: int
    bytes: int  # of the original text, one terminator a sequence included
    unknown: int = 0  # how many symbols became UNK because the alphabet lacks them
    skipped: int = 0  # blank lines and empty cells left out

    @property
    def symbols(self) -> int:
        """Symbols to predict: everything but BOS."""
        return len(self.ids) - self.sequences

    @property
    def starts(self) -> np.ndarray:
        """Where each sequence begins."""
        return np.flatnonzero(self.ids == BOS)


def encode(codec: Codec, blocks: Blocks, content: str | None = None) -> Corpus:
    """The data as ids. Large data go to disk, a block at a time, and are mapped.

    With `content`, a fingerprint of the data, they are kept there for the next run with an equal codec.
    """
    tally = Tally(codec)
    flow = tally.encoded(blocks)
    held: list[np.ndarray] = []
    for ids in flow:
        held.append(ids)
        if tally.bytes >= SMALL:
            return _kept(codec, content) or _on_disk(tally, held, flow, content) or _again(codec, blocks)
    return tally.corpus(np.concatenate([np.empty(0, np.int32), *held]))


class Tally:
    """What is to be known of the data besides their ids, gathered while they are encoded."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.sequences = self.bytes = self.unknown = self.skipped = 0

    def encoded(self, blocks: Blocks) -> Iterator[np.ndarray]:
        """The ids of each block."""
        for texts in blocks():
            encoded = self.codec.encode(texts)
            self.sequences += texts.sequences
            self.bytes += texts.bytes
            self.unknown += encoded.unknown
            self.skipped += texts.skipped
            yield encoded.ids

    def corpus(self, ids: np.ndarray) -> Corpus:
        """These ids with what was gathered."""
        return Corpus(ids, self.sequences, self.bytes, self.unknown, self.skipped)


def _kept(codec: Codec, content: str | None) -> Corpus | None:
    """What an earlier run has kept."""
    found = cache.find(_key(codec, content), codec.size) if content else None
    if found is None:
        return None
    ids, entry = found
    return Corpus(ids, entry.sequences, entry.bytes, entry.unknown, entry.skipped)


def _key(codec: Codec, content: str) -> str:
    return hashlib.sha256(json.dumps([content, codec.fingerprint()]).encode()).hexdigest()


def _on_disk(
    tally: Tally, held: list[np.ndarray], flow: Iterator[np.ndarray], content: str | None
) -> Corpus | None:
    """In the cache, or in a temporary file if there is none; None: the cache became full on the way."""
    if content is None or not _writable(cache.folder()):
        return _unnamed(tally, held, flow)
    key = _key(tally.codec, content)
    path = cache.ids_path(key)
    try:
        with new_file(path) as file:
            writer = _write(cache.Writer(file), held, flow)
    except (BundleError, OSError):
        return None
    gathered = (tally.sequences, tally.bytes, tally.unknown, tally.skipped)
    facts = cache.Entry(writer.positions, writer.checksum, *gathered)
    corpus = tally.corpus(cache.mapped(path, writer.positions))
    try:
        cache.keep(key, facts)
    except (BundleError, OSError):  # what is mapped stays readable without its name
        cache.forget(key)
    return corpus


def _again(codec: Codec, blocks: Blocks) -> Corpus:
    """From the beginning, without the cache."""
    tally = Tally(codec)
    return _unnamed(tally, [], tally.encoded(blocks))


def _unnamed(tally: Tally, held: list[np.ndarray], flow: Iterator[np.ndarray]) -> Corpus:
    """In a temporary file that goes when the ids do."""
    with room(), _temporary() as path:
        with path.open("wb") as file:
            writer = _write(cache.Writer(file), held, flow)
        return tally.corpus(cache.mapped(path, writer.positions))


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
