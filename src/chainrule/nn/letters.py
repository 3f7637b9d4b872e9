"""Filters over the letters of words, and the maximum of each over a word, by looking up instead of multiplying.

There are few letters, so what a filter makes of a letter at each of its places is a table, and a filter is the sum of
as many rows of it as it is wide. Going back, a maximum asks for one window only.

Letters: N words of at most C letters, F filters, the widest over P letters, L letters there are in all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from chainrule.runtime import compiled


def greatest(letters: Tensor, lengths: Tensor, table: Tensor, widths: Tensor) -> Tensor:
    """Max over time (N, F) of filters over words (N, C) of `lengths` (N,) letters, at least 1.

    `table` (P, L, F) says what filters make of a letter at each of their places, of which they have `widths` (F,).
    A window begins with a letter of the word; behind the word there is nothing.
    """
    found: Tensor = _Greatest.apply(letters.contiguous(), lengths, table, widths)  # type: ignore[no-untyped-call]
    return found


class _Greatest(torch.autograd.Function):
    """What is kept for the way back is where each maximum was."""

    @staticmethod
    def forward(context: Any, letters: Tensor, lengths: Tensor, table: Tensor, widths: Tensor) -> Tensor:
        found = table.new_empty(len(letters), table.shape[2])
        first = torch.empty(found.shape, dtype=torch.int32)
        _forward()(*(one.detach().numpy() for one in (letters, lengths, table, widths, found, first)))
        context.save_for_backward(letters, lengths, widths, first)
        context.shape = table.shape
        return found

    @staticmethod
    @once_differentiable
    def backward(context: Any, gradient: Tensor) -> tuple[None, None, Tensor, None]:
        letters, lengths, widths, first = context.saved_tensors
        to_table = gradient.new_zeros(context.shape)
        wanted = (letters, lengths, widths, first, gradient.contiguous(), to_table)
        _backward()(*(one.numpy() for one in wanted))
        return None, None, to_table, None


@cache
def _forward() -> Callable[..., Any]:
    def greatest(
        letters: np.ndarray,
        lengths: np.ndarray,
        table: np.ndarray,
        widths: np.ndarray,
        found: np.ndarray,
        first: np.ndarray,
    ) -> None:
        """The maxima (N, F), and with which letter (N, F) their windows begin, the first where there are several."""
        total = np.empty(table.shape[2], table.dtype)
        begins = np.array([np.argmax(widths > place) for place in range(len(table))])
        for word in range(len(letters)):
            best = found[word]
            place_of = first[word]
            best[:] = -np.inf
            for start in range(lengths[word]):
                total[:] = table[0, letters[word, start]]
                for place in range(1, min(len(table), lengths[word] - start)):
                    row = table[place, letters[word, start + place]]
                    for one in range(begins[place], len(total)):
                        total[one] += row[one]
                for one in range(len(total)):
                    better = total[one] > best[one]
                    best[one] = total[one] if better else best[one]
                    place_of[one] = np.int32(start) if better else place_of[one]

    return compiled(greatest)


@cache
def _backward() -> Callable[..., Any]:
    def back(
        letters: np.ndarray,
        lengths: np.ndarray,
        widths: np.ndarray,
        first: np.ndarray,
        gradient: np.ndarray,
        to_table: np.ndarray,
    ) -> None:
        """Add the gradient (N, F) of the maxima to that of the table (P, L, F)."""
        for word in range(len(letters)):
            for one in range(len(widths)):
                start = first[word, one]
                for place in range(min(widths[one], lengths[word] - start)):
                    to_table[place, letters[word, start + place], one] += gradient[word, one]

    return compiled(back)
