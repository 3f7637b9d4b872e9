"""Models made of trained models: how a part is described in a config, and what a model around one shares with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from chainrule.config import option
from chainrule.models.base import Body, CostForecast, LanguageModel, ModelConfig
from chainrule.models.registry import family


def described(model: Body) -> dict[str, Any]:
    """Family and settings of a model, as a file gives them back."""
    found: dict[str, Any] = json.loads(json.dumps({"family": model.family, "config": model.config.values()}))
    return found


def rebuilt(part: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The model that was `described`, with what it has learnt."""
    kind: Any = family(part["family"])
    return kind.from_arrays(kind.Config.from_values(part["config"]), arrays)


@dataclass(frozen=True, kw_only=True)
class WrapperConfig(ModelConfig):
    """Around which model."""

    part: Any = option(None, "family and settings of the model inside", hidden=True)


class Wrapper(LanguageModel):
    """A language model around one trained model; all it has learnt is what that one has."""

    config: WrapperConfig

    def __init__(self, config: WrapperConfig, model: LanguageModel) -> None:
        self.config = config
        self.model = model
        self.context, self.stateful = model.context, model.stateful

    @final
    @classmethod
    def of(cls, model: LanguageModel, **settings: Any) -> Self:
        """This model around another."""
        inside = {"vocab_size": model.config.vocab_size, "suppressed": model.config.suppressed}
        return cls(cls.Config.from_values({**inside, "part": described(model), **settings}), model)  # type: ignore[arg-type]

    @final
    @property
    def device(self) -> Any:
        return self.model.device

    @final
    def inference(self, symbols: int = 0) -> AbstractContextManager[None]:
        return self.model.inference(symbols)

    @final
    def named_children(self) -> Iterator[tuple[str, LanguageModel]]:
        """The model inside, as taps name it."""
        return iter([("model", self.model)])

    @final
    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}

    @final
    def arrays(self) -> Mapping[str, np.ndarray]:
        return self.model.arrays()

    @final
    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, rebuilt(config.part, arrays))
