"""Smoothing, from counts to probabilities: every kind is one formula with other numbers in it.

For a context h with children w, and h' the context without its first symbol:

    p(w | h) = (a(hw) - D) / S + g(h) p(w | h')        S = sum of a(h·) + W types(h) + K,   g(h) = what is left over

                   a            D                   W    K      p(w | h') at the end of the chain
    none           count        0                   0    0      uniform (g is 0: nothing is left over)
    add-k          count        0                   0    k V    uniform, already at the first step
    witten-bell    count        0                   1    0      uniform
    absolute       count        n1 / (n1 + 2 n2)    0    0      uniform
    kneser-ney     kinds of     D1, D2, D3+         0    0      uniform
                   left word    (Chen and Goodman)

The uniform distribution is over the symbols that can be predicted. Kneser-Ney counts as in Heafield et al. (2013):
the highest order, and n-grams that begin a sequence, keep their plain counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from chainrule.models.ngram.space import Space, Span
from chainrule.models.ngram.trie import Trie, left_degree
from chainrule.runtime import compiled, threads
from chainrule.symbols import BOS

SMOOTHINGS = ("kneser-ney", "absolute", "witten-bell", "add-k", "none")
FALLBACK = (0.0, 0.5, 1.0, 1.5)  # discounts for counts of 0, 1, 2, 3 and more when the data cannot tell


@dataclass(frozen=True)
class Smoothing:
    """The numbers of one smoothing for one order."""

    discounts: np.ndarray  # (4,): of a count of 0, 1, 2, 3 and more
    per_type: float = 0.0  # W
    constant: float = 0.0  # K
    uniform: bool = False  # the rest goes to the uniform distribution at once, without shorter contexts


@dataclass(frozen=True)
class Estimate:
    """Natural log-probabilities of all nodes and log-weights of all contexts."""

    logs: np.ndarray  # (nodes,) float32
    backoff: np.ndarray  # (contexts,) float32
    discounts: list[list[float]]  # by order, for the card
    notes: tuple[str, ...]  # what a user should know: fall-backs that were taken


def estimate(
    trie: Trie, predictable: np.ndarray, smoothing: str, k: float, kept: np.ndarray | None, space: Space
) -> Estimate:
    """Probabilities of every n-gram; `predictable` (V,) are symbols that have one, `kept` (nodes,) those not pruned."""
    counts = _adjusted(trie, space) if smoothing == "kneser-ney" else trie.count
    logs, backoff = (space.empty(size, np.float32) for size in (len(trie.word), trie.contexts))
    logs[0] = 1.0
    notes: list[int] = []  # orders whose discounts could not be computed
    numbers = []
    for n in range(1, trie.order + 1):
        numbers.append(_smoothing(trie, counts, n, smoothing, k, int(predictable.sum()), notes))
        _estimate_level(trie, counts, n, numbers[-1], predictable, kept, logs, backoff, space)
    for values in (logs, backoff):
        work = partial(_take_log, values)
        space.sweep("taking logarithms", work, 0, len(values))
    return Estimate(logs, backoff, [one.discounts[1:].tolist() for one in numbers], _told(notes))


def _told(orders: list[int]) -> tuple[str, ...]:
    """One sentence for all orders that had to do with fixed discounts."""
    if not orders:
        return ()
    which = ", ".join(str(order) for order in orders)
    fixed = ", ".join(f"{value:g}" for value in FALLBACK[1:])
    return (f"discounts: {fixed} for order {which}, where counts are too few or too alike to compute them",)


def _adjusted(trie: Trie, space: Space) -> np.ndarray:
    """Kneser-Ney's counts: in how many contexts an n-gram was seen, where something stands to its left."""
    counts = space.empty(len(trie.count), trie.count.dtype)
    counts[: trie.contexts] = 0
    counts[trie.contexts :] = trie.count[trie.contexts :]
    for n in range(1, trie.order):
        level, above = trie.level(n), trie.level(n + 1)
        space.sweep(
            "adjusting counts",
            lambda span, above=above: left_degree(trie.link, above.start, above.stop, *span, counts),  # type: ignore[misc]
            level.start,
            level.stop,
            threads(),
        )
        begins = trie.below(BOS, n)
        counts[begins] = trie.count[begins]
    return counts


