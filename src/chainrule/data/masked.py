"""Masked sequences: what models that read both ways are trained on (Devlin et al. 2019).

Of the symbols chosen to be predicted, 80 % are replaced by MASK, 10 % by a random symbol, 10 % stay as they are; each
time a sequence is read, others are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainrule.data.batches import Batch, Buckets
from chainrule.data.corpus import Corpus
from chainrule.symbols import BOS, EOS, FIRST, MASK, PAD

HIDDEN, REPLACED = 0.8, 0.1  # of those chosen
FOLLOWS = "follows"  # 1 where the second sentence of a pair follows the first, 0 where it is from elsewhere


@dataclass(frozen=True)
class Masking:
    """How symbols are chosen and masked."""

    prob: float  # of a symbol to be predicted
    vocab_size: int
    begins: np.ndarray | None = None  # (V,) True for sub-words that begin a word: then words are masked whole

    def mask(self, symbols: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Masked symbols (B, T), and the targets, PAD where nothing is asked; BOS and padding stay."""
        free = (symbols != PAD) & (symbols != BOS) & ~self._separator(symbols)
        word = self._words(symbols)
        uniform = np.take_along_axis(rng.random(symbols.shape), word, 1)
        lowest = np.where(free, uniform, 2.0).min(1, keepdims=True)  # every row has a target
        chosen = free & (uniform < np.maximum(self.prob, np.nextafter(lowest, 2.0)))
        uniform = rng.random(symbols.shape)
        others = rng.integers(FIRST, max(self.vocab_size, FIRST + 1), symbols.shape)
        shown = np.where(uniform < HIDDEN, MASK, np.where(uniform < HIDDEN + REPLACED, others, symbols))
        return np.where(chosen, shown, symbols), np.where(chosen, symbols, PAD)

    def _separator(self, symbols: np.ndarray) -> np.ndarray:
        """(B, T) the EOS between two segments: masked, it would move every segment id after it."""
        length = np.count_nonzero(symbols != PAD, 1, keepdims=True)  # (B, 1)
        found: np.ndarray = (symbols == EOS) & (np.arange(symbols.shape[1]) < length - 1)
        return found

    def _words(self, symbols: np.ndarray) -> np.ndarray:
        """(B, T) which word of its row a sub-word belongs to."""
        if self.begins is None:
            return np.broadcast_to(np.arange(symbols.shape[1]), symbols.shape)
        words: np.ndarray = np.cumsum(self.begins[symbols] | (symbols < FIRST), 1) % symbols.shape[1]
        return words


@dataclass(frozen=True)
class MaskedBatches:
    """Separate sequences of similar length side by side, masked differently every epoch."""

    buckets: Buckets
    masking: Masking
    pairs: bool
    seed: int = 0

    def __len__(self) -> int:
        return len(self.buckets)

    def batch(self, epoch: int, number: int) -> Batch:
        rng = np.random.default_rng([self.seed, epoch, number])
        symbols, follows = self._rows(epoch, number, rng)
        tokens, targets = self.masking.mask(symbols, rng)
        return Batch(tokens, targets, extra={} if follows is None else {FOLLOWS: follows})

    def _rows(
        self, epoch: int, number: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Whole sequences (B, T) with BOS and EOS; of pairs, whether each second sentence follows the first (B,)."""
        plain = self.buckets.batch(epoch, number)
        ends = np.count_nonzero(plain.tokens != PAD, 1)
        symbols = np.concatenate([plain.tokens, np.full((len(ends), 1), PAD)], 1)
        rows = np.arange(len(ends))
        symbols[rows, ends] = plain.targets[rows, ends - 1]
        symbols[:, 0] = BOS  # where a sequence was cut, too
        if not self.pairs or len(ends) < 2:
            return symbols, None
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
    return found, np.where(strange, 0, 1)


def masked_batches(
    corpus: Corpus, symbols: int, longest: int, masking: Masking, pairs: bool, seed: int
) -> MaskedBatches:
    """About `symbols` symbols a batch, no sequence longer than `longest`."""
    return MaskedBatches(Buckets(corpus, symbols, longest, seed), masking, pairs, seed)
