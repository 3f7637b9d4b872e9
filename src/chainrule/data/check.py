"""What the data are like, before anything is trained on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from chainrule.codecs.base import Blocks, Codec
from chainrule.data.dataset import Dataset
from chainrule.data.splits import hashes
from chainrule.symbols import BOS, EOS, FIRST

SAMPLE = 1 << 23  # most sequences whose hashes are kept; beyond, a sample by hash stands for all
HELD = 1 << 20  # ids kept for forecasts


@dataclass(frozen=True)
class Zipf:
    """The line that counts follow over ranks, both as logarithms."""

    slope: float  # about -1 for words of natural language
    points: tuple[tuple[int, int], ...]  # (rank, count), ranks 1, 10, 100, …


@dataclass(frozen=True)
class PartFacts:
    """Plain facts about one part of the data."""

    sequences: int
    symbols: int  # end symbols included, as models predict them
    bytes: int
    unknown: int  # symbols outside the vocabulary
    skipped: int  # blank lines and empty cells
    duplicates: int  # sequences that came before in this part
    leaked: int  # sequences that are in the training part too
    lengths: tuple[tuple[int, int], ...]  # (at most so many symbols, sequences), 1, 2, 4, 8, …

    @property
    def unknown_rate(self) -> float:
        """The share of all symbols, ends of sequences included, that the vocabulary lacks."""
        return self.unknown / max(1, self.symbols)


@dataclass(frozen=True)
class Check:
    """What the data are like."""

    how: str  # how they were divided
    types: int  # different symbols in the training part
    parts: Mapping[str, PartFacts]  # train, valid, test
    zipf: Zipf
    sampled: bool  # duplicates are estimated from a sample of the sequences
    sample: np.ndarray  # the first ids of the training part, for forecasts


def examine(data: Dataset, codecs: Mapping[str, Codec], role: str | None = None) -> Check:
    """Look through every part of one role, the main one if none is named; memory does not grow with the data."""
    role = role or data.main
    survey = _Survey(codecs[role])
    train = survey.part(data.train[role], None)
    named = {"valid": data.valid, "test": data.test}
    seen = survey.seen
    parts = {"train": train} | {
        name: survey.part(part[role], seen) for name, part in named.items() if part is not None
    }
    counts = survey.train_counts[FIRST:]
    sample = np.concatenate([np.empty(0, np.int32), *survey.sample])
    return Check(data.how, int((counts > 0).sum()), parts, fit_zipf(counts), survey.sampled, sample)


class _Survey:
    """The passes over the parts."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        self.train_counts = np.zeros(codec.size, np.int64)
        self.seen = Seen()
        self.sampled = False
        self.sample: list[np.ndarray] = []

    def part(self, blocks: Blocks, train: Seen | None) -> PartFacts:
        """One pass; the first one, with `train` None, is over the training part."""
        own = self.seen if train is None else Seen()
        facts = np.zeros(5, np.int64)  # sequences, symbols, bytes, unknown, skipped
        histogram = np.zeros(64, np.int64)
        going = 0  # length so far of a sequence that continues in the next block
        for texts in blocks():
            encoded = self.codec.encode(texts)
            own.add(hashes(texts)[0 if texts.opens else 1 :])
            symbols = len(encoded.ids) - int(np.count_nonzero(encoded.ids == BOS))
            facts += (texts.sequences, symbols, texts.bytes, encoded.unknown, texts.skipped)
            lengths, going = _lengths(encoded.ids, going)
            histogram += np.bincount(_bins(lengths), minlength=len(histogram))
            if train is None:
                self._hold(encoded.ids)
                self.train_counts += np.bincount(encoded.ids, minlength=self.codec.size)
        duplicates, leaked = own.duplicates, own.shared(train) if train is not None else 0
        self.sampled = self.sampled or own.shift > 0
        bins = tuple((1 << place, int(count)) for place, count in enumerate(histogram) if count)
        sequences, symbols, size, unknown, skipped = (int(fact) for fact in facts)
        return PartFacts(sequences, symbols, size, unknown, skipped, duplicates, leaked, bins)

    def _hold(self, ids: np.ndarray) -> None:
        """Keep the first ids: of one block, and whole sequences where there are any."""
        if not self.sample:
            begins = np.flatnonzero(ids[:HELD] == BOS)
            whole = int(begins[-1]) if len(ids) > HELD and len(begins) > 1 else HELD
            self.sample.append(ids[:whole].copy())


