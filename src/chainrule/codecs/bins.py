"""Bins of numbers: where they begin and what value stands for each."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np

from chainrule.seasons import Level

if TYPE_CHECKING:
    from chainrule.codecs.numbers import NumbersConfig, Summary

FAR = 0.5  # of the width of all bins but the outermost: values so far beyond these have bins of their own


@dataclass(frozen=True)
class Bins:
    """Where each bin begins, what value stands for it, and the scale of the data."""

    edges: tuple[float, ...]  # bins + 1, rising; bin i is [edges[i], edges[i + 1])
    values: tuple[float, ...]  # bins
    mean: float
    deviation: float
    lag: int = 0  # values are distances from the level this many steps before
    weight: float = 1.0  # of the last value in that level
    scaled: bool = False  # in units of their own mean

    @property
    def level(self) -> Level:
        """What is taken from a value before it is put into a bin."""
        return Level(self.lag, self.weight, self.scaled)


def make_bins(summary: Summary, config: NumbersConfig, level: Level) -> Bins:
    """Edges and central values; with no more distinct values than bins, every value has a bin of its own."""
    distinct = np.unique(np.concatenate([summary.sample, [summary.low, summary.high]]))
    if len(distinct) <= config.bins and config.how == "quantile":
        middles = distinct[:-1] / 2 + distinct[1:] / 2
        edges, values = np.concatenate([distinct[:1], middles, distinct[-1:]]), distinct
    else:
        edges = _edges(summary, config)
        low, high = edges[:-1], edges[1:]
        values = np.clip(low / 2 + high / 2, low, high)  # half of the tiniest float is zero
    deviation = float(np.sqrt(summary.squares / summary.count)) or 1.0
    rounded = tuple(_rounded(*triple) for triple in zip(edges, values, edges[1:], strict=False))
    return Bins(tuple(edges.tolist()), rounded, float(summary.mean), deviation, *astuple(level))


def _edges(summary: Summary, config: NumbersConfig) -> np.ndarray:
    if config.how == "uniform":
        edges = np.linspace(summary.low, summary.high, config.bins + 1)
    else:
        edges = np.quantile(summary.sample, np.linspace(0, 1, config.bins + 1))
        edges[0], edges[-1] = summary.low, summary.high
        edges = _with_tails(np.unique(edges))
    edges = np.unique(edges)
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def _with_tails(edges: np.ndarray) -> np.ndarray:
    """What lies far out has bins of its own, so that it surprises: else it would be in one bin with ordinary values."""
    if len(edges) < 4:
        return edges
    far = FAR * (edges[-2] - edges[1])
    low, high = edges[1] - far, edges[-2] + far
    return np.concatenate(
        [edges[:1], [low] * int(edges[0] < low), edges[1:-1], [high] * int(high < edges[-1]), edges[-1:]]
    )


def _rounded(low: float, value: float, high: float) -> float:
    """The value in six digits if it stays well inside its bin: people will read it."""
    short = float(f"{value:.6g}")
    return short if low < short < high else float(value)
