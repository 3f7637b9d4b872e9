"""Phrases that must occur: dynamic beam allocation (Post and Vilar 2018).

Hypotheses that have said equally many symbols of the phrases are a bank. Every bank has its share of the beam, so that
those which said more of them, and are less probable for it, are not crowded out. The next symbol of every phrase that
is lacking is always tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from chainrule.decode.config import Constraints, Phrase
from chainrule.decode.limits import table
from chainrule.symbols import PAD


def said(phrase: Phrase, text: Sequence[int], within: Callable[[int | None, int], bool]) -> int:
    """How many symbols of a phrase a text has: all if it occurs as whole words, else those that the text ends with."""
    size = len(phrase)

    def cut(place: int) -> bool:
        """Whether a word stands to both sides of this place."""
        return 0 < place < len(text) and within(text[place - 1], text[place])

    def at(place: int) -> bool:
        return tuple(text[place : place + size]) == phrase[: len(text) - place] and not cut(place)

    if any(at(place) and not cut(place + size) for place in range(len(text) - size + 1)):
        return size
    return next(
        (len(text) - place for place in range(max(0, len(text) - size + 1), len(text)) if at(place)), 0
    )


@dataclass(frozen=True)
class Banks:
    """What the continuation of each prompt must hold, and how the places of a beam are given out."""

    each: Sequence[Constraints]

    @classmethod
    def of(cls, each: Sequence[Constraints]) -> Self | None:
        """Of the constraints of each prompt; None where nothing must occur."""
        return cls(each) if any(one.forced for one in each) else None

    def lacking(self, prompt: int, text: Sequence[int]) -> int:
        """How many symbols a text still needs, every phrase being spelled as is nearest."""
        within, forced = self.each[prompt].within, self.each[prompt].forced
        return sum(min(len(way) - said(way, text, within) for way in ways) for ways in forced)

    def next(self, prompt: int, text: Sequence[int]) -> list[int]:
        """What would bring a text on: of each phrase that it lacks, the next symbol of each spelling and its first."""
        within, found = self.each[prompt].within, list[int]()
        for ways in self.each[prompt].forced:
            sizes = [(way, said(way, text, within)) for way in ways]
            if all(size < len(way) for way, size in sizes):
                found += [id for way, size in sizes for id in (way[size], way[0])]
        return list(dict.fromkeys(found))

    def extended(
        self, values: Tensor, ids: Tensor, logits: Tensor, prompts: Tensor, texts: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities (N, C) and ids (N, C) with those that would bring texts (N, T) on, in the order of ids."""
        each = zip(prompts.tolist(), texts.tolist(), strict=True)
        more = table([self.next(prompt, text) for prompt, text in each], ids.device)  # (N, E)
        known = (more[:, :, None] == ids[:, None]).any(2) | (more == PAD)  # (N, E)
        logs = logits.log_softmax(1).gather(1, more).double().masked_fill(known, -torch.inf)
        values, ids = torch.cat([values, logs], 1), torch.cat([ids, more], 1)
        ids, order = ids.sort(dim=1, stable=True)
        return values.gather(1, order), ids

    def chosen(
        self, totals: Tensor, places: Tensor, ids: Tensor, texts: Tensor, stop: Tensor, width: int
    ) -> tuple[Tensor, Tensor]:
        """Of the ways to continue, best first, those that get a place: log-probabilities (B, K) and where they are.

        `ids` (B, K, C) says by what each goes on. Nothing ends while it lacks a phrase.
        """
        chosen = places.new_zeros(len(places), min(width, places.shape[1]))
        found = totals.new_full(chosen.shape, -torch.inf)
        for prompt in range(len(places)):
            possible = int((totals[prompt] > -torch.inf).sum())
            said = [[*text] for text in texts[prompt].tolist()]
            ways = places[prompt, :possible].tolist()
            ends, symbols = set(stop[prompt].tolist()), ids[prompt].flatten().tolist()
            lacking = [self.lacking(prompt, [*said[way // ids.shape[2]], symbols[way]]) for way in ways]
            kept = [at for at, way in enumerate(ways) if not (lacking[at] and symbols[way] in ends)]
            taken = self._shared(prompt, kept, lacking, width)
            chosen[prompt, : len(taken)] = places[prompt, taken]
            found[prompt, : len(taken)] = totals[prompt, taken]
        return found, chosen

    def _shared(self, prompt: int, kept: Sequence[int], lacking: Sequence[int], width: int) -> list[int]:
        """Which of those `kept`, best first, get one of `width` places: the share of every bank, then the best."""
        symbols = sum(max(map(len, ways)) for ways in self.each[prompt].forced)
        share = max(1, width // (1 + symbols))
        first: list[int] = []
        for bank in sorted({lacking[at] for at in kept}):
            first += [at for at in kept if lacking[at] == bank][:share]
        rest = [at for at in kept if at not in first[:width]]
        return sorted([*first[:width], *rest][:width])
