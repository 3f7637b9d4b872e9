"""Log-likelihood of sequences: perplexity and bits, on one scale for all models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.base import BATCH, LanguageModel
from chainrule.symbols import BOS, UNK

LOG2 = math.log(2.0)
FIGURES = (
    "perplexity",
    "bits_per_symbol",
    "bits_per_byte",
    "symbols",
    "unknown",
    "log2prob",
    "perplexity_known",
)
ABOVE = 1e-3  # what rounding may put above the logarithm of 1
PIECE = 1 << 20  # positions scored at once; a longer sequence is still scored whole


@dataclass(frozen=True)
class Score:
    """Sums over sequences, from which every figure is made: scores add up, nothing is averaged twice."""

    log2prob: float = 0.0  # -inf when a symbol had probability zero
    symbols: int = 0  # predicted ones: end symbols count, BOS does not
    bytes: int = 0  # of the original text
    unknown: int = 0  # symbols the vocabulary lacks
    zero_probability: int = 0  # symbols the model gave probability zero
    known_log2prob: float = 0.0  # of the symbols that are not UNK
    known: int = 0  # how many those are

    def __add__(self, other: Score) -> Score:
        return Score(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Score)))

    @property
    def bits(self) -> float:
        """Total cross-entropy in bits."""
        return 0.0 - self.log2prob

    @property
    def bits_per_symbol(self) -> float:
        """Cross-entropy per predicted symbol; 0 of nothing."""
        return _share(self.bits, self.symbols)

    @property
    def bits_per_byte(self) -> float:
        """Cross-entropy per byte of the original text; 0 of nothing.

        It is one scale for all codecs that can write the text down: what `unknown` counts is never spelled.
        """
        return _share(self.bits, self.bytes)

    @property
    def perplexity(self) -> float:
        """2 ** bits per symbol: among how many equally likely symbols the model hesitated."""
        return _power(self.bits_per_symbol)

    @property
    def perplexity_known(self) -> float:
        """Perplexity without the unknown symbols, a literal `<unk>` included, as KenLM prints it too."""
        return _power(_share(0.0 - self.known_log2prob, self.known))

    def figures(self) -> dict[str, float]:
        """As plain numbers by name, for cards and scripts."""
        return {name: getattr(self, name) for name in FIGURES}


def _power(bits: float) -> float:
    try:
        return math.pow(2.0, bits)
    except OverflowError:
        return math.inf


def _share(total: float, count: int) -> float:
    if count:
        return total / count
    return math.inf if total else 0.0


def score_ids(
    model: LanguageModel,
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


def subsample(ids: np.ndarray, most: int, parts: int = 16) -> np.ndarray:
    """About `most` ids from places spread evenly over all, whole sequences where they are short."""
    if most >= len(ids):
        return ids
    starts = np.flatnonzero(ids == BOS)
    begins = np.linspace(0, len(ids) - most // parts, parts).astype(np.int64)
    ends = begins + most // parts
    if len(starts) > 8 * parts:
        begins, ends = (
            starts[np.minimum(np.searchsorted(starts, at), len(starts) - 1)] for at in (begins, ends)
        )
    places = np.concatenate([np.arange(*pair) for pair in zip(begins, ends, strict=True)])
    found = ids[np.unique(places)]
    return found if found[0] == BOS else np.concatenate([ids[:1], found])


def measure(ids: np.ndarray, logs: np.ndarray) -> Score:
    """The sums over natural log-probabilities, one per position of `ids`."""
    _refuse_odd(logs)
    total = float(logs.sum(dtype=np.float64))
    zero_probability = 0 if math.isfinite(total) else int(np.isneginf(logs).sum())
    symbols, unknown = len(ids) - int(np.count_nonzero(ids == BOS)), ids == UNK
    unknowns = int(np.count_nonzero(unknown))
    known = float(logs[~unknown].sum(dtype=np.float64)) if unknowns else total
    return Score(total / LOG2, symbols, 0, 0, zero_probability, known / LOG2, symbols - unknowns)


def _refuse_odd(logs: np.ndarray) -> None:
    """Refuse what is the logarithm of no probability: a damaged model must not pass for a very good one."""
    wrong = np.flatnonzero(~(logs <= ABOVE))  # NaN is among them
    if len(wrong):
        raise ModelError(
            f"A log-probability was expected at position {wrong[0]}, not {logs[wrong[0]]:.4g}: the model is "
            "damaged, or it diverged. Copy it or fit it again."
        )


def measure_each(ids: np.ndarray, logs: np.ndarray) -> list[Score]:
    """The sums over each sequence of flat `ids`."""
    starts = np.flatnonzero(ids == BOS)
    if not len(starts):
        return []
    _refuse_odd(logs)
    spelled = ids != UNK
    floats = [logs.astype(np.float64), np.where(spelled, logs, 0.0)]
    counts = [ids != BOS, np.isneginf(logs), spelled & (ids != BOS)]
    totals, sure = (np.add.reduceat(one, starts) / LOG2 for one in floats)
    symbols, zero_probability, known = (np.add.reduceat(one.astype(np.int64), starts) for one in counts)
    columns = (one.tolist() for one in (totals, symbols, zero_probability, sure, known))
    return [
        Score(total, size, 0, 0, zero, some, left)
        for total, size, zero, some, left in zip(*columns, strict=True)
    ]


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
