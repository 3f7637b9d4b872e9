"""The family `window`: a feed-forward language model over the last n symbols (Bengio et al. 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import ModelConfig
from chainrule.models.neural import NeuralLanguageModel, StatefulConfig
from chainrule.models.registry import register
from chainrule.models.state import State
from chainrule.nn import tap
from chainrule.nn.product import Linear
from chainrule.nn.recurrent import lengths_of
from chainrule.symbols import PAD


@dataclass(frozen=True, kw_only=True)
class WindowConfig(StatefulConfig):
    """Settings of the feed-forward language model."""

    window: int = option(8, "context: how many of the last symbols it reads", low=1, high=1024)
    direct: bool = option(False, "direct connections from the embeddings to the softmax")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direct and self.tied == "yes":
            raise ConfigError("--direct needs output weights of its own. Leave out --tied yes.")

    @property
    def shared(self) -> bool:
        return super().shared and not self.direct


@dataclass(frozen=True)
class WindowState(State):
    """The last symbols, PAD where nothing has been read yet."""

    ids: Tensor  # (B, n)


@register("window")
class Window(NeuralLanguageModel):
    """y = b + W x + U tanh(d + H x), where x are the vectors of the last n symbols side by side."""

    Config: ClassVar[type[ModelConfig]] = WindowConfig
    config: WindowConfig

    def __init__(self, config: WindowConfig) -> None:
        seen = config.window * config.vector
        super().__init__(config, config.width + (seen if config.direct else 0))
        self.stateful = config.stateful
        inputs = [seen, *[config.width] * (config.layers - 1)]
        self.layers = nn.ModuleList(Linear(size, config.width) for size in inputs)

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        return cls.seeded(WindowConfig(vocab_size=9, layers=2, width=8, window=3), seed)

    def start(self, batch: int, source: Any = None) -> WindowState:
        if source is not None:
            raise ModelError("The family 'window' reads no source. Fit an encoder-decoder to write from one.")
        return WindowState(torch.full((batch, self.config.window), PAD, device=self.device))

    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, WindowState]:
        assert isinstance(state, WindowState)
        ids = torch.cat([state.ids, tokens], 1)  # (B, n + T)
        embeddings = tap.tell(self, "embeddings", self.vectors(ids))  # (B, n + T, E)
        seen = embeddings[:, 1:].unfold(1, self.config.window, 1)  # (B, T, E, n)
        x = seen.transpose(2, 3).flatten(2)  # (B, T, n E)
        hidden = x
        for layer in self.layers:
            hidden = self.dropout(tap.tell(layer, "hidden", torch.tanh(layer(hidden))))  # (B, T, D)
        seen_too = torch.cat([hidden, x], 2) if self.config.direct else hidden
        return seen_too, WindowState(self._last(ids, lengths_of(tokens)))

    def _last(self, ids: Tensor, lengths: Tensor | None) -> Tensor:
        """The last n symbols (B, n) before the padding of ids (B, n + T)."""
        if lengths is None:
            return ids[:, ids.shape[1] - self.config.window :]
        places = lengths[:, None] + torch.arange(self.config.window, device=ids.device)  # (B, n)
        return ids.gather(1, places)
