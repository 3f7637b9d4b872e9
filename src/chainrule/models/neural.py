"""Models that learn by gradient: `torch.nn.Module` meets the one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from chainrule.models.base import Model, ModelConfig


class Neural(nn.Module, Model):
    """A model whose arrays are the tensors of its state dict."""

    silent: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        mask = torch.zeros(config.alphabet, dtype=torch.bool)
        mask[list(config.silent)] = True
        self.register_buffer("silent", mask, persistent=False)  # (V,)

    def hush(self, logits: Tensor) -> Tensor:
        """-inf for the symbols that are read but never spoken."""
        return logits.masked_fill(self.silent, -torch.inf)

    @property
    def device(self) -> torch.device:
        return self.silent.device

    @contextmanager
    def answering(self) -> Iterator[None]:
        learning = [module for module in self.modules() if module.training]
        try:
            for module in learning:
                module.training = False
            with torch.no_grad():
                yield
        finally:
            for module in learning:
                module.training = True

    @classmethod
    def seeded(cls, config: ModelConfig, seed: int) -> Self:
        """A fresh model whose weights depend on `seed` alone; the global randomness is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config).eval()

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        model = cls(config)
        model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        return model.eval()
