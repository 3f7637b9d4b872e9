"""Series of numbers, before anything is learnt from them: gaps, lags, and the season they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chainrule.runtime import compiled

LAGS = 1000  # the longest season looked for
CYCLES = 3  # how often a season must have come round
MANY = 200  # sequences looked at, the longest ones
LIKE = (
    0.2  # correlation from which on values a season apart are alike, and by how much more than others between
)
EARLY, FORGETTING, TINY = (
    8,
    0.05,
    1e-12,
)  # distances that a scale needs, the weight of the last, the smallest scale
UNLIKE = 1.5  # times as large as another: series of unlike size are scaled
WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)  # of the last value in a level, that are tried


def ago(values: np.ndarray, lengths: np.ndarray, steps: int) -> np.ndarray:
    """For each value the one so many steps before it in its sequence; NaN where there is none."""
    place = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.where(place >= steps, np.roll(values, steps), np.nan)


def carried_forward(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Missing values (NaN) as the last one that is known in their sequence; NaN where there is none before."""
    place = np.arange(len(values))
    begin = np.repeat(np.cumsum(lengths) - lengths, lengths)
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, place))
    return np.where(last >= begin, values[np.maximum(last, 0)], np.nan)


@dataclass(frozen=True)
class Level:
    """What is expected of a value before a model has looked: the smoothed level of those a lag, two lags … before it.

    Level = level + weight * (value - level), one for each place in the lag (simple exponential smoothing by season).
    With weight 1 it is the value one lag before; with lag 0 there is none, and the level is 0. Where series of several
    sizes are `scaled`, distances are divided by the mean of those before, smoothed too.
    """

    lag: int = 0
    weight: float = 1.0
    scaled: bool = False

    def before(self, values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each value (T,) of sequences of these lengths level and scale before it; NaN where there is none yet."""
        if not self.lag:
            return np.zeros(len(values)), np.ones(len(values))
        level, scale = np.full(len(values), np.nan), np.full(len(values), np.nan if self.scaled else 1.0)
        held, sizes = np.asarray(values, np.float64), np.asarray(lengths, np.int64)
        _smooth(held, sizes, self.lag, self.weight, level)
        if self.scaled:
            _spread(np.abs(held - level), sizes, scale)
        return level, scale

    def apart(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """How far each value is from its level, in units of its scale."""
        level, scale = self.before(values, lengths)
        found: np.ndarray = (values - level) / scale
        return found

    def known(self, values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for values that have a level, and how many of them each sequence has; the first ones have none."""
        has = self.has(values, lengths)
        sequence = np.repeat(np.arange(len(lengths)), lengths)[has]
        return self.apart(values, lengths)[has], np.bincount(sequence, minlength=len(lengths))

    def has(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Which values (T,) have a level and a scale before them."""
        level, scale = self.before(values, lengths)
        found: np.ndarray = ~np.isnan(level + scale)
        return found

    def after(self, values: np.ndarray) -> tuple[np.ndarray, float]:
        """The levels of the next `lag` values after one sequence, and the scale; NaN where none is known."""
        more = np.concatenate([values, np.full(self.lag, np.nan)])
        level, scale = self.before(more, np.array([len(more)]))
        return level[len(values) :], float(scale[len(values)]) if self.lag else 1.0

    def spreads(self, values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """How far values are from their level in each sequence, as a standard deviation."""
        if not self.lag:  # bins of all series together would have to tell them apart
            return np.array([np.nanstd(values)] * len(lengths) if np.isfinite(values).any() else [])
        parts = np.split(values - self.before(values, lengths)[0], np.cumsum(lengths)[:-1])
        known = [part[~np.isnan(part)] for part in parts]
        return np.array([part.std() if len(part) > 1 else np.nan for part in known])


@compiled
def _smooth(values: np.ndarray, lengths: np.ndarray, lag: int, weight: float, found: np.ndarray) -> None:
    begin = 0
    for sequence in range(len(lengths)):
        for at in range(begin + lag, begin + lengths[sequence]):
            before, value = found[at - lag], values[at - lag]
            if np.isnan(value):
                found[at] = before
            elif np.isnan(before):
                found[at] = value
            else:
                found[at] = before + weight * (value - before)
        begin += lengths[sequence]


@compiled
def _spread(distances: np.ndarray, lengths: np.ndarray, found: np.ndarray) -> None:
    """The mean of the distances (T,) before each place of its sequence, older ones weighing less; not before EARLY."""
    begin = 0
    for sequence in range(len(lengths)):
        mean, count = 0.0, 0
        for at in range(begin, begin + lengths[sequence]):
            if count >= EARLY:
                found[at] = max(mean, TINY)
            if not np.isnan(distances[at]) and (count or distances[at] > 0):
                count += 1
                mean += (distances[at] - mean) * max(1.0 / count, FORGETTING)
        begin += lengths[sequence]


def best_level(values: np.ndarray, lengths: np.ndarray) -> Level:
    """The level that values are nearest to: none, a smoothed one, or one with the season that the values show."""
    period = season(values, lengths)
    lags = [1] if period is None else [1, period]
    candidates = [Level(), *(Level(lag, weight) for lag in lags for weight in WEIGHTS)]
    found = [one.spreads(values, lengths) for one in candidates]
    best = min(range(len(found)), key=lambda at: _typical(found[at]))
    sizes = found[best][found[best] > 0]
    scaled = bool(candidates[best].lag and len(sizes) > 1 and sizes.max() > UNLIKE * sizes.min())
    return replace(candidates[best], scaled=scaled)


def _typical(spreads: np.ndarray) -> float:
    """The geometric mean, so that large series do not decide for small ones."""
    known = spreads[~np.isnan(spreads)]
    return float(np.log(np.maximum(known, TINY)).mean()) if len(known) else np.inf


def season(values: np.ndarray, lengths: Sequence[int] | np.ndarray | None = None) -> int | None:
    """The season (period) of values, in steps, from sequences of these lengths; None if they have none.

    It is a distance at which values are more alike than at shorter ones, and at two and three times that distance too:
    chance rarely comes round three times.
    """
    held = np.asarray(values, np.float64)
    sizes = np.array([len(held)] if lengths is None else lengths)
    parts = np.split(_bridged(held, sizes), np.cumsum(sizes)[:-1])
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


def _bridged(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Missing values as those on the line between their neighbours; all are 0 where none is known."""
    if not np.isnan(values).any():
        return values
    parts = []
    for part in np.split(values, np.cumsum(lengths)[:-1]):
        known = np.flatnonzero(~np.isnan(part))
        line = np.interp(np.arange(len(part)), known, part[known]) if len(known) else np.zeros(len(part))
        parts.append(line)
    return np.concatenate(parts)


def _shortest(alike: np.ndarray, lags: np.ndarray) -> int | None:
    """Of distances at which values are about equally alike the shortest: the others are multiples of it."""
    if not len(lags):
        return None
    first = int(lags[alike[lags] > 0.75 * alike[lags].max()][0])
    near = lags[np.abs(lags - first) <= first // 4]  # noise makes several peaks of one
    return int(near[alike[near].argmax()])


def _correlations(parts: Sequence[np.ndarray], most: int) -> np.ndarray:
    """Autocorrelation (most,) at lags 0, 1, 2 …, over all sequences, trends left out.

    Sums are divided by how many values there are, not by how many pairs: few pairs prove little.
    """
    total = np.zeros(most)
    for part in parts:
        power = np.abs(np.fft.rfft(_level(part), len(part) + most)) ** 2
        total += np.fft.irfft(power, len(part) + most)[:most]
    return total / total[0] if total[0] > 0 else total


def _level(values: np.ndarray) -> np.ndarray:
    """Detrended values: without their mean and their linear trend."""
    around = values - values.mean() if len(values) else values
    steps = np.arange(len(values)) - (len(values) - 1) / 2
    slope = (around @ steps) / max(1.0, steps @ steps)
    flat: np.ndarray = around - slope * steps
    return np.where(np.abs(flat) > 1e-9 * np.abs(values).max(initial=0), flat, 0.0)
