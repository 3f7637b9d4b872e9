"""Drafting: a small model writes ahead, the large one reads the draft in one go and keeps what it agrees with.

The result has exactly the distribution of the large model (Leviathan et al. 2023): a drafted symbol that it finds as
likely as the small model does is kept, one that it finds less likely is kept by that ratio, and in place of one that is
not kept a symbol is drawn from what the small model had underrated. Reading several symbols at once costs the large
model hardly more than reading one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from chainrule.decode.cursor import Cursor, advance, begin, checked, opening
from chainrule.decode.filters import Filters, without
from chainrule.decode.sample import PLAIN, draw
from chainrule.errors import ModelError
from chainrule.models.base import Model, State, carried
from chainrule.symbols import BOS, EOS, PAD

AHEAD = 4  # symbols drafted at a time
FIRST_ROW = torch.zeros(1, dtype=torch.long)


@dataclass
class Tally:
    """How well drafting went."""

    drafted: int = 0
    kept: int = 0
    rounds: int = 0  # how often the large model read


def drafted(
    model: Model,
    drafter: Model,
    prompt: Sequence[int] | np.ndarray,
    length: int,
    *,
    generator: Generator,
    filters: Filters = PLAIN,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    ahead: int = AHEAD,
    tally: Tally | None = None,
) -> Iterator[int]:
    """Continue `prompt` by at most `length` symbols as `sample` would, with fewer reads of `model`."""
    if drafter.config.alphabet != model.config.alphabet:
        raise ModelError("A draft must be in the symbols of the model. Fit both with the same codec.")
    writer = _Writer(model, drafter, filters, tuple(never), generator, tally or Tally())
    left = length
    for symbols in writer.rounds(prompt, ahead):
        for symbol in symbols:
            if symbol == PAD or left == 0:
                return
            left -= 1
            yield symbol
            if symbol in stop:
                return


@dataclass
class _Writer:
    """The large model has read all symbols but the last one; the small one has read them all."""

    model: Model
    drafter: Model
    filters: Filters
    never: tuple[int, ...]
    generator: Generator
    tally: Tally

    def rounds(self, prompt: Sequence[int] | np.ndarray, ahead: int) -> Iterator[list[int]]:
        """The symbols of one round after the other: those kept of a draft, and one more."""
        ids, small = checked(self.model, prompt), begin(self.drafter, prompt)
        state, held = self._origin(), 0
        unread = opening(self.model, ids)
        while True:
            if self.model.context is not None and held + len(unread) > self.model.context:
                state, held = self._origin(), 0
                unread = [BOS, *ids[max(1, len(ids) - 1 - carried(self.model.context)) :]]
            room = ahead if self.model.context is None else self.model.context - held - len(unread)
            draft, places, chances = self._draft(small, min(ahead, room))
            after, expected = self._read(state, unread, draft)
            kept = self._agreed(draft, chances, expected)
            last = self._last(expected[kept], chances[kept] if kept < len(draft) else None)
            self._count(len(draft), kept)
            yield [*draft[:kept], last]
            read = [*unread, *draft[:kept]]
            state = after if kept == len(draft) else self._rewound(after, state, read)
            held, ids, unread = held + len(read), [*ids, *draft[:kept], last], [last]
            small = advance(self.drafter, places[kept], FIRST_ROW, torch.tensor([last]))

    def _origin(self) -> State:
        with self.model.answering():
            return self.model.start(1)

    def _count(self, drafted: int, kept: int) -> None:
        self.tally.drafted += drafted
        self.tally.kept += kept
        self.tally.rounds += 1

    def _chances(self, logs: Tensor) -> Tensor:
        """Probabilities (T, V) after filters, of logs (T, V)."""
        return self.filters(without(logs.cpu(), self.never)).double().softmax(-1)

    def _draft(self, small: Cursor, ahead: int) -> tuple[list[int], list[Cursor], list[Tensor]]:
        """Symbols written ahead, where the small model stood before each and after the last, and its chances."""
        draft: list[int] = []
        places, chances = [small], []
        for _ in range(ahead):
            chances.append(self._chances(places[-1].logits)[0])
            draft.append(self._drawn(chances[-1]))
            places.append(advance(self.drafter, places[-1], FIRST_ROW, torch.tensor([draft[-1]])))
        return draft, places, chances

    def _drawn(self, chances: Tensor) -> int:
        luck = torch.rand(1, generator=self.generator, dtype=torch.float64)
        return int(draw(chances.log()[None], luck)[0])

    def _read(self, state: State, unread: list[int], draft: list[int]) -> tuple[State, Tensor]:
        """The memory after the draft, and what is expected at each of its places and behind it (draft + 1, V)."""
        with self.model.answering():
            tokens = torch.tensor([[*unread, *draft]], device=self.model.device)
            hidden, after = self.model.read(tokens, state)  # (1, T, D)
            logits = self.model.logits(hidden[:, len(unread) - 1 :])[0].double()  # (draft + 1, V)
        return after, self._chances(logits)

    def _rewound(self, after: State, before: State, read: list[int]) -> State:
        with self.model.answering():
            return self.model.rewound(after, before, torch.tensor([read], device=self.model.device))

    def _agreed(self, draft: list[int], small: list[Tensor], large: Tensor) -> int:
        """How many drafted symbols are kept."""
        lucky = torch.rand(len(draft), generator=self.generator, dtype=torch.float64).tolist()
        for place, (symbol, luck) in enumerate(zip(draft, lucky, strict=True)):
            if luck * float(small[place][symbol]) >= float(large[place, symbol]):
                return place
        return len(draft)

    def _last(self, large: Tensor, small: Tensor | None) -> int:
        """The symbol after those kept: what the small model underrated, or, when all were kept, anything."""
        rest = large if small is None else (large - small).clamp(min=0.0)
        return self._drawn(rest if float(rest.sum()) > 0.0 else large)
