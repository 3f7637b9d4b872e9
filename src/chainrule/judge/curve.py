"""Learning curves: what more data would bring, and from how much data on another model is the better one.

Measured at a few sizes of training data, held-out bits fall like floor + scale * symbols ** -power. For a given power
that is a straight line in symbols ** -power, whose best floor and scale follow at once; so powers are tried on a grid
that is made finer around the best one, and no search can go astray. A curve is fitted again to points that are drawn
around it; how far those fits lie apart says how far to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

DRAWS = 400  # fits to points that might have been measured instead
POWERS = np.geomspace(0.01, 2.0, 160)  # tried first; 0.01 is as good as flat
FINER, ROUNDS = 21, 3  # powers tried between two neighbours of the best one, and how often
NOISE = 0.005  # share of its bits by which a measured point is usually off: another seed, another order
BELIEF = 2  # how many spare points that expectation is worth
REACH = 1000.0  # times the largest measured size: beyond, nothing is said
TAIL = 0.025  # left out at either end
STEPS = 600  # places at which two curves are compared
SEED = 1


@dataclass(frozen=True)
class LearningCurve:
    """bits = floor + scale * symbols ** -power; a curve that does not fall has the scale 0."""

    floor: float  # what no amount of data goes below
    scale: float
    power: float
    points: tuple[tuple[float, float], ...]  # (symbols, bits), as measured, rising in symbols
    draws: np.ndarray = field(repr=False, compare=False)  # (DRAWS, 3) floor, scale, power of other such fits

    def predict(self, symbols: float | np.ndarray) -> np.ndarray:
        """Bits to expect after training on so many symbols."""
        return self.floor + self.scale * np.asarray(symbols, np.float64) ** -self.power

    def band(self, symbols: Sequence[float] | np.ndarray) -> list[tuple[float, float, float, float]]:
        """(symbols, low, middle, high) at each place; the curve lies between low and high in 95 of 100 cases."""
        places = np.asarray(symbols, np.float64)
        middle = self.predict(places)
        drawn = np.sort(self.drawn(places), 0)  # (DRAWS, places)
        skip = int(TAIL * len(drawn))
        low, high = np.minimum(drawn[skip], middle), np.maximum(drawn[-1 - skip], middle)
        return list(zip(*(one.tolist() for one in (places, low, middle, high)), strict=True))

    def drawn(self, symbols: np.ndarray) -> np.ndarray:
        """What the other fits expect (DRAWS, places)."""
        floor, scale, power = (column[:, None] for column in self.draws.T)
        return floor + scale * symbols**-power  # type: ignore[no-any-return]

    @property
    def measured(self) -> tuple[float, float]:
        """The smallest and the largest amount of data it was measured with."""
        return self.points[0][0], self.points[-1][0]


@dataclass(frozen=True)
class Crossing:
    """From how many symbols of training data on one model is better than another."""

    symbols: float
    low: float  # not below the smallest size that is compared
    high: float  # infinite: maybe never
    measured: bool  # whether both were measured around there; otherwise it is an extrapolation


def fitted(points: Iterable[tuple[float, float]], seed: int = SEED) -> LearningCurve | None:
    """The curve through (symbols, bits); with two sizes its floor is 0, with fewer there is none."""
    sound = sorted((float(n), float(bits)) for n, bits in points if n > 0 and math.isfinite(bits))
    symbols, bits = _sizes(sound)
    if len(symbols) < 2:
        return None
    rng = np.random.default_rng(seed)
    if len(symbols) == 2:
        (best,), draws = _through(symbols, bits[None], np.zeros(1)), _two(symbols, bits, rng)
    else:
        best, draws = _several(symbols, bits, rng)
    floor, scale, power = best.tolist()
    return LearningCurve(floor, scale, power, tuple(sound), draws)


def _sizes(points: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """The different sizes and the mean of what was measured at each."""
    pairs = np.array(points, np.float64).reshape(-1, 2)
    symbols, place = np.unique(pairs[:, 0], return_inverse=True)
    return symbols, np.bincount(place, pairs[:, 1], len(symbols)) / np.bincount(place, minlength=len(symbols))


def _several(
    symbols: np.ndarray, bits: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The best curve (3,), and those (DRAWS, 3) of points with as much noise as these seem to have."""
    (best,) = _least_squares(symbols, bits[None])
    floor, scale, power = best
    ideal = floor + scale * symbols**-power
    squares = ((bits - ideal) ** 2).sum() + BELIEF * (NOISE * bits.mean()) ** 2
    spare = max(0, len(symbols) - len(best)) + BELIEF
    noise = np.sqrt(
        squares / rng.chisquare(spare, (DRAWS, 1))
    )  # how large it is, few points hardly know either
    return best, _least_squares(symbols, ideal + noise * rng.normal(size=(DRAWS, len(symbols))))


