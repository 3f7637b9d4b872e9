"""The family `ensemble`: several models that answer, whose answers are averaged; each reads with a codec of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ArrayBody, Body, CostForecast, ModelConfig
from chainrule.models.registry import family, register
from chainrule.models.state import State, Unremembered
from chainrule.models.wrapper import described, rebuilt

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig(ModelConfig):
    """The models of an ensemble and their weights."""

    weights: tuple[float, ...] = option((), "how much the answers of each model count", low=0, high=1)
    parts: tuple[Any, ...] = option((), "family, settings, task and codec of each model", hidden=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        sound = len(self.weights) == len(self.parts) and math.isclose(sum(self.weights), 1.0, abs_tol=1e-6)
        if self.parts and not sound:
            raise ConfigError(
                f"{len(self.parts)} models need as many weights that sum to 1, not {self.weights}."
            )


@dataclass(frozen=True)
class Member:
    """One model of an ensemble."""

    model: Body
    task: Mapping[str, Any]  # its settings
    reads: str  # the role whose codec it reads text with


@register("ensemble")
class Ensemble(ArrayBody):
    """Holds models that are asked one by one: how, their task knows. It reads out no vectors of its own."""

    task: ClassVar[str] = "classify"
    reads: Literal["left", "both"] = "both"
    learner: ClassVar[Literal["count", "gradient"] | None] = None
    Config: ClassVar[type[ModelConfig]] = EnsembleConfig
    config: EnsembleConfig

    def __init__(self, config: EnsembleConfig, members: Sequence[Member]) -> None:
        self.config = config
        self.members = list(members)

    @classmethod
    def of(cls, members: Sequence[Member], weights: Sequence[float], vocab_size: int) -> Self:
        """An ensemble that is given ids of a vocabulary, which are read again by the codec of each member."""
        parts = tuple({**described(one.model), "task": dict(one.task), "reads": one.reads} for one in members)
        return cls(
            EnsembleConfig(vocab_size=vocab_size, suppressed=(), weights=tuple(weights), parts=parts), members
        )

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """Two that know the shares of labels only."""
        kind: Any = family("majority")
        models = [kind.tiny(seed), kind.tiny(seed + 1)]
        members = [Member(one, {}, "text") for one in models]
        return cls.of(members, (0.25, 0.75), models[0].config.vocab_size)

    def start(self, batch: int, source: Any = None) -> Unremembered:
        import torch

        if source is not None:
            raise ModelError("An ensemble of models that answer reads no source. Leave it out.")
        return Unremembered(torch.empty(batch, 0))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Nothing (B, T, 0): hidden vectors of different models cannot be averaged."""
        import torch

        return torch.zeros(*tokens.shape, 0), state

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    def named_children(self) -> Iterator[tuple[str, Body]]:
        """Its models by number, as taps name them."""
        return ((str(number), one.model) for number, one in enumerate(self.members))

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {
            f"{number}/{name}": array
            for number, one in enumerate(self.members)
            for name, array in one.model.arrays().items()
        }

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, [_member(part, number, arrays) for number, part in enumerate(config.parts)])


def _member(part: Mapping[str, Any], number: int, arrays: Mapping[str, np.ndarray]) -> Member:
    prefix = f"{number}/"
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    return Member(rebuilt(part, own), part["task"], part["reads"])
