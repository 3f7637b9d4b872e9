"""Whole sequences with one answer each, in the shape gradients are learnt from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from chainrule.data.batches import Batch
from chainrule.data.corpus import Corpus
from chainrule.symbols import PAD

POOL = 50  # batches whose sequences are put in order of length before they are shared out


class LabelledBatches:
    """Sequences of similar length side by side, in another order every epoch; of a longer one the beginning is read."""

    def __init__(
        self, corpus: Corpus, answers: np.ndarray, rows: int, longest: int | None = None, seed: int = 0
    ) -> None:
        self.corpus, self.answers, self.rows, self.seed = corpus, answers, rows, seed
        self.starts = corpus.starts
        self.sizes = np.minimum(corpus.lengths + 2, longest or len(corpus.ids))  # with BOS and EOS
        self.groups = lru_cache(maxsize=2)(self._groups)

    def __len__(self) -> int:
        return max(1, -(-len(self.starts) // self.rows))

    def batch(self, epoch: int, number: int) -> Batch:
        return self.take(self.groups(epoch)[number])

    def take(self, rows: np.ndarray) -> Batch:
        """These sequences and their answers."""
        return Batch(padded(self.corpus.ids, self.starts[rows], self.sizes[rows]), self.answers[rows])

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
