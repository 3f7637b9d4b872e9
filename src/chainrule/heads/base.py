"""A head turns hidden vectors into an answer (a label, a number, tags): one file that calls `@register("name")`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import torch
from torch import Tensor, nn

from chainrule.config import Config, option
from chainrule.registry import Registry

BUILT_IN: dict[str, tuple[str, str]] = {
    "direct": (
        "chainrule.heads.direct",
        "the sum over a sequence, for bodies whose vectors are answers already",
    ),
    "gaussian": ("chainrule.heads.gaussian", "a normal distribution for every number of the next frame"),
    "ensemble": ("chainrule.heads.ensemble", "the heads of several models that answer together"),
    "ensemble-tag": ("chainrule.heads.ensemble", "the heads of several taggers"),
    "span": ("chainrule.heads.span", "where an answer begins and ends in a passage, given a question"),
    "tag": ("chainrule.heads.tag", "a tag for every word, by a linear layer or a CRF"),
    "paired": ("chainrule.heads.paired", "two sequences compared with each other, then a linear layer"),
    "pooled": ("chainrule.heads.pooled", "pooling over a sequence, then a linear layer"),
}


@dataclass(frozen=True, kw_only=True)
class HeadConfig(Config):
    """What every head is told: the sizes of its body and of its answer, and how sure it may be."""

    width: int = option(0, "of the body's hidden vectors", low=0, high=1 << 24, hidden=True)
    answers: int = option(0, "how many numbers are answered", low=0, high=1 << 24, hidden=True)
    temperature: float = option(
        1.0, "what answers are divided by, fitted on validation data", low=1e-9, high=1e9, hidden=True
    )
    thresholds: tuple[float, ...] = option(
        (), "from which probability on each label is given, where several may be", low=0, high=1, hidden=True
    )


class Head(nn.Module):
    """Made for a body of some width and so many answers; both are in its config."""

    name: ClassVar[str] = ""
    Config: ClassVar[type[HeadConfig]] = HeadConfig
    fitted: ClassVar[tuple[str, ...]] = (
        "temperature",
        "thresholds",
    )  # what `calibrated` sets, on validation data
    config: Any

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    @abstractmethod
    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        """The answer to hidden vectors (B, T, D), of which those that are `real` (B, T) count."""

    @final
    def calibrated(self, temperature: float, **others: Any) -> Self:
        """The same weights with another temperature, and what else of `fitted` there is."""
        other = copy(self)
        other.config = replace(self.config, temperature=temperature, **others)
        return other

    @final
    def calibrated_as(self, other: Self) -> Self:
        """The same weights, as sure as another head is."""
        return self.calibrated(**{name: getattr(other.config, name) for name in self.fitted})

    @final
    @classmethod
    def seeded(cls, config: Any, seed: int) -> Self:
        """A fresh head whose weights depend on `seed` alone; the global randomness is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(config)

    @final
    def arrays(self) -> Mapping[str, np.ndarray]:
        """Everything learnt, by name."""
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}

    @final
    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        """The same head again."""
        head = cls(config)
        head.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in arrays.items()})
        return head.eval()


HEADS = Registry[Head]("head", BUILT_IN)
register, head = HEADS.register, HEADS.find
