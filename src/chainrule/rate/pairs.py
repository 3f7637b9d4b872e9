"""What is put before a rater: pairs in an order of their own, each system left or right by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from chainrule.errors import DataError
from chainrule.rate.journal import A, B, Journal, Subject


@dataclass(frozen=True)
class Pairs:
    """Texts of two systems and, if known, what they were made of."""

    names: tuple[str, str]
    texts: tuple[Sequence[str], Sequence[str]]
    sources: Sequence[str] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        first, second = map(len, self.texts)
        if first != second:
            raise DataError(
                f"{self.names[0]} has {first:,} lines and {self.names[1]} {second:,}: line i must answer line i."
            )
        if self.sources is not None and len(self.sources) != first:
            raise DataError(
                f"There are {len(self.sources):,} sources and {first:,} texts: line i must be made of line i."
            )
        if not self.shown:
            raise DataError(
                f"{self.names[0]} and {self.names[1]} are the same in every line: there is nothing to rate."
            )

    @cached_property
    def shown(self) -> list[int]:
        """Pairs that differ; nobody is asked about the others."""
        return [
            at for at, (one, two) in enumerate(zip(*self.texts, strict=True)) if one.strip() != two.strip()
        ]

    @cached_property
    def subject(self) -> Subject:
        """What a journal says of them."""
        every = "\x00".join("\x01".join(texts) for texts in (*self.texts, self.sources or ()))
        mark = sha256(every.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        return Subject(*self.names, len(self.texts[0]), mark)

    def order(self, rater: str) -> list[int]:
        """The pairs as one rater sees them: the same whenever they come back, another for everybody else."""
        return sorted(self.shown, key=lambda pair: self._drawn("order", rater, pair))

    def left(self, rater: str, pair: int) -> str:
        """Which system stands on the left."""
        return A if self._drawn("side", rater, pair)[0] < "8" else B

    def _drawn(self, what: str, rater: str, pair: int) -> str:
        return sha256(f"{self.seed}\x00{what}\x00{rater}\x00{pair}".encode()).hexdigest()

    def put(self, journal: Journal, rater: str, pair: int | None) -> dict[str, Any]:
        """A pair as the page shows it, without the names of the systems."""
        rated = journal.of(rater)
        told: dict[str, Any] = {"rated": sum(one in rated for one in self.shown), "pairs": len(self.shown)}
        if pair is None:
            return told | {"finished": True}
        first, second = (texts[pair] for texts in self.texts)
        left, right = (first, second) if self.left(rater, pair) == A else (second, first)
        return told | {
            "pair": pair,
            "left": left,
            "right": right,
            "source": self.sources[pair] if self.sources else None,
        }

    def next(self, journal: Journal, rater: str) -> int | None:
        """The first pair in a rater's order that is not rated yet."""
        rated = journal.of(rater)
        return next((pair for pair in self.order(rater) if pair not in rated), None)
