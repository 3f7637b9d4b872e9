"""The cursor of searches and samplers: rows of unequal length, the state of each and its next logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from chainrule.errors import ModelError
from chainrule.models.base import LanguageModel, log_total
from chainrule.models.state import State, merged
from chainrule.models.windows import carried, stretches
from chainrule.symbols import BOS, PAD

Prompts = Sequence[Sequence[int] | np.ndarray]
MOST = 8192  # symbols of prompts read at once
LOOSE = 8  # columns of padding that cost less than another read


@dataclass(frozen=True)
class Cursor:
    """A place in B sequences, each read this far."""

    origin: State  # of the prompts (P) that have read nothing but their source, to restart from
    prompt: Tensor  # (B,) which of them each row continues
    state: State
    recent: Tensor  # (B, carried) the last symbols, PAD where there were none; (B, 0) if it holds any number
    held: Tensor  # (B,) how many symbols the state holds; not counted if it holds any number
    logits: Tensor  # (B, V) of each next symbol; all -inf: nothing is possible

    @property
    def rows(self) -> Tensor:
        """All rows, in order."""
        return torch.arange(len(self.held), device=self.held.device)

    @property
    def logs(self) -> Tensor:
        """Natural log-probability (B, V) of each next symbol, float64."""
        return log_probabilities(self.logits)

    def select(self, rows: Tensor) -> Cursor:
        """Fork, reorder or drop rows, as `State.select` does."""
        if torch.equal(rows, self.rows):
            return self
        return replace(self.before_step(rows), logits=self.logits.index_select(0, rows))

    def before_step(self, rows: Tensor) -> Cursor:
        """The same but for the logits, which are left as they are: nobody needs them any more."""
        if torch.equal(rows, self.rows):
            return self
        tensors = (one.index_select(0, rows) for one in (self.prompt, self.recent, self.held))
        prompt, recent, held = tensors
        return replace(self, prompt=prompt, state=self.state.select(rows), recent=recent, held=held)


def log_probabilities(logits: Tensor) -> Tensor:
    """Natural log-probabilities (B, V) of logits (B, V), float64; where nothing is possible, -inf."""
    logits = logits.double()
    return logits - log_total(logits)[:, None]


def begin(model: LanguageModel, prompts: Prompts, source: object = None) -> Cursor:
    """Rows that have read their prompts `[BOS, x_1 … x_n]`; of a prompt too long to hold, the recent part."""
    return begin_rows(model, [checked(model, prompt) for prompt in prompts], source)


def begin_rows(model: LanguageModel, rows: Sequence[list[int]], source: object = None) -> Cursor:
    """The same for checked rows, of which some may have read nothing at all.

    Rows of similar length are read together, so there is little padding.
    """
    with model.inference():
        origin = model.start(len(rows), source)
    every, kept = torch.arange(len(rows), device=model.device), [opening(model, ids) for ids in rows]
    groups = [every[group] for group in alike([len(ids) for ids in kept])]
    states, logits = [], []
    for group in groups:
        state = origin if len(groups) == 1 else origin.select(group)
        found, state = _read(model, padded([kept[row] for row in group], model.device), state)
        states.append((group, state))
        logits.append(found)
    size = 0 if model.context is None else carried(model.context)
    recent = [[PAD] * (size - len(ids)) + ids[len(ids) - min(size, len(ids)) :] for ids in rows]
    return Cursor(
        origin,
        every,
        states[0][1] if len(groups) == 1 else merged(states),
        torch.tensor(recent, device=model.device, dtype=torch.long),
        torch.tensor([len(ids) for ids in kept], device=model.device),
        torch.cat(logits)[torch.cat(groups).argsort()],
    )


def alike(lengths: Sequence[int]) -> list[list[int]]:
    """Numbers of rows of similar length, the longest first; in each group a row number is above the one before."""
    groups: list[list[int]] = []
    longest = -1
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        close = 0 <= longest - lengths[row] <= max(LOOSE, longest // 4) and (lengths[row] or not longest)
        if not close or len(groups[-1]) * longest >= MOST:
            groups.append([])
            longest = lengths[row]
        groups[-1].append(row)
    return [sorted(group) for group in groups]


def opening(model: LanguageModel, ids: Sequence[int]) -> list[int]:
    """What is read of a prompt: all of it, or of one too long to hold the recent part."""
    if not ids:
        return []
    cut = stretches(np.array([len(ids)]), model.context)
    first, length = int(cut.offset[-1]), int(cut.length[-1])
    return [BOS, *ids[first + 1 : first + length]]


def advance(model: LanguageModel, cursor: Cursor, rows: Tensor, tokens: Tensor) -> Cursor:
    """Continue the rows named by `rows` (K,) with symbols (K, T), PAD to the right of those of a row.

    What is expected next in a row that reads nothing means nothing.
    """
    if tokens.shape[1] == 1:
        return _advance(model, cursor.before_step(rows), tokens)
    chosen = cursor.select(rows)
    if not _overflows(model, chosen, tokens):
        return _advance(model, chosen, tokens)
    for column in torch.split(tokens, 1, 1):
        after = _advance(model, chosen, column)
        chosen = replace(after, logits=torch.where(column == PAD, chosen.logits, after.logits))
    return chosen


def _overflows(model: LanguageModel, cursor: Cursor, tokens: Tensor) -> bool:
    """Whether some row would have to restart on its way through tokens (B, T)."""
    return model.context is not None and bool((cursor.held + (tokens != PAD).sum(1) > model.context).any())


def _advance(model: LanguageModel, cursor: Cursor, tokens: Tensor) -> Cursor:
    cursor = ready(model, cursor, tokens)
    logits, state = _read(model, tokens, cursor.state)
    return replace(moved(model, cursor, tokens, state), logits=logits)


def moved(model: LanguageModel, cursor: Cursor, tokens: Tensor, state: State) -> Cursor:
    """The same rows after `tokens` (B, T), PAD to the right of them, which led to `state`."""
    if model.context is None:
        return replace(cursor, state=state)
    lengths = (tokens != PAD).sum(1)  # (B,)
    columns = lengths[:, None] + torch.arange(cursor.recent.shape[1], device=tokens.device)  # (B, carried)
    recent = torch.cat([cursor.recent, tokens], 1).gather(1, columns)
    return replace(cursor, state=state, recent=recent, held=cursor.held + lengths)


def ready(model: LanguageModel, cursor: Cursor, tokens: Tensor) -> Cursor:
    """The same rows, ready to read `tokens` (B, T): those that can hold no more restart after BOS and `recent`."""
    if model.context is None:
        return cursor
    full = ((cursor.held >= model.context) & (tokens[:, 0] != PAD)).nonzero()[:, 0]  # (R,)
    if not len(full):
        return cursor
    again = torch.cat([torch.full_like(cursor.held[full, None], BOS), cursor.recent[full]], 1)
    with model.inference(again.numel()):
        _, state = model.read(again, cursor.origin.select(cursor.prompt[full]))
    if len(full) < len(cursor.held):
        state = merged([(cursor.rows, cursor.state), (full, state)])
    return replace(cursor, state=state, held=cursor.held.index_fill(0, full, again.shape[1]))


def _read(model: LanguageModel, tokens: Tensor, state: State) -> tuple[Tensor, State]:
    """Logits (B, V) after the last symbol of each row of tokens (B, T), and the new memory."""
    if not tokens.shape[1]:
        return torch.full((len(tokens), model.config.vocab_size), -torch.inf, device=model.device), state
    with model.inference(tokens.numel()):
        hidden, state = model.read(tokens, state)  # (B, T, D)
        if tokens.shape[1] > 1:
            last = (tokens != PAD).sum(1).sub(1).clamp(min=0)  # (B,)
            hidden = hidden[torch.arange(len(last), device=last.device), last][:, None]  # (B, 1, D)
        return model.logits(hidden)[:, 0], state


def padded(rows: Sequence[Sequence[int]], device: object = None) -> Tensor:
    """Rows of unequal length as one tensor (B, T), PAD on the right."""
    width = max(map(len, rows), default=0)
    whole = [[*row, *[PAD] * (width - len(row))] for row in rows]
    return torch.tensor(whole, dtype=torch.long, device=device)  # type: ignore[arg-type]


def checked(model: LanguageModel, prompt: Sequence[int] | np.ndarray) -> list[int]:
    """The ids of a prompt the model can continue."""
    ids = [int(one) for one in prompt]
    if model.reads != "left":
        raise ModelError(
            "A model that reads both ways continues no sequence. Use one that reads left to right."
        )
    if not ids or ids[0] != BOS:
        raise ModelError(f"A prompt must begin with BOS ({BOS}), not as {ids[:3]} does. Put BOS in front.")
    outside = [one for one in ids if not PAD < one < model.config.vocab_size]
    if outside:
        raise ModelError(
            f"The prompt has id {outside[0]}, but ids go from {PAD + 1} to {model.config.vocab_size - 1}. Encode it."
        )
    return ids
