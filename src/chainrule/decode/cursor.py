"""Where a search or a sampler stands: what rows of equal length remember and expect next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from chainrule.errors import ModelError
from chainrule.models.base import Model, State, carried, log_total, stretches
from chainrule.symbols import BOS


@dataclass(frozen=True)
class Cursor:
    """A place in B sequences that have been read this far."""

    origin: State  # of one row that has read nothing but the source, to start anew from
    state: State
    recent: Tensor  # (B, ≤ context) the last symbols read; empty when the model holds any number
    held: int  # how many symbols the state holds
    logits: Tensor  # (B, V) of each next symbol; all -inf: nothing is possible

    @property
    def logs(self) -> Tensor:
        """Natural log-probability (B, V) of each next symbol, float64."""
        logits = self.logits.double()
        return logits - log_total(logits)[:, None]

    def select(self, rows: Tensor) -> Cursor:
        """Fork, reorder or drop rows, as `State.select` does."""
        if torch.equal(rows, torch.arange(len(self.logits), device=rows.device)):
            return self
        chosen = self.state.select(rows)
        return replace(self, state=chosen, recent=self.recent[rows], logits=self.logits[rows])


def begin(model: Model, prompt: Sequence[int] | np.ndarray, source: object = None) -> Cursor:
    """One row that has read `prompt`, `[BOS, x_1 … x_n]`; of a prompt too long to hold, the recent part."""
    ids = checked(model, prompt)
    read = opening(model, ids)
    with model.answering():
        origin = model.start(1, source)
    recent = torch.tensor([ids if model.context is not None else []], device=model.device, dtype=torch.long)
    tokens = torch.tensor([read], device=model.device)  # (1, T)
    return _read(model, tokens, Cursor(origin, origin, recent, 0, torch.empty(1, 0)))


def opening(model: Model, ids: Sequence[int]) -> list[int]:
    """What is read of a prompt: all of it, or of one too long to hold the recent part."""
    cut = stretches(np.array([len(ids)]), model.context)
    first, length = int(cut.offset[-1]), int(cut.length[-1])
    return [BOS, *ids[first + 1 : first + length]]


def advance(model: Model, cursor: Cursor, rows: Tensor, ids: Tensor) -> Cursor:
    """Continue the rows named by `rows` (K,) with one symbol each, `ids` (K,)."""
    chosen = cursor.select(rows)
    tokens = ids[:, None]  # (K, 1)
    if model.context is None:
        return _read(model, tokens, chosen)
    if cursor.held >= model.context:
        again = chosen.recent[:, chosen.recent.shape[1] - carried(model.context) :]
        tokens = torch.cat([torch.full_like(tokens, BOS), again, tokens], 1)
        chosen = replace(chosen, state=chosen.origin.select(torch.zeros_like(rows)), held=0)
    recent = torch.cat([chosen.recent, ids[:, None]], 1)[:, -model.context :]
    return _read(model, tokens, replace(chosen, recent=recent))


def _read(model: Model, tokens: Tensor, cursor: Cursor) -> Cursor:
    with model.answering():
        hidden, state = model.read(tokens, cursor.state)  # (B, T, D)
        logits = model.logits(hidden[:, -1:])[:, 0]  # (B, V)
    return replace(cursor, state=state, held=cursor.held + tokens.shape[1], logits=logits)


def checked(model: Model, prompt: Sequence[int] | np.ndarray) -> list[int]:
    """The ids of a prompt the model can go on from."""
    ids = [int(one) for one in prompt]
    if model.reads != "left":
        raise ModelError(
            "A model that reads both ways continues no sequence. Use one that reads left to right."
        )
    if not ids or ids[0] != BOS:
        raise ModelError(f"A prompt must begin with BOS ({BOS}), not as {ids[:3]} does. Put BOS in front.")
    outside = [one for one in ids if not 0 <= one < model.config.alphabet]
    if outside:
        raise ModelError(
            f"The prompt has id {outside[0]}, but ids go from 0 to {model.config.alphabet - 1}. Encode it."
        )
    return ids
