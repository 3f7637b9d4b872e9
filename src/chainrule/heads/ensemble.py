"""The heads of an ensemble: one for each of its models, side by side; the answers of all are averaged by their task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.heads.base import Head, HeadConfig, head, register
from chainrule.heads.tag import TagConfig, TagHead


def described(one: Head) -> dict[str, Any]:
    """A head as a file gives it back."""
    return {"name": one.name, "config": one.config.values()}


def _made(parts: Sequence[Mapping[str, Any]]) -> nn.ModuleList:
    kinds: list[Any] = [head(one["name"]) for one in parts]
    return nn.ModuleList(
        kind(kind.Config.from_values(one["config"])) for kind, one in zip(kinds, parts, strict=True)
    )


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig(HeadConfig):
    """Which heads there are."""

    parts: tuple[Any, ...] = option((), "name and settings of each head", hidden=True)


@register("ensemble")
class EnsembleHead(Head):
    """Heads of models that give one answer for a sequence."""

    Config: ClassVar[type[HeadConfig]] = EnsembleConfig
    config: EnsembleConfig

    def __init__(self, config: EnsembleConfig) -> None:
        super().__init__(config)
        self.parts = _made(config.parts)

    def forward(self, hidden: Tensor, real: Tensor) -> Tensor:
        raise ModelError("An ensemble has no vectors of its own for a head: its models are asked one by one.")


@dataclass(frozen=True, kw_only=True)
class EnsembleTagConfig(TagConfig):
    """Which heads there are."""

    parts: tuple[Any, ...] = option((), "name and settings of each head", hidden=True)


@register("ensemble-tag")
class EnsembleTagHead(TagHead):
    """Heads of taggers; the most probable chain of legal tags is looked for in the mean of what they say."""

    Config: ClassVar[type[HeadConfig]] = EnsembleTagConfig
    config: EnsembleTagConfig

    def __init__(self, config: EnsembleTagConfig) -> None:
        super().__init__(config)
        self.parts = _made(config.parts)
