"""Beam search: the best continuations of a prompt, with every hypothesis that was ever kept as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from chainrule.decode.cursor import advance, begin
from chainrule.decode.filters import best, only, without
from chainrule.errors import ConfigError
from chainrule.models.base import Model
from chainrule.symbols import EOS


@dataclass(frozen=True)
class Node:
    """One symbol of a hypothesis that was kept."""

    id: int
    parent: int | None  # index of the node it continues; None: it continues the prompt
    log_probability: float  # of all symbols from the prompt to here
    length: int  # how many symbols those are
    finished: bool = False  # it is a stop symbol

    def value(self, length_penalty: float) -> float:
        """What it is ranked by: its log-probability over its length to the power of the penalty."""
        return self.log_probability / float(self.length**length_penalty)


@dataclass(frozen=True)
class BeamTree:
    """Every hypothesis ever kept, in the order of search: step by step, best first within a step."""

    nodes: tuple[Node, ...] = ()

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
    finished: bool  # it reached a stop symbol, and not merely the longest length
    value: float  # what it was ranked by
    node: int | None  # its last symbol in the tree; None: it is empty


@dataclass(frozen=True)
class Found:
    """What a search came back with: hypotheses best first, and the tree."""

    hypotheses: tuple[Hypothesis, ...]
    tree: BeamTree


def beam(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    width: int,
    length: int,
    *,
    length_penalty: float = 0.0,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    first: Sequence[int] | None = None,
    source: object = None,
) -> list[Hypothesis]:
    """The `width` best continuations found of at most `length` symbols, best first."""
    found = search(
        model,
        prompt,
        width,
        length,
        length_penalty=length_penalty,
        stop=stop,
        never=never,
        first=first,
        source=source,
    )
    return list(found.hypotheses)


def search(
    model: Model,
    prompt: Sequence[int] | np.ndarray,
    width: int,
    length: int,
    *,
    length_penalty: float = 0.0,
    stop: Sequence[int] = (EOS,),
    never: Sequence[int] = (),
    first: Sequence[int] | None = None,
    source: object = None,
) -> Found:
    """Beam search. Finished hypotheses hold a place of the beam against growing ones, and are never lost.

    Equally good ones are ranked by the rank of what they continue, then by id. Symbols of `never` are not
    spoken, and the first one is of `first`, if given; the probabilities are the model's own all the same.
    """
    if width < 1:
        raise ConfigError(f"The beam must be at least 1 wide, not {width}.")
    cursor = begin(model, prompt, source)
    nodes: list[Node] = []
    live: list[int | None] = [None]  # the node each row of the cursor has read to
    for size in range(1, length + 1):
        logs = without(cursor.logs, never)  # (K, V)
        grown = _grow(
            only(logs, first) if size == 1 and first is not None else logs, nodes, live, width, stop
        )
        if not grown:
            break
        kept = _keep(grown, [node for node in nodes if node.finished], width, length_penalty)
        nodes += kept
        going = [index for index in range(len(nodes) - len(kept), len(nodes)) if not nodes[index].finished]
        if going and size < length:
            rows = torch.tensor([live.index(nodes[index].parent) for index in going], device=model.device)
            ids = torch.tensor([nodes[index].id for index in going], device=model.device)
            cursor = advance(model, cursor, rows, ids)
        live = [*going]
        if not live:
            break
    return _found(BeamTree(tuple(nodes)), live, width, length_penalty)


def _grow(
    logs: Tensor, nodes: list[Node], live: list[int | None], width: int, stop: Sequence[int]
) -> list[Node]:
    """The `width` best ways to continue the live nodes by a symbol, best first, impossible ones left out."""
    before = [0.0 if node is None else nodes[node].log_probability for node in live]
    size = 1 if live[0] is None else nodes[live[0]].length + 1
    totals = (logs.new_tensor(before)[:, None] + logs).flatten()  # (K * V,)
    places = (best(totals[None], width)[0] & (totals > -torch.inf)).nonzero()[:, 0].tolist()
    grown = []
    for total, place in sorted(zip((-totals[places]).tolist(), places, strict=True)):
        row, id = divmod(place, logs.shape[1])
        grown.append(Node(id, live[row], -total, size, id in stop))
    return grown


def _keep(grown: list[Node], done: list[Node], width: int, penalty: float) -> list[Node]:
    """Those of the grown nodes, best first, that fewer than `width` others stand before."""
    values = [node.value(penalty) for node in done]
    ahead = [rank + sum(value >= node.value(penalty) for value in values) for rank, node in enumerate(grown)]
    return [node for node, others in zip(grown, ahead, strict=True) if others < width]


def _found(tree: BeamTree, live: list[int | None], width: int, penalty: float) -> Found:
    finished = [index for index, node in enumerate(tree.nodes) if node.finished]
    hypotheses = [_hypothesis(tree, index, penalty) for index in [*finished, *live]]
    hypotheses.sort(key=lambda one: -one.value)
    return Found(tuple(hypotheses[:width]), tree)


def _hypothesis(tree: BeamTree, index: int | None, penalty: float) -> Hypothesis:
    if index is None:
        return Hypothesis((), 0.0, False, 0.0, None)
    node = tree.nodes[index]
    return Hypothesis(tree.path(index), node.log_probability, node.finished, node.value(penalty), index)
