"""Word alignment: the alignment error rate (AER, Och & Ney 2003) of links between words of sentences.

Links are written `i-j`, from 0 on, source before target, as aligners write them (Pharaoh's format); right ones that
are only possible, not sure, are `i?j`.

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)      A what was found, S sure, P sure or possible
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chainrule.errors import DataError

LINK = re.compile(r"(\d+)([-?])(\d+)")
Links = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Gold:
    """The right links of a sentence."""

    sure: Links
    possible: Links  # sure ones included

    @classmethod
    def read(cls, text: str) -> Gold:
        """From `0-0 1-2 3?2`."""
        found = [(LINK.fullmatch(one), one) for one in text.split()]
        for match, one in found:
            if match is None:
                raise DataError(f"Links such as 0-0 1-2 were expected, not {one!r}.")
        every = [(int(match[1]), int(match[3]), match[2]) for match, _ in found if match]
        return cls(
            frozenset((i, j) for i, j, kind in every if kind == "-"), frozenset((i, j) for i, j, _ in every)
        )


@dataclass(frozen=True)
class AlignmentScore:
    """Counts over all sentences."""

    found: int = 0
    sure: int = 0
    found_sure: int = 0
    found_possible: int = 0

    @property
    def error(self) -> float:
        """AER; 0 where nothing was right and nothing was found."""
        total = self.found + self.sure
        return 1.0 - (self.found_sure + self.found_possible) / total if total else 0.0

    @property
    def precision(self) -> float:
        """How many of those found are right, at least possibly."""
        return self.found_possible / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """How many of the sure ones were found."""
        return self.found_sure / self.sure if self.sure else 1.0


def alignment_score(found: Iterable[Links], gold: Sequence[Gold]) -> AlignmentScore:
    """Of all sentences together."""
    pairs = list(zip(found, gold, strict=True))
    return AlignmentScore(
        sum(len(one) for one, _ in pairs),
        sum(len(right.sure) for _, right in pairs),
        sum(len(one & right.sure) for one, right in pairs),
        sum(len(one & right.possible) for one, right in pairs),
    )


def diagonal(source: int, target: int) -> Links:
    """Every target word linked to the source word at the same relative place: what aligners must beat."""
    return frozenset((min(source - 1, int((j + 0.5) * source / target)), j) for j in range(target) if source)
