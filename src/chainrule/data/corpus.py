"""Sequences as ids, ready to count or to learn from; on disk and memory-mapped when large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainrule.symbols import BOS


@dataclass(frozen=True)
class Corpus:
    """Sequences one after another, each `BOS x_1 … x_T EOS`, and how many bytes of text they stand for."""

    ids: np.ndarray  # (positions,) int32, possibly memory-mapped
    sequences: int
    bytes: int  # of the original text, one terminator a sequence included
    unknown: int = 0  # how many symbols became UNK because the alphabet lacks them

    @property
    def symbols(self) -> int:
        """Symbols to predict: everything but BOS."""
        return len(self.ids) - self.sequences

    @property
    def starts(self) -> np.ndarray:
        """Where each sequence begins."""
        return np.flatnonzero(self.ids == BOS)
