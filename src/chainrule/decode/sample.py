"""Sequences drawn from a model, symbol by symbol as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Generator, Tensor

from chainrule.decode.cursor import advance, begin
from chainrule.decode.filters import Filters, without
from chainrule.models.base import Model
from chainrule.symbols import EOS, PAD

PLAIN = Filters()


def sample(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    length: int,
    *,
    generator: Generator,
    filters: Filters = PLAIN,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    source: object = None,
) -> Iterator[int]:
    """Continue `prompt` by at most `length` symbols; a symbol of `stop` is given and ends it, `never` is not drawn."""
    steps = sample_rows(
        model,
        prompt,
        length,
        1,
        generator=generator,
        filters=filters,
        stop=stop,
        never=never,
        source=source,
    )
    return (row for [row] in steps if row != PAD)


def greedy(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    length: int,
    *,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    source: object = None,
) -> Iterator[int]:
    """Continue `prompt` by the best symbol each time, the lowest id of equally good ones."""
    best = Filters(temperature=0.0)
    return sample(
        model,
        prompt,
        length,
        generator=Generator(),
        filters=best,
        stop=stop,
        never=never,
        source=source,
    )


def sample_rows(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    length: int,
    rows: int,
    *,
    generator: Generator,
    filters: Filters = PLAIN,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    source: object = None,
) -> Iterator[list[int]]:
    """Continue `prompt` in `rows` ways side by side: each step gives an id a row, PAD for rows that ended."""
    cursor = begin(model, prompt, source).select(torch.zeros(rows, dtype=torch.long, device=model.device))
    going, ends = torch.arange(rows), torch.tensor([PAD, *stop])
    for left in range(length - 1, -1, -1):
        # One number for every row, ended or not: a row's luck does not depend on when the others end.
        luck = torch.rand(rows, generator=generator, dtype=torch.float64)
        logits = without(cursor.logits.cpu(), never)
        drawn = surest(logits) if filters.temperature == 0 else draw(filters(logits), luck[going])  # (going,)
        yield torch.full((rows,), PAD).index_put((going,), drawn).tolist()
        on = torch.isin(drawn, ends, invert=True).nonzero()[:, 0]
        if not left or not len(on):
            return
        going = going[on]
        cursor = advance(model, cursor, on.to(model.device), drawn[on].to(model.device))


def surest(logits: Tensor) -> Tensor:
    """The best symbol a row of logits (B, V), the lowest id of equally good ones; PAD where none is possible."""
    best, chosen = logits.max(-1)  # (B,) each
    return torch.where(best > -torch.inf, chosen, PAD)


def draw(logits: Tensor, luck: Tensor) -> Tensor:
    """One symbol a row of logits (B, V) by numbers in [0, 1) (B,); PAD where no symbol is possible."""
    best = logits.amax(-1, keepdim=True)  # (B, 1)
    heaps = (logits.double() - best).exp_().cumsum(-1)  # (B, V)
    # The first symbol whose heap rises above the mark: one of probability 0 adds nothing and is never it.
    chosen = torch.searchsorted(heaps, luck[:, None] * heaps[:, -1:], right=True)[:, 0]
    return torch.where(best[:, 0] > -torch.inf, chosen, PAD)
