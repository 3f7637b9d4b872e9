"""Pruning rare n-grams: their probability goes to the shorter contexts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chainrule.models.ngram.estimate import Estimate
from chainrule.models.ngram.trie import Trie


def kept_nodes(trie: Trie, thresholds: tuple[int, ...]) -> np.ndarray:
    """Which n-grams (nodes,) were seen more often than their order's threshold; the last one holds for all longer."""
    kept = np.ones(len(trie.word), np.bool_)
    for n in range(2, trie.order + 1):
        level = trie.level(n)
        kept[level] = trie.count[level] > thresholds[min(n, len(thresholds)) - 1]
    return kept


def pruned(trie: Trie, found: Estimate, kept: np.ndarray) -> tuple[Trie, Estimate]:
    """The trie and its probabilities without the pruned nodes."""
    moved = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])  # (nodes + 1,): where each node goes
    contexts = kept[: trie.contexts]
    child = moved[trie.child[:-1][contexts]]
    smaller = Trie(
        levels=moved[trie.levels],
        word=trie.word[kept],
        count=trie.count[kept],
        link=moved[trie.link[kept]].astype(trie.link.dtype),
        child=np.append(child, moved[-1]).astype(trie.child.dtype),
    )
    return smaller, replace(found, logs=found.logs[kept], backoff=found.backoff[contexts])
