"""Whole sequences with one answer each, in the shape gradients are learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

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

    rows: np.ndarray  # (windows,) which sequence
    offsets: np.ndarray  # (windows,) how many of its symbols come before
    sizes: np.ndarray  # (windows,) with BOS and EOS

    @classmethod
    def over(cls, lengths: np.ndarray, longest: int | None) -> Windows:
        """All of sequences of so many symbols; a window holds `longest` ids, BOS and EOS of its own included."""
        held = np.minimum(lengths, room(longest)) if longest else lengths
        step = max(1, held.max(initial=1) * (OVERLAP - 1) // OVERLAP)
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


class LabelledBatches:
    """Sequences of similar length side by side, in another order every epoch; of a longer one a window, drawn
    every time.
    """

    def __init__(
        self,
        corpus: Corpus,
        answers: np.ndarray,
        rows: int,
        longest: int | None = None,
        seed: int = 0,
        extra: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.corpus, self.answers, self.rows, self.seed = corpus, answers, rows, seed
        self.extra = extra or {}  # more about each answer, by name
        self.starts = corpus.starts
        self.lengths, self.longest = corpus.lengths, longest
        self.sizes = np.minimum(self.lengths, room(longest) if longest else len(corpus.ids)) + FRAME
        self.groups = lru_cache(maxsize=2)(self._groups)

    def __len__(self) -> int:
        return max(1, -(-len(self.starts) // self.rows))

    def batch(self, epoch: int, number: int) -> Batch:
        return self.take(*self.chosen(epoch, number))

    def chosen(self, epoch: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The sequences (B,) of a batch, and after how many symbols of each its window begins."""
        rows = self.groups(epoch)[number]
        return rows, self._drawn(rows, epoch, number) if self.longest else np.zeros_like(rows)

    def _drawn(self, rows: np.ndarray, epoch: int, number: int) -> np.ndarray:
        """The offset (B,) of one of the windows of each sequence."""
        first = np.searchsorted(self.windows.rows, rows)
        count = np.searchsorted(self.windows.rows, rows, "right") - first
        random = np.random.default_rng([self.seed, epoch, number])
        found: np.ndarray = self.windows.offsets[first + random.integers(0, count)]
        return found

    def take(self, rows: np.ndarray, offsets: np.ndarray) -> Batch:
        """These sequences and their answers; of those that are too long the window after `offsets` symbols."""
        begin = self.starts[rows] + offsets
        more = {name: values[rows] for name, values in self.extra.items()}
        return Batch(framed(padded(self.corpus.ids, begin, self.sizes[rows])), self.answers[rows], extra=more)

    @cached_property
    def windows(self) -> Windows:
        """All there is to read."""
        return Windows.over(self.lengths, self.longest)

    def _groups(self, epoch: int) -> list[np.ndarray]:
        """The sequences of every batch of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(len(self.starts))
        pools = [order[at : at + POOL * self.rows] for at in range(0, len(order), POOL * self.rows)]
        order = np.concatenate([pool[np.argsort(self.sizes[pool], kind="stable")] for pool in pools])
        groups = [order[at : at + self.rows] for at in range(0, len(order), self.rows)]
        return [groups[at] for at in random.permutation(len(groups))]


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
