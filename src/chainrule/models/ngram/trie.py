"""Counts of all n-grams as a trie in five flat arrays.

Node 0 is the root, nodes 1 … V are the single symbols by id, then all bigrams in order, all trigrams, and so on.
The children of a node are neighbours, sorted by symbol: `child[g] … child[g + 1]`. The link of an n-gram is
the node of the same n-gram without its first symbol: what one falls back to. It always exists, because whatever
was seen was also seen without its first symbol, so reading a text is one walk through the trie that never restarts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from chainrule.models.ngram.sort import sorted_positions
from chainrule.models.ngram.space import Space
from chainrule.runtime import compiled, in_threads, threads
from chainrule.symbols import EOS


@dataclass(frozen=True)
class Trie:
    """All n-grams up to an order, with how often each was seen."""

    levels: np.ndarray  # (order + 2,) int64: n-grams of length k are the nodes levels[k] … levels[k + 1]
    word: np.ndarray  # (nodes,) int32: the last symbol of each n-gram
    count: np.ndarray  # (nodes,) int32: how often it was seen
    link: np.ndarray  # (nodes,) int32: the same n-gram without its first symbol
    child: np.ndarray  # (contexts + 1,): the first child of every node below the highest order

    @property
    def order(self) -> int:
        return len(self.levels) - 2

    @property
    def contexts(self) -> int:
        """How many nodes can have children: all below the highest order."""
        return int(self.levels[-2])

    def level(self, k: int) -> slice:
        """The nodes of all n-grams of length k."""
        return slice(int(self.levels[k]), int(self.levels[k + 1]))

    def below(self, symbol: int, k: int) -> slice:
        """The nodes of length k that begin with a symbol."""
        low, high = 1 + symbol, 2 + symbol
        for _ in range(k - 1):
            low, high = int(self.child[low]), int(self.child[high])
        return slice(low, high)


def count_ngrams(stream: np.ndarray, vocab_size: int, order: int, space: Space) -> Trie:
    """Count every n-gram of a stream of sequences, each `BOS … EOS`, in memory."""
    places = sorted_positions(stream, None, vocab_size, order, space.progress)
    pieces = _pieces(stream, places)
    sizes = np.array(in_threads(lambda piece: count_nodes(stream, places[piece], order, -1), pieces))
    levels = level_starts(vocab_size, sizes.sum(0))
    trie = empty_trie(levels, space)
    starts = levels[:-1] + np.cumsum(sizes, 0) - sizes  # (pieces, order + 1): where each piece writes
    fan = np.zeros(vocab_size, np.int64)
    shift, stateful = np.zeros(order + 2, np.int64), np.zeros(order + 1, np.int64)

    with space.progress("counting", len(places)) as step:

        def write(i: int) -> None:
            some, arrays = places[pieces[i]], (trie.word, trie.count, trie.child, fan)
            write_nodes(stream, some, order, starts[i].copy(), shift, *arrays, -1, stateful)
            step(len(some))

        in_threads(write, range(len(pieces)))
    seal(trie, np.bincount(stream, minlength=vocab_size), fan, space)
    return trie


def level_starts(vocab_size: int, sizes: np.ndarray) -> np.ndarray:
    """Where each level of nodes begins, from how many nodes levels 2, 3 … have (`sizes[k]`)."""
    return np.cumsum([0, 1, vocab_size, *sizes[2:]])


def empty_trie(levels: np.ndarray, space: Space) -> Trie:
    """Arrays of the right sizes, not yet filled."""
    nodes, contexts = int(levels[-1]), int(levels[-2])
    kind = np.int32 if nodes < 2**31 else np.int64
    word, count, link = (space.empty(nodes, dtype) for dtype in (np.int32, np.int32, kind))
    return Trie(levels, word, count, link, space.empty(contexts + 1, kind))


def seal(trie: Trie, seen: np.ndarray, fan: np.ndarray, space: Space) -> None:
    """Fill in what the sorted scan leaves out: the root, the single symbols, the end marks, and all links."""
    vocab_size = len(seen)
    trie.word[0], trie.count[0], trie.link[0] = 0, seen.sum(), 0
    trie.word[1 : vocab_size + 1] = np.arange(vocab_size)
    trie.count[1 : vocab_size + 1] = seen
    trie.link[1 : vocab_size + 1] = 0
    trie.child[0] = 1
    if trie.order > 1:
        trie.child[1 : vocab_size + 2] = trie.levels[2] + np.concatenate([[0], np.cumsum(fan)])
    trie.child[trie.contexts] = trie.levels[-1]
    for k in range(1, trie.order):
        level, first = trie.level(k), k == 1
        space.sweep(
            f"linking {k + 1}-grams",
            lambda span, first=first: _link_children(trie.word, trie.child, trie.link, first, *span),  # type: ignore[misc]
            level.start,
            level.stop,
        )


def _pieces(stream: np.ndarray, places: np.ndarray) -> list[slice]:
    """Parts of the sorted positions that share no first symbol, so that they can be scanned side by side."""
    wanted = np.linspace(0, len(places), 32 * threads() + 1).astype(np.int64)[1:-1]
    cuts = [0, *(_next_first(stream, places, int(at)) for at in wanted), len(places)]
    cuts = sorted(set(cuts))
    return [slice(low, high) for low, high in pairwise(cuts)]


@compiled
def _next_first(stream, places, at):  # type: ignore[no-untyped-def]
    """The first place from `at` on whose first symbol differs from its predecessor's: bisection, as all is sorted."""
    symbol = stream[places[at - 1]]
    low, high = at, len(places)
    while low < high:
        middle = (low + high) // 2
        if stream[places[middle]] == symbol:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _shared(stream, one, other, order):  # type: ignore[no-untyped-def]
    """How many symbols two windows share from their beginnings, and how many the first one has."""
    shared, length = 0, order
    alike = True
    for k in range(order):
        symbol = stream[one + k]
        alike = alike and symbol == stream[other + k]
        if alike:
            shared = k + 1
        if symbol == EOS:
            length = k + 1
            break
    return shared, length


