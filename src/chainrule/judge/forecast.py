"""Forecasts of the next value, from a model over bins of numbers, beside what anybody could have guessed.

Before every held-out value a model has said how probable each bin is. That gives quantiles: the median is a forecast,
and between the lowest and the highest tenth should lie 80 of 100 values. Two rivals know no model at all: the last
value again, and the value one season ago.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from chainrule.errors import DataError, ModelError
from chainrule.models.base import (
    BATCH,
    CHUNK,
    LONG,
    WARM,
    WINDOW,
    Model,
    in_batches,
    sequences,
    stretches,
)
from chainrule.symbols import BOS, FIRST, PAD

if TYPE_CHECKING:
    from torch import Tensor

LEVELS = (0.1, 0.5, 0.9)
LAGS = 1000  # the longest season looked for
CYCLES = 3  # how often a season must have come round
MANY = 200  # sequences looked at, the longest ones
LIKE = (
    0.2  # correlation from which on values a season apart are alike, and by how much more than others between
)


class Binned(Protocol):
    """Where bins begin and what stands for them: `codec.bins` of the numbers codec."""

    @property
    def edges(self) -> Sequence[float]:
        """Bins + 1, rising."""

    @property
    def values(self) -> Sequence[float]:
        """One a bin."""


@dataclass(frozen=True)
class Foresight:
    """How near forecasts came, each figure over the same held-out values: all but the first of each sequence."""

    mae: float  # mean absolute error of the median
    coverage: float  # share of values between the 10 % and the 90 % quantile; 0.8 would be just right
    naive_mae: float  # of the last value again
    seasonal_mae: (
        float | None
    )  # of the value a season ago, or the last one where a sequence is not yet that long
    season: int | None  # None: the training values show none
    count: int  # how many values were forecast


def foresight(
    model: Model, ids: np.ndarray, values: np.ndarray, bins: Binned, season: int | None = None
) -> Foresight:
    """Judge forecasts of `values`, the numbers of flat sequences `ids` before they were put into bins."""
    held = np.asarray(values, np.float64)
    lengths = _lengths(np.asarray(ids), len(held))
    naive = _ago(held, lengths, 1)
    known = ~np.isnan(naive)
    if not known.any():
        raise DataError("Forecasts are judged from the second value of a sequence on, and none has two.")
    low, middle, high = quantiles(model, ids, bins)[known].T
    truth = held[known]
    return Foresight(
        mae=_error(middle, truth),
        coverage=float(((low <= truth) & (truth <= high)).mean()),
        naive_mae=_error(naive[known], truth),
        seasonal_mae=None if season is None else _error(_seasonal(held, lengths, season)[known], truth),
        season=season,
        count=int(known.sum()),
    )


def quantiles(
    model: Model, ids: np.ndarray, bins: Binned, levels: Sequence[float] = LEVELS, batch: int = BATCH
) -> np.ndarray:
    """What was expected before each value of flat sequences `BOS … EOS`: (values, levels), in units of the data.

    That a sequence might have ended is left out: a value is what is asked for.
    """
    ids = np.asarray(ids)
    found = np.empty((len(ids), len(levels)))
    edges, middles = np.asarray(bins.edges, np.float64), np.asarray(bins.values, np.float64)
    with model.answering():
        for places, logits in distributions(model, ids, batch):
            chances = _chances(logits[:, FIRST : FIRST + len(middles)])
            found[places] = _inverse(chances, edges, middles, levels)
    return found[ids >= FIRST]


def distributions(model: Model, ids: np.ndarray, batch: int = BATCH) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Places (n,) of values in flat sequences, and the logits (n, V) before each; together they are all values.

    Rows are read by the rules of `score_ids`: side by side, in windows, and anew where a model can hold no more.
    """
    if model.reads != "left":
        raise ModelError(
            "Forecasts come from models that read left to right. This one sees what comes after a value."
        )
    carry = bool(getattr(model.config, "carry", False))
    begin, fresh, length = _carried(len(ids)) if carry else _apart(model, ids)
    for rows in in_batches(np.argsort(length, kind="stable"), batch):
        yield from _read(model, ids, begin[rows, None], fresh[rows, None], length[rows, None], not carry)