def _lengths(ids: np.ndarray, going: int) -> tuple[np.ndarray, int]:
    """Symbols of every sequence that ends here, and of the one that does not, BOS and EOS left out."""
    inner = np.cumsum((ids != BOS) & (ids != EOS))
    ends = inner[ids == EOS]
    lengths = np.diff(ends, prepend=0)
    if len(ends):
        lengths[0] += going
        return lengths, int(inner[-1] - ends[-1])
    return lengths, going + (int(inner[-1]) if len(ids) else 0)


def _bins(lengths: np.ndarray) -> np.ndarray:
    """The power of two that is not below each length."""
    powers: np.ndarray = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    return powers


class Seen:
    """Hashes of sequences; when there are too many, only those that begin with `shift` zero bits are kept.

    Copies of a sequence have equal hashes, so they are kept or dropped together and the rates stay unbiased.
    """

    def __init__(self) -> None:
        self.values = np.empty(0, np.uint64)  # sorted, distinct
        self.counts = np.empty(0, np.int64)
        self.shift = 0
        self._waiting: list[np.ndarray] = []  # merged when they are many: sorting once a block would be slow

    def add(self, found: np.ndarray) -> None:
        """Remember these hashes."""
        self._waiting.append(found[_kept(found, self.shift)])
        if sum(map(len, self._waiting)) > SAMPLE // 2:
            self.merge()

    def merge(self) -> None:
        """Sort in what was added."""
        everything = np.concatenate([self.values, *self._waiting])
        weights = np.concatenate([self.counts, np.ones(len(everything) - len(self.counts), np.int64)])
        self.values, place = np.unique(everything, return_inverse=True)
        self.counts = np.bincount(place, weights, len(self.values)).astype(np.int64)
        self._waiting = []
        while len(self.values) > SAMPLE:
            kept = _kept(self.values, self.shift + 1)
            self.values, self.counts, self.shift = self.values[kept], self.counts[kept], self.shift + 1

    @property
    def duplicates(self) -> int:
        """Sequences that came before."""
        self.merge()
        return int((self.counts - 1).sum()) << self.shift

    def shared(self, other: Seen) -> int:
        """How many of these sequences are in `other` too."""
        self.merge()
        other.merge()
        shift = max(self.shift, other.shift)
        inside = np.isin(self.values, other.values) & _kept(self.values, shift)
        return int(self.counts[inside].sum()) << shift


def _kept(values: np.ndarray, shift: int) -> np.ndarray:
    """Those that begin with `shift` zero bits."""
    return values >> np.uint64(64 - shift) == 0 if shift else np.ones(len(values), np.bool_)


def fit_zipf(counts: np.ndarray) -> Zipf:
    """The line through counts over ranks, fitted at ranks evenly spread on the logarithmic scale."""
    ranked = np.sort(counts[counts > 0])[::-1]
    if len(ranked) < 2:
        return Zipf(0.0, tuple((1, int(count)) for count in ranked))
    ranks = np.unique(np.geomspace(1, len(ranked), 50).round().astype(np.int64))
    slope = np.polyfit(np.log(ranks), np.log(ranked[ranks - 1]), 1)[0]
    tens = [10**power for power in range(19) if 10**power <= len(ranked)]
    return Zipf(float(slope), tuple((rank, int(ranked[rank - 1])) for rank in tens))
