"""Counters of a server, for Prometheus: in memory that all its processes share, a row for each."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np

from chainrule.serve.engine import Counts, Engine

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
CLASSES = ("2xx", "3xx", "4xx", "429", "5xx", "gone")
COUNTS = tuple(asdict(Counts()))
OTHER = "other"


class Metrics:
    """What has happened since the server started."""

    def __init__(self, paths: Sequence[str], models: Sequence[str], workers: int = 1) -> None:
        self.paths, self.models = [*paths, OTHER], list(models)
        self.sizes = [
            len(self.paths) * len(CLASSES),
            len(BUCKETS) + 2,
            len(self.models) * len(COUNTS),
            2 * len(self.models),
        ]
        width = sum(self.sizes)
        self.memory = mmap.mmap(-1, 8 * width * workers)  # shared with processes that fork from this one
        self.rows = np.frombuffer(self.memory, np.float64).reshape(workers, width)
        self.own = self.rows[0]

    def worker(self, number: int) -> None:
        """Which row is written from now on."""
        self.own = self.rows[number]
        self.own[-self.sizes[3] :] = 0  # what waits and runs in a process that is gone

    def answered(self, path: str, status: int, seconds: float) -> None:
        """A request is over."""
        kind = {429: "429", 0: "gone"}.get(status, f"{status // 100}xx")
        place = self.paths.index(path if path in self.paths else OTHER)
        self.own[place * len(CLASSES) + CLASSES.index(kind if kind in CLASSES else "5xx")] += 1
        first = self.sizes[0]
        self.own[first + bisect_left(BUCKETS, seconds)] += 1
        self.own[first + len(BUCKETS) + 1] += seconds

    def engines(self, engines: Iterable[Engine]) -> None:
        """Where engines have come to."""
        first, gauges = self.sizes[0] + self.sizes[1], sum(self.sizes[:3])
        for place, engine in enumerate(engines):
            counts = engine.counts
            values = [getattr(counts, name) for name in COUNTS]
            self.own[first + place * len(COUNTS) : first + (place + 1) * len(COUNTS)] = values
            self.own[gauges + 2 * place : gauges + 2 * place + 2] = engine.queued, engine.running

    def text(self) -> str:
        """Prometheus' text format, summed over all processes."""
        parts = np.split(self.rows.sum(0), np.cumsum(self.sizes)[:-1])
        requests, taken, counts, gauges = parts
        lines = ["# TYPE chainrule_requests_total counter"]
        for place, value in enumerate(requests.tolist()):
            path, kind = self.paths[place // len(CLASSES)], CLASSES[place % len(CLASSES)]
            if value:
                lines.append(f'chainrule_requests_total{{path="{path}",status="{kind}"}} {value:.0f}')
        lines += self._histogram(taken)
        named = counts.reshape(-1, len(COUNTS))
        for column, name in enumerate(COUNTS):
            lines += self._values(f"chainrule_{name}_total", "counter", named[:, column].tolist())
        for column, name in enumerate(("queued", "running")):
            lines += self._values(f"chainrule_{name}", "gauge", gauges[column::2].tolist())
        return "\n".join(lines) + "\n"

    def _histogram(self, taken: np.ndarray) -> list[str]:
        name = "chainrule_request_seconds"
        heights = taken[:-1].cumsum().tolist()
        bounds = [*map(str, BUCKETS), "+Inf"]
        lines = [
            f'{name}_bucket{{le="{bound}"}} {height:.0f}'
            for bound, height in zip(bounds, heights, strict=True)
        ]
        return [
            f"# TYPE {name} histogram",
            *lines,
            f"{name}_sum {taken[-1]:.6f}",
            f"{name}_count {heights[-1]:.0f}",
        ]

    def _values(self, name: str, kind: str, values: Sequence[float]) -> list[str]:
        named = zip(self.models, values, strict=True)
        return [
            f"# TYPE {name} {kind}",
            *(f"{name}{{model={quoted(model)}}} {value:.0f}" for model, value in named),
        ]


def quoted(name: str) -> str:
    """A label as Prometheus reads it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
