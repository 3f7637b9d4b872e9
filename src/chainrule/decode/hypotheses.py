"""What a beam search comes back with: hypotheses best first, and the tree of all that were ever kept.

Letters: B prompts, K places of a beam, C candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

WORSE = "better ones filled the beam"
BEATEN = "finished ones are better"


@dataclass(frozen=True)
class Node:
    """One symbol of a hypothesis."""

    id: int
    parent: int | None  # index of the node it continues; None: it continues the prompt
    log_probability: float  # of all symbols from the prompt to here
    length: int  # how many symbols those are
    finished: bool = False  # the sequence ends here
    dropped: str = ""  # why it was not kept; nothing: it was

    def value(self, length_penalty: float) -> float:
        """What it is ranked by: its log-probability over its length to the power of the penalty."""
        return self.log_probability / float(self.length**length_penalty)


@dataclass(frozen=True)
class TreeStep:
    """One step of all searches: who was kept, best first, and, if wanted, who else was looked at."""

    ids: Tensor  # (B, K)
    parents: Tensor  # (B, K) the place that each continues among those before
    totals: Tensor  # (B, K) log-probabilities
    finished: Tensor  # (B, K)
    kept: Tensor  # (B, K) False: nobody is at this place
    dropped: Dropped | None = None


@dataclass(frozen=True)
class Dropped:
    """Candidates that were not kept, some for each hypothesis that was continued."""

    ids: Tensor  # (B, K, C)
    totals: Tensor  # (B, K, C) -inf: none
    beaten: Tensor  # (B, K, C) whether finished hypotheses were the reason


class BeamTree:
    """Every hypothesis ever kept, in the order of search: step by step, best first within a step.

    Those dropped, if they were asked for, follow in `dropped`; their parents are indices of `nodes`.
    """

    def __init__(self, steps: Sequence[TreeStep], row: int) -> None:
        self._steps, self._row = steps, row

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, BeamTree) and self.nodes == other.nodes
        return same and self.dropped == other.dropped  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.nodes)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Those that were kept."""
        return tuple(node for nodes, _ in self._each for node in nodes)

    @cached_property
    def dropped(self) -> tuple[Node, ...]:
        """Those that were looked at and not kept."""
        return tuple(node for _, nodes in self._each for node in nodes)

    @cached_property
    def _each(self) -> list[tuple[list[Node], list[Node]]]:
        """The nodes of every step."""
        found, before, first = [], list[int | None]([None]), 0
        for length, step in enumerate(self._steps, 1):
            kept, places = self._kept(step, length, before)
            found.append((kept, list(self._left(step, length, before))))
            if kept:
                before = [None if place is None else first + place for place in places]
                first += len(kept)
        return found

    def _kept(
        self, step: TreeStep, length: int, before: Sequence[int | None]
    ) -> tuple[list[Node], list[int | None]]:
        """The nodes of a step, and which of them stands at each place."""
        row, nodes, places = self._row, list[Node](), list[int | None]()
        each = zip(*(one[row].tolist() for one in (step.ids, step.parents, step.totals)), strict=True)
        flags = zip(step.finished[row].tolist(), step.kept[row].tolist(), strict=True)
        for (id, parent, total), (finished, kept) in zip(each, flags, strict=True):
            places.append(len(nodes) if kept else None)
            nodes += [Node(id, before[parent], total, length, finished)] if kept else []
        return nodes, places

    def _left(self, step: TreeStep, length: int, before: Sequence[int | None]) -> Iterator[Node]:
        """Candidates of a step that were not kept."""
        if step.dropped is None:
            return
        found = (
            one[self._row].tolist() for one in (step.dropped.ids, step.dropped.totals, step.dropped.beaten)
        )
        for place, (ids, totals, beaten) in enumerate(zip(*found, strict=True)):
            for id, total, by_finished in zip(ids, totals, beaten, strict=True):
                if total > -float("inf"):
                    why = BEATEN if by_finished else WORSE
                    yield Node(id, before[place], total, length, dropped=why)

    def path(self, node: int | None) -> tuple[int, ...]:
        """The symbols from the prompt to this node."""
        ids: list[int] = []
        while node is not None:
            ids.append(self.nodes[node].id)
            node = self.nodes[node].parent
        return tuple(reversed(ids))

    def children(self, node: int | None) -> list[int]:
        """The nodes that continue this one; of None, the prompt's."""
        return [index for index, one in enumerate(self.nodes) if one.parent == node]


@dataclass(frozen=True)
class Hypothesis:
    """One continuation of a prompt."""

    ids: tuple[int, ...]  # what follows the prompt, the stop symbol included
    log_probability: float  # natural, of `ids` given the prompt
    finished: bool  # it reached its end, and not merely the longest length
    value: float  # what it was ranked by
    node: int | None  # its last symbol in the tree; None: it is empty
    lacking: int = 0  # how many symbols of phrases that must occur it lacks


@dataclass(frozen=True)
class SearchResult:
    """What a search came back with: hypotheses best first, and the tree."""

    hypotheses: tuple[Hypothesis, ...]
    tree: BeamTree
