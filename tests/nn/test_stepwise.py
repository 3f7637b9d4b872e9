"""A matrix that many steps share has the gradient that torch adds up step by step."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from chainrule.nn import cells
from chainrule.nn.cells import Cell
from chainrule.nn.product import Linear
from chainrule.nn.stepwise import StepMatrix, stepwise

B, D, T = 3, 4, 5


def given(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize(
    "kind", [cells.RnnCell, cells.LstmCell, cells.GruAfterCell, partial(cells.LstmCell, norm=True)]
)
def test_steps_of_a_cell_have_the_same_gradients(kind: type[Cell]) -> None:
    torch.manual_seed(0)
    cell = kind(2, D).double()
    inputs = given(T, B, cell.bias.shape[0]).requires_grad_()

    def gradients(weight: cells.Weight) -> tuple[Tensor, ...]:
        memory, total = (torch.full((B, D), 0.1).double(),) * cell.memories, torch.zeros(()).double()
        for one in inputs.unbind(0):
            memory = cell.step(one, memory, weight)
            total = total + (memory[0] ** 2).sum()
        return torch.autograd.grad(total, [inputs, cell.hidden_weight])

    torch.testing.assert_close(gradients(StepMatrix(cell.hidden_weight)), gradients(cell.hidden_weight))


def test_steps_of_another_batch_begin_from_scratch() -> None:
    layer, rows = Linear(D, D).double(), given(B, D)
    for _ in range(2):
        layer.weight.grad = None
        step = stepwise(layer)
        step(step(rows)).sum().backward()
    found = layer.weight.grad
    [expected] = torch.autograd.grad(layer(layer(rows)).sum(), [layer.weight])
    torch.testing.assert_close(found, expected)


def test_bfloat16_is_near() -> None:
    weight, rows = given(D, D).float().requires_grad_(), given(B, D).float()
    expected, found = (StepMatrix(weight, bf16).times(rows) for bf16 in (False, True))
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.05)
    gradients = [torch.autograd.grad((one**2).sum(), [weight])[0] for one in (found, expected)]
    torch.testing.assert_close(*gradients, rtol=0.05, atol=0.2)
    assert not torch.equal(found, expected)
