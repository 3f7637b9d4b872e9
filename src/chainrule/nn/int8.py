"""Int8 quantisation: weights take a quarter of the memory, and reading them is what limits generation of one text.

Every row of a matrix has a scale of its own, and so has every vector it is multiplied with: sums of whole numbers are
exact, so a result does not depend on the other rows of its batch.
"""

from __future__ import annotations

import warnings
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TOP = 127.0  # the largest of the whole numbers
ZERO = 128  # the byte that stands for 0 in vectors
HALF, LOW_ZERO = 63.0, 64  # the same where sums of two products must fit 16 bits: 127 * 127 * 2 does
LEAST = 1e-12  # a row of zeros has a scale, too


class Matrix:
    """A matrix (N, D) as whole numbers from -127 to 127, and what one of them is worth in each row (N,)."""

    def __init__(self, weight: Tensor) -> None:
        scale = weight.abs().amax(1).clamp(min=LEAST) / TOP
        self.size = weight.shape[0]
        self.packed = _packed(weight, scale) if _has_kernels() else None
        if self.packed is None:
            self.scale, self.whole = scale, (weight / scale[:, None]).round().to(torch.int8)

    def times(self, vectors: Tensor) -> Tensor:
        """Vectors (…, D) times the transposed matrix: (…, N)."""
        if self.packed is None:
            return F.linear(vectors, self.whole.to(vectors.dtype) * self.scale[:, None])
        rows = vectors.reshape(-1, vectors.shape[-1])  # (M, D)
        top, zero = _range()
        worth = rows.abs().amax(1, keepdim=True).clamp_(min=LEAST).div_(top)  # (M, 1)
        multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
        found: Tensor = multiply(rows / worth, 1.0, zero, self.packed)  # (M, N)
        return found.mul_(worth).view(*vectors.shape[:-1], self.size)


class Int8Linear(nn.Module):
    """A linear layer with int8 weights, in the place of an nn.Linear: for inference only."""

    bias: Tensor | None

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.matrix = Matrix(layer.weight.detach())
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())

    def forward(self, vectors: Tensor) -> Tensor:
        found = self.matrix.times(vectors)
        return found if self.bias is None else found.add_(self.bias)


def compress(module: nn.Module) -> None:
    """Quantise every linear layer inside."""
    for name, part in list(module.named_children()):
        if isinstance(part, nn.Linear):
            setattr(module, name, Int8Linear(part))
        else:
            compress(part)


@cache
def _has_kernels() -> bool:
    """Whether torch was built with products of bytes for this kind of machine."""
    return torch.backends.quantized.engine in ("x86", "fbgemm")


@cache
def _range() -> tuple[float, int]:
    """The largest whole number of a vector, and the byte that stands for 0.

    Without VNNI, machines add products of two pairs of bytes in 16 bits and cut off what does not fit.
    """
    return (TOP, ZERO) if torch.cpu._is_vnni_supported() else (HALF, LOW_ZERO)


def _packed(weight: Tensor, scale: Tensor) -> object:
    """In the order in which the products want to read it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.quantize_per_tensor", category=UserWarning)
        zero = torch.zeros(len(weight), dtype=torch.long)
        whole = torch.quantize_per_channel(weight.float(), scale.double(), zero, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(whole, None)
