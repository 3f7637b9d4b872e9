"""Where a training starts: with the weights of a trained model, and how fast they may move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chainrule.models.base import ModelConfig

TABLE = "embedding.weight"


@dataclass(frozen=True)
class Table:
    """Word vectors for some symbols of a vocabulary."""

    ids: np.ndarray  # (N,)
    vectors: np.ndarray  # (N, E)
    alone: bool = False  # the other symbols say nothing; else theirs are fresh

    def put(self, fresh: np.ndarray) -> np.ndarray:
        """A table (V, E) with these in it, as large on average as a family likes its own."""
        found = np.zeros_like(fresh) if self.alone else fresh.copy()
        size = fresh.std() / max(float(self.vectors.std()), 1e-9)
        found[self.ids] = size * self.vectors
        return found


@dataclass(frozen=True)
class Start:
    """What a training begins with: the body of a trained model, or word vectors in a fresh one."""

    model: ModelConfig | None  # None: sizes are chosen as ever
    weights: Mapping[str, np.ndarray]
    scales: Mapping[str, float] = field(default_factory=dict)  # of the learning rate, as in `network.Rates`
    since: Mapping[str, float] = field(default_factory=dict)  # from what share of the run on, as there
    table: Table | None = None

    def body(self, kind: Any, config: ModelConfig, seed: int) -> Any:
        """A body with these weights; what they do not say is fresh."""
        if self.table is None:
            return kind.from_arrays(config, self.weights)
        fresh = kind.seeded(config, seed).arrays()
        return kind.from_arrays(config, {**fresh, **self.weights, TABLE: self.table.put(fresh[TABLE])})
