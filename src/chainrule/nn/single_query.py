"""Attention of single queries, one a row, to columns of a pool that rows share: compiled by numba.

A row names the columns it attends to, so rows of a beam need no copies of what they have in common, and what one
row finds does not depend on the others. Libraries multiply matrices: for a query and a dozen keys they take several
times as long as this loop, which weighs four columns at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from chainrule.runtime import compiled

FOUR = 4  # columns weighed at a time
EVERYTHING = np.empty((0, 0), np.bool_)


def attended(
    queries: Tensor, keys: Tensor, values: Tensor, places: Tensor, allowed: Tensor | None = None
) -> Tensor:
    """Softmax(q K' / sqrt(d)) V (B, H, v) of queries (B, H, d) to those columns of keys (C, H, d) and values (C, H, v).

    Row b attends to `places` (B, L), of which it may be `allowed` (B, L) only some.
    """
    found = values.new_empty(*queries.shape[:2], values.shape[2])
    inside = EVERYTHING if allowed is None else allowed.contiguous().numpy()
    pool = keys.numpy(), values.numpy()
    _kernel()(queries.contiguous().numpy(), *pool, places.contiguous().numpy(), inside, found.numpy())
    return found


def suits(columns: Tensor) -> bool:
    """Whether such keys or values are read by the loop: float32 on the CPU, and no gradient is wanted of them.

    Searches select rows outside of inference, so what counts is the tensor, not whether gradients are kept at all.
    """
    return columns.is_cpu and columns.dtype is torch.float32 and not columns.requires_grad


@cache
def _kernel() -> Callable[..., Any]:
    options = {"fastmath": {"reassoc", "contract", "nsz"}}
    products, softmax, mean = (compiled(one, **options) for one in (_products, _softmax, _mean))

    def attend(queries, keys, values, places, allowed, out):  # type: ignore[no-untyped-def]
        """Row by row, head by head."""
        room = -(-places.shape[1] // FOUR) * FOUR
        columns, weights = np.zeros(room, np.int64), np.zeros(room, np.float32)
        for row in range(len(queries)):
            count = 0
            for place in range(places.shape[1]):
                if allowed.size == 0 or allowed[row, place]:
                    columns[count] = places[row, place]
                    count += 1
            for rest in range(count, room):
                columns[rest] = columns[0]
            for head in range(queries.shape[1]):
                products(queries, row, head, keys, columns, count, weights)
                softmax(weights, count, 1.0 / math.sqrt(queries.shape[2]))
                mean(weights, values, columns, count, out, row, head)

    return compiled(attend)


def _products(queries, row, head, keys, columns, count, products):  # type: ignore[no-untyped-def]
    """Of a query with the keys of the first `count` columns, and of some others that fill up the last four."""
    for at in range(0, count, FOUR):
        a, b, c, d = columns[at], columns[at + 1], columns[at + 2], columns[at + 3]
        first = second = third = fourth = np.float32(0.0)
        for place in range(queries.shape[2]):
            number = queries[row, head, place]
            first += number * keys[a, head, place]
            second += number * keys[b, head, place]
            third += number * keys[c, head, place]
            fourth += number * keys[d, head, place]
        products[at], products[at + 1], products[at + 2], products[at + 3] = first, second, third, fourth


def _softmax(products, count, scale):  # type: ignore[no-untyped-def]
    """Of the first `count` products, in their place; 0 for what fills up the last four."""
    top, total = np.float32(-np.inf), np.float32(0.0)
    for at in range(count):
        top = max(top, products[at])
    for at in range(count):
        products[at] = math.exp((products[at] - top) * np.float32(scale))
        total += products[at]
    total = np.float32(1.0) / total
    for at in range(count):
        products[at] *= total
    for at in range(count, -(-count // FOUR) * FOUR):
        products[at] = np.float32(0.0)


def _mean(weights, values, columns, count, out, row, head):  # type: ignore[no-untyped-def]
    """The weighted mean of the values of the first `count` columns."""
    for place in range(out.shape[2]):
        out[row, head, place] = np.float32(0.0)
    for at in range(0, count, FOUR):
        a, b, c, d = columns[at], columns[at + 1], columns[at + 2], columns[at + 3]
        first, second, third, fourth = weights[at], weights[at + 1], weights[at + 2], weights[at + 3]
        for place in range(out.shape[2]):
            out[row, head, place] += (
                first * values[a, head, place]
                + second * values[b, head, place]
                + third * values[c, head, place]
                + fourth * values[d, head, place]
            )
