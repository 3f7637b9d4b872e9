"""Support vector machine with squared hinge loss, ridge regression: dual coordinate descent (Hsieh et al. 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chainrule.models.bag.features import first_ones
from chainrule.runtime import compiled


@dataclass(frozen=True)
class Rows:
    """Which n-grams every text has, each once: those of text i are `index[starts[i]:starts[i + 1]]`."""

    starts: np.ndarray  # (texts + 1,) int64
    index: np.ndarray  # (entries,) int64
    kinds: np.ndarray  # (F,) 0 or 1: n-grams of one kind are scaled together

    @classmethod
    def of(cls, index: np.ndarray, sequences: np.ndarray, texts: int, kinds: np.ndarray) -> Rows:
        """From n-grams in the order of the text; unknown ones are -1."""
        keep = first_ones(index, sequences, len(kinds))
        counts = np.bincount(sequences[keep], minlength=texts)
        return cls(np.concatenate([[0], np.cumsum(counts)]), index[keep], kinds)

    @property
    def size(self) -> int:
        """F, how many n-grams there are."""
        return len(self.kinds)

    @property
    def blocks(self) -> np.ndarray:
        """(entries,) what is scaled together: the n-grams of one kind in one text."""
        sizes = np.diff(self.starts)
        found: np.ndarray = 2 * np.repeat(np.arange(len(sizes)), sizes) + self.kinds[self.index]
        return found

    @cached_property
    def counts(self) -> np.ndarray:
        """(F,) in how many texts each n-gram is."""
        return np.bincount(self.index, minlength=self.size)

    def of_texts(self, texts: np.ndarray) -> Rows:
        """These texts (k,) alone, in this order."""
        sizes = np.diff(self.starts)[texts]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.arange(ends[-1]) + np.repeat(self.starts[texts] - ends[:-1], sizes)
        return Rows(ends, self.index[entries], self.kinds)

    def ratios(self, own: np.ndarray) -> np.ndarray:
        """Log-count ratio (F,) of every n-gram: how much more usual it is in the texts (n,) that are `own`."""
        mine = self.of_texts(np.flatnonzero(own)).counts
        ours, theirs = mine + 1.0, self.counts - mine + 1.0
        found: np.ndarray = np.log(ours / ours.sum()) - np.log(theirs / theirs.sum())
        return found.astype(np.float32)


def solve(
    rows: Rows, ratios: np.ndarray, own: np.ndarray, costs: np.ndarray, passes: int
) -> tuple[np.ndarray, float]:
    """Weights (F,) and bias that tell texts (n,) that are `own` from the others; `costs` (n,) of their errors."""
    signs, weights = np.where(own, 1.0, -1.0), np.zeros(rows.size + 1)
    values = scaled(rows.blocks, ratios[rows.index])
    _descend(rows.starts, rows.index, values, signs, costs, _orders(len(own), passes), weights)
    return weights[:-1].astype(np.float32), float(weights[-1])


def ridge(rows: Rows, wanted: np.ndarray, cost: float, passes: int) -> tuple[np.ndarray, float]:
    """Weights (F,) and bias whose sums are near the numbers wanted (n,): min |w|^2 / 2 + cost * squared errors."""
    weights, values = np.zeros(rows.size + 1), scaled(rows.blocks, np.ones(len(rows.index)))
    _regress(rows.starts, rows.index, values, wanted, cost, _orders(len(wanted), passes), weights)
    return weights[:-1].astype(np.float32), float(weights[-1])


def scaled(blocks: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values (entries,) of n-grams, those of every block divided by their norm."""
    squares = np.bincount(blocks, values.astype(np.float64) ** 2)
    found: np.ndarray = values / np.sqrt(np.maximum(squares, 1e-12))[blocks]
    return found


def _orders(count: int, passes: int) -> np.ndarray:
    """(passes, count) texts in another order every pass."""
    return np.random.default_rng(0).permuted(np.tile(np.arange(count), (passes, 1)), axis=1)


@compiled
def _descend(
    starts: np.ndarray,
    index: np.ndarray,
    values: np.ndarray,
    signs: np.ndarray,
    costs: np.ndarray,
    order: np.ndarray,
    weights: np.ndarray,
) -> None:
    """One text after another, in the `order` (passes, texts): the best step in its dual variable."""
    duals = np.zeros(len(signs))
    bias = len(weights) - 1
    for turn in range(order.shape[0]):
        for at in order[turn]:
            slack = 0.5 / costs[at]
            margin, square = weights[bias], 1.0 + slack
            for entry in range(starts[at], starts[at + 1]):
                margin += weights[index[entry]] * values[entry]
                square += values[entry] * values[entry]
            gradient = signs[at] * margin - 1.0 + slack * duals[at]
            moved = max(duals[at] - gradient / square, 0.0)
            change = (moved - duals[at]) * signs[at]
            duals[at] = moved
            if change != 0.0:
                for entry in range(starts[at], starts[at + 1]):
                    weights[index[entry]] += change * values[entry]
                weights[bias] += change


@compiled
def _regress(
    starts: np.ndarray,
    index: np.ndarray,
    values: np.ndarray,
    wanted: np.ndarray,
    cost: float,
    order: np.ndarray,
    weights: np.ndarray,
) -> None:
    """As `_descend`; a dual variable may have any sign."""
    duals = np.zeros(len(wanted))
    slack, bias = 0.5 / cost, len(weights) - 1
    for turn in range(order.shape[0]):
        for at in order[turn]:
            found, square = weights[bias], 1.0 + slack
            for entry in range(starts[at], starts[at + 1]):
                found += weights[index[entry]] * values[entry]
                square += values[entry] * values[entry]
            change = (wanted[at] - found - slack * duals[at]) / square
            duals[at] += change
            for entry in range(starts[at], starts[at + 1]):
                weights[index[entry]] += change * values[entry]
            weights[bias] += change
