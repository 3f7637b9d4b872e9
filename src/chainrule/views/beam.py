"""The view `beam`: the tree of a beam search, with the log-probability of every hypothesis and what was dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.use.search_tree import SearchTree, TreeNode, search_tree
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import COOL, INK, LINE, QUIET, Part, Scene, Stroke, Words, breadth, cut
from chainrule.views.text import named, visible
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

ROW, LABEL, SIZE = 19.0, 14, 12.0  # height of a row, letters of a symbol, size of letters
STEP = breadth("m" * (LABEL + 8), SIZE) + 24  # from one symbol of a hypothesis to the next
CAVEAT = "Natural log-probabilities of all symbols up to there. Blue: finished, with its rank; grey: dropped."


@register("beam")
@dataclass(frozen=True, kw_only=True)
class Beam(Kind):
    """Who continued whom, and who was dropped; in a page, a click on a branch continues from there."""

    beam: int = option(3, "how many hypotheses are kept at each step", low=1, high=100)
    length: int = option(12, "how many symbols to add at most", low=1, high=1000)
    length_penalty: float | None = option(
        None,
        "log-probability over length to this power ranks what has ended; as usual if not given",
        low=0.0,
        high=100.0,
    )
    branches: int = option(2, "how many dropped ways of each hypothesis are shown", low=0, high=100)
    prefix: str = option("", "of an encoder-decoder, what its text begins with")

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        given: dict[str, Any] = {"beam": self.beam, "length": self.length}
        if self.length_penalty is not None:
            given["length_penalty"] = self.length_penalty
        if self.prefix:
            given["prefix"] = self.prefix
        models = [
            {"name": name, **_data(search_tree(bundle, text, branches=self.branches, **given))}
            for name, bundle in zip(named(bundles), bundles, strict=True)
        ]
        of = "translations of" if bundles[0].task.source is not None else "what follows"
        title = f"beam of {self.beam}: {of} {cut(text, 60)!r}"
        return View("beam", {"models": models}, {"title": title, "text": text})

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = [Words(16, 20, CAVEAT, QUIET, SIZE)]
        wide, y = breadth(CAVEAT, SIZE) + 32, 44.0
        for model in view["models"]:
            if len(view["models"]) > 1:
                parts.append(Words(16, y + 4, model["name"], INK, bold=True))
                y += ROW + 4
            tree = _tree(model)
            wide = max(wide, _drawn(parts, tree, y))
            y += ROW * _leaves(tree) + ROW / 2
        return Scene(wide, y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        named = len(view["models"]) > 1
        told = [
            f"{model['name']}\n{_tree(model)}" if named else str(_tree(model)) for model in view["models"]
        ]
        return "\n".join([*told, f"{CAVEAT} ×: dropped."])


def _data(tree: SearchTree) -> dict[str, Any]:
    """As data of a view: a column for each thing known of a node."""
    return {
        "beam": tree.beam,
        "symbols": [visible(node.symbol) for node in tree.nodes],
        "parents": np.array([-1 if node.parent is None else node.parent for node in tree.nodes], np.int32),
        "log_probabilities": np.array([node.log_probability for node in tree.nodes], np.float64),
        "lengths": np.array([node.length for node in tree.nodes], np.int32),
        "ranks": np.array([node.rank or 0 for node in tree.nodes], np.int32),
        "states": [node.state for node in tree.nodes],
        "reasons": [node.why for node in tree.nodes],
    }


def _tree(model: Mapping[str, Any]) -> SearchTree:
    """The tree again."""
    names = "parents", "symbols", "log_probabilities", "lengths", "states", "reasons", "ranks"
    columns = (np.asarray(model[name]).tolist() for name in names)
    nodes = (
        TreeNode(None if parent < 0 else parent, symbol, log, length, state, why, rank or None)
        for parent, symbol, log, length, state, why, rank in zip(*columns, strict=True)
    )
    return SearchTree("", model["beam"], tuple(nodes))


def _drawn(parts: list[Part], tree: SearchTree, top: float) -> float:
    """A tree below this height; how far to the right it reaches."""
    places = _places(tree, top)
    for number, node in enumerate(tree.nodes):
        x, y = places[number]
        before = (8.0, places[-1][1]) if node.parent is None else _behind(places[node.parent])
        colour, width = (LINE, 1.0) if node.state == "dropped" else (QUIET, 1.6)
        parts.append(Stroke([before, (x - 8, y), (x - 2, y)], colour, width))
        parts += _said(node, x, y)
    return max([STEP, *(x + STEP for x, _ in places[:-1])])


def _leaves(tree: SearchTree) -> int:
    """How many rows there are to draw."""
    return max(1, sum(not some for some in tree.children()[:-1]))


def _places(tree: SearchTree, top: float) -> list[tuple[float, float]]:
    """Where each node stands, a column for each symbol; the last place is that of the prompt.

    A node with continuations stands level with the first of them.
    """
    children, places = tree.children(), [(0.0, 0.0)] * (len(tree.nodes) + 1)
    row, waiting = 0, list(reversed(children[-1]))
    while waiting:
        number = waiting.pop()
        places[number] = (24 + (tree.nodes[number].length - 1) * STEP, top + row * ROW)
        row += not children[number]
        waiting += reversed(children[number])
    return [*places[:-1], (8.0, top)]


def _behind(place: tuple[float, float]) -> tuple[float, float]:
    """Where the line to a continuation begins."""
    return place[0] + STEP - 24, place[1]


def _said(node: TreeNode, x: float, y: float) -> list[Part]:
    """Log-probability and symbol."""
    colour = {"dropped": (150, 156, 163), "finished": COOL}.get(node.state, INK)
    rank = f" ={node.rank}" if node.rank else ""
    symbol = cut(node.symbol, LABEL)
    return [
        Words(
            x, y + 4, f"{node.log_probability:.2f}", QUIET if node.state != "dropped" else colour, SIZE - 1
        ),
        Words(x + breadth("m" * 7, SIZE - 1), y + 4, symbol + rank, colour, SIZE, bold=node.rank == 1),
    ]
