"""`search_tree`: all that a beam search looked at: every hypothesis, what it continues, and why it was dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.decode.config import GenerationConfig
from chainrule.errors import ConfigError
from chainrule.symbols import EOS
from chainrule.use.generate import request, settings

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.decode.hypotheses import Node, SearchResult

BEAM = 4  # the width of a search, if not given
END = "(end)"  # how the end of a sequence is shown


@dataclass(frozen=True)
class TreeNode:
    """A hypothesis: one symbol behind what it continues."""

    parent: int | None  # the number of the one that it continues; None: it continues the prompt
    symbol: str
    log_probability: float  # natural, of all symbols behind the prompt
    length: int  # how many symbols these are
    state: str  # finished, grew, dropped, or open: at the longest length
    why: str = ""  # it was dropped, or did not grow
    rank: int | None = None  # among the texts that were found, from 1

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        facts = {"parent": self.parent, "symbol": self.symbol, "log_probability": self.log_probability}
        told = {name: value for name, value in (("why", self.why), ("rank", self.rank)) if value}
        return {**facts, "length": self.length, "state": self.state, **told}


@dataclass(frozen=True)
class SearchTree:
    """A beam search from one prompt, or of one source; a node stands behind the one that it continues."""

    text: str  # the prompt or the source
    beam: int
    nodes: tuple[TreeNode, ...]

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        return {"text": self.text, "beam": self.beam, "nodes": [one.to_dict() for one in self.nodes]}

    def path(self, number: int | None) -> list[int]:
        """The numbers of the nodes from the prompt to this one."""
        found: list[int] = []
        while number is not None:
            found.append(number)
            number = self.nodes[number].parent
        return found[::-1]

    def children(self) -> list[list[int]]:
        """For every node those that continue it, best first; the last list is that of the prompt."""
        found: list[list[int]] = [[] for _ in range(len(self.nodes) + 1)]
        for number, node in enumerate(self.nodes):
            found[-1 if node.parent is None else node.parent].append(number)
        for some in found:
            some.sort(key=lambda number: -self.nodes[number].log_probability)
        return found

    def __str__(self) -> str:
        """Indented: log-probability and symbol; what was dropped with a cross."""
        lines, children = list[str](), self.children()
        waiting = [(number, 0) for number in reversed(children[-1])]
        while waiting:
            number, depth = waiting.pop()
            lines.append(_line(self.nodes[number], depth))
            waiting += [(child, depth + 1) for child in reversed(children[number])]
        return "\n".join(lines)


def _line(node: TreeNode, depth: int) -> str:
    mark = "×" if node.state == "dropped" else " "
    told = (f"  = {node.rank}" if node.rank else "") + (f"  ({node.why})" if node.why else "")
    return f"{mark} {node.log_probability:8.2f}  {'  ' * depth}{node.symbol}{told}"


def search_tree(
    bundle: Bundle,
    text: str = "",
    config: GenerationConfig | None = None,
    branches: int | None = None,
    **options: Any,
) -> SearchTree:
    """The tree of a beam search, with some dropped `branches` of each hypothesis, twice the beam if not given.

    Of an encoder-decoder `text` is the source, else the prompt; `options` are those of `translate` or `generate`.
    """
    from chainrule.decode.beam import search

    if branches is not None and not 0 <= branches <= 10_000:
        raise ConfigError(f"branches is a whole number from 0 to 10,000, not {branches!r}.")
    if bundle.task.source is not None:
        from chainrule.use.translate import Translator

        translator = Translator.of(bundle, options, config)
        config = translator.config
        prompts, limits, source = translator.request(translator.reader.typed([text]), np.arange(1))
    else:
        config = settings(
            options if config is not None or "beam" in options else {"beam": BEAM, **options}, config
        )
        prompts, limits = request(bundle, text, config)
        source = None
    if config.beam is None:
        raise ConfigError(
            "A search tree is that of a beam. Give --beam, and nothing about drawing at random."
        )
    most = 2 * config.beam if branches is None else branches
    [found] = search(bundle.model, prompts, config, limits, source, most)
    return SearchTree(text, config.beam, tuple(_nodes(bundle.codec, found)))


def _nodes(codec: Codec, found: SearchResult) -> list[TreeNode]:
    """Those that were kept, then those that were not."""
    tree = found.tree
    grew = {node.parent for node in tree.nodes}
    longest = max((node.length for node in tree.nodes), default=0)
    ranks = {one.node: rank for rank, one in enumerate(found.hypotheses, 1)}
    kept = [
        _node(codec, node, *_fate(node, at in grew, at in ranks, longest), ranks.get(at))
        for at, node in enumerate(tree.nodes)
    ]
    return [*kept, *(_node(codec, node, "dropped", node.dropped) for node in tree.dropped)]


def _fate(node: Node, grew: bool, found: bool, longest: int) -> tuple[str, str]:
    """What became of a hypothesis that was kept, and why."""
    if node.finished:
        return "finished", ""
    if grew:
        return "grew", ""
    if found:
        return "open", "the longest length" if node.length == longest else "nothing can follow"
    return "dropped", "none of its continuations had a place"


def _node(codec: Codec, node: Node, state: str, why: str = "", rank: int | None = None) -> TreeNode:
    symbol = END if node.id == EOS else "".join(codec.tokens([node.id]))
    return TreeNode(node.parent, symbol, node.log_probability, node.length, state, why, rank)
