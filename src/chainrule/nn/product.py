"""Products with large matrices while answering, when no gradient is wanted.

For few rows the libraries behind torch do not read a matrix nearly as fast as memory allows: 55 MB, which one core
reads in 1.6 ms, take the loop below 1.7 ms, oneDNN 4.3 (2.5 with two threads) and torch's own choice 5.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chainrule.runtime import compiled, in_threads

FEW = 4  # rows for which the matrix is what takes time
LARGE = 1 << 16  # numbers in a matrix from which it matters
HUGE = 1 << 21  # numbers in a matrix that is worth dividing among threads


def linear(vectors: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """As F.linear, by whatever is fastest when no gradient is wanted."""
    if torch.is_grad_enabled() or not vectors.numel() or vectors.device.type != "cpu":
        return F.linear(vectors, weight, bias)
    if {vectors.dtype, weight.dtype} != {torch.float32}:
        return F.linear(vectors, weight, bias)
    if weight.numel() >= LARGE and vectors.numel() <= FEW * vectors.shape[-1] and weight.is_contiguous():
        return _few(vectors, weight, bias)
    if not torch._C._has_mkldnn:
        return F.linear(vectors, weight, bias)
    found: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return found


class Linear(nn.Linear):
    """A layer that answers by `linear`."""

    def forward(self, vectors: Tensor) -> Tensor:
        return linear(vectors, self.weight, self.bias)


def _few(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A huge matrix by all threads, any other one by this thread: waking others up takes as long."""
    lines, times = len(weight), _times()
    found = vectors.new_empty(*vectors.shape[:-1], lines)
    rows, matrix = vectors.reshape(-1, vectors.shape[-1]).numpy(), weight.detach().numpy()  # (M, D), (N, D)
    out = found.view(-1, lines).numpy()  # (M, N)
    threads = torch.get_num_threads()
    if weight.numel() < HUGE or threads == 1:
        times(rows, matrix, out, 0, lines)
    else:
        cuts = [lines * part // threads for part in range(threads + 1)]
        in_threads(lambda part: times(rows, matrix, out, *part), pairwise(cuts), threads)
    return found if bias is None else found.add_(bias)


@cache
def _times() -> Callable[..., Any]:
    return compiled(_multiply, any_order=True)


def _multiply(rows: np.ndarray, matrix: np.ndarray, out: np.ndarray, low: int, high: int) -> None:
    """Rows (M, D) times the lines `low` to `high` of a matrix (N, D), into out (M, N)."""
    for line in range(low, high):
        for row in range(len(rows)):
            total = np.float32(0.0)
            for place in range(matrix.shape[1]):
                total += matrix[line, place] * rows[row, place]
            out[row, line] = total
