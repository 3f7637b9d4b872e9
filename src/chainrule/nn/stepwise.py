"""A matrix that many small products share, one for each step of a recurrence: its gradient is one product over all.

torch would multiply once a step for the gradient of the weights, and add up results as large as these: half of the time
of a training. Here what goes in and what comes back is kept until all steps are through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from chainrule.nn.product import Linear

Kept = list[tuple[Tensor, Tensor]]  # rows (B, I) and the gradient of their product (B, N), of every step


class StepMatrix:
    """A weight (N, I) for steps that are differentiated together; `bf16`: its products are in bfloat16."""

    def __init__(self, weight: Tensor, bf16: bool = False) -> None:
        kept: Kept = []
        self.weight = weight.bfloat16() if bf16 else weight
        self.token: Tensor = _Gathered.apply(weight, kept)  # type: ignore[no-untyped-call]
        self.kept = kept

    def times(self, rows: Tensor) -> Tensor:
        """Rows (B, I) times the transposed weight: (B, N)."""
        if not self.token.requires_grad:
            return (rows.to(self.weight.dtype) @ self.weight.t()).to(rows.dtype)
        found: Tensor = _Times.apply(rows, self.token, self.weight.detach(), self.kept)  # type: ignore[no-untyped-call]
        return found


def stepwise(layer: Linear, bf16: bool = False) -> Callable[[Tensor], Tensor]:
    """A linear layer for many steps: where no gradient is wanted, as it is."""
    if not torch.is_grad_enabled():
        return layer
    matrix = StepMatrix(layer.weight, bf16)
    return lambda rows: matrix.times(rows) if layer.bias is None else matrix.times(rows) + layer.bias


def times(rows: Tensor, weight: Tensor | StepMatrix) -> Tensor:
    """Rows (B, I) times a transposed weight (N, I)."""
    return weight.times(rows) if isinstance(weight, StepMatrix) else rows @ weight.t()


class _Gathered(torch.autograd.Function):
    """Nothing going in; coming back, when all steps have been, the gradient of the weight."""

    @staticmethod
    def forward(context: Any, weight: Tensor, kept: Kept) -> Tensor:
        context.kept, context.dtype = kept, weight.dtype
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        rows, changes = (torch.cat(one) for one in zip(*context.kept, strict=True))  # (T B, I), (T B, N)
        context.kept.clear()
        return torch.mm(changes.t(), rows).to(context.dtype), None


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, rows: Tensor, token: Tensor, weight: Tensor, kept: Kept) -> Tensor:
        sized = rows.to(weight.dtype)
        context.save_for_backward(sized, weight)
        context.kept = kept
        return torch.mm(sized, weight.t()).to(rows.dtype)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        rows, weight = context.saved_tensors
        change = gradient.to(weight.dtype)
        context.kept.append((rows, change))
        return torch.mm(change, weight).to(gradient.dtype), gradient.new_zeros(()), None, None
