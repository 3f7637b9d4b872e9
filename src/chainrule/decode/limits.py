"""The constraints of many prompts side by side, as tensors.

Letters: B prompts, N hypotheses that grow, K places of a beam, M ids that are banned, T symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from chainrule.decode.config import Constraints, Phrase
from chainrule.decode.cursor import Prompts
from chainrule.decode.filters import only
from chainrule.symbols import PAD

FEW = 16  # banned ids that are looked for among candidates; more of them are masked in the logits


@dataclass(frozen=True)
class Limits:
    """What every prompt may be continued by."""

    each: Sequence[Constraints]
    never: Tensor  # (B, M) PAD where there are fewer
    stop: Tensor  # (B, M)
    before: Tensor  # (B, T) the last symbols of the prompts, as many as decide what is banned next

    @classmethod
    def of(cls, each: Sequence[Constraints], prompts: Prompts, device: Any) -> Limits:
        """Of the constraints of each prompt."""
        never = table([one.never for one in each], device)
        tail = max((len(bad) for one in each for bad in one.bad), default=0)
        ends = [[int(id) for id in prompt[max(0, len(prompt) - tail) :]] for prompt in prompts]
        before = table([[*[PAD] * (tail - len(end)), *end] for end in ends], device)
        return cls(each, never, table([one.stop for one in each], device), before)

    @property
    def tail(self) -> int:
        """How many symbols of a prompt decide what is banned next."""
        return self.before.shape[1]

    def banned(self, prompts: Tensor, texts: Tensor, length: int) -> Tensor:
        """Ids (N, M), PAD for none, that must not follow texts (N, T) of these prompts (N,), `length` symbols long."""
        found = [self.never[prompts]]
        early = torch.tensor([one.early(row, length) for row, one in enumerate(self.each)])
        if bool(early.any()):
            found.append(torch.where(early.to(prompts.device)[prompts][:, None], self.stop[prompts], PAD))
        if self.tail:
            found += [self._ending(bad, prompts, texts) for bad in self._phrases()]
        return torch.cat(found, 1)

    def _phrases(self) -> list[Phrase]:
        """What must not occur in some row."""
        return list(dict.fromkeys(bad for one in self.each for bad in one.bad))

    def _ending(self, bad: Phrase, prompts: Tensor, texts: Tensor) -> Tensor:
        """The last id of a phrase (N, 1) where a text ends with the others, PAD elsewhere."""
        size = texts.shape[1]
        whose = torch.tensor([bad in one.bad for one in self.each], device=prompts.device)[prompts]
        begun = texts[:, size - len(bad) + 1 :] == torch.tensor(bad[:-1], device=texts.device)
        before = texts[:, size - len(bad)].tolist()
        inside = [
            self.each[prompt].within(id, bad[0]) for prompt, id in zip(prompts.tolist(), before, strict=True)
        ]
        free = ~torch.tensor(inside, dtype=torch.bool, device=texts.device)
        return torch.where(whose & begun.all(1) & free, bad[-1], PAD)[:, None]

    def full(self, length: int, longest: int) -> Tensor:
        """Which prompts (B,) get no more than so many symbols, of `longest` at most."""
        full = [length >= longest or one.full(row, length) for row, one in enumerate(self.each)]
        return torch.tensor(full, dtype=torch.bool, device=self.stop.device)

    def masked(self, logits: Tensor, banned: Tensor, prompts: Tensor, length: int) -> Tensor:
        """Logits (N, V) without the banned ids (N, M), if these are many; and of first symbols those prescribed."""
        if banned.shape[1] > FEW:
            logits = logits.scatter(1, banned, -torch.inf)
        firsts = [(row, one.first) for row, one in enumerate(self.each) if one.first is not None]
        if length or not firsts:
            return logits
        logits = logits.clone()
        for row, first in firsts:
            logits[prompts == row] = only(logits[prompts == row], first)
        return logits


def table(rows: Sequence[Sequence[int]], device: Any) -> Tensor:
    """Rows of ids as one tensor, PAD behind those of a shorter one."""
    width = max(map(len, rows), default=0)
    return torch.tensor(
        [[*row, *[PAD] * (width - len(row))] for row in rows], dtype=torch.long, device=device
    ).view(len(rows), width)
