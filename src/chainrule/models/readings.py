"""Readings: log-probabilities of flat ids, and the hidden vectors they were predicted from.

They come in the order of the text, a part at a time: a neural cache, which looks back, need not hold all of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from chainrule.models.base import BATCH, LanguageModel
from chainrule.models.state import State
from chainrule.models.windows import LONG, WARM, TokenWindow, read_windows, tensor
from chainrule.symbols import BOS

STEP = 16 * (LONG - WARM)  # symbols of a part: their vectors are held at once


@dataclass(frozen=True)
class Reading:
    """Symbols of flat ids that follow each other, BOS left out."""

    places: np.ndarray  # (n,) where in the ids they lie, ascending
    logs: Tensor  # (n,) natural log-probability of each
    hidden: Tensor  # (n, D) what was read before it

    def __getitem__(self, some: slice | np.ndarray) -> Reading:
        return Reading(self.places[some], self.logs[some], self.hidden[some])


class VectorModel(LanguageModel):
    """A language model that predicts from hidden vectors of its own."""

    @abstractmethod
    def score_hidden(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Natural log-probability of each target (B, T) after hidden (B, T, D), 0 where it is PAD."""

    @abstractmethod
    def readings(self, ids: np.ndarray, batch: int = BATCH) -> Iterator[Reading]:
        """Every symbol of whole sequences `BOS x_1 … x_T EOS`, flat, but BOS, in order; scores as in `score_ids`."""


def readings(model: VectorModel, ids: np.ndarray, batch: int = BATCH) -> Iterator[Reading]:
    """`readings` of a model that does not change while it reads: rows side by side, as `score_ids` reads them."""
    for begin, end, seen in _parts(ids, model.stateful):
        found = _reading(model, ids[begin:end], batch, seen)
        yield Reading(begin + found.places, found.logs, found.hidden)


def _parts(ids: np.ndarray, stateful: bool) -> Iterator[tuple[int, int, int]]:
    """Where parts begin and end, and how many symbols of each an earlier one has told already."""
    if stateful:
        for begin in range(0, max(1, len(ids) - 1 - WARM), STEP):
            yield begin, min(len(ids), begin + STEP + WARM + 1), WARM if begin else 0
        return
    starts = np.append(np.flatnonzero(ids == BOS), len(ids))
    edges = np.unique(starts[np.searchsorted(starts, np.arange(0, len(ids) + STEP, STEP).clip(max=len(ids)))])
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield begin, end, 0


def _reading(model: VectorModel, ids: np.ndarray, batch: int, seen: int) -> Reading:
    hidden = torch.zeros(len(ids), model.width, device=model.device)
    logs = torch.zeros(len(ids), device=model.device)

    def step(window: TokenWindow, tokens: Tensor, state: State) -> tuple[tuple[Tensor, Tensor], State]:
        read, state = model.read(tokens, state)  # (B, T, D)
        return (read, model.score_hidden(read, tensor(model, window.targets(ids)))), state

    for window, (read, found) in read_windows(model, ids, step, batch):  # (B, T, D), (B, T)
        wanted = torch.as_tensor(window.wanted, device=model.device)
        places = tensor(model, window.places[window.wanted])
        hidden[places], logs[places] = read[wanted].float(), found[wanted]
    kept = np.flatnonzero(ids != BOS)
    kept = kept[kept > seen] if seen else kept
    return Reading(kept, logs[tensor(model, kept)], hidden[tensor(model, kept)])
