"""What a search box shows: the likeliest next symbols and the likeliest ways to go on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chainrule.decode.beam import Hypothesis, beam
from chainrule.decode.cursor import begin
from chainrule.decode.filters import best, only, without
from chainrule.models.base import Model
from chainrule.symbols import EOS

WIDTH = 8  # a beam at least this wide, however few continuations are asked for


def next_symbols(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    k: int,
    *,
    never: Sequence[int] = (),
    among: Sequence[int] | None = None,
    source: object = None,
) -> list[tuple[int, float]]:
    """The `k` likeliest next symbols with their log-probability, best first, impossible ones left out.

    Those of `never` are left out too, and with `among` all but those.
    """
    logs = without(begin(model, prompt, source).logs, never)  # (1, V)
    [row] = logs if among is None else only(logs, among)  # (V,)
    ids = best(row[None], k)[0].nonzero()[:, 0].tolist() if k > 0 else []
    ranked = sorted((-float(row[id]), id) for id in ids)
    return [(id, -cost) for cost, id in ranked if cost < float("inf")]


def continuations(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    k: int,
    length: int,
    *,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    first: Sequence[int] | None = None,
    source: object = None,
) -> list[Hypothesis]:
    """The `k` likeliest continuations found of 1 to `length` symbols, best first; merely to stop is none."""
    width = max(2 * k, WIDTH)
    found = beam(model, prompt, width, length, stop=stop, never=never, first=first, source=source)
    return [one for one in found if any(id not in stop for id in one.ids)][:k]
