"""Matrix products: in float32 for inference, in bfloat16 for training where that is wanted.

For few rows the libraries behind torch do not read a matrix nearly as fast as memory allows: 55 MB, which two threads
read in 0.8 ms, take the loop below 1.5 ms (one thread: 2.0), oneDNN 2.5 (4.3) and torch's own choice 5.2 (4.9).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from chainrule.runtime import compiled

FLOOR = 8  # rows from which on libraries give a row the same numbers, however many others there are
FEW = 5  # rows for which the matrix is what takes time
LARGE = 1 << 17  # numbers in a matrix from which it matters
NOTHING = np.empty(0, np.float32)
THREADS = threading.Lock()  # numba's serve one caller at a time
_steady = threading.local()


@contextmanager
def steady() -> Iterator[None]:
    """A stretch in which a row of a product is the same to the bit whatever rows are beside it, in this thread.

    Libraries add up in another order where there are only a few rows, so there are never fewer than FLOOR of them.
    """
    before = getattr(_steady, "on", False)
    _steady.on = True
    try:
        yield
    finally:
        _steady.on = before


def linear(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As F.linear, by whatever is fastest when no gradient is wanted."""
    quick = vectors.is_cpu and vectors.dtype is weight.dtype is torch.float32
    if torch.is_grad_enabled() or not quick or not vectors.numel():
        return F.linear(vectors, weight, bias)
    if getattr(_steady, "on", False):
        return _floored(vectors, weight, bias)
    few = weight.numel() >= LARGE and vectors.numel() <= FEW * weight.shape[1] and weight.is_contiguous()
    if few and THREADS.acquire(blocking=False):
        try:
            return _few(vectors, weight, bias)
        finally:
            THREADS.release()
    return _many(vectors, weight, bias)


def _many(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """By the libraries behind torch."""
    if not torch._C._has_mkldnn:
        return F.linear(vectors, weight, bias)
    found: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return found


def _floored(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """With FLOOR rows at least; what is beside those there are does not matter."""
    rows = vectors.reshape(-1, vectors.shape[-1])  # (M, D)
    if len(rows) >= FLOOR:
        return _many(vectors, weight, bias)
    found = _many(F.pad(rows, (0, 0, 0, FLOOR - len(rows))), weight, bias)
    return found[: len(rows)].view(*vectors.shape[:-1], -1)


def bf16_pays() -> bool:
    """Whether this machine has instructions for products in bfloat16; imitated, they are slower, or missing."""
    return bool(torch.cpu.get_capabilities().get("avx512_bf16", False))


def product(vectors: Tensor, weight: Tensor, bias: Tensor | None, bf16: bool) -> Tensor:
    """As F.linear, in bfloat16 if wanted, which is for training."""
    if bf16:
        found: Tensor = _BF16.apply(vectors, weight, bias)  # type: ignore[no-untyped-call]
        return found
    return linear(vectors, weight, bias)


class Linear(nn.Linear):
    """Linear layer: runs by `linear`, and with `bf16` trains by products in bfloat16."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True, bf16: bool = False) -> None:
        super().__init__(inputs, outputs, bias)
        self.bf16 = bf16

    def forward(self, vectors: Tensor) -> Tensor:
        return product(vectors, self.weight, self.bias, self.training and self.bf16)


class _BF16(torch.autograd.Function):
    """Only products are in bfloat16, forward and backward: whatever lies between them is faster as it is."""

    @staticmethod
    def forward(context: Any, vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows, matrix = vectors.flatten(0, -2).bfloat16(), weight.bfloat16()  # (M, D), (N, D)
        context.save_for_backward(rows, matrix)
        context.biased = bias is not None
        found = torch.mm(rows, matrix.t()).float().view(*vectors.shape[:-1], len(matrix))
        return found if bias is None else found.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        rows, matrix = context.saved_tensors
        flat = gradient.flatten(0, -2)  # (M, N)
        bf16 = flat.bfloat16()
        to_vectors = torch.mm(bf16, matrix).float().view(*gradient.shape[:-1], matrix.shape[1])
        to_weight = torch.mm(bf16.t(), rows).float()
        return to_vectors, to_weight, flat.sum(0) if context.biased else None


def _few(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """By all threads that torch would use."""
    import numba

    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    numba.set_num_threads(min(torch.get_num_threads(), most))
    lines, width = weight.shape
    found = torch.empty((*vectors.shape[:-1], lines))
    rows, out = vectors.numpy().reshape(-1, width), found.numpy().reshape(-1, lines)  # (M, D), (M, N)
    shift = NOTHING if bias is None else bias.detach().numpy()  # (N,)
    _kernel()(rows, weight.detach().numpy(), shift, out)
    return found


@cache
def _kernel() -> Callable[..., Any]:
    import numba

    def multiply(rows: np.ndarray, matrix: np.ndarray, shift: np.ndarray, out: np.ndarray) -> None:
        """Rows (M, D) times a matrix (N, D), plus a shift (N,) or (0,), into out (M, N)."""
        for line in numba.prange(matrix.shape[0]):
            start = shift[line] if len(shift) else np.float32(0.0)
            for row in range(len(rows)):
                total = np.float32(0.0)
                for place in range(matrix.shape[1]):
                    total += matrix[line, place] * rows[row, place]
                out[row, line] = total + start

    return compiled(multiply, parallel=True, fastmath={"reassoc", "contract", "nsz"})
