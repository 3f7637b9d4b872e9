"""Counting within a memory limit: one range of beginnings at a time, each level of the trie growing in a file.

All n-grams that begin with certain symbols are collected in one pass over the stream, sorted in memory and
appended. Ranges follow one another in order, so the levels come out exactly as if all had been sorted at once.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np

from chainrule.models.ngram.sort import sorted_positions
from chainrule.models.ngram.space import Space
from chainrule.models.ngram.trie import Trie, count_nodes, empty_trie, level_starts, seal, write_nodes
from chainrule.runtime import compiled
from chainrule.symbols import EOS

KEYS = 1 << 22  # how many different beginnings are told apart when choosing ranges
COPY = 1 << 24  # entries moved at a time when files become arrays


def count_in_parts(stream: np.ndarray, vocab_size: int, order: int, memory: int, space: Space) -> Trie:
    """The same trie as `count_ngrams`, with at most about `memory` bytes in use besides the pages of files."""
    prefix = 1
    while vocab_size ** (prefix + 1) <= KEYS and prefix < order:
        prefix += 1
    weights = _weights(stream, vocab_size, prefix, np.zeros(vocab_size**prefix, np.int64))
    with tempfile.TemporaryDirectory(prefix="chainrule-") as folder, ExitStack() as files:
        writer = _LevelWriter(Path(folder), files, vocab_size, order)
        with space.progress("counting in parts", len(stream)) as step:
            for low, high in _ranges(weights, max(1024, memory // (32 * order))):
                size = int(weights[low:high].sum())
                writer.add(_windows(stream, vocab_size, prefix, low, high, order, size))
                step(size)
        return writer.trie(np.bincount(stream, minlength=vocab_size), space)


def _ranges(weights: np.ndarray, capacity: int) -> list[tuple[int, int]]:
    """Consecutive ranges of keys that hold at most `capacity` positions each (or a single key)."""
    ends = np.cumsum(weights)
    ranges, low = [], 0
    while low < len(weights):
        done = ends[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(ends, done + capacity, "right")))
        ranges.append((low, high))
        low = high
    return ranges


class _LevelWriter:
    """Files that hold each level's symbols, counts and first children while they grow."""

    def __init__(self, folder: Path, files: ExitStack, vocab_size: int, order: int) -> None:
        self.vocab_size, self.order = vocab_size, order
        self.sizes = np.zeros(order + 1, np.int64)  # nodes written so far, by length
        self.fan = np.zeros(vocab_size, np.int64)
        self.last = np.empty(0, np.int32)  # the last window of the part before
        self.patches: list[
            tuple[int, int, int]
        ] = []  # (length, node, count to add): n-grams cut by a range's end
        names = ("word", "count", "child")
        self.files: dict[int, dict[str, BinaryIO]] = {
            k: {name: files.enter_context((folder / f"{name}{k}").open("w+b")) for name in names}
            for k in range(2, order + 1)
        }

    def add(self, windows: np.ndarray) -> None:
        """Sort and append the n-grams of one range; `windows` (n, order), EOS repeated to the end."""
        if not len(windows):
            return
        order, before = self.order, len(self.last) > 0
        local = np.concatenate([self.last, windows.reshape(-1)]) if before else windows.reshape(-1)
        where = np.arange(len(windows), dtype=np.int64) * order + len(self.last)
        places = sorted_positions(local, where, self.vocab_size, order)
        previous = 0 if before else -1
        sizes = count_nodes(local, places, order, previous)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        kind = np.int64  # first children are relative to their level until all levels are known
        word, count, child = (np.empty(int(sizes.sum()), dtype) for dtype in (np.int32, np.int32, kind))
        shift = np.append(self.sizes - starts, 0)
        stateful = np.zeros(order + 1, np.int64)
        write_nodes(
            local, places, order, starts.copy(), shift, word, count, child, self.fan, previous, stateful
        )
        self._append(starts, sizes, {"word": word, "count": count, "child": child}, stateful)
        self.last = local[places[-1] : places[-1] + order].copy()

    def _append(
        self, starts: np.ndarray, sizes: np.ndarray, arrays: dict[str, np.ndarray], stateful: np.ndarray
    ) -> None:
        for k in range(2, self.order + 1):
            if stateful[k]:
                self.patches.append((k, int(self.sizes[k]) - 1, int(stateful[k])))
            for name, array in arrays.items():
                array[starts[k] : starts[k] + sizes[k]].tofile(self.files[k][name])
        self.sizes += sizes

    def trie(self, seen: np.ndarray, space: Space) -> Trie:
        """All levels in one set of arrays, linked."""
        levels = level_starts(self.vocab_size, self.sizes)
        trie = empty_trie(levels, space)
        for k, files in self.files.items():
            for name, file in files.items():
                if name != "child" or k < self.order:
                    shift = levels[k + 1] if name == "child" else 0
                    _copy(file, getattr(trie, name), int(levels[k]), int(self.sizes[k]), int(shift), space)
        for k, node, more in self.patches:
            trie.count[levels[k] + node] += more
        seal(trie, seen, self.fan, space)
        return trie


def _copy(file: BinaryIO, target: np.ndarray, start: int, size: int, shift: int, space: Space) -> None:
    dtype = np.int64 if target.dtype != np.int32 or shift else np.int32
    file.seek(0)
    for at in range(start, start + size, COPY):
        part = np.fromfile(file, dtype, min(COPY, start + size - at))
        target[at : at + len(part)] = part + shift if shift else part
        space.rest()


@compiled
def _key(stream, position, vocab_size, prefix):  # type: ignore[no-untyped-def]
    key, ended = np.int64(0), False
    for k in range(prefix):
        symbol = 0 if ended else stream[position + k]
        ended = ended or symbol == EOS
        key = key * vocab_size + symbol
    return key


@compiled
def _weights(stream, vocab_size, prefix, weights):  # type: ignore[no-untyped-def]
    """How many positions have each beginning."""
    for position in range(len(stream)):
        weights[_key(stream, position, vocab_size, prefix)] += 1
    return weights


@compiled
def _windows(stream, vocab_size, prefix, low, high, order, size):  # type: ignore[no-untyped-def]
    """The windows of all positions whose beginning lies in a range of keys: (size, order)."""
    out = np.empty((size, order), np.int32)
    row = 0
    for position in range(len(stream)):
        key = _key(stream, position, vocab_size, prefix)
        if low <= key < high:
            ended = False
            for k in range(order):
                out[row, k] = EOS if ended else stream[position + k]
                ended = ended or out[row, k] == EOS
            row += 1
    return out
