"""Stopwatches for the benchmarks: what is compared takes turns, and medians are given."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def in_turns(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The median of each, all taking turns, after one round that does not count."""
    for work in works.values():
        work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(turns):
        for name, work in works.items():
            taken[name].append(seconds(work))
    return {name: statistics.median(times) for name, times in taken.items()}
