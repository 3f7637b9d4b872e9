"""Skip-gram and CBOW: passes over a stream of words, in one thread or, without locks, in several (Hogwild)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.models.vectors import kernels
from chainrule.models.vectors.ngrams import means
from chainrule.progress import Progress
from chainrule.runtime import in_threads, threads
from chainrule.symbols import BOS, EOS, FIRST

PIECE = 1 << 16  # words that a kernel reads at once
LEAST = 0.004  # what is left of the learning rate at the end: 0.025 becomes 0.0001, as in word2vec
POWER = 0.75  # of the counts, for words that are drawn


def stream_of(ids: np.ndarray) -> np.ndarray:
    """Words from 0 on, -1 between sentences; unknown words and masks are left out."""
    kept = ids[(ids >= FIRST) | (ids == EOS) | (ids == BOS)]
    stream: np.ndarray = np.where(kept >= FIRST, kept - FIRST, -1).astype(np.int32)
    return stream[(stream >= 0) | (np.roll(stream, 1) >= 0)]


@dataclass(frozen=True)
class Words:
    """How often words occur, and what follows from it."""

    counts: np.ndarray  # (V,) int64

    def keep(self, threshold: float) -> np.ndarray:
        """(V,) how probably each occurrence is read (subsampling of frequent words, as in word2vec.c)."""
        if not threshold:
            return np.ones(len(self.counts), np.float32)
        share = np.maximum(self.counts, 1) / max(1, self.counts.sum()) / threshold
        kept: np.ndarray = np.minimum(1.0, (np.sqrt(share) + 1) / share).astype(np.float32)
        return kept

    def alias(self) -> tuple[np.ndarray, np.ndarray]:
        """Walker's alias table of counts ** 0.75: for each column the chance of its own word, and the other word."""
        raised = self.counts.astype(np.float64) ** POWER
        chance = raised / raised.sum() * len(raised)
        alias = np.arange(len(chance), dtype=np.int32)
        small, large = np.flatnonzero(chance < 1).tolist(), np.flatnonzero(chance >= 1).tolist()
        while small and large:
            low, high = small.pop(), large[-1]
            alias[low] = high
            chance[high] -= 1.0 - chance[low]
            if chance[high] < 1:
                small.append(large.pop())
        return np.minimum(chance, 1.0).astype(np.float32), alias


@dataclass(frozen=True)
class Rows:
    """The rows of the input table that every word is made of."""

    rows: np.ndarray
    starts: np.ndarray  # (V + 1,)
    total: int  # of the table

    @property
    def plain(self) -> bool:
        """Whether every word is a single row."""
        return self.total == len(self.starts) - 1

    @property
    def most(self) -> int:
        return int(np.diff(self.starts).max())


def train(
    config: Any, stream: np.ndarray, words: Words, rows: Rows, progress: Progress
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors (V, D) of words, and the table (rows, D) they are made of."""
    rng = np.random.default_rng(config.seed)
    table = rng.random((rows.total, config.width), np.float32)
    table = (table - np.float32(0.5)) / np.float32(config.width)
    out = np.zeros((len(words.counts), config.width), np.float32)
    given = (words.keep(config.subsample), *words.alias(), table, out, config.window, config.negative)
    rest = (rows.rows, rows.starts, rows.most, config.method == "cbow")
    pieces = list(_pieces(len(stream), config))

    def work(piece: _Piece) -> None:
        part = stream[piece.low : piece.high]
        if config.method == "skip-gram" and rows.plain:
            kernels.skip_gram(part, *given, piece.rates, piece.seed)
        else:
            kernels.mean_of_rows(part, *given, piece.rates, piece.seed, *rest)
        step(int((part >= 0).sum()))

    with progress(f"training {config.method}", config.passes * int((stream >= 0).sum()), "words") as step:
        in_threads(work, pieces, threads())
    return means(table, rows.rows, rows.starts) if not rows.plain else table, table


@dataclass(frozen=True)
class _Piece:
    low: int
    high: int
    rates: np.ndarray  # (2,) learning rates at its beginning and at its end
    seed: np.uint64


def _pieces(size: int, config: Any) -> Iterator[_Piece]:
    """All passes over the stream, a piece at a time; the learning rate falls linearly."""
    many = max(1, -(-size // PIECE))
    edges = np.linspace(0, size, many + 1).astype(np.int64).tolist()
    seeds = np.random.default_rng([config.seed, 1]).integers(0, 1 << 63, config.passes * many)
    for number in range(config.passes * many):
        done = np.array([number, number + 1]) / (config.passes * many)
        rates = (config.rate * np.maximum(1.0 - done, LEAST)).astype(np.float64)
        at = number % many
        yield _Piece(edges[at], edges[at + 1], rates, np.uint64(seeds[number]))
