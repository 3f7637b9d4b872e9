"""Products with weights in eight bits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from chainrule.nn import int8
from chainrule.nn.int8 import Int8Linear, Matrix


def _vectors() -> Tensor:
    """Rows of very different size, one of them nothing."""
    torch.manual_seed(1)
    return torch.randn(6, 48) * torch.tensor([1.0, 1e3, 1e-3, 0.0, 20.0, 1.0])[:, None]


@pytest.mark.parametrize("kernels", [True, False])
def test_products_are_within_two_percent_or_three_without_vnni(
    monkeypatch: pytest.MonkeyPatch, kernels: bool
) -> None:
    monkeypatch.setattr(int8, "_has_kernels", lambda: kernels and torch.backends.quantized.engine == "x86")
    vectors, weight = _vectors(), torch.randn(80, 48) * torch.rand(80, 1)
    exact, found = vectors @ weight.t(), Matrix(weight).times(vectors)
    assert (
        (found - exact).norm(dim=1) <= (0.02 if torch.cpu._is_vnni_supported() else 0.03) * exact.norm(dim=1)
    ).all()
    assert not torch.equal(found, exact)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    vectors, layer = _vectors(), Int8Linear(nn.Linear(48, 80))
    together = layer(vectors)
    assert torch.equal(together, torch.cat([layer(row[None]) for row in vectors]))
    assert torch.equal(together, layer(vectors.view(2, 3, 48)).view(6, 80))


def test_nothing_times_a_matrix_is_nothing() -> None:
    assert Matrix(torch.randn(8, 4)).times(torch.empty(0, 4)).shape == (0, 8)
    assert torch.equal(Matrix(torch.zeros(8, 4)).times(torch.ones(1, 4)), torch.zeros(1, 8))