@compiled
def count_nodes(stream, places, order, previous):  # type: ignore[no-untyped-def]
    """How many new n-grams of each length there are: (order + 1,); `previous` stands before the first, or is -1."""
    sizes = np.zeros(order + 1, np.int64)
    before = previous
    for j in range(len(places)):
        shared, length = _shared(stream, places[j], max(before, 0), order)
        for k in range(1 if before < 0 else shared + 1, length + 1):
            sizes[k] += 1
        before = places[j]
    return sizes


@compiled
def write_nodes(stream, places, order, at, shift, word, count, child, fan, previous, stateful):  # type: ignore[no-untyped-def]
    """Write the n-grams of length 2 and more, sorted, from `at[k]` on; count the children of single symbols in `fan`.

    `carry[k]` is how often the last n-gram of length k before these was seen again at their beginning.
    """
    start = at.copy()
    opened = np.zeros(order + 1, np.int64)  # where the n-gram of each length that is being counted began
    before = previous
    open_length = order if previous >= 0 else 0  # how many symbols the window before had
    for j in range(len(places) + 1):
        shared, length = 0, 0
        if j < len(places):
            shared, length = _shared(stream, places[j], max(before, 0), order)
            shared = shared if before >= 0 else 0
            before = places[j]
        for k in range(max(2, shared + 1), open_length + 1):
            if at[k] > start[k]:
                count[at[k] - 1] = j - opened[k]
            else:
                stateful[k] = j
        for k in range(max(2, shared + 1), length + 1):
            opened[k] = j
            word[at[k]] = stream[places[j] + k - 1]
            if k < order:
                child[at[k]] = at[k + 1] + shift[k + 1]
            if k == 2:
                fan[stream[places[j]]] += 1
            at[k] += 1
        open_length = length


@compiled
def _link_children(word, child, link, first, low, high):  # type: ignore[no-untyped-def]
    """Links of all children of the nodes low … high: the equally named children of those nodes' links."""
    for node in range(low, high):
        if first:
            for i in range(child[node], child[node + 1]):
                link[i] = 1 + word[i]
            continue
        at, end = child[link[node]], child[link[node] + 1]
        for i in range(child[node], child[node + 1]):
            target = word[i]
            step = 1
            while at + step < end and word[at + step] <= target:
                at += step
                step *= 2
            stop = min(end, at + step)
            while at + 1 < stop:
                middle = (at + stop) // 2
                if word[middle] <= target:
                    at = middle
                else:
                    stop = middle
            link[i] = at


@compiled
def left_degree(link, low, high, first, last, degree):  # type: ignore[no-untyped-def]
    """How many of the nodes low … high link to each of the nodes first … last."""
    for i in range(low, high):
        target = link[i]
        if first <= target < last:
            degree[target] += 1
