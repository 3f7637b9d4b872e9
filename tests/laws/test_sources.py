"""Sources of every kind keep their laws, and deliberate bugs break them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from chainrule.models.transformer import Transformer
from chainrule.nn.sources import Columns, Given, SymbolSource
from laws.sourced import SOURCE_LAWS, SOURCED, Sourced, SourceLaw


@pytest.mark.parametrize("law", SOURCE_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("case", SOURCED, ids=lambda case: case.name)
def test_the_law_of_sources_is_kept(law: SourceLaw, case: Sourced) -> None:
    law(case)


class Unmasked(SymbolSource):
    """Padding counts as a symbol."""

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        return self.table(ids), torch.ones_like(ids, dtype=torch.bool)


class Cut(nn.Module):
    """What lies beyond the first columns is never looked at."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, given: Given) -> Columns:
        found = self.inner(given)
        return Columns(found.vectors[:, :6], found.real[:, :6], found.places[:6], 0)


class Averaged(nn.Module):
    """Every row is told the mean of all rows."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, given: Given) -> Columns:
        found = self.inner(given)
        mean = found.vectors.mean(0, keepdim=True).expand_as(found.vectors)
        return Columns(mean, found.real, found.places, found.before)


class Deaf(nn.Module):
    """Only the last source is read."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, given: Given) -> Columns:
        found = self.inner(given)
        quiet = torch.arange(found.vectors.shape[1]) < found.before
        return Columns(found.vectors, found.real & ~quiet, found.places, found.before)


def _unmasked(model: Transformer) -> Transformer:
    model.sources.parts[0] = Unmasked(model.sources.parts[0].table)
    return model


def _replaced(kind: type[nn.Module]) -> object:
    def change(model: Transformer) -> Transformer:
        model.sources = kind(model.sources)
        return model

    return change


BUGS = [
    (2, Sourced(("symbols",), _unmasked)),
    (3, Sourced(("symbols",), _replaced(Cut))),
    (1, Sourced(("frames",), _replaced(Averaged))),
    (4, Sourced(("labels", "symbols"), _replaced(Deaf))),
]


@pytest.mark.parametrize(("number", "case"), BUGS, ids=["unmasked", "cut", "averaged", "deaf"])
def test_a_deliberate_bug_breaks_its_law(number: int, case: Sourced) -> None:
    with pytest.raises(AssertionError):
        SOURCE_LAWS[number - 1](case)
