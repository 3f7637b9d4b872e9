"""What a search box shows: the likeliest next symbols and the likeliest ways to go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainrule.decode.beam import Hypothesis, beam
from chainrule.decode.cursor import begin
from chainrule.decode.filters import best
from chainrule.models.base import Model
from chainrule.symbols import EOS

WIDTH = 8  # a beam at least this wide, however few continuations are asked for


def next_symbols(
    model: Model, prompt: Sequence[int] | np.ndarray, k: int, *, source: object = None
) -> list[tuple[int, float]]:
    """The `k` likeliest next symbols with their log-probability, best first, impossible ones left out."""
    logs = begin(model, prompt, source).logs[0]  # (V,)
    ids = best(logs[None], k)[0].nonzero()[:, 0].tolist() if k > 0 else []
    ranked = sorted((-float(logs[id]), id) for id in ids)
    return [(id, -cost) for cost, id in ranked if cost < float("inf")]


def continuations(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    k: int,
    length: int,
    *,
    stop: Sequence[int] = (EOS,),
    source: object = None,
) -> list[Hypothesis]:
    """The `k` likeliest continuations found of at most `length` symbols, best first."""
    return beam(model, prompt, max(2 * k, WIDTH), length, stop=stop, source=source)[:k]
