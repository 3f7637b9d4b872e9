"""What examples are drawn with: the same on every machine, for only `Random.random` is promised to stay as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Row:
    """A line of a table, and the files that it names."""

    line: str
    files: Mapping[str, bytes] = field(default_factory=dict)


def one_of(random: Random, items: Sequence[Item]) -> Item:
    """Any of them."""
    return items[int(random.random() * len(items))]


def between(random: Random, low: int, high: int) -> int:
    """A whole number, both ends included."""
    return low + int(random.random() * (high - low + 1))


def noise(random: Random, deviation: float) -> float:
    """About normal: a sum of twelve even numbers has the deviation 1."""
    return deviation * (sum(random.random() for _ in range(12)) - 6)


def drawn(random: Random, weights: Mapping[str, float]) -> str:
    """A name, as often as its weight says."""
    left = random.random() * sum(weights.values())
    names: Sequence[str] = list(weights)
    for name in names:
        left -= weights[name]
        if left < 0:
            return name
    return names[-1]
