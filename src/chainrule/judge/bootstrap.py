"""Bootstrap: 95 % confidence intervals, and whether two models really differ, by drawing held-out sequences again.

Bits per byte or symbol are a ratio of two sums over sequences. So whole sequences are drawn with replacement and both
sums are taken again, which respects that symbols of one sequence hang together. Of two models the difference is drawn,
sequence by sequence: what is hard for both cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from chainrule.errors import DataError, ModelError

RESAMPLES = 2000
TAIL = 0.025  # left out at either end
MOST = 2000  # sequences drawn from; where there are more, neighbours are drawn together
CELLS = 1 << 20  # places drawn at once
BLOCKS, LEAST = 100, 20  # of one long sequence: most blocks, and fewest symbols in each
NORMAL = 1.959964  # where a normal distribution leaves TAIL
# The same of Student's distribution with 1, 2, … degrees of freedom.
STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)


@dataclass(frozen=True)
class Interval:
    """A figure, and between which values it lies in 95 of 100 such measurements."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference(Interval):
    """How much more one model needs than another; negative: it needs less."""

    p_values: Mapping[str, float] = field(
        default_factory=dict
    )  # by test, where tests were made; the first decides

    @property
    def real(self) -> bool:
        """Whether other held-out sequences would hardly have turned it round: p < 0.05, or 0 lies outside."""
        for p in self.p_values.values():
            return p < 2 * TAIL
        return self.low > 0 or self.high < 0


def interval(bits: np.ndarray, sizes: np.ndarray, seed: int = 1) -> Interval:
    """Bits per unit of sequences that cost `bits` (S,) and have `sizes` (S,) units, bytes or symbols.

    Where a symbol had probability zero, the figure is infinite, and both ends are. One sequence says nothing
    about others: from 0 to infinite.
    """
    bits, sizes = _checked(bits, sizes)
    value = float(bits.sum() / sizes.sum())
    low, high = _ends(value, bits, sizes, seed)
    return Interval(value, max(0.0, low), high)


def difference(bits: np.ndarray, others: np.ndarray, sizes: np.ndarray, seed: int = 1) -> Difference:
    """How many bits per unit more than another model, which needs `others` (S,) for the same sequences.

    Of two models that both gave a symbol probability zero nothing can be said: 0, from -infinite to infinite.
    """
    bits, sizes = _checked(bits, sizes)
    others, _ = _checked(others, sizes)
    if np.array_equal(bits, others):
        return Difference(0.0, 0.0, 0.0)
    if np.isinf(bits).any() and np.isinf(others).any():
        return Difference(0.0, -math.inf, math.inf)
    apart = bits - others
    value = float(apart.sum() / sizes.sum())
    return Difference(value, *_ends(value, apart, sizes, seed))


def ends(drawn: np.ndarray) -> tuple[float, float]:
    """The interval of a figure from the values (R,) it had on test sets drawn with replacement."""
    low, high = np.nanquantile(drawn, (TAIL, 1 - TAIL))
    return float(low), float(high)


def drawn_difference(value: float, drawn: np.ndarray, other: float, others: np.ndarray) -> Difference:
    """How much more of a figure one model has than another, from the values (R,) of both on the same draws."""
    count = min(len(drawn), len(others))
    if not count:
        return Difference(value - other, -math.inf, math.inf)
    return Difference(value - other, *ends(drawn[:count] - others[:count]))


def blocks(bits: np.ndarray, sizes: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Cut one long sequence into blocks which stand for sequences: their bits and their sizes.

    `bits` (T,) are those of its symbols, `sizes` (T,) how many units each has; one if not given. Blocks have about as
    many units each. Neighbours hang together, so blocks are long rather than many: a hundred, or fewer of about 20
    symbols.
    """
    bits, sizes = _checked(bits, np.ones(len(bits)) if sizes is None else sizes)
    count = min(BLOCKS, max(1, len(bits) // LEAST))
    ends = np.cumsum(sizes)
    begins = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
    begins = np.unique(np.append(0, begins))
    return np.add.reduceat(bits, begins), np.add.reduceat(sizes, begins)


def paired(
    bits: np.ndarray, sizes: np.ndarray, others: np.ndarray, whose: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What `difference` takes, from two models whose blocks (S,) and (R,) of the same text may differ in number."""
    count = min(len(bits), len(others))
    scale = sizes.sum() / whose.sum()
    return _bundled(bits, count), scale * _bundled(others, count), _bundled(sizes, count)


def _checked(bits: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both as floats, after a look at whether a figure can be made of them."""
    bits, sizes = np.asarray(bits, np.float64), np.asarray(sizes, np.float64)
    if bits.ndim != 1 or bits.shape != sizes.shape:
        raise ModelError(f"One size for each sequence was expected, not {sizes.shape} for {bits.shape}.")
    if np.isnan(bits).any():
        raise ModelError("Bits were expected, not NaN: the model diverged. Fit it again.")
    if not sizes.sum() > 0 or not (sizes >= 0).all():
        raise DataError("There is nothing to judge: the held-out part has no symbols. Hold out more.")
    return bits, sizes


def _bundled(values: np.ndarray, count: int) -> np.ndarray:
    """Sums over `count` runs of neighbours, all about equally long; as they are where there are no more than that."""
    if len(values) <= count:
        return values
    return np.add.reduceat(values, np.arange(count) * len(values) // count)


def _ends(value: float, bits: np.ndarray, sizes: np.ndarray, seed: int) -> tuple[float, float]:
    """Both ends of the interval: quantiles of what was drawn, pushed outwards where sequences are few."""
    if math.isinf(value):
        return value, value
    if len(bits) < 2:
        return -math.inf, math.inf
    drawn = np.sort(_drawn(_bundled(bits, MOST), _bundled(sizes, MOST), seed))  # (RESAMPLES,)
    skip, stretch = int(TAIL * RESAMPLES), _stretch(len(bits))
    below, above = max(0.0, value - drawn[skip]), max(0.0, drawn[-1 - skip] - value)
    return float(value - stretch * below), float(value + stretch * above)


def _drawn(bits: np.ndarray, sizes: np.ndarray, seed: int) -> np.ndarray:
    """The figure (RESAMPLES,) of sequences drawn with replacement; the same seed draws the same ones."""
    rng = np.random.default_rng(seed)
    count, rows = len(bits), max(1, CELLS // len(bits))
    parts = []
    for begin in range(0, RESAMPLES, rows):
        chosen = rng.integers(0, count, (min(rows, RESAMPLES - begin), count))
        parts.append(_shares(bits[chosen].sum(1), sizes[chosen].sum(1)))
    return np.concatenate(parts)


def _shares(totals: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Totals by sizes; of nothing it is 0, and something in no unit at all is infinite."""
    empty = np.where(totals == 0, 0.0, np.copysign(np.inf, totals))
    return np.divide(totals, sizes, out=empty, where=sizes > 0)  # type: ignore[no-any-return]


def _stretch(count: int) -> float:
    """By how much intervals drawn from `count` sequences are too narrow.

    Drawing knows neither that the spread is estimated (Student's quantile in place of the normal one) nor that it is
    estimated around the sample's own mean (count by count - 1).
    """
    free = count - 1
    series = NORMAL + 2.3723 / free + 2.8225 / free**2  # Fisher's expansion of Student's quantile
    quantile = STUDENT[free - 1] if free <= len(STUDENT) else series
    return quantile / NORMAL * math.sqrt(count / free)
