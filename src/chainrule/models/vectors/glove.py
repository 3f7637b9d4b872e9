"""GloVe (Pennington et al. 2014): co-occurrence counts, then least squares on their logarithms with AdaGrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.models.vectors.kernels import dot, kernel
from chainrule.progress import Progress
from chainrule.runtime import in_threads, threads

READ = 1 << 18  # words whose pairs are counted at once
SLICE = 1 << 16  # pairs that a kernel learns from at once
POWER = np.float32(0.75)

Counts = tuple[np.ndarray, np.ndarray]  # keys of pairs, ascending, and their weights


def cooccurrences(stream: np.ndarray, size: int, window: int, progress: Progress) -> Counts:
    """Pairs of words as `small * V + large`, and the sum of 1 / distance over all places where they meet."""
    stack: list[Counts] = []
    with progress("counting pairs", len(stream), "words") as step:
        for low in range(0, len(stream), READ):
            part = stream[low : low + READ]
            keys, weights = np.empty(len(part) * window, np.int64), np.empty(len(part) * window, np.float64)
            count = _pairs(part, size, window, keys, weights)
            stack.append(_summed(keys[:count], weights[:count]))
            while len(stack) > 1 and 2 * len(stack[-1][0]) > len(stack[-2][0]):
                stack.append(_both(stack.pop(), stack.pop()))
            step(len(part))
    while len(stack) > 1:
        stack.append(_both(stack.pop(), stack.pop()))
    return stack[0]


def _both(one: Counts, two: Counts) -> Counts:
    return _summed(np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]]))


def _summed(keys: np.ndarray, weights: np.ndarray) -> Counts:
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(weights, first) if len(first) else weights


@kernel
def _pairs(stream, size, window, keys, weights):  # type: ignore[no-untyped-def]
    """All pairs of one part of the stream; how many there are."""
    count = 0
    for place in range(len(stream)):
        word = stream[place]
        for back in range(1, min(window, place) + 1):
            other = stream[place - back]
            if word < 0 or other < 0:
                break
            keys[count] = min(word, other) * size + max(word, other)
            weights[count] = 1.0 / back
            count += 1
    return count


def train(config: Any, stream: np.ndarray, size: int, progress: Progress) -> np.ndarray:
    """The vectors (V, D): the sum of those of words and of contexts, as the paper does."""
    keys, weights = cooccurrences(stream, size, config.window, progress)
    rng = np.random.default_rng(config.seed)
    width = config.width + 1  # the last number is the bias
    tables = ((rng.random((2, size, width), np.float32) - np.float32(0.5)) / np.float32(width)).copy()
    squares = np.ones_like(tables)
    targets = np.log(weights).astype(np.float32)
    shares = np.minimum(1.0, (weights / config.x_max) ** POWER).astype(np.float32)
    with progress("training glove", config.passes * len(keys), "pairs") as step:
        for _ in range(config.passes):
            order = rng.permutation(len(keys))

            def work(low: int, order: np.ndarray = order) -> None:
                some = order[low : low + SLICE]
                _learn(keys[some], targets[some], shares[some], tables, squares, np.float32(config.rate))
                step(len(some))

            in_threads(work, range(0, len(keys), SLICE), threads())
    return np.ascontiguousarray(tables[0, :, :-1] + tables[1, :, :-1])


@kernel
def _learn(keys, targets, shares, tables, squares, rate):  # type: ignore[no-untyped-def]
    """A step for each pair, in both directions."""
    size = tables.shape[1]
    for k in range(len(keys)):
        one, two = keys[k] // size, keys[k] % size
        _step(tables[0, one], tables[1, two], squares[0, one], squares[1, two], targets[k], shares[k], rate)
        if one != two:
            _step(
                tables[0, two], tables[1, one], squares[0, two], squares[1, one], targets[k], shares[k], rate
            )


@kernel
def _step(x, y, a, b, target, share, rate):  # type: ignore[no-untyped-def]
    """AdaGrad on share * (x · y + biases - target) ** 2 / 2; `a` and `b` are the squares so far."""
    width = len(x) - 1
    gap = dot(x[:width], y[:width]) + x[width] + y[width] - target
    slope = share * gap
    for d in range(width):
        down, along = slope * y[d], slope * x[d]
        x[d] -= rate * down / np.sqrt(a[d])
        y[d] -= rate * along / np.sqrt(b[d])
        a[d] += down * down
        b[d] += along * along
    x[width] -= rate * slope / np.sqrt(a[width])
    y[width] -= rate * slope / np.sqrt(b[width])
    a[width] += slope * slope
    b[width] += slope * slope
