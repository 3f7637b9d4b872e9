"""Walking the trie: one step per symbol, falling back along links where an n-gram was not seen."""

from __future__ import annotations

import numpy as np

from chainrule.runtime import compiled
from chainrule.symbols import BOS, PAD


@compiled
def find(word, child, node, symbol):  # type: ignore[no-untyped-def]
    """The child of a node that ends in `symbol`, or -1."""
    if node == 0:
        return np.int64(1 + symbol)
    low, high = np.int64(child[node]), np.int64(child[node + 1])
    while low < high:
        middle = (low + high) >> 1
        if word[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    if low < child[node + 1] and word[low] == symbol:
        return low
    return np.int64(-1)


@compiled
def step(word, child, link, logs, backoff, levels, even, node, seen, symbol):  # type: ignore[no-untyped-def]
    """Read one symbol after having read `seen` (at most order - 1) whose longest known ending is `node`.

    Gives its log-probability, the n-gram that was found, and the new longest known ending. `even` is 0, or, with
    add-k, the log-probability of every symbol where nothing was seen.
    """
    weight = 0.0
    if even != 0.0:
        weight = even
        if levels[seen] <= node < levels[seen + 1]:
            weight += backoff[node]
    hit = find(word, child, node, symbol)
    full = hit >= 0 and (even == 0.0 or levels[seen] <= node < levels[seen + 1])
    while hit < 0:
        if even == 0.0:
            weight += backoff[node]
        node = np.int64(link[node])
        hit = find(word, child, node, symbol)
    value = weight if even != 0.0 and not full else logs[hit] + (weight if even == 0.0 else 0.0)
    return value, hit, (hit if hit < len(backoff) else np.int64(link[hit]))


@compiled
def score(word, child, link, logs, backoff, levels, even, silent, ids, values, orders):  # type: ignore[no-untyped-def]
    """Log-probability of every id (0 for BOS), each sequence read from its BOS, and the length of the n-gram used."""
    node, seen, most = np.int64(0), 0, len(levels) - 3
    for i in range(len(ids)):
        symbol = ids[i]
        if symbol == BOS:
            node, seen = (np.int64(1 + BOS) if most > 0 else np.int64(0)), min(1, most)
            values[i] = 0.0
            continue
        value, hit, node = step(word, child, link, logs, backoff, levels, even, node, seen, symbol)
        values[i] = -np.inf if silent[symbol] else value
        seen = min(seen + 1, most)
        if len(orders):
            k = 1
            while hit >= levels[k + 1]:
                k += 1
            orders[i] = k


@compiled
def advance(word, child, link, levels, contexts, tokens, nodes, seen, hidden):  # type: ignore[no-untyped-def]
    """Read `tokens` (B, T): `nodes` and `seen` (B,) move on, and `hidden` (B, T, 2) remembers them after each symbol."""
    most = len(levels) - 3
    for row in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            symbol = tokens[row, t]
            if symbol != PAD:
                node = nodes[row]
                hit = find(word, child, node, symbol)
                while hit < 0:
                    node = link[node]
                    hit = find(word, child, node, symbol)
                nodes[row] = hit if hit < contexts else link[hit]
                seen[row] = min(seen[row] + 1, most)
            hidden[row, t, 0] = nodes[row]
            hidden[row, t, 1] = seen[row]


@compiled
def distributions(word, child, link, logs, backoff, levels, even, silent, hidden, out):  # type: ignore[no-untyped-def]
    """Log-probabilities of all symbols after each remembered context: hidden (N, 2) -> out (N, V)."""
    chain = np.empty(len(levels), np.int64)
    for row in range(len(hidden)):
        node, seen = hidden[row, 0], hidden[row, 1]
        length = 0
        while node != 0:
            chain[length] = node
            length += 1
            node = link[node]
        if even != 0.0:
            _fill_even(word, child, logs, backoff, even, hidden[row, 0], length == seen, out[row])
        else:
            for symbol in range(out.shape[1]):
                out[row, symbol] = logs[1 + symbol]
            for k in range(length - 1, -1, -1):
                context = chain[k]
                for symbol in range(out.shape[1]):
                    out[row, symbol] += backoff[context]
                for i in range(child[context], child[context + 1]):
                    out[row, word[i]] = logs[i]
        for symbol in range(out.shape[1]):
            if silent[symbol]:
                out[row, symbol] = -np.inf


@compiled
def _fill_even(word, child, logs, backoff, even, node, known, row):  # type: ignore[no-untyped-def]
    """Add-k: the same for all symbols, but for those seen in this very context."""
    row[:] = even + (backoff[node] if known else 0.0)
    if known:
        for i in range(child[node], child[node + 1]):
            row[word[i]] = logs[i]
