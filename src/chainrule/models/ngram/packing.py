"""A trie and its probabilities as the arrays a walk needs, and whether given arrays can be such."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.ngram import query
from chainrule.models.ngram.space import Space
from chainrule.models.ngram.trie import Trie

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)


def floats(table: np.ndarray) -> np.ndarray:
    """The same bits as floating-point numbers."""
    return table.view(np.float32 if table.dtype == INT32 else np.float64)


def packed(trie: Trie, logs: np.ndarray, backoff: np.ndarray, space: Space) -> dict[str, np.ndarray]:
    """What a walk looks up together, laid side by side: the arrays of a model."""
    many, leaves = trie.contexts, len(trie.word) - trie.contexts
    contexts = space.empty(4 * (many + 1), trie.link.dtype).reshape(-1, 4)
    parts = (trie.child, trie.link, backoff, logs, contexts, floats(contexts))
    space.sweep("packing", lambda span: query.pack(*span, *parts), 0, many)
    contexts[many] = (trie.child[many], 0, 0, 0)
    tips = space.empty(2 * leaves, trie.link.dtype).reshape(-1, 2)
    tips[:, query.LEAF_LINK] = trie.link[many:]
    floats(tips)[:, query.LEAF_LOG] = logs[many:]
    space.rest()
    return {"levels": trie.levels, "word": trie.word, "contexts": contexts, "leaves": tips}


def check_shapes(order: int, vocab_size: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse arrays whose sizes do not belong together: a walk relies on them."""
    found = {name: (array.shape, array.dtype) for name, array in sorted(arrays.items())}
    levels = arrays["levels"].tolist() if found.get("levels") == ((order + 2,), INT64) else []
    sound = levels[:3] == [0, 1, 1 + vocab_size] and levels == sorted(levels)
    if not (sound and found in (_expected(levels, INT32), _expected(levels, INT64))):
        shapes = ", ".join(f"{name} {shape} {kind}" for name, (shape, kind) in found.items())
        raise ModelError(
            f"These are not the arrays of an n-gram of order {order} over {vocab_size} ids: {shapes}. "
            "The model is damaged or belongs to other settings: fit or save it again."
        )


def _expected(levels: list[int], kind: np.dtype) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    nodes, contexts = levels[-1], levels[-2]
    return {
        "contexts": ((contexts + 1, 4), kind),
        "leaves": ((nodes - contexts, 2), kind),
        "levels": ((len(levels),), INT64),
        "word": ((nodes,), INT32),
    }
