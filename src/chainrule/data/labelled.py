"""Whole sequences with one answer each, in the shape gradients are learnt from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from chainrule.data.batches import Batch
from chainrule.data.corpus import Corpus
from chainrule.errors import ConfigError
from chainrule.symbols import BOS, EOS, PAD

POOL = 50  # batches whose sequences are put in order of length before they are shared out
OVERLAP = 4  # two windows share the fourth part of what they hold
FRAME = 2  # BOS and EOS


@dataclass(frozen=True)
class Windows:
    """What is read of sequences: each whole or, if it is too long, as overlapping parts of it in order."""

    rows: np.ndarray  # (windows,) which sequence, ascending
    offsets: np.ndarray  # (windows,) how many of its symbols come before
    sizes: np.ndarray  # (windows,) with BOS and EOS

    @classmethod
    def over(cls, lengths: np.ndarray, longest: int | None) -> Windows:
        """All of sequences of so many symbols; a window holds `longest` ids, BOS and EOS of its own included."""
        return cls.holding(lengths, np.minimum(lengths, room(longest)) if longest else lengths)

    @classmethod
    def holding(cls, lengths: np.ndarray, held: np.ndarray) -> Windows:
        """Windows of `held` (N,) symbols of each sequence."""
        step = np.maximum(1, held * (OVERLAP - 1) // OVERLAP)
        counts = 1 + -((held - lengths) // step)  # of each sequence
        rows = np.repeat(np.arange(len(lengths)), counts)
        place = np.arange(len(rows)) - np.repeat(
            np.cumsum(counts) - counts, counts
        )  # among those of its sequence
        spread = (lengths - held)[rows] * place // np.maximum(1, counts - 1)[rows]
        return cls(rows, spread, held[rows] + FRAME)


def room(longest: int) -> int:
    """How many symbols of a sequence stand in a window, between BOS and EOS."""
    if longest <= FRAME:
        raise ConfigError(
            f"A context of {longest} has no room for a symbol between BOS and EOS: give at least 3."
        )
    return longest - FRAME


class WindowedBatches(ABC):
    """Examples of similar length side by side, in another order every epoch; of a longer one a window, drawn
    every time.
    """

    def __init__(
        self,
        rows: np.ndarray,
        sizes: np.ndarray,
        answers: np.ndarray,
        size: int,
        seed: int,
        extra: Mapping[str, np.ndarray] | None,
    ) -> None:
        """Of every window (windows,) whose it is, ascending, and how long; `size` examples are a batch."""
        self.of, self.window_sizes, self.answers, self.rows, self.seed = rows, sizes, answers, size, seed
        self.extra = extra or {}  # more about each answer, by name
        self.firsts = np.searchsorted(rows, np.arange(len(answers) + 1))  # the first window of each example
        self.groups = lru_cache(maxsize=2)(self._groups)

    @abstractmethod
    def tokens(self, some: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        """What is read in these windows (B, T), and what beside it, by name."""

    @final
    def __len__(self) -> int:
        return max(1, -(-len(self.answers) // self.rows))

    @final
    def batch(self, epoch: int, number: int) -> Batch:
        return self.at(self.drawn(epoch, number))

    @final
    def drawn(self, epoch: int, number: int) -> np.ndarray:
        """The windows (B,) of a batch, one of each example."""
        rows = self.groups(epoch)[number]
        random = np.random.default_rng([self.seed, epoch, number])
        found: np.ndarray = self.firsts[rows] + random.integers(
            0, (self.firsts[rows + 1] - self.firsts[rows])
        )
        return found

    @final
    def at(self, some: np.ndarray) -> Batch:
        """These windows, and the answers to what they are of."""
        rows = self.of[some]
        tokens, more = self.tokens(some)
        own = {name: values[rows] for name, values in self.extra.items()}
        return Batch(tokens, self.answers[rows], extra={**own, **more})

    @final
    def _groups(self, epoch: int) -> list[np.ndarray]:
        """The examples of every batch of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        order, sizes = random.permutation(len(self.answers)), self.window_sizes[self.firsts[:-1]]
        pools = [order[at : at + POOL * self.rows] for at in range(0, len(order), POOL * self.rows)]
        order = np.concatenate([pool[np.argsort(sizes[pool], kind="stable")] for pool in pools])
        groups = [order[at : at + self.rows] for at in range(0, len(order), self.rows)]
        return [groups[at] for at in random.permutation(len(groups))]


class LabelledBatches(WindowedBatches):
    """Sequences, each with an answer."""

    def __init__(
        self,
        corpus: Corpus,
        answers: np.ndarray,
        rows: int,
        longest: int | None = None,
        seed: int = 0,
        extra: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.ids, self.starts = corpus.ids, corpus.starts
        self.windows = Windows.over(corpus.lengths, longest)
        super().__init__(self.windows.rows, self.windows.sizes, answers, rows, seed, extra)

    def tokens(self, some: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        return windowed(self.ids, self.starts, self.windows, some), {}


def windowed(ids: np.ndarray, starts: np.ndarray, windows: Windows, some: np.ndarray) -> np.ndarray:
    """Some windows of flat sequences as rows `BOS … EOS` (B, T)."""
    begin = starts[windows.rows[some]] + windows.offsets[some]
    return framed(padded(ids, begin, windows.sizes[some]))


def padded(ids: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Sequences as rows (B, T), PAD behind the shorter ones."""
    columns = np.arange(int(sizes.max()))[None]
    real = columns < sizes[:, None]
    return np.where(real, ids[np.where(real, starts[:, None] + columns, 0)], PAD).astype(np.int64)


def framed(tokens: np.ndarray) -> np.ndarray:
    """The same rows (B, T), each beginning with BOS and ending with EOS before its padding."""
    lengths = (tokens != PAD).sum(1)
    found = tokens.copy()
    found[:, 0], found[np.arange(len(found)), lengths - 1] = BOS, EOS
    return found
