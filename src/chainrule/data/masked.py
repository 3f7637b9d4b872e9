"""Sequences with holes: what models that read both ways learn from (Devlin et al. 2019).

Of the symbols chosen to be guessed, 80 % are replaced by MASK, 10 % by any other symbol, 10 % stay as they are; each
time a sequence is read, others are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainrule.data.batches import Batch, Buckets
from chainrule.data.corpus import Corpus
from chainrule.symbols import BOS, EOS, FIRST, FOLLOWS, MASK, PAD, STRANGER

HIDDEN, REPLACED = 0.8, 0.1  # of those chosen


@dataclass(frozen=True)
class Holes:
    """How symbols are chosen and hidden."""

    share: float  # of symbols to be guessed
    alphabet: int
    begins: np.ndarray | None = (
        None  # (V,) True for pieces that begin a word: then words are hidden as a whole
    )

    def cut(self, symbols: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Symbols (B, T) with holes, and the targets, PAD where nothing is asked; BOS and padding stay."""
        free = (symbols != PAD) & (symbols != BOS)
        word = self._words(symbols)
        luck = np.take_along_axis(rng.random(symbols.shape), word, 1)
        luckiest = np.where(free, luck, 2.0).min(1, keepdims=True)  # every row has something to guess
        chosen = free & (luck < np.maximum(self.share, np.nextafter(luckiest, 2.0)))
        luck = rng.random(symbols.shape)
        others = rng.integers(FIRST, max(self.alphabet, FIRST + 1), symbols.shape)
        shown = np.where(luck < HIDDEN, MASK, np.where(luck < HIDDEN + REPLACED, others, symbols))
        return np.where(chosen, shown, symbols), np.where(chosen, symbols, PAD)

    def _words(self, symbols: np.ndarray) -> np.ndarray:
        """(B, T) which word of its row a piece belongs to."""
        if self.begins is None:
            return np.broadcast_to(np.arange(symbols.shape[1]), symbols.shape)
        words: np.ndarray = np.cumsum(self.begins[symbols] | (symbols < FIRST), 1) % symbols.shape[1]
        return words


@dataclass(frozen=True)
class Masked:
    """Separate sequences of similar length side by side, holes cut anew every epoch."""

    buckets: Buckets
    holes: Holes
    pairs: bool
    seed: int = 0

    def __len__(self) -> int:
        return len(self.buckets)

    def batch(self, epoch: int, number: int) -> Batch:
        rng = np.random.default_rng([self.seed, epoch, number])
        symbols, asked = self._rows(epoch, number, rng)
        tokens, targets = self.holes.cut(symbols, rng)
        targets[:, 0] = asked
        return Batch(tokens, targets, False)

    def _rows(self, epoch: int, number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | int]:
        """Whole sequences (B, T) with BOS and EOS, and what is asked at their beginning."""
        plain = self.buckets.batch(epoch, number)
        ends = np.count_nonzero(plain.tokens != PAD, 1)
        symbols = np.concatenate([plain.tokens, np.full((len(ends), 1), PAD)], 1)
        rows = np.arange(len(ends))
        symbols[rows, ends] = plain.targets[rows, ends - 1]
        symbols[:, 0] = BOS  # of a piece in mid-sequence too
        if not self.pairs or len(ends) < 2:
            return symbols, PAD
        return _paired(symbols, rng)


def _paired(symbols: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Each row cut in two halves, `BOS a EOS b EOS`; for half of the rows b is another row's."""
    rows, width = symbols.shape
    ends = np.count_nonzero(symbols != PAD, 1)
    cuts = np.maximum(1, ends // 2)
    strange = rng.random(rows) < 0.5
    other = np.where(strange, (np.arange(rows) + rng.integers(1, rows, rows)) % rows, np.arange(rows))
    found = np.full((rows, 2 + width), PAD, symbols.dtype)
    for row, (cut, by) in enumerate(zip(cuts, other, strict=True)):
        second = symbols[by, cuts[by] : ends[by]]
        line = np.concatenate([symbols[row, :cut], [EOS], second])[: 2 + width]
        found[row, : len(line)] = line
    return found, np.where(strange, STRANGER, FOLLOWS)


def masked_batches(
    corpus: Corpus, symbols: int, longest: int, holes: Holes, pairs: bool, seed: int
) -> Masked:
    """About `symbols` symbols a batch, no sequence longer than `longest`."""
    return Masked(Buckets(corpus, symbols, longest, seed), holes, pairs, seed)
