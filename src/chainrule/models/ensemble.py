"""The family `ensemble`: several trained bodies side by side, for the mean of what their heads answer.

Hidden vectors of different models cannot be averaged, so they are joined; the head knows which are whose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import CostForecast, ModelConfig
from chainrule.models.neural import Neural
from chainrule.models.registry import family, register
from chainrule.models.sizing import Workload
from chainrule.models.state import State
from chainrule.models.wrapper import described


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig(ModelConfig):
    """The models of an ensemble."""

    parts: tuple[Any, ...] = option((), "family and settings of each model", hidden=True)
    letters: int = option(0, "letters of a word that all of them read", low=0, high=1_000, hidden=True)

    @property
    def word_letters(self) -> int:
        return self.letters


@dataclass(frozen=True)
class EnsembleState(State):
    """What each model remembers."""

    parts: tuple[State, ...]


@register("ensemble")
class Ensemble(Neural):
    """[h_1; h_2; …] of all models, at each place."""

    Config: ClassVar[type[ModelConfig]] = EnsembleConfig
    learner: ClassVar[Literal["count", "gradient"] | None] = None  # it is made of trained models
    task: ClassVar[str] = "classify"
    pairs: ClassVar[Literal["apart", "together"] | None] = None  # its heads read one text
    reads: Literal["left", "both"] = "both"
    config: EnsembleConfig

    def __init__(self, config: EnsembleConfig) -> None:
        super().__init__(config)
        if not config.parts:
            raise ConfigError(
                "An ensemble is made of trained models: chainrule mix MODEL MODEL --valid DATA -o OUT."
            )
        kinds: list[Any] = [family(part["family"]) for part in config.parts]
        settings = [part["config"] for part in config.parts]
        made = [kind(kind.Config.from_values(values)) for kind, values in zip(kinds, settings, strict=True)]
        self.parts = nn.ModuleList(made)
        self.widths = [one.width for one in made]
        self.width = sum(self.widths)
        known = [one.context for one in made if one.context is not None]
        self.context = min(known) if known else None
        self.reads = "both" if any(one.reads == "both" for one in made) else "left"

    @classmethod
    def of(cls, models: Sequence[Neural]) -> Self:
        """One of trained bodies that read the same symbols."""
        letters = {model.config.word_letters for model in models}
        if len(letters) > 1:
            raise ModelError(
                "Models that read words by their letters can be mixed if they read equally many of them "
                f"(--word-length), and these read {' and '.join(map(str, sorted(letters)))}."
            )
        first = models[0].config
        parts = tuple(described(model) for model in models)
        config = EnsembleConfig(
            vocab_size=first.vocab_size, suppressed=first.suppressed, parts=parts, letters=letters.pop()
        )
        found = cls(config)
        found.parts = nn.ModuleList(models)
        return found.eval()

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        """Two recurrent networks."""
        kind: Any = family("gru")
        config = kind.Config(vocab_size=9, width=4, softmax=False)
        return cls.of([kind.seeded(config, seed), kind.seeded(config, seed + 1)])

    def start(self, batch: int, source: Any = None) -> EnsembleState:
        return EnsembleState(tuple(part.start(batch, source) for part in self._bodies))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, EnsembleState]:
        assert isinstance(state, EnsembleState)
        read = [part.read(tokens, own) for part, own in zip(self._bodies, state.parts, strict=True)]
        hidden = torch.cat([hidden for hidden, _ in read], 2)  # (B, T, D)
        return hidden, EnsembleState(tuple(after for _, after in read))

    @property
    def _bodies(self) -> list[Any]:
        return list(self.parts)

    @classmethod
    def suggest(cls, config: Any, workload: Workload, given: Mapping[str, Any]) -> dict[str, Any]:
        raise ConfigError("An ensemble is not trained itself: train its models, then chainrule mix.")

    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        return {}
