"""The family `copy`: the source once more, symbol by symbol. What a model that translates must beat.

Between languages names and numbers are right by it; where a text is only to be corrected, most of it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.base import BATCH, CostForecast, LanguageModel, ModelConfig, SourceConfig
from chainrule.models.readers import ArrayLearner, Parallel
from chainrule.models.registry import register
from chainrule.models.state import State
from chainrule.models.windows import score_in_windows
from chainrule.progress import Progress, no_progress
from chainrule.symbols import EOS, FIRST, PAD

if TYPE_CHECKING:
    from torch import Tensor

LEAST, MOST = (
    0.6,
    0.999,
)  # how sure it is of the next symbol, at least and at most: it copies, whatever was counted


@dataclass(frozen=True)
class CopyState(State):
    """A source, its end included, and how many symbols were read."""

    source: Tensor  # (B, S) PAD behind the end
    count: Tensor  # (B,)


@register("copy")
class Copy(ArrayLearner, LanguageModel):
    """p = share of the source's symbol at this place, and the rest by how frequent symbols are."""

    Config: ClassVar[type[ModelConfig]] = SourceConfig
    config: SourceConfig
    task: ClassVar[str] = "translate"
    codec: ClassVar[str | None] = "subwords"

    def __init__(self, config: SourceConfig, share: float, unigram: np.ndarray) -> None:
        if config.source_size:
            raise ModelError(
                "What is copied must have one vocabulary on both sides: take --codec subwords, characters or bytes, "
                "and no --no-shared-vocab."
            )
        self.config, self.share, self.unigram = config, share, unigram
        self.width = config.vocab_size

    @classmethod
    def learn(
        cls, config: Any, given: Parallel, progress: Progress = no_progress, valid: Parallel | None = None
    ) -> Self:
        """How many symbols of the targets stand at the same place of their sources, and how frequent each is."""
        counts = np.bincount(given.target, minlength=config.vocab_size) + 1.0
        counts[EOS] = given.pairs + 1.0
        counts[[*config.suppressed]] = 0.0
        pairs = (given.pair(at) for at in range(given.pairs))
        same = sum(int((one[: len(other)] == other[: len(one)]).sum()) for one, other in pairs)
        share = min(MOST, max(LEAST, same / max(1, len(given.target))))
        return cls(config, share, counts / counts.sum())

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        rng = np.random.default_rng(seed)
        some = [rng.integers(FIRST, 9, size) for size in (2, 3, 4)]
        return cls.learn(SourceConfig(vocab_size=9), Parallel.of(some, some))

    def start(self, batch: int, source: Any = None) -> CopyState:
        import torch

        ids = torch.full((batch, 1), EOS) if source is None else source  # (B, S)
        return CopyState(ids, torch.zeros(batch, dtype=torch.long))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, CopyState]:
        """Log-probabilities (B, T, V) of what follows."""
        import torch

        copied, after = self._copied(tokens, state)
        rest = torch.from_numpy((1.0 - self.share) * self.unigram)
        found = rest.expand(*tokens.shape, -1).clone()  # (B, T, V)
        found.scatter_add_(2, copied[:, :, None], torch.full((*tokens.shape, 1), self.share).to(found))
        found[:, :, [*self.config.suppressed]] = 0.0
        return (found / found.sum(2, keepdim=True)).log().float(), after

    def _copied(self, tokens: Tensor, state: State) -> tuple[Tensor, CopyState]:
        """What stands in the source at the place (B, T) after each token, EOS behind it."""
        import torch

        assert isinstance(state, CopyState)
        count = (tokens != PAD).cumsum(1) + state.count[:, None]  # (B, T) BOS stands before the first
        ended = torch.nn.functional.pad(state.source, (0, 1), value=EOS)  # (B, S + 1)
        at = (count - 1).clamp(0, ended.shape[1] - 1)
        copied = ended.gather(1, at)
        copied = torch.where(copied == PAD, EOS, copied)
        return copied, CopyState(state.source, count[:, -1] if tokens.shape[1] else state.count)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, State]:
        import torch

        hidden, after = self.read(tokens, state)
        found = hidden.gather(2, targets[:, :, None]).squeeze(2)
        return torch.where(targets == PAD, 0.0, found), after

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        return score_in_windows(self, ids, batch)

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {cls.family: CostForecast(200_000_000, 1.0 + 1e-6 * symbols)}

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"share": np.array([self.share]), "unigram": self.unigram}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, float(arrays["share"][0]), np.array(arrays["unigram"]))