def _apart(model: Model, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where rows begin, what is read again and how long they are (rows,), each sequence by itself."""
    starts, lengths = sequences(ids)
    long = model.context is None and lengths.max(initial=0) > LONG
    cut = stretches(lengths - 1, LONG, WARM) if long else stretches(lengths - 1, model.context)
    return starts[cut.sequence] + cut.offset, cut.fresh, cut.length


def _carried(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same where memory goes on from sequence to sequence."""
    begin = np.arange(0, max(1, size - 1 - WARM), LONG - WARM)
    return begin, np.where(begin > 0, WARM, 0), np.minimum(LONG, size - 1 - begin)


def _read(
    model: Model, ids: np.ndarray, begin: np.ndarray, fresh: np.ndarray, length: np.ndarray, anew: bool
) -> Iterator[tuple[np.ndarray, Tensor]]:
    """The values of some rows (B, 1), window by window; `anew`: each row begins as if with BOS."""
    import torch

    state = model.start(len(begin))
    longest = int(length.max(initial=0))
    width = min(WINDOW, max(1, CHUNK // (len(begin) * model.config.alphabet)))
    for column in range(0, longest, width):
        columns = np.arange(column, min(column + width, longest))[None]
        real = columns < length  # (B, T)
        place = np.where(real, begin + columns, 0)
        read = np.where((columns == 0) & anew, BOS, ids[place])
        tokens = torch.as_tensor(np.where(real, read, PAD), dtype=torch.long, device=model.device)
        hidden, state = model.read(tokens, state)  # (B, T, D)
        wanted = real & (columns >= fresh) & (ids[np.where(real, place + 1, 0)] >= FIRST)
        if wanted.any():
            chosen = hidden[torch.as_tensor(wanted, device=hidden.device)]  # (n, D)
            yield place[wanted] + 1, model.logits(chosen[None])[0]


def _chances(logits: Tensor) -> np.ndarray:
    """Probabilities (n, bins) float64 of values; all alike where a model thinks that there can be none."""
    import torch

    logs = logits.double().cpu()
    chances = torch.softmax(logs, 1).numpy()
    return np.where(np.isnan(chances), 1 / chances.shape[1], chances)


def _inverse(
    chances: np.ndarray, edges: np.ndarray, values: np.ndarray, levels: Sequence[float]
) -> np.ndarray:
    """Quantiles (n, levels): values are spread evenly within a bin, but for bins that hold one value each."""
    single = (
        edges[0] == values[0] and edges[-1] == values[-1]
    )  # so the codec makes bins of few different values
    below = np.cumsum(chances, 1)  # (n, bins)
    rows, columns = np.arange(len(chances)), []
    for level in levels:
        bin = np.minimum((below < level).sum(1), len(values) - 1)  # (n,)
        inside = chances[rows, bin]
        share = np.divide(level - below[rows, bin] + inside, inside, out=np.ones(len(rows)), where=inside > 0)
        spread = edges[bin] + np.clip(share, 0, 1) * (edges[bin + 1] - edges[bin])
        columns.append(values[bin] if single else spread)
    return np.stack(columns, 1)


def _lengths(ids: np.ndarray, count: int) -> np.ndarray:
    """How many values each sequence has."""
    inner = ids >= FIRST
    if int(inner.sum()) != count:
        raise ModelError(
            f"A value for each of {int(inner.sum()):,} symbols was expected, and {count:,} came. "
            "Give the numbers that these ids were made of."
        )
    return np.bincount(np.cumsum(ids == BOS)[inner] - 1, minlength=int((ids == BOS).sum()))


def _ago(values: np.ndarray, lengths: np.ndarray, steps: int) -> np.ndarray:
    """For each value the one so many steps before it in its sequence; NaN where there is none."""
    place = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.where(place >= steps, np.roll(values, steps), np.nan)


def _seasonal(values: np.ndarray, lengths: np.ndarray, season: int) -> np.ndarray:
    ago = _ago(values, lengths, season)
    return np.where(np.isnan(ago), _ago(values, lengths, 1), ago)


def _error(forecasts: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(forecasts - truth).mean())


def season(values: np.ndarray, lengths: Sequence[int] | np.ndarray | None = None) -> int | None:
    """After how many steps values come round, from sequences of these lengths; None if they do not.

    It is a distance at which values are more alike than at shorter ones, and at two and three times that distance too:
    chance rarely comes round three times.
    """
    held = np.asarray(values, np.float64)
    parts = np.split(held, np.cumsum([len(held)] if lengths is None else lengths)[:-1])
    most = min(LAGS, max(len(part) for part in parts) // CYCLES)
    if most < 2:
        return None
    alike = _correlations(sorted(parts, key=len)[-MANY:], CYCLES * (most + 1) + 1)
    again = alike[np.outer(np.arange(1, CYCLES + 1), np.arange(most + 2))].mean(
        0
    )  # at multiples of each distance
    lags = np.arange(2, most + 1)
    apart = np.minimum.accumulate(again)[lags - 1]  # the least alike at a shorter distance
    peak = (again[lags] > again[lags - 1]) & (again[lags] >= again[lags + 1])
    return _shortest(again, lags[peak & (again[lags] > LIKE) & (again[lags] - apart > LIKE)])


def _shortest(alike: np.ndarray, lags: np.ndarray) -> int | None:
    """Of distances at which values are about equally alike the shortest: the others are multiples of it."""
    if not len(lags):
        return None
    first = int(lags[alike[lags] > 0.75 * alike[lags].max()][0])
    near = lags[np.abs(lags - first) <= first // 4]  # noise makes several peaks of one
    return int(near[alike[near].argmax()])


def _correlations(parts: Sequence[np.ndarray], most: int) -> np.ndarray:
    """How alike values are (most,) that lie 0, 1, 2 … steps apart, over all sequences, trends left out.

    Sums are divided by how many values there are, not by how many pairs: few pairs prove little.
    """
    total = np.zeros(most)
    for part in parts:
        power = np.abs(np.fft.rfft(_level(part), len(part) + most)) ** 2
        total += np.fft.irfft(power, len(part) + most)[:most]
    return total / total[0] if total[0] > 0 else total


def _level(values: np.ndarray) -> np.ndarray:
    """Values without their mean and their straight trend."""
    around = values - values.mean() if len(values) else values
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    slope = (around @ steps) / max(1.0, steps @ steps)
    flat: np.ndarray = around - slope * steps
    return np.where(np.abs(flat) > 1e-9 * np.abs(values).max(initial=0), flat, 0.0)
