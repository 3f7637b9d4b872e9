"""Beam search: the best continuations of many prompts, each with every hypothesis that was ever kept as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from chainrule.decode.config import FREE, Constraints, GenerationConfig
from chainrule.decode.cursor import Prompts, advance, begin, log_probabilities
from chainrule.decode.filters import best, only, without
from chainrule.models.base import LanguageModel


@dataclass(frozen=True)
class Node:
    """One symbol of a hypothesis that was kept."""

    id: int
    parent: int | None  # index of the node it continues; None: it continues the prompt
    log_probability: float  # of all symbols from the prompt to here
    length: int  # how many symbols those are
    finished: bool = False  # the sequence ends here

    def value(self, length_penalty: float) -> float:
        """What it is ranked by: its log-probability over its length to the power of the penalty."""
        return self.log_probability / float(self.length**length_penalty)


@dataclass(frozen=True)
class BeamTree:
    """Every hypothesis ever kept, in the order of search: step by step, best first within a step."""

    nodes: tuple[Node, ...] = ()

    def path(self, node: int | None) -> tuple[int, ...]:
        """The symbols from the prompt to this node."""
        return _path(self.nodes, node)

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


@dataclass(frozen=True)
class SearchResult:
    """What a search came back with: hypotheses best first, and the tree."""

    hypotheses: tuple[Hypothesis, ...]
    tree: BeamTree


def _path(nodes: Sequence[Node], node: int | None) -> tuple[int, ...]:
    ids: list[int] = []
    while node is not None:
        ids.append(nodes[node].id)
        node = nodes[node].parent
    return tuple(reversed(ids))


def search(
    model: LanguageModel,
    prompts: Prompts,
    config: GenerationConfig,
    constraints: Constraints | Sequence[Constraints] = FREE,
    source: object = None,
) -> list[SearchResult]:
    """Beam search from every prompt, all of them side by side; constraints are those of all, or one for each.

    Finished hypotheses hold a place of the beam against growing ones, and are never lost. Equally good ones are
    ranked by the rank of what they continue, then by id. Probabilities are the model's own, whatever is forbidden.
    """
    each = [constraints] * len(prompts) if isinstance(constraints, Constraints) else constraints
    width = config.beam or 1
    beams = [_Beam(row, width, config.length_penalty, own) for row, own in enumerate(each)]
    cursor = begin(model, prompts, source)
    for left in range(config.length - 1, -1, -1):
        parts = torch.split(cursor.logits, [beam.rows for beam in beams])
        moves, passed = [], 0  # which row of the cursor continues, and with which symbol
        for beam, logits in zip(beams, parts, strict=True):
            moves += [(passed + row, id) for row, id in beam.grow(logits)]
            passed += len(logits)
        if not left or not moves:
            break
        rows, ids = torch.tensor(moves, device=model.device).unbind(1)  # (K,) each
        cursor = advance(model, cursor, rows, ids[:, None])
    return [beam.found() for beam in beams]


@dataclass
class _Beam:
    """The search from one prompt."""

    row: int  # its number
    width: int
    penalty: float
    constraints: Constraints
    nodes: list[Node] = field(default_factory=list)
    live: list[int | None] = field(default_factory=lambda: [None])  # may be continued; None: the prompt
    rows: int = 1  # how many of the cursor are of this search, each having read to a live node

    def grow(self, logits: Tensor) -> list[tuple[int, int]]:
        """Continue the live nodes by logits (K, V): for each new node, its row and its id."""
        grown = self._best(self._allowed(logits)) if self.rows else []
        kept = self._kept(grown)
        open = [
            node for node in kept if not node.finished and not self.constraints.full(self.row, node.length)
        ]
        moves = [(self.live.index(node.parent), node.id) for node in open]
        self.rows = len(moves)
        if grown:  # a dead end leaves what was said
            self.nodes += kept
            new = range(len(self.nodes) - len(kept), len(self.nodes))
            self.live = [index for index in new if not self.nodes[index].finished]
        return moves

    def _allowed(self, logits: Tensor) -> Tensor:
        """Log-probabilities (K, V) of what may come next."""
        logs = without(log_probabilities(logits), self.constraints.never)
        first, length = self.constraints.first, 0 if self.live[0] is None else self.nodes[self.live[0]].length
        if self.constraints.early(self.row, length):
            logs = without(logs, self.constraints.stop)
        return only(logs, first) if first is not None and not self.nodes else logs

    def _best(self, logs: Tensor) -> list[Node]:
        """The best ways to continue the live nodes by a symbol, best first, impossible ones left out."""
        before = [0.0 if node is None else self.nodes[node].log_probability for node in self.live]
        totals = (logs.new_tensor(before)[:, None] + logs).flatten()  # (K * V,)
        places = (best(totals[None], self.width)[0] & (totals > -torch.inf)).nonzero()[:, 0].tolist()
        ranked = sorted(zip((-totals[places]).tolist(), places, strict=True))
        return [self._node(divmod(place, logs.shape[1]), -cost) for cost, place in ranked]

    def _node(self, way: tuple[int, int], log_probability: float) -> Node:
        row, id = way
        parent, ends = self.live[row], self.constraints.ends
        length = 1 if parent is None else self.nodes[parent].length + 1
        whole = (*_path(self.nodes, parent), id) if ends else (id,)
        over = self.constraints.over(self.row, whole)
        return Node(id, parent, log_probability, length, over)

    def _kept(self, grown: list[Node]) -> list[Node]:
        """Those of the grown nodes, best first, that fewer than `width` others stand before."""
        values = [node.value(self.penalty) for node in self.nodes if node.finished]
        kept = []
        for rank, node in enumerate(grown):
            ahead = rank + sum(value >= node.value(self.penalty) for value in values)
            kept += [node] if ahead < self.width else []
        return kept

    def found(self) -> SearchResult:
        """What the search came back with."""
        finished = [index for index, node in enumerate(self.nodes) if node.finished]
        tree = BeamTree(tuple(self.nodes))
        hypotheses = [_hypothesis(tree, index, self.penalty) for index in [*finished, *self.live]]
        hypotheses.sort(key=lambda one: -one.value)
        return SearchResult(tuple(hypotheses[: self.width]), tree)


def _hypothesis(tree: BeamTree, index: int | None, penalty: float) -> Hypothesis:
    if index is None:
        return Hypothesis((), 0.0, False, 0.0, None)
    node = tree.nodes[index]
    return Hypothesis(tree.path(index), node.log_probability, node.finished, node.value(penalty), index)