def _two(symbols: np.ndarray, bits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Curves (DRAWS, 3) of two noisy points with any floor: two points do not know it."""
    drawn = bits * (1 + rng.normal(0.0, NOISE, (DRAWS, 2)))
    return _through(symbols, drawn, rng.uniform(0.0, 1.0, DRAWS) * drawn.min(1))


def _through(symbols: np.ndarray, bits: np.ndarray, floors: np.ndarray) -> np.ndarray:
    """The curves (rows, 3) with these floors (rows,) through two points, `bits` (rows, 2); flat if they rise."""
    above = bits - floors[:, None]  # (rows, 2)
    falls = (above[:, 0] > above[:, 1]) & (above[:, 1] > 0)
    ratio = np.divide(above[:, 0], above[:, 1], out=np.ones(len(bits)), where=falls)
    power = np.clip(np.log(ratio) / math.log(symbols[1] / symbols[0]), POWERS[0], POWERS[-1])
    curves = np.stack([floors, above[:, 1] * symbols[1] ** power, power], 1)
    flat = np.stack([bits.mean(1), np.zeros(len(bits)), power], 1)
    return np.where(falls[:, None], curves, flat)


def _least_squares(symbols: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """The curves (rows, 3) that are nearest to `bits` (rows, points), with no floor or scale below 0."""
    middle = math.exp(np.log(symbols).mean())
    tried = np.broadcast_to(POWERS, (len(bits), len(POWERS)))  # (rows, powers)
    step = POWERS[1] / POWERS[0]
    for turn in range(1 + ROUNDS):
        floor, scale, error = _lines((symbols / middle) ** -tried[..., None], bits)
        best = error.argmin(1)[:, None]
        found = [np.take_along_axis(one, best, 1) for one in (floor, scale, tried)]
        if turn < ROUNDS:
            tried = np.clip(found[2] * np.geomspace(1 / step, step, FINER), POWERS[0], POWERS[-1])
            step **= 2 / (FINER - 1)
    floor, scale, power = (one[:, 0] for one in found)
    return np.stack([floor, scale * middle**power, power], 1)


def _lines(shapes: np.ndarray, bits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Floor, scale and squared error (rows, powers) of the best lines over `shapes` (rows, powers, points)."""
    values = bits[:, None]  # (rows, 1, points)
    mean, level = shapes.mean(-1), values.mean(-1)
    around = shapes - mean[..., None]
    scale = (around * values).sum(-1) / (around**2).sum(-1)
    alone = (shapes * values).sum(-1) / (shapes**2).sum(-1)  # without a floor
    below = level < scale * mean
    scale = np.maximum(0.0, np.where(below, alone, scale))
    floor = np.where(below, 0.0, level - scale * mean)
    error = ((floor[..., None] + scale[..., None] * shapes - values) ** 2).sum(-1)
    return floor, scale, error


def crossing(first: LearningCurve, second: LearningCurve) -> Crossing | None:
    """From how much data on the first, worse with little, is better than the second.

    None where that does not happen up to 1,000 times the data measured, or happens in less than half of the draws.
    A draw in which the first is ahead from the beginning pulls `low` to the smallest size, and one in which it
    never gets ahead pulls `high` to infinity.
    """
    begin = min(first.measured[0], second.measured[0])
    end = max(first.measured[1], second.measured[1])
    places = np.geomspace(begin, REACH * end, STEPS)
    at = float(_falls(places, (first.predict(places) - second.predict(places))[None])[0])
    apart = (
        first.drawn(places) - second.drawn(places)[::-1]
    )  # turned round: one seed drew both in the same order
    drawn = np.sort(_falls(places, apart))  # (DRAWS,)
    if not begin < at < math.inf or math.isinf(drawn[len(drawn) // 2]):
        return None
    skip = int(TAIL * len(drawn))
    low, high = min(at, float(drawn[skip])), max(at, float(drawn[-1 - skip]))
    lowest = max(first.measured[0], second.measured[0])
    highest = min(first.measured[1], second.measured[1])
    return Crossing(at, low, high, lowest <= at <= highest)


def _falls(places: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Where each row of `gaps` (rows, places) first falls below 0; the first place if it always lies there."""
    ahead = gaps < 0
    down = ~ahead[:, :-1] & ahead[:, 1:]  # (rows, places - 1)
    at = down.argmax(1)
    before, after = (np.take_along_axis(gaps, at[:, None] + step, 1)[:, 0] for step in (0, 1))
    share = np.divide(before, before - after, out=np.zeros(len(gaps)), where=(before >= 0) & (after < 0))
    logs = np.log(places)
    found = np.exp(logs[at] + share * (logs[at + 1] - logs[at]))
    return np.where(down.any(1), found, np.where(ahead.all(1), places[0], np.inf))
