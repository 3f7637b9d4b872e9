"""The family `window`: a feed-forward network over the last few symbols (Bengio et al. 2003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig, State
from chainrule.models.neural import CarryingConfig, Speaker
from chainrule.models.registry import register
from chainrule.models.sizing import Task
from chainrule.nn.product import Linear
from chainrule.nn.recurrent import lengths_of
from chainrule.symbols import PAD


@dataclass(frozen=True, kw_only=True)
class WindowConfig(CarryingConfig):
    """How far it sees, and how it computes with what it sees."""

    window: int = option(8, "how many of the last symbols it sees", low=1, high=1024)
    direct: bool = option(False, "connect the vectors it sees with the softmax directly too")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direct and self.tied == "yes":
            raise ConfigError("--direct needs a table of its own for speaking. Leave out --tied yes.")

    @property
    def shared(self) -> bool:
        return super().shared and not self.direct


@dataclass(frozen=True)
class WindowState(State):
    """The last symbols, PAD where nothing has been read yet."""

    ids: Tensor  # (B, n)


@register("window")
class Window(Speaker):
    """y = b + W x + U tanh(d + H x), where x are the vectors of the last n symbols side by side."""

    Config: ClassVar[type[ModelConfig]] = WindowConfig
    config: WindowConfig

    def __init__(self, config: WindowConfig) -> None:
        seen = config.window * config.vector
        super().__init__(config, config.width + (seen if config.direct else 0))
        inputs = [seen, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(Linear(size, config.width) for size in inputs)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(WindowConfig(alphabet=9, layers=2, width=8, window=3), seed)

    @classmethod
    def suggest(cls, config: Any, task: Task, given: Mapping[str, Any]) -> dict[str, Any]:
        return super().suggest(config, task, {**given, "tied": "no"} if config.direct else given)

    def start(self, batch: int, source: Any = None) -> WindowState:
        if source is not None:
            raise ModelError("The family 'window' reads no source. Fit an encoder-decoder to write from one.")
        return WindowState(torch.full((batch, self.config.window), PAD, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, WindowState]:
        assert isinstance(state, WindowState)
        ids = torch.cat([state.ids, tokens], 1)  # (B, n + T)
        seen = self.vectors(ids)[:, 1:].unfold(1, self.config.window, 1)  # (B, T, E, n)
        x = seen.transpose(2, 3).flatten(2)  # (B, T, n E)
        hidden = x
        for layer in self.layers:
            hidden = self.dropout(torch.tanh(layer(hidden)))  # (B, T, D)
        spoken = torch.cat([hidden, x], 2) if self.config.direct else self.bridge(hidden)
        return spoken, WindowState(self._last(ids, lengths_of(tokens)))

    def _last(self, ids: Tensor, lengths: Tensor | None) -> Tensor:
        """The last n symbols (B, n) before the padding of ids (B, n + T)."""
        if lengths is None:
            return ids[:, ids.shape[1] - self.config.window :]
        places = lengths[:, None] + torch.arange(self.config.window, device=ids.device)  # (B, n)
        return ids.gather(1, places)
