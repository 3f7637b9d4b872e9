"""Two texts with one answer: each `BOS … EOS` by itself, or both together as `BOS a EOS b EOS`.

Of texts that are longer than a model can hold, every window of one is read beside every window of the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from chainrule.data.corpus import Corpus
from chainrule.data.labelled import FRAME, WindowedBatches, Windows, room, windowed
from chainrule.errors import ConfigError
from chainrule.symbols import BOS, EOS, PAD

SECOND = "second"  # what is read beside the first text of each pair: (B, S)
TOGETHER = 3  # BOS and two EOS


class PairBatches(WindowedBatches):
    """Pairs of texts, those of similar length side by side; `together`: as one sequence."""

    def __init__(
        self,
        texts: tuple[Corpus, Corpus],
        together: bool,
        answers: np.ndarray,
        rows: int,
        longest: int | None = None,
        seed: int = 0,
        extra: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.ids, self.starts = [one.ids for one in texts], [one.starts for one in texts]
        self.together = together
        lengths = (texts[0].lengths, texts[1].lengths)
        held = shared(*lengths, longest) if together else apart(*lengths, longest)
        self.sides = [Windows.holding(*one) for one in zip(lengths, held, strict=True)]
        self.beside = crossed(*(np.bincount(one.rows, minlength=len(answers)) for one in self.sides))
        sizes = sum(one.sizes[own] for one, own in zip(self.sides, self.beside, strict=True))
        super().__init__(self.sides[0].rows[self.beside[0]], np.asarray(sizes), answers, rows, seed, extra)

    def tokens(self, some: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        first, second = (
            windowed(ids, starts, windows, own[some])
            for ids, starts, windows, own in zip(self.ids, self.starts, self.sides, self.beside, strict=True)
        )
        return (one_after_another(first, second), {}) if self.together else (first, {SECOND: second})


def apart(first: np.ndarray, second: np.ndarray, longest: int | None) -> tuple[np.ndarray, np.ndarray]:
    """How many symbols of each text (N,) stand in a window of its own."""
    most = room(longest) if longest else None
    return (first, second) if most is None else (np.minimum(first, most), np.minimum(second, most))


def shared(first: np.ndarray, second: np.ndarray, longest: int | None) -> tuple[np.ndarray, np.ndarray]:
    """How many symbols of each text (N,) stand in a window of both: half of it, or what the other leaves."""
    if longest is None:
        return first, second
    most = longest - TOGETHER
    if most < 2:
        raise ConfigError(f"A context of {longest} has no room for two texts: give at least {TOGETHER + 2}.")
    own = np.minimum(first, np.maximum(most - most // 2, most - second))
    return own, np.minimum(second, most - own)


def crossed(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every window of one text beside every window of the other, by how many (N,) each pair has of them."""
    counts = first * second
    rows = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    before = [np.cumsum(one) - one for one in (first, second)]
    return before[0][rows] + place // second[rows], before[1][rows] + place % second[rows]


def one_after_another(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows `BOS a EOS` (B, T) and `BOS b EOS` (B, S) as `BOS a EOS b EOS`, padded on the right."""
    sizes, others = ((one != PAD).sum(1) for one in (first, second))
    found = np.full((len(first), int((sizes + others).max(initial=1)) - 1), PAD, np.int64)
    for row, (size, other) in enumerate(zip(sizes.tolist(), others.tolist(), strict=True)):
        found[row, :size] = first[row, :size]
        found[row, size : size + other - 1] = second[row, 1:other]
    return found


def joined(first: Corpus, second: Corpus) -> Corpus:
    """All pairs as sequences `BOS a EOS b EOS`: what readers that count learn from."""
    own, others = first.lengths + FRAME, second.lengths + FRAME - 1
    starts = np.cumsum(own + others) - own - others
    ids = np.empty(int((own + others).sum()), np.int32)
    ids[_places(starts, own)] = first.ids
    ids[_places(starts + own, others)] = second.ids[second.ids != BOS]
    assert not len(ids) or ids[-1] == EOS
    return replace(first, ids=ids, bytes=first.bytes + second.bytes, unknown=first.unknown + second.unknown)


def _places(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """All places of runs that begin at `starts` (N,) and have `sizes` (N,)."""
    found: np.ndarray = np.arange(int(sizes.sum())) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return found