def _smoothing(
    trie: Trie, counts: np.ndarray, n: int, smoothing: str, k: float, predicted: int, notes: list[int]
) -> Smoothing:
    nothing = np.zeros(4)
    if smoothing == "none":
        return Smoothing(nothing)
    if smoothing == "add-k":
        return Smoothing(nothing, constant=k * predicted, uniform=True)
    if smoothing == "witten-bell":
        return Smoothing(nothing, per_type=1.0)
    level = trie.level(n)
    seen = _counts_of_counts(counts[level], trie.word[level], n == 1)
    if smoothing == "absolute":
        return Smoothing(_absolute(seen, n, notes))
    return Smoothing(_modified(seen, n, notes))


def _modified(seen: np.ndarray, n: int, notes: list[int]) -> np.ndarray:
    """Chen and Goodman's three discounts, or plain ones where the data are too small or too regular for them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        y = seen[1] / (seen[1] + 2 * seen[2])
        discounts = np.array([0.0, *(i - (i + 1) * y * seen[i + 1] / seen[i] for i in (1, 2, 3))])
    limits = np.arange(4)
    if np.isfinite(discounts).all() and (discounts[1:] > 0).all() and (discounts <= limits).all():
        return discounts
    notes.append(n)
    return np.array(FALLBACK)


def _absolute(seen: np.ndarray, n: int, notes: list[int]) -> np.ndarray:
    """Ney's one discount, n1 / (n1 + 2 n2)."""
    if seen[1] > 0 and seen[2] > 0:
        discount = seen[1] / (seen[1] + 2 * seen[2])
    else:
        discount = FALLBACK[1]
        notes.append(n)
    return np.array([0.0, discount, discount, discount])


def _counts_of_counts(counts: np.ndarray, words: np.ndarray, single: bool) -> np.ndarray:
    """How many n-grams have an (adjusted) count of 0, 1, 2, 3, 4: (5,). BOS alone is never predicted: left out."""
    small: np.ndarray = _small_counts(counts)
    if single and counts[BOS] < 5:
        small[counts[BOS]] -= 1
    return small


@compiled
def _small_counts(counts):  # type: ignore[no-untyped-def]
    seen = np.zeros(5, np.int64)
    for count in counts:
        if count < 5:
            seen[count] += 1
    return seen


def _estimate_level(
    trie: Trie,
    counts: np.ndarray,
    n: int,
    numbers: Smoothing,
    predictable: np.ndarray,
    kept: np.ndarray | None,
    logs: np.ndarray,
    backoff: np.ndarray,
    space: Space,
) -> None:
    """Probabilities of all n-grams of length n, still without logarithm, and the weights of their contexts."""
    parents = trie.level(n - 1)
    keep = np.ones(0, np.bool_) if kept is None else kept
    how = (numbers.discounts, numbers.per_type, numbers.constant, numbers.uniform)
    arrays = (predictable, counts, keep, trie.word, trie.child, trie.link, logs, backoff)
    work = lambda span: _estimate_children(*span, n == 1, *how, *arrays)  # noqa: E731
    space.sweep(f"estimating {n}-grams", work, parents.start, parents.stop)


@compiled
def _estimate_children(  # type: ignore[no-untyped-def]
    low, high, first, discounts, per_type, constant, uniform, predictable,
    counts, kept, word, child, link, probabilities, backoff,
):  # fmt: skip
    """Probabilities of all children of the nodes low … high, and what each node leaves to shorter contexts."""
    even = 1.0 / predictable.sum()
    for node in range(low, high):
        total, taken = constant, 0.0
        for i in range(child[node], child[node + 1]):
            if (first and not predictable[word[i]]) or counts[i] == 0:
                continue
            total += counts[i] + per_type
            if len(kept) == 0 or kept[i]:
                taken += counts[i] - discounts[min(counts[i], 3)]
        rest = 1.0 if total == constant else (total - taken) / total  # 1: nothing was seen after it
        backoff[node] = rest
        for i in range(child[node], child[node + 1]):
            if first and not predictable[word[i]]:
                probabilities[i] = 0.0
                continue
            lower = even if first or uniform else probabilities[link[i]]
            own = (counts[i] - discounts[min(counts[i], 3)]) / total if counts[i] > 0 else 0.0
            probabilities[i] = own + rest * lower


def _take_log(values: np.ndarray, span: Span) -> None:
    """Natural logarithms in place; the logarithm of zero is -inf, which is what it is."""
    part = values[slice(*span)]
    with np.errstate(divide="ignore"):
        np.log(part, out=part)
