"""Walking the trie: one step per symbol, falling back along links where an n-gram was not seen.

What is looked up together lies together, because a walk waits for memory more than for anything else:

    word      (nodes,)           the last symbol of each n-gram, searched among the children of a context
    contexts  (contexts + 1, 4)  first child, link, log-weight of falling back, log-probability
    leaves    (leaves, 2)        link, log-probability of the n-grams of the highest order

The last two hold whole numbers and, in the same bits, logarithms: `weights` and `leaf_logs` are their views as floats.

Arrays come from files, and a file may be damaged or made to harm. So a walk never leaves its arrays and always
ends: children are looked for within `word` only, and a link leads to a smaller node or to the root.
"""

from __future__ import annotations

import numpy as np

from chainrule.runtime import compiled
from chainrule.symbols import BOS, PAD

CHILD, LINK, BACKOFF, LOG = range(4)
LEAF_LINK, LEAF_LOG = range(2)
LANES = 16  # measured: 4, 8 and 16 lanes score 5.0, 6.0 and 7.0 million words a second on one core


@compiled
def find(word, contexts, node, symbol):  # type: ignore[no-untyped-def]
    """The child of a node that ends in `symbol`, or -1.

    Children differ, so the one that ends in `symbol` has at most `symbol` others before it: a tight bound for
    frequent symbols, which have small ids. The search has no branch to guess wrongly.
    """
    low = max(np.int64(contexts[node, CHILD]), np.int64(0))
    end = min(np.int64(contexts[node + 1, CHILD]), np.int64(len(word)))
    size = min(end - low, np.int64(symbol) + 1)
    while size > 1:
        half = size >> 1
        low += half * np.int64(word[low + half] <= symbol)
        size -= half
    return low if size > 0 and word[low] == symbol else np.int64(-1)


@compiled
def shorter(link, node):  # type: ignore[no-untyped-def]
    """The node a link leads to; the root if that is no smaller node."""
    return np.int64(link) if 0 <= link < node else np.int64(0)


@compiled
def fall(word, contexts, weights, node, symbol):  # type: ignore[no-untyped-def]
    """The longest n-gram that ends in `symbol` and continues `node` or a link of it; the weight of getting there."""
    weight = np.float32(0.0)
    while node != 0:
        hit = find(word, contexts, node, symbol)
        if hit >= 0:
            return hit, weight
        weight += weights[node, BACKOFF]
        node = shorter(contexts[node, LINK], node)
    return np.int64(1 + symbol), weight


@compiled
def order_of(hit, levels):  # type: ignore[no-untyped-def]
    """The length of the n-gram at a node."""
    k = 1
    while hit >= levels[k + 1]:
        k += 1
    return k


@compiled
def score_even(word, contexts, weights, leaves, leaf_logs, levels, even, suppressed, ids, values, orders):  # type: ignore[no-untyped-def]
    """`score` with add-k: `even` is the log-probability of every symbol where nothing was seen."""
    last, most = len(contexts) - 1, len(levels) - 3
    node, seen = np.int64(0), 0
    for i in range(len(ids)):
        symbol = ids[i]
        if symbol == BOS:
            node, seen = (np.int64(1 + BOS) if most > 0 else np.int64(0)), min(1, most)
            values[i] = 0.0
            continue
        hit, _ = fall(word, contexts, weights, node, symbol)
        log = weights[hit, LOG] if hit < last else leaf_logs[hit - last, LEAF_LOG]
        known = levels[seen] <= node < levels[seen + 1]
        found = known and levels[seen + 1] <= hit < levels[seen + 2]
        spread = even + (weights[node, BACKOFF] if known else 0.0)
        values[i] = -np.inf if suppressed[symbol] else (log if found else spread)
        seen = min(seen + 1, most)
        node = hit if hit < last else shorter(leaves[hit - last, LEAF_LINK], last)
        if len(orders):
            orders[i] = order_of(hit, levels)


@compiled
def score(word, contexts, weights, leaves, leaf_logs, levels, ids, values, orders):  # type: ignore[no-untyped-def]
    """Log-probability of every id (0 for BOS), each sequence read from its BOS, and the length of the n-gram used.

    A walk waits for memory at every step. So LANES stretches of whole sequences are walked together: all are asked
    where to look, all look, all are told, and while one waits the others' memory is already on its way.
    """
    last, first = len(contexts) - 1, (np.int64(1 + BOS) if len(levels) > 3 else np.int64(0))
    at, end = _lanes(ids)
    node, low, size = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    weight, symbol = np.zeros(LANES, np.float32), np.zeros(LANES, np.int64)
    top = np.int64(len(word) - 1)
    busy = LANES
    while busy:
        busy, longest = 0, np.int64(0)
        for lane in range(LANES):
            while at[lane] < end[lane] and ids[at[lane]] == BOS:
                values[at[lane]], node[lane], weight[lane] = 0.0, first, 0.0
                at[lane] += 1
            low[lane], size[lane] = 0, 0
            if at[lane] < end[lane]:
                busy += 1
                symbol[lane] = ids[at[lane]]
                here = node[lane]
                begin = max(np.int64(contexts[here, CHILD]), np.int64(0))
                stop = min(np.int64(contexts[here + 1, CHILD]), top + 1)
                size[lane] = max(min(stop - begin, symbol[lane] + 1), 0) if here else 0
                low[lane] = min(begin, top)
                longest = max(longest, size[lane])
        _look(word, symbol, longest, low, size)
        for lane in range(LANES):
            if at[lane] < end[lane]:
                hit = low[lane]
                if node[lane] == 0:
                    hit = 1 + symbol[lane]
                elif size[lane] <= 0 or word[hit] != symbol[lane]:
                    weight[lane] += weights[node[lane], BACKOFF]
                    node[lane] = shorter(contexts[node[lane], LINK], node[lane])
                    continue
                place = at[lane]
                log = weights[hit, LOG] if hit < last else leaf_logs[hit - last, LEAF_LOG]
                values[place], weight[lane] = weight[lane] + log, 0.0
                node[lane] = hit if hit < last else shorter(leaves[hit - last, LEAF_LINK], last)
                if len(orders):
                    orders[place] = order_of(hit, levels)
                at[lane] += 1


