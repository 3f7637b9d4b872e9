"""The family `mix`: an ensemble, the weighted mean of several models' probabilities (linear interpolation)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import BATCH, ArrayModel, CostForecast, LanguageModel, ModelConfig, log_total
from chainrule.models.registry import family, register
from chainrule.models.state import State
from chainrule.models.wrapper import described, rebuilt
from chainrule.nn import tap

if TYPE_CHECKING:
    from torch import Tensor

ROUNDS, ENOUGH = 100, 1e-7  # most rounds of the search for weights, and what gain ends it, in nats per symbol


@dataclass(frozen=True, kw_only=True)
class MixConfig(ModelConfig):
    """The models of an ensemble and their weights."""

    weights: tuple[float, ...] = option(
        (), "interpolation weight of each model", low=0.0, high=1.0, hidden=True
    )
    parts: tuple[Any, ...] = option((), "family and settings of each model", hidden=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        sound = len(self.weights) == len(self.parts) and math.isclose(sum(self.weights), 1.0, abs_tol=1e-6)
        if self.parts and not sound:
            raise ConfigError(
                f"{len(self.parts)} models need as many weights that sum to 1, not {self.weights}."
            )


@dataclass(frozen=True)
class MixState(State):
    """What each model remembers."""

    parts: tuple[State, ...]


@register("mix")
class Mix(ArrayModel):
    """p = sum of weight * p of each model."""

    Config: ClassVar[type[ModelConfig]] = MixConfig
    config: MixConfig

    def __init__(self, config: MixConfig, models: Sequence[LanguageModel]) -> None:
        self.config = config
        self.models = list(models)
        known = [model.context for model in models if model.context is not None]
        self.context = min(known) if known else None

    @classmethod
    def of(cls, models: Sequence[LanguageModel], weights: Sequence[float]) -> Self:
        """A mix of models that share a vocabulary and read left to right."""
        first = models[0].config
        for model in models:
            if model.reads != "left":
                raise ModelError(
                    f"A {model.family} reads both ways, and a mix predicts the next symbol: leave it out, or take a "
                    "model that reads left to right, such as gpt or lstm."
                )
            if model.config.vocab_size != first.vocab_size:
                raise ModelError(
                    f"The {model.family} has {model.config.vocab_size:,} ids and the first model {first.vocab_size:,}: "
                    "mix models over the same codec (fit --codec-from MODEL)."
                )
        suppressed = tuple(sorted(set.intersection(*(set(model.config.suppressed) for model in models))))
        parts = tuple(described(model) for model in models)
        return cls(
            MixConfig(
                vocab_size=first.vocab_size, suppressed=suppressed, weights=tuple(weights), parts=parts
            ),
            models,
        )

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """Two n-grams of other data."""
        kind: Any = family("ngram")
        return cls.of([kind.tiny(seed), kind.tiny(seed + 1)], (0.25, 0.75))

    def start(self, batch: int, source: Any = None) -> MixState:
        return MixState(tuple(model.start(batch, source) for model in self.models))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, MixState]:
        """Log-probabilities (B, T, V) of the mix: hidden vectors of different models cannot be averaged."""
        import torch

        assert isinstance(state, MixState)
        logs, states = [], []
        for model, weight, part in zip(self.models, self._weights(), state.parts, strict=True):
            hidden, after = model.read(tokens, part)
            logits = model.logits(hidden).float()  # (B, T, V)
            logs.append(logits - log_total(logits).unsqueeze(-1) + _log(weight))
            states.append(after)
        return torch.logsumexp(torch.stack(logs), 0), MixState(tuple(states))

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, MixState]:
        """Each model scores in its own way, then the sum: no (B, T, V) logits are held."""
        import torch

        assert isinstance(state, MixState)
        logs, states = [], []
        for model, weight, part in zip(self.models, self._weights(), state.parts, strict=True):
            found, after = model.score(tokens, targets, part)
            logs.append(found + _log(weight))
            states.append(after)
        return torch.logsumexp(torch.stack(logs), 0), MixState(tuple(states))

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        """Tells the `posterior` (positions, models) of each model, given the symbol that came."""
        logs, weights = [model.score_ids(ids, batch) for model in self.models], self._weights()
        if tap.is_tapped(self, "posterior"):
            tap.announce(self, "posterior", posterior(logs, weights))
        return mixed(logs, weights)

    def _weights(self) -> list[float]:
        """Of each model, as taps tell and replace them (models,)."""
        return tap.tell(self, "weights", np.array(self.config.weights)).tolist()  # type: ignore[no-any-return]

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    def named_children(self) -> Iterator[tuple[str, LanguageModel]]:
        """Its models by number, as taps name them: the first one's order is `0.order`."""
        return ((str(number), model) for number, model in enumerate(self.models))

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {
            f"{number}/{name}": array
            for number, model in enumerate(self.models)
            for name, array in model.arrays().items()
        }

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, [_part(part, number, arrays) for number, part in enumerate(config.parts)])


def _part(part: Any, number: int, arrays: Mapping[str, np.ndarray]) -> LanguageModel:
    prefix = f"{number}/"
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    found: LanguageModel = rebuilt(part, own)
    return found


def _log(weight: float) -> float:
    return math.log(weight) if weight > 0 else -math.inf


def mixed(logs: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Log-probabilities of the mix, from those of each model (positions,)."""
    return np.logaddexp.reduce(_weighted(logs, weights), 0).astype(np.float32)  # type: ignore[no-any-return]


def posterior(logs: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """How probable it is that each model gave the symbol (positions, models); `weights` where none could."""
    joint = _weighted(logs, weights).T  # (positions, models)
    total = np.logaddexp.reduce(joint, 1, keepdims=True)  # (positions, 1)
    possible = total > -np.inf
    return np.where(possible, np.exp(joint - np.where(possible, total, 0.0)), weights)


def _weighted(logs: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Joint log-probabilities (models, positions) of choosing a model and of its symbol."""
    return np.stack([part.astype(np.float64) + _log(one) for part, one in zip(logs, weights, strict=True)])


def best_weights(logs: Sequence[np.ndarray]) -> tuple[float, ...]:
    """The weights under which what was held out is most probable, by expectation-maximisation (EM).

    `logs` are natural log-probabilities of the same symbols under each model.
    """
    probabilities = np.exp(np.stack(logs).astype(np.float64))  # (models, symbols)
    weights = np.full(len(logs), 1 / len(logs))
    before = -math.inf
    for _ in range(ROUNDS):
        share = weights[:, None] * probabilities
        total = share.sum(0)
        possible = total > 0
        weights = (share[:, possible] / total[possible]).mean(1) if possible.any() else weights
        gain = float(np.log(total[possible]).mean()) if possible.any() else 0.0
        if gain - before < ENOUGH:
            break
        before = gain
    return tuple((weights / weights.sum()).tolist())
