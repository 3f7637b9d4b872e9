"""The family `mix`: several models over one alphabet speak together, each with its weight."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import BATCH, Model, ModelConfig, State, log_total
from chainrule.models.registry import family, register

if TYPE_CHECKING:
    from torch import Tensor

ROUNDS, ENOUGH = 100, 1e-7  # most rounds of the search for weights, and what gain ends it, in nats per symbol


@dataclass(frozen=True, kw_only=True)
class MixConfig(ModelConfig):
    """Which models, and how much each is believed."""

    weights: tuple[float, ...] = option((), "how much each model is believed", low=0.0, high=1.0, hidden=True)
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
class Mix(Model):
    """p = sum of weight * p of each model."""

    Config: ClassVar[type[ModelConfig]] = MixConfig
    learns: ClassVar[bool] = False
    config: MixConfig

    def __init__(self, config: MixConfig, models: Sequence[Model]) -> None:
        self.config = config
        self.models = list(models)
        known = [model.context for model in models if model.context is not None]
        self.context = min(known) if known else None

    @classmethod
    def of(cls, models: Sequence[Model], weights: Sequence[float]) -> Self:
        """A mix of models that share an alphabet and read left to right."""
        first = models[0].config
        for model in models:
            if model.config.alphabet != first.alphabet or model.reads != "left":
                raise ModelError("Models can be mixed if they read left to right over the same alphabet.")
        silent = tuple(sorted(set.intersection(*(set(model.config.silent) for model in models))))
        parts = tuple(
            json.loads(json.dumps(_described(model))) for model in models
        )  # as a file gives it back
        return cls(
            MixConfig(alphabet=first.alphabet, silent=silent, weights=tuple(weights), parts=parts), models
        )

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """Two n-grams of other data."""
        kind = family("ngram")
        return cls.of([kind.tiny(seed), kind.tiny(seed + 1)], (0.25, 0.75))

    def start(self, batch: int, source: Any = None) -> MixState:
        return MixState(tuple(model.start(batch, source) for model in self.models))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, MixState]:
        """Hidden vectors of several models have nothing in common but what they say: log-probabilities (B, T, V)."""
        import torch

        assert isinstance(state, MixState)
        logs, states = [], []
        for model, weight, part in zip(self.models, self.config.weights, state.parts, strict=True):
            hidden, after = model.read(tokens, part)
            logits = model.logits(hidden).float()  # (B, T, V)
            logs.append(logits - log_total(logits).unsqueeze(-1) + _log(weight))
            states.append(after)
        return torch.logsumexp(torch.stack(logs), 0), MixState(tuple(states))

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def score(self, tokens: Tensor, targets: Tensor, state: State) -> tuple[Tensor, MixState]:
        """Each model's own way to score, then the sum: nobody's V logits are held."""
        import torch

        assert isinstance(state, MixState)
        logs, states = [], []
        for model, weight, part in zip(self.models, self.config.weights, state.parts, strict=True):
            found, after = model.score(tokens, targets, part)
            logs.append(found + _log(weight))
            states.append(after)
        return torch.logsumexp(torch.stack(logs), 0), MixState(tuple(states))

    def score_ids(self, ids: np.ndarray, batch: int = BATCH) -> np.ndarray:
        return mixed([model.score_ids(ids, batch) for model in self.models], self.config.weights)

    def facts(self, ids: np.ndarray) -> Mapping[str, np.ndarray]:
        """`believed`: which model's word counted most for each symbol."""
        logs = [
            model.score_ids(ids) + _log(w) for model, w in zip(self.models, self.config.weights, strict=True)
        ]
        return {"believed": np.argmax(np.stack(logs), 0)}

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {
            f"{number}/{name}": array
            for number, model in enumerate(self.models)
            for name, array in model.arrays().items()
        }

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, [_part(part, number, arrays) for number, part in enumerate(config.parts)])


def _described(model: Model) -> dict[str, Any]:
    return {"family": model.family, "config": model.config.values()}


def _part(part: Any, number: int, arrays: Mapping[str, np.ndarray]) -> Model:
    kind = family(part["family"])
    prefix = f"{number}/"
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return kind.from_arrays(kind.Config.from_values(part["config"]), own)


def _log(weight: float) -> float:
    return math.log(weight) if weight > 0 else -math.inf


def mixed(logs: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Log-probabilities of the mix, from those of each model (positions,)."""
    weighted = [part.astype(np.float64) + _log(weight) for part, weight in zip(logs, weights, strict=True)]
    return np.logaddexp.reduce(np.stack(weighted), 0).astype(np.float32)  # type: ignore[no-any-return]


def best_weights(logs: Sequence[np.ndarray]) -> tuple[float, ...]:
    """The weights under which what was held out is most probable, by expectation and maximisation.

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
