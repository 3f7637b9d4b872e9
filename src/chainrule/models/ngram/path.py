"""How an n-gram came to a probability: the contexts it asked, the longest first, until one had seen the symbol."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from chainrule.models.ngram import query
from chainrule.symbols import BOS


@dataclass(frozen=True)
class Asked:
    """A context that was asked for a symbol."""

    length: int  # of the context, in symbols; 0: none
    seen: bool  # whether the symbol was seen after it
    probability: float  # of the symbol here, if it was seen; of all symbols that were not, if it was not
    weight: float  # what the probability of a shorter context is multiplied by; 1 where the symbol was seen


def path(model: Any, node: int, symbol: int) -> Iterator[Asked]:
    """Of a symbol after the longest ending of the history that was ever seen, as a node of the trie."""
    word, contexts = model.word, model.contexts
    while node:
        length = int(query.order_of(node, model.levels))
        hit = int(query.find(word, contexts, node, symbol))
        if hit >= 0:
            yield Asked(length, True, math.exp(float(model.logs_of(np.array([hit]))[0])), 1.0)
            return
        weight = math.exp(float(model.backoff[node]))
        yield Asked(length, False, unseen(model, node), weight)
        node = int(query.shorter(contexts[node, query.LINK], node))
    yield Asked(0, True, math.exp(float(model.logs_of(np.array([1 + symbol]))[0])), 1.0)


def unseen(model: Any, node: int) -> float:
    """The smoothing mass of a context: what is left for all symbols that were never seen after it."""
    children = np.arange(model.child[node], model.child[node + 1])
    return 1.0 - float(np.exp(model.logs_of(children).astype(float)).sum())


def paths(model: Any, ids: np.ndarray) -> list[list[Asked]]:
    """Of every symbol but the first of a sequence `BOS … EOS` (T - 1)."""
    import torch

    state, found = model.start(1), []
    for before, symbol in zip(ids[:-1].tolist(), ids[1:].tolist(), strict=True):
        _, state = model.read(torch.tensor([[before]]), state)
        found.append(list(path(model, int(state.nodes[0]), symbol)))
    return found


def counted(ids: np.ndarray, ngram: np.ndarray) -> int:
    """How often an n-gram (n,) stands in ids (T,); of nothing, how many symbols are predicted."""
    if not len(ngram):
        return int((ids != BOS).sum())
    if len(ngram) > len(ids):
        return 0
    places = np.flatnonzero(ids[len(ngram) - 1 :] == ngram[-1])
    for back in range(2, len(ngram) + 1):
        places = places[ids[places + len(ngram) - back] == ngram[-back]]
    return len(places)
