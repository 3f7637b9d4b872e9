"""The family `cache`: a unigram cache (Kuhn and De Mori 1990). Weak alone, a cheap partner in a mix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import BATCH, CostForecast, CountingModel, ModelConfig
from chainrule.models.registry import register
from chainrule.models.state import State
from chainrule.models.windows import score_by_logits
from chainrule.progress import Progress, no_progress
from chainrule.runtime import compiled
from chainrule.symbols import BOS, FIRST, PAD

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class CacheConfig(ModelConfig):
    """Settings of the unigram cache."""

    size: int = option(500, "how many recent symbols count", low=1, high=10_000_000)
    spread: float = option(
        0.1, "smoothing: share of probability spread evenly over all symbols", low=1e-6, high=1.0
    )
    stateful: bool = option(
        True, "carry the state from one sequence to the next, as in running text line by line"
    )


@dataclass(frozen=True)
class CacheState(State):
    """The last symbols, -1 where there was none yet."""

    recent: Tensor  # (B, L) int64


@register("cache")
class Cache(CountingModel):
    """p = spread / V + (1 - spread) * how often among the last L."""

    Config: ClassVar[type[ModelConfig]] = CacheConfig
    config: CacheConfig

    def __init__(self, config: CacheConfig) -> None:
        self.config = config
        self.predictable = np.ones(config.vocab_size, np.bool_)
        self.predictable[list(config.suppressed)] = False

    @classmethod
    def learn(
        cls,
        config: CacheConfig,
        ids: np.ndarray,
        progress: Progress = no_progress,
        valid: np.ndarray | None = None,
    ) -> Self:
        """There is nothing to learn: it remembers while it reads."""
        return cls(config)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls(CacheConfig(vocab_size=FIRST + 4, size=5, stateful=False))

    def start(self, batch: int, source: Any = None) -> CacheState:
        import torch

        if source is not None:
            raise ModelError("A cache reads no source.")
        return CacheState(torch.full((batch, self.config.size), -1))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, CacheState]:
        """What is remembered after each symbol: (B, T, L)."""
        import torch

        assert isinstance(state, CacheState)
        recent, seen = state.recent, []
        for column in tokens.unbind(1):  # (B,)
            kept = torch.cat([recent[:, 1:], column[:, None]], 1)
            recent = torch.where(self._counts(column)[:, None], kept, recent)
            seen.append(recent)
        hidden = torch.stack(seen, 1) if seen else recent[:, None][:, :0]
        return hidden, CacheState(recent)

    def _counts(self, symbols: Tensor) -> Tensor:
        """Which symbols are worth remembering: those that can be predicted."""
        import torch

        return torch.from_numpy(self.predictable)[symbols] & (symbols != PAD)

    def logits(self, hidden: Tensor) -> Tensor:
        import torch

        counts = torch.zeros(*hidden.shape[:-1], self.config.vocab_size)
        counts.scatter_add_(-1, hidden.clamp(min=0), (hidden >= 0).float())  # (B, T, V)
        total = counts.sum(-1, keepdim=True)
        even = torch.from_numpy(self.predictable).float() / self.predictable.sum()
        spread = torch.where(total > 0, self.config.spread, 1.0)
        return torch.log(spread * even + (1 - spread) * counts / total.clamp(min=1))

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        return score_by_logits(self, tokens, targets, state)

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        logs = np.empty(len(ids), np.float32)
        even = 1.0 / int(self.predictable.sum())
        _score(
            np.asarray(ids),
            self.predictable,
            self.config.size,
            self.config.spread,
            even,
            self.config.stateful,
            logs,
        )
        return logs

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config)


@compiled
def _score(ids, predictable, size, spread, even, stateful, logs):  # type: ignore[no-untyped-def]
    """Log-probability of every id (0 for BOS) from how often it is among the `size` before it."""
    counts = np.zeros(len(predictable), np.int64)
    recent = np.full(size, -1, np.int64)
    at, held = 0, 0
    for i in range(len(ids)):
        symbol = ids[i]
        if symbol == BOS:
            logs[i] = 0.0
            if not stateful:
                counts[:] = 0
                recent[:] = -1
                held = 0
            continue
        share = spread * even + (1.0 - spread) * counts[symbol] / held if held else even
        logs[i] = math.log(share) if predictable[symbol] else -np.inf
        if predictable[symbol]:
            if recent[at] >= 0:
                counts[recent[at]] -= 1
            held = min(held + 1, size)
            recent[at] = symbol
            counts[symbol] += 1
            at = (at + 1) % size
