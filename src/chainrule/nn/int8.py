"""Weights in eight bits: a quarter of the memory to read, and reading weights is what one stream waits for.

Every row of a matrix has a scale of its own; vectors and sums stay as they are. For few rows at a time torch multiplies
with the small weights directly, for many they are unpacked first.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW = 16  # rows that are multiplied directly


def packed(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix (N, D) as whole numbers from -127 to 127, and what one of them is worth in each row (N,)."""
    scale = weight.abs().amax(1).clamp(min=1e-12) / 127.0
    return (weight / scale[:, None]).round().to(torch.int8), scale


def product(vectors: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Vectors (…, D) times the transposed matrix (N, D): (…, N)."""
    rows = vectors.reshape(-1, vectors.shape[-1])
    if len(rows) > FEW:
        return F.linear(vectors, weight.to(vectors.dtype) * scale.to(vectors.dtype)[:, None])
    found = torch._weight_int8pack_mm(rows, weight, scale.to(rows.dtype))
    return found.view(*vectors.shape[:-1], len(weight))


class Int8Linear(nn.Module):
    """Stands where an nn.Linear stood; it answers, and learns no more."""

    weight: Tensor  # (N, D) int8
    scale: Tensor  # (N,)
    bias: Tensor | None

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        weight, scale = packed(layer.weight.detach())
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())

    def forward(self, vectors: Tensor) -> Tensor:
        found = product(vectors, self.weight, self.scale)
        return found if self.bias is None else found + self.bias


def compress(module: nn.Module) -> int:
    """Put small weights in the place of every linear layer inside; gives how many layers there were."""
    count = 0
    for name, part in list(module.named_children()):
        if isinstance(part, nn.Linear):
            setattr(module, name, Int8Linear(part))
            count += 1
        else:
            count += compress(part)
    return count
