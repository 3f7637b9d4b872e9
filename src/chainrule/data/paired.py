"""Whole sequences beside their sources, in the shape an encoder-decoder learns from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from chainrule.data.batches import Batch
from chainrule.data.corpus import Corpus
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.labelled import padded
from chainrule.symbols import EOS, PAD


class PairedBatches:
    """Targets with what they are written from, those of similar length side by side, about `symbols` a batch.

    Others are together in every epoch.
    """

    def __init__(self, source: Corpus | EncoderInputs, target: Corpus, symbols: int, seed: int = 0) -> None:
        self.sources = EncoderInputs((source,)) if isinstance(source, Corpus) else source
        self.target, self.seed = target, seed
        self.lengths, self.starts = target.lengths, target.starts  # without BOS and EOS
        self.longer = np.maximum(self.sources.lengths, self.lengths) + 1  # (pairs,)
        self.ends = _ends(np.sort(self.longer), symbols)  # in the order of length, where batches end
        self.groups = lru_cache(maxsize=2)(self._groups)

    def __len__(self) -> int:
        return len(self.ends)

    def batch(self, epoch: int, number: int) -> Batch:
        return self.take(self.groups(epoch)[number])

    def take(self, rows: np.ndarray) -> Batch:
        """These pairs."""
        ids = padded(self.target.ids, self.starts[rows], self.lengths[rows] + 2)  # (B, T + 1)
        return Batch(np.where(ids == EOS, PAD, ids)[:, :-1], ids[:, 1:], self.sources.take(rows))

    def _groups(self, epoch: int) -> list[np.ndarray]:
        """The pairs of every batch of an epoch."""
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(len(self.longer))
        order = order[np.argsort(self.longer[order], kind="stable")]
        groups = np.split(order, self.ends[:-1])
        return [groups[at] for at in random.permutation(len(groups))]


def _ends(lengths: np.ndarray, symbols: int) -> np.ndarray:
    """Where batches of sequences, sorted by length, end: as many as make about so many symbols with padding."""
    ends, begin = [], 0
    for end, longest in enumerate(lengths.tolist()):
        if end > begin and (end + 1 - begin) * longest > symbols:
            ends.append(end)
            begin = end
    return np.array([*ends, len(lengths)])
