"""How well a model foresaw some sequences, on one scale for all models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.base import BATCH, Model
from chainrule.symbols import BOS

PIECE = 1 << 20  # positions scored at once; a longer sequence is still scored whole


@dataclass(frozen=True)
class Score:
    """Sums over sequences, from which every figure is made: scores add up, nothing is averaged twice."""

    log2prob: float = 0.0  # -inf when something impossible happened
    symbols: int = 0  # predicted ones: end symbols count, BOS does not
    bytes: int = 0  # of the original text
    unknown: int = 0  # symbols the alphabet lacks
    impossible: int = 0  # symbols the model gave probability zero

    def __add__(self, other: Score) -> Score:
        return Score(
            self.log2prob + other.log2prob,
            self.symbols + other.symbols,
            self.bytes + other.bytes,
            self.unknown + other.unknown,
            self.impossible + other.impossible,
        )

    @property
    def bits(self) -> float:
        """What writing these sequences down would cost."""
        return 0.0 - self.log2prob

    @property
    def bits_per_symbol(self) -> float:
        """Cross-entropy per predicted symbol; 0 of nothing."""
        return _share(self.bits, self.symbols)

    @property
    def bits_per_byte(self) -> float:
        """Cross-entropy per byte of the original text: the same scale for every alphabet; 0 of nothing."""
        return _share(self.bits, self.bytes)

    @property
    def perplexity(self) -> float:
        """Among how many equally likely symbols the model hesitated; infinite if the impossible happened."""
        try:
            return math.pow(2.0, self.bits_per_symbol)
        except OverflowError:
            return math.inf


def _share(total: float, count: int) -> float:
    if count:
        return total / count
    return math.inf if total else 0.0


def score_ids(
    model: Model,
    ids: np.ndarray,
    bytes: int = 0,
    unknown: int = 0,
    *,
    batch: int = BATCH,
    piece: int = PIECE,
) -> Score:
    """Score flat sequences `BOS … EOS` of any size; memory-mapped ids are read piece by piece."""
    total = Score(bytes=bytes, unknown=unknown)
    for part in pieces(ids, piece):
        total += measure(part, model.score_ids(part, batch))
    return total


def measure(ids: np.ndarray, logs: np.ndarray) -> Score:
    """The sums over natural log-probabilities, one per position of `ids`."""
    total = float(logs.sum(dtype=np.float64))
    impossible = 0 if math.isfinite(total) else _impossible(logs)
    return Score(total / math.log(2.0), len(ids) - int(np.count_nonzero(ids == BOS)), impossible=impossible)


def _impossible(logs: np.ndarray) -> int:
    """How many symbols have probability zero; NaN is nobody's probability."""
    if np.isnan(logs).any():
        where = int(np.flatnonzero(np.isnan(logs))[0])
        raise ModelError(
            f"A log-probability was expected at position {where}, not NaN: the model diverged. Fit it anew."
        )
    return int(np.isneginf(logs).sum())


def pieces(ids: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Parts of at most `size` positions made of whole sequences; a longer sequence is a part of its own."""
    begin = 0
    while begin < len(ids):
        end = _boundary(ids, begin, size)
        yield ids[begin:end]
        begin = end


def _boundary(ids: np.ndarray, begin: int, size: int) -> int:
    """Where the last sequence starts that leaves at most `size` positions before it, or else the next one."""
    if begin + size >= len(ids):
        return len(ids)
    within = np.flatnonzero(ids[begin + 1 : begin + size + 1] == BOS)
    if len(within):
        return begin + 1 + int(within[-1])
    for at in range(begin + size + 1, len(ids), size):
        after = np.flatnonzero(ids[at : at + size] == BOS)
        if len(after):
            return at + int(after[0])
    return len(ids)
