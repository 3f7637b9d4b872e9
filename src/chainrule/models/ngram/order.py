"""Which order suits the data: tried on what was held out, the shorter one where it makes no difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

TRIED = 3_000_000  # ids up to which orders are tried; beyond, a usual one is taken
FIRST_TRIED = (2, 3, 5, 7, 9)
USUAL, USUAL_SMALL = 5, 7  # for words, and for vocabularies of a few hundred symbols such as characters
REAL = 0.002  # a difference in bits per symbol, as a share, that counts


def best_order(
    config: Any, ids: np.ndarray, valid: np.ndarray | None, learn: Callable[..., Any]
) -> tuple[int, str]:
    """An order and a sentence that says why."""
    if valid is None or not len(valid) or len(ids) > TRIED:
        usual = USUAL if config.vocab_size > 1_000 else USUAL_SMALL
        return usual, f"order {usual}: usual for a vocabulary of this size"
    losses: dict[int, float] = {}

    def loss(order: int) -> float:
        if order not in losses:
            model = learn(replace(config, order=order), ids)
            losses[order] = -float(model.score_ids(valid).sum(dtype=np.float64))
        return losses[order]

    near = min(FIRST_TRIED, key=loss)
    for order in (near - 1, near + 1):
        if 1 <= order <= 9:
            loss(order)
    least = min(losses.values())
    best = min(order for order, found in losses.items() if found <= least * (1 + REAL))
    tried = ", ".join(str(order) for order in sorted(losses))
    return best, f"order {best}: the shortest of {tried} that is as good as the best on the validation part"
