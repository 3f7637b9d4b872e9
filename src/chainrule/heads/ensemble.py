"""Heads of an ensemble: the mean of the probabilities that the heads of several models give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from chainrule.config import option
from chainrule.heads.base import Head, HeadConfig, head, register
from chainrule.heads.tag import Tagging


@dataclass(frozen=True, kw_only=True)
class EnsembleHeadConfig(HeadConfig):
    """The heads inside."""

    parts: tuple[Any, ...] = option((), "name and settings of each head", hidden=True)


def settings(heads: Sequence[Head]) -> EnsembleHeadConfig:
    """Of an ensemble of these, in the order of its bodies."""
    parts = tuple({"name": one.name, "config": one.config.values()} for one in heads)
    width = sum(one.config.width for one in heads)
    return EnsembleHeadConfig(parts=parts, width=width, answers=heads[0].config.answers)


class Members(nn.Module):
    """log of the mean probability (…, answers), each head reading the vectors of its own body."""

    def __init__(self, parts: Sequence[Any]) -> None:
        super().__init__()
        kinds: list[Any] = [head(part["name"]) for part in parts]
        values = [part["config"] for part in parts]
        self.heads = nn.ModuleList(
            kind(kind.Config.from_values(one)) for kind, one in zip(kinds, values, strict=True)
        )

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        heads: list[Any] = list(self.heads)
        given = torch.split(hidden, [one.config.width for one in heads], 2)  # (B, T, D) each
        logs = [
            (one(own, real) / one.config.temperature).log_softmax(-1)
            for one, own in zip(heads, given, strict=True)
        ]
        found: Tensor = torch.stack(logs).logsumexp(0)
        return found


@register("ensemble")
class EnsembleHead(Head):
    """log of the mean p(answer) over all models."""

    Config: ClassVar[type[HeadConfig]] = EnsembleHeadConfig
    config: EnsembleHeadConfig

    def __init__(self, config: EnsembleHeadConfig) -> None:
        super().__init__(config)
        self.members = Members(config.parts)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return self.members(hidden, real)  # type: ignore[no-any-return]


@register("ensemble-tags")
class EnsembleTags(Tagging):
    """log of the mean p(tag) over all models, for every word."""

    Config: ClassVar[type[HeadConfig]] = EnsembleHeadConfig
    config: EnsembleHeadConfig

    def __init__(self, config: EnsembleHeadConfig) -> None:
        super().__init__(config)
        self.members = Members(config.parts)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        return self.members(hidden, real)  # type: ignore[no-any-return]
