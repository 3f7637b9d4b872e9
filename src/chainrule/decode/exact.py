"""The most probable text of all (Viterbi): for models whose future depends on a few of the last symbols only.

Of all texts of equal length with the same last symbols the best one alone can become the best: so there are no more
hypotheses than histories, and none is lost. Those that are less probable than what a beam has found are dropped, for a
text never becomes more probable by growing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from chainrule.decode.beam import search
from chainrule.decode.config import Constraints, GenerationConfig
from chainrule.decode.cursor import Cursor, advance, begin
from chainrule.decode.filters import without
from chainrule.decode.hypotheses import Hypothesis
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import LanguageModel

WIDTH = 16  # of the beam that gives a bound
MOST = 4_000_000  # hypotheses looked at in a step
SLACK = 1e-9  # that sums in another order may differ by
WAYS = ("end", "length")


def most_probable(
    model: LanguageModel, prompt: Sequence[int], length: int, constraints: Constraints, ends: bool
) -> Hypothesis:
    """The best text of exactly `length` symbols or, if it `ends`, of at most so many up to the end of the sequence."""
    if model.markov_order is None:
        raise ModelError(
            f"The family {model.family!r} remembers without limit, so the best text of all cannot be found by "
            "Viterbi search. Give an n-gram, or look for good ones: --beam 8"
        )
    if not ends:
        constraints = replace(constraints, never=(*constraints.never, *constraints.stop), stop=())
    best = _bound(model, prompt, length, constraints, ends)
    cursor = begin(model, [prompt])
    totals, texts = torch.zeros(1, dtype=torch.float64), np.empty((1, 0), np.int64)  # (N,), (N, t)
    for left in range(length - 1, -1, -1):
        grown = totals[:, None] + without(cursor.logs, constraints.never)  # (N, V)
        best = _ended(grown, texts, constraints.stop, best) if ends else best
        rows, ids = _worth_it(without(grown, constraints.stop), best)
        texts = np.concatenate([texts[rows], ids[:, None]], 1)
        totals = grown[torch.from_numpy(rows), torch.from_numpy(ids)]
        kept = _first(
            np.concatenate([np.tile(prompt, (len(texts), 1)), texts], 1)[:, -model.markov_order - 1 :]
        )
        rows, texts, totals = rows[kept], texts[kept], totals[torch.from_numpy(kept)]
        if not len(rows) or not left:
            break
        cursor = advance(model, cursor, torch.from_numpy(rows), torch.from_numpy(texts[:, -1:]))
        cursor, totals, texts = _merged(cursor, totals, texts)
    if not ends and len(texts) and texts.shape[1] == length:
        best = Hypothesis(tuple(texts[0].tolist()), float(totals[0]), False, float(totals[0]), None)
    if best is None:
        raise ConfigError(
            f"No text comes to {'an end within' if ends else ''} {length} symbols. Allow more: --length"
        )
    return best


def _bound(
    model: LanguageModel, prompt: Sequence[int], length: int, constraints: Constraints, ends: bool
) -> Hypothesis | None:
    """The best that a beam finds."""
    [found] = search(model, [prompt], GenerationConfig(beam=WIDTH, length=length), constraints)
    fit = (one for one in found.hypotheses if (one.finished if ends else len(one.ids) == length))
    return next(fit, None)


def _ended(
    grown: Tensor, texts: np.ndarray, stop: Sequence[int], best: Hypothesis | None
) -> Hypothesis | None:
    """The best text that has ended, if any of these (N, V) that end now is better than the best so far."""
    for id in stop:
        total, row = grown[:, id].max(0)
        if total > (-torch.inf if best is None else best.log_probability):
            best = Hypothesis((*texts[row].tolist(), id), float(total), True, float(total), None)
    return best


def _worth_it(grown: Tensor, best: Hypothesis | None) -> tuple[np.ndarray, np.ndarray]:
    """Row and id (M,) of the ways (N, V) to continue that may become the best, best first."""
    least = -torch.inf if best is None else best.log_probability - SLACK
    rows, ids = (grown > least).nonzero().unbind(1)  # (M,) each
    if len(rows) > MOST:
        raise ConfigError(
            f"There are {len(rows):,} texts that may become the best, more than can be compared. Take a lower --order, "
            "fewer symbols (--length), or a beam."
        )
    order = grown[rows, ids].sort(descending=True, stable=True).indices
    return rows[order].numpy(), ids[order].numpy()


def _first(histories: np.ndarray) -> np.ndarray:
    """The places (K,), in order, where each different row stands first."""
    return np.sort(np.unique(histories, axis=0, return_index=True)[1])


def _merged(cursor: Cursor, totals: Tensor, texts: np.ndarray) -> tuple[Cursor, Tensor, np.ndarray]:
    """Of those with the same memory the best only."""
    parts = [one.numpy() for one in cursor.state.tensors()]
    if not parts or any(one.ndim != 1 for one in parts):
        return cursor, totals, texts
    kept = _first(np.stack(parts, 1))
    return cursor.select(torch.from_numpy(kept)), totals[torch.from_numpy(kept)], texts[kept]