@compiled
def _look(word, symbol, longest, low, size):  # type: ignore[no-untyped-def]
    """All lanes search for their symbol at once: `low` moves to where it must be, `size` shrinks to one."""
    while longest > 1:
        longest -= longest >> 1
        for lane in range(LANES):
            half = size[lane] >> 1
            low[lane] += half * np.int64(word[low[lane] + half] <= symbol[lane])
            size[lane] -= half


@compiled
def _lanes(ids):  # type: ignore[no-untyped-def]
    """Where each lane begins and ends: whole sequences, about as many ids each."""
    at, end = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    place = np.int64(0)
    for lane in range(LANES):
        at[lane] = place
        place = max(place, np.int64(len(ids) * (lane + 1) // LANES))
        while place < len(ids) and ids[place] != BOS:
            place += 1
        end[lane] = place
    return at, end


@compiled
def advance(word, contexts, weights, leaves, levels, tokens, nodes, seen, hidden, orders):  # type: ignore[no-untyped-def]
    """Read `tokens` (B, T): `nodes` and `seen` (B,) move on; `hidden` (B, T, 2) holds them after each symbol.

    `orders` (B, T), if it has any room, gets the length of the n-gram that ends in each symbol.
    """
    most, last = len(levels) - 3, len(contexts) - 1
    for row in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            symbol = tokens[row, t]
            if symbol != PAD:
                hit, _ = fall(word, contexts, weights, np.int64(nodes[row]), symbol)
                nodes[row] = hit if hit < last else shorter(leaves[hit - last, LEAF_LINK], last)
                seen[row] = min(seen[row] + 1, most)
                if orders.size and symbol != BOS:
                    orders[row, t] = order_of(hit, levels)
            hidden[row, t, 0] = nodes[row]
            hidden[row, t, 1] = seen[row]


@compiled
def distributions(word, contexts, weights, leaves, leaf_logs, levels, even, suppressed, hidden, out):  # type: ignore[no-untyped-def]
    """Log-probabilities of all symbols after each remembered context: hidden (N, 2) -> out (N, V)."""
    chain = np.empty(len(levels), np.int64)
    last = len(contexts) - 1
    for row in range(len(hidden)):
        node, seen = np.int64(hidden[row, 0]), hidden[row, 1]
        length = 0
        while node != 0 and length < len(chain):
            chain[length] = node
            length += 1
            node = shorter(contexts[node, LINK], node)
        if even != 0.0:
            out[row] = even + (weights[hidden[row, 0], BACKOFF] if length == seen else 0.0)
        else:
            for symbol in range(out.shape[1]):
                out[row, symbol] = weights[1 + symbol, LOG] if last > 1 else leaf_logs[symbol, LEAF_LOG]
        for k in range(length - 1, -1, -1):
            context = chain[k]
            if even != 0.0 and (k > 0 or length != seen):
                continue
            for symbol in range(out.shape[1] if even == 0.0 else 0):
                out[row, symbol] += weights[context, BACKOFF]
            for i in range(max(contexts[context, CHILD], 0), min(contexts[context + 1, CHILD], len(word))):
                if not 0 <= word[i] < out.shape[1]:
                    continue
                out[row, word[i]] = weights[i, LOG] if i < last else leaf_logs[i - last, LEAF_LOG]
        if even != 0.0 and length == 0 and seen == 0:
            for symbol in range(out.shape[1]):
                out[row, symbol] = weights[1 + symbol, LOG] if last > 1 else leaf_logs[symbol, LEAF_LOG]
        for symbol in range(out.shape[1]):
            if suppressed[symbol]:
                out[row, symbol] = -np.inf


@compiled
def pack(low, high, child, link, backoff, logs, contexts, weights):  # type: ignore[no-untyped-def]
    """Lay the numbers of the contexts low … high side by side."""
    for node in range(low, high):
        contexts[node, CHILD] = child[node]
        contexts[node, LINK] = link[node]
        weights[node, BACKOFF] = backoff[node]
        weights[node, LOG] = logs[node]
