"""What raters found: wins with an interval, and how far they agree with each other beyond chance (kappa)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from chainrule.judge.bootstrap import interval
from chainrule.rate.journal import CHOICES, TIE, A, B, Journal, Subject

HALF = {A: 1.0, TIE: 0.5, B: 0.0}


@dataclass(frozen=True)
class Agreement:
    """Of raters on the pairs that all of them have rated."""

    raters: tuple[str, ...]
    pairs: int
    same: float  # share of equal answers
    kappa: float  # the same beyond chance: 1 always, 0 as by chance; NaN where all said the same every time


@dataclass(frozen=True)
class Ratings:
    """All that was said about two systems."""

    subject: Subject
    said: Mapping[str, Mapping[int, str]]  # by rater and pair
    damaged: int = 0  # lines of the file that do not count

    @classmethod
    def of(cls, journal: Journal) -> Ratings:
        """What everybody thinks now."""
        said = {
            rater: {pair: one.choice for pair, one in journal.of(rater).items()} for rater in journal.raters
        }
        return cls(journal.subject, said, journal.damaged)

    @property
    def counts(self) -> Counter[str]:
        """How often each system won, and how often neither did."""
        return Counter(choice for own in self.said.values() for choice in own.values())

    def share(self) -> tuple[float, float, float] | None:
        """How much of all votes the first system has, a tie being half a vote, and the ends of 95 %, over pairs."""
        votes = [(pair, HALF[choice]) for own in self.said.values() for pair, choice in own.items()]
        if not votes:
            return None
        pairs, whose = np.unique([pair for pair, _ in votes], return_inverse=True)
        points = np.bincount(whose, [vote for _, vote in votes], len(pairs))
        found = interval(points, np.bincount(whose, minlength=len(pairs)).astype(np.float64))
        return found.value, max(0.0, found.low), min(1.0, found.high)

    def agreement(self) -> list[Agreement]:
        """Of every two raters (Cohen's kappa) and, of more than two, of all together (Fleiss' kappa)."""
        raters = list(self.said)
        found = [self._agreed(two, cohen) for two in combinations(raters, 2)]
        several = [self._agreed(tuple(raters), fleiss)] if len(raters) > 2 else []
        return [one for one in [*found, *several] if one.pairs]

    def _agreed(self, raters: tuple[str, ...], kappa: Any) -> Agreement:
        common = sorted(set.intersection(*(set(self.said[rater]) for rater in raters)))
        rows = [[self.said[rater][pair] for rater in raters] for pair in common]
        return Agreement(raters, len(rows), *(kappa(rows) if rows else (math.nan, math.nan)))

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        share, counts = self.share(), self.counts
        return {
            "a": self.subject.a,
            "b": self.subject.b,
            "pairs": self.subject.pairs,
            "ratings": counts.total(),
            "damaged": self.damaged,
            "wins": {"a": counts[A], "b": counts[B], "tie": counts[TIE]},
            "share_of_a": share and share[0],
            "interval": share and list(share[1:]),
            "significant": share is not None and not share[1] <= 0.5 <= share[2],
            "raters": {rater: dict(Counter(own.values())) for rater, own in self.said.items()},
            "agreement": [
                {
                    "raters": list(one.raters),
                    "pairs": one.pairs,
                    "same": one.same,
                    "kappa": None if math.isnan(one.kappa) else one.kappa,
                }
                for one in self.agreement()
            ],
        }


def cohen(rows: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Share of equal answers of two raters, and Cohen's kappa: chance is that of each rater's own habits."""
    same = sum(one == two for one, two in rows) / len(rows)
    habits = [Counter(column) for column in zip(*rows, strict=True)]
    chance = sum(habits[0][choice] * habits[1][choice] for choice in CHOICES) / len(rows) ** 2
    return same, _beyond(same, chance)


def fleiss(rows: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Share of equal answers of any two raters, and Fleiss' kappa: chance is that of the answers of all."""
    count = len(rows[0])
    same = sum(sum(n * (n - 1) for n in Counter(row).values()) for row in rows) / (
        len(rows) * count * (count - 1)
    )
    every = Counter(choice for row in rows for choice in row)
    chance = sum((n / every.total()) ** 2 for n in every.values())
    return same, _beyond(same, chance)


def _beyond(same: float, chance: float) -> float:
    return math.nan if chance >= 1.0 else (same - chance) / (1.0 - chance)
