"""From lists of n-grams in any order to a trie that can be walked.

A walk needs every n-gram's beginning and ending to be there as well. Toolkits that prune may leave some out; those are
added with exactly the probability that backing off would give them, so nothing changes but the speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chainrule.errors import DataError
from chainrule.models.ngram.packing import packed
from chainrule.models.ngram.space import Space
from chainrule.models.ngram.trie import empty_trie, seal
from chainrule.symbols import BOS, MASK, PAD

MOST = 1.1  # what probabilities may add up to: some toolkits round, and smooth roughly


@dataclass(frozen=True)
class NgramTable:
    """N-grams of one length; `logs` is NaN where a probability is still to be found by backing off."""

    symbols: np.ndarray  # (rows, n) int32
    logs: np.ndarray  # (rows,) natural log-probabilities
    backoff: np.ndarray  # (rows,) natural log-weights


def closed_trie(tables: list[NgramTable], vocab_size: int) -> dict[str, np.ndarray]:
    """The arrays of an n-gram model from its tables, by length."""
    full = [_dense(tables[0], vocab_size), *(_sorted(table) for table in _closed(tables[1:]))]
    for table in full:
        _check_sums(table)
    sizes = np.array([0, 0, *(len(table.logs) for table in full[1:])])
    levels = np.cumsum([0, 1, vocab_size, *sizes[2:]])
    trie = empty_trie(levels, Space())
    for n, table in enumerate(full[1:], 2):
        trie.word[trie.level(n)] = table.symbols[:, -1]
        trie.child[trie.level(n - 1)] = levels[n] + _first_rows(table, full[n - 2], vocab_size)
    fan = (
        np.bincount(full[1].symbols[:, 0], minlength=vocab_size)
        if len(full) > 1
        else np.zeros(vocab_size, np.int64)
    )
    seal(trie, np.zeros(vocab_size, np.int64), fan, Space())
    logs, backoff = np.zeros(len(trie.word), np.float32), np.zeros(trie.contexts, np.float32)
    for n, table in enumerate(full, 1):
        level = trie.level(n)
        if n < len(full):
            backoff[level] = table.backoff
        lower = logs[trie.link[level]] + _parent_weights(trie.child, backoff, level)
        logs[level] = np.where(np.isnan(table.logs), lower, table.logs)
    logs[1 + np.array([PAD, BOS, MASK])] = -np.inf
    return packed(trie, logs, backoff, Space())


def _parent_weights(child: np.ndarray, backoff: np.ndarray, level: slice) -> np.ndarray:
    parents = np.searchsorted(child, np.arange(level.start, level.stop), "right") - 1
    return backoff[parents]


def _dense(table: NgramTable, vocab_size: int) -> NgramTable:
    """Single symbols by id; those not listed have probability zero."""
    logs, backoff = np.full(vocab_size, -np.inf), np.zeros(vocab_size)
    ids = table.symbols[:, 0]
    logs[ids], backoff[ids] = possible(table.logs), possible(table.backoff)
    return NgramTable(np.arange(vocab_size, dtype=np.int32)[:, None], logs, backoff)


def possible(logs: np.ndarray) -> np.ndarray:
    """-99 (base 10) is how the format writes the logarithm of zero; what is less, is less."""
    return np.where(np.abs(logs / np.log(10) + 99) < 0.1, -np.inf, logs)


def _closed(tables: list[NgramTable]) -> list[NgramTable]:
    """The same tables, lengths 2 and more, with every missing beginning and ending added."""
    closed = [NgramTable(table.symbols, possible(table.logs), possible(table.backoff)) for table in tables]
    for at in range(len(closed) - 1, 0, -1):
        longer, table = closed[at].symbols, closed[at - 1]
        missing = _missing(table.symbols, np.concatenate([longer[:, :-1], longer[:, 1:]]))
        if len(missing):
            closed[at - 1] = NgramTable(
                np.concatenate([table.symbols, missing]),
                np.concatenate([table.logs, np.full(len(missing), np.nan)]),
                np.concatenate([table.backoff, np.zeros(len(missing))]),
            )
    return closed


def _missing(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Those of the rows `wanted` that are not among `rows`, each once."""
    both = np.concatenate([rows, wanted])
    order = np.lexsort(both.T[::-1])  # stable: among equals, `rows` come first
    found = both[order]
    fresh = np.append(True, (found[1:] != found[:-1]).any(1))
    return found[fresh & (order >= len(rows))]


def _sorted(table: NgramTable) -> NgramTable:
    order = np.lexsort(table.symbols.T[::-1])
    symbols = table.symbols[order]
    if len(symbols) > 1 and (symbols[1:] == symbols[:-1]).all(1).any():
        raise DataError(
            f"A {symbols.shape[1]}-gram stands twice in the file. Write the model again without it."
        )
    return NgramTable(symbols, table.logs[order], table.backoff[order])


def _check_sums(table: NgramTable) -> None:
    """Refuse probabilities that add up to more than one after the same symbols, rounding aside; BOS has none."""
    contexts = table.symbols[:, :-1]
    first = (
        np.append(True, (contexts[1:] != contexts[:-1]).any(1)) if len(contexts) else np.empty(0, np.bool_)
    )
    stated = np.where(np.isnan(table.logs) | (table.symbols[:, -1] == BOS), 0.0, np.exp(table.logs))
    if len(stated) and np.add.reduceat(stated, np.flatnonzero(first)).max() > MOST:
        raise DataError(
            f"Probabilities of {table.symbols.shape[1]}-grams with the same beginning add up to more than one: this is "
            "no language model. Write the file again."
        )


def _first_rows(table: NgramTable, parents: NgramTable, vocab_size: int) -> np.ndarray:
    """The row of each parent's first child, parents and children both being sorted."""
    if parents.symbols.shape[1] == 1:
        return np.searchsorted(table.symbols[:, 0], np.arange(vocab_size))
    both = np.concatenate([parents.symbols, table.symbols[:, :-1]])
    kind = np.concatenate([np.zeros(len(parents.symbols), np.int8), np.ones(len(table.symbols), np.int8)])
    order = np.lexsort([kind, *both.T[::-1]])
    before = np.cumsum(kind[order])  # children seen up to each place
    rows = np.empty(len(parents.symbols), np.int64)
    is_parent = kind[order] == 0
    rows[order[is_parent]] = before[is_parent]
    return rows
