"""The view `attention`: what every head of every layer attends to, how peaked it is, and what is lost without it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.nn.tap import replacing
from chainrule.views.habits import Habits
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import Read, fits, read
from chainrule.views.scene import COOL, INK, QUIET, Box, Part, Scene, Words, breadth, cut, mixed
from chainrule.views.text import lines_of, named, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

WEIGHTS = "*attention.weights", "*cross.weights"
CELL, SMALL, LABEL = (
    18.0,
    120.0,
    14,
)  # of the large picture, of each head in the overview, letters of a symbol
CAVEAT = "Attention weights show what a layer reads from, not why the model answers as it does."
CUT = "Give shorter ones, one a line."
MANY = "layers go from 1 to {}, heads from 1 to {}."
NONE = "A {family} has no attention to look at. Families that have it: gpt, bert, transformer, seq2seq."


@dataclass(frozen=True)
class Grid:
    """The weights of some layers over the same symbols."""

    name: str  # "attention", "encoder", …
    queries: list[str]
    keys: list[str]
    weights: np.ndarray  # (layers, H, T, S)
    taps: list[str]  # of each layer

    def to_dict(self) -> dict[str, Any]:
        """As data of a view."""
        entropy = entropies(self.weights)
        return {
            **vars(self),
            "entropy": entropy,
            "flat": entropy / max(1e-9, evenly(self.weights)),
        }


@register("attention")
@dataclass(frozen=True, kw_only=True)
class Attention(Kind):
    """softmax(Q K' / sqrt(d)) of every layer and head; its entropy in bits: 0 is one symbol, log2 of all is flat."""

    layer: int | None = option(
        None, "the layer that is drawn large, from 1; the last one if not given", low=1, high=1000
    )
    head: int = option(1, "the head that is drawn large, from 1", low=1, high=1000)
    target: str | None = option(None, "of an encoder-decoder, the target; its own translation if not given")
    ablate: bool = option(False, "switch every head off in turn, and measure what it costs in bits")

    corpus: str | None = option(
        None, "a file of texts, one a line: what each head looks at as a habit, over all of them"
    )
    most: int = option(200, "lines of the file that are read", low=1, high=1_000_000)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models: list[dict[str, Any]] = []
        for bundle in bundles:
            found = read(bundle, written(text), *WEIGHTS, target=self.target)
            grids = grids_of(bundle, found)
            losses = [ablated(bundle, found, grid) for grid in grids] if self.ablate else []
            habits = habits_of(bundle, lines_of(self.corpus, self.most)) if self.corpus else None
            models.append({"grids": [grid.to_dict() for grid in grids], "losses": losses, "habits": habits})
        layers, heads = models[0]["grids"][-1]["weights"].shape[:2]
        if self.head > heads or (self.layer or 1) > layers:
            raise ConfigError(
                f"There is no head {self.layer or layers}.{self.head}: {MANY.format(layers, heads)}"
            )
        chosen = {"layer": (self.layer or layers) - 1, "head": self.head - 1}
        data = {"names": named(bundles), "models": models, **chosen}
        return View(
            "attention", data, {"title": f"attention in {cut(text, 60)!r}", "text": text, "notes": [CAVEAT]}
        )

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y, wide = 0.0, 0.0
        for name, model in zip(view["names"], view["models"], strict=True):
            for grid in model["grids"]:
                right, y = _overview(parts, name, grid, y)
                layer, head = _chosen(view, grid)
                across, y = _large(parts, grid, layer, head, y)
                wide = max(wide, right, across)
        parts.append(Words(16, y + 20, CAVEAT, QUIET, 12))
        return Scene(max(wide, breadth(CAVEAT, 12) + 32), y + 36, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        told = [
            line
            for name, model in zip(view["names"], view["models"], strict=True)
            for place, grid in enumerate(model["grids"])
            for line in _told(view, name, grid, model["losses"][place : place + 1])
        ]
        habits = [line for model in view["models"] for line in _habits_told(model["habits"])]
        return "\n".join([*told, *habits, CAVEAT])


def habits_of(bundle: Bundle, texts: Sequence[str]) -> dict[str, Any]:
    """How much of its attention each head of a model gives to the symbol before, the same symbol, … in these texts."""
    if bundle.task.source is not None:
        raise ModelError("Habits are of models that attend to their own text. Leave --corpus out.")
    habits, short = Habits(), [text for text in texts if fits(bundle, text)]
    if not short:
        raise ModelError(f"All {len(texts)} texts of the corpus are longer than the model can read. {CUT}")
    for text in short:
        found = read(bundle, text, *WEIGHTS)
        [grid] = grids_of(bundle, found)
        habits.add(grid.weights, found.ids)
    names, shares = habits.shares()
    return {"names": names, "shares": shares, "texts": len(short), "long": len(texts) - len(short)}


def _habits_told(habits: Mapping[str, Any] | None) -> Iterator[str]:
    if habits is None:
        return
    long = f"; {habits['long']:,} that are too long are left out" if habits["long"] else ""
    yield f"what each head looks at as a habit, over {habits['texts']:,} texts{long}"
    for (layer, head), _ in np.ndenumerate(habits["shares"][..., 0]):
        shares = habits["shares"][layer, head]
        best = int(shares.argmax())
        yield f"  {layer + 1}.{head + 1}  {habits['names'][best]} {shares[best]:.0%}"


def entropies(weights: np.ndarray) -> np.ndarray:
    """Mean entropy of the weights (…, T, S) in bits, over the queries: (…)."""
    logs = np.log2(weights, where=weights > 0, out=np.zeros_like(weights))
    found: np.ndarray = -(weights * logs).sum(-1).mean(-1)
    return found


def evenly(weights: np.ndarray) -> float:
    """The entropy in bits, over the queries, if heads looked alike at all they may look at, by weights (…, H, T, S)."""
    seen = (weights > 0).any((0, 1)).sum(-1)  # (T,)
    return float(np.log2(np.maximum(1, seen)).mean())


def grids_of(bundle: Bundle, found: Read) -> list[Grid]:
    """The layers that were heard, those over the same symbols together."""
    groups: dict[str, list[str]] = {}
    for name in found.heard:
        groups.setdefault(_group(name, bundle), []).append(name)
    if not groups:
        raise ModelError(NONE.format(family=bundle.body.family))
    return [_grid(name, taps, found) for name, taps in groups.items()]


def _group(tap: str, bundle: Bundle) -> str:
    """What a tap is part of."""
    if bundle.task.source is None:
        return "attention"
    if tap.startswith("encoder"):
        return "encoder"
    return "decoder over itself" if "blocks" in tap and "cross" not in tap else "decoder over the source"


def _grid(name: str, taps: list[str], found: Read) -> Grid:
    weights = np.stack([found.array(tap)[0] for tap in taps])  # (layers, H, T, S)
    weights = weights if weights.ndim == 4 else weights[:, None]
    queries, keys = weights.shape[2:]
    if found.source is None:
        return Grid(name, found.symbols[:queries], found.symbols[:keys], weights, taps)
    written, read = found.symbols[:queries], found.keys(keys)
    before = ["<s>", *found.symbols][:keys]  # what the decoder has read so far
    sides = {"encoder": (read, read), "decoder over itself": (written, before)}
    return Grid(name, *sides.get(name, (written, read)), weights, taps)


def ablated(bundle: Bundle, found: Read, grid: Grid) -> np.ndarray:
    """What switching one head off costs, in bits per symbol (layers, H)."""
    whole = found.bits(bundle)
    losses = np.zeros(grid.weights.shape[:2])
    for layer, head in np.ndindex(*losses.shape):
        with ExitStack() as stack:
            stack.enter_context(replacing(bundle.body, grid.taps[layer], _without(head)))
            losses[layer, head] = found.bits(bundle) - whole
    return losses


def _without(head: int) -> Any:
    """Weights (B, H, T, S) with those of one head at zero: it adds nothing."""

    def off(weights: Any) -> Any:
        kept = weights.clone()
        kept[:, head if kept.dim() == 4 else slice(None)] = 0.0
        return kept

    return off


def _chosen(view: View, grid: Mapping[str, Any]) -> tuple[int, int]:
    layers, heads = grid["weights"].shape[:2]
    return min(view["layer"], layers - 1), min(view["head"], heads - 1)


def _overview(parts: list[Part], name: str, grid: Mapping[str, Any], y: float) -> tuple[float, float]:
    """All heads small, a row for each layer; how far to the right and down it reaches."""
    weights, flat = grid["weights"], grid["flat"]
    parts.append(Words(16, y + 20, f"{name}: {grid['name']}", INK, bold=True))
    y += 34
    for layer, heads in enumerate(weights):
        for head, cells in enumerate(heads):
            x = 16 + head * (SMALL + 14)
            parts.append(Words(x, y + 10, f"{layer + 1}.{head + 1}  flat {flat[layer, head]:.0%}", QUIET, 11))
            parts += _heat(cells, x, y + 16, SMALL / max(cells.shape))
        y += SMALL + 32
    return 16 + weights.shape[1] * (SMALL + 14), y


def _large(
    parts: list[Part], grid: Mapping[str, Any], layer: int, head: int, y: float
) -> tuple[float, float]:
    """One head with the names of its symbols."""
    queries = [cut(one, LABEL) for one in grid["queries"]]
    keys = [cut(one, LABEL) for one in grid["keys"]]
    left = 24 + breadth("m" * max(map(len, queries)))
    top = y + 40 + breadth("m" * max(map(len, keys)))
    parts.append(Words(16, y + 14, f"layer {layer + 1}, head {head + 1}", INK, bold=True))
    cells = grid["weights"][layer, head]
    parts += [
        Words(left - 6, top + row * CELL + 13, one, INK, anchor="end") for row, one in enumerate(queries)
    ]
    parts += [Words(left + at * CELL + 13, top - 6, one, INK, upright=True) for at, one in enumerate(keys)]
    parts += _heat(cells, left, top, CELL, (queries, keys))
    return left + len(keys) * CELL + 16, top + len(queries) * CELL + 16


def _heat(
    cells: np.ndarray,
    x: float,
    y: float,
    size: float,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
) -> Iterator[Part]:
    """A heat map of weights (T, S), as dark as their square roots: small ones are to be seen, too."""
    rows, columns = cells.shape
    yield Box(x, y, columns * size, rows * size, mixed(COOL, 0.04))
    for row, column in zip(*np.nonzero(cells >= 0.002), strict=True):
        weight = float(cells[row, column])
        told = f"{names[0][row]} → {names[1][column]}: {weight:.3f}" if names else ""
        yield Box(x + column * size, y + row * size, size, size, mixed(COOL, math.sqrt(weight)), told)


def _told(view: View, name: str, grid: Mapping[str, Any], losses: Sequence[np.ndarray]) -> Iterator[str]:
    """One head as a table of shares, then how flat every head is."""
    layer, head = _chosen(view, grid)
    yield f"{name}: {grid['name']}, layer {layer + 1}, head {head + 1}: where each symbol looks most"
    for query, weights in zip(grid["queries"], grid["weights"][layer, head], strict=True):
        order = np.argsort(-weights, kind="stable")[:3]
        most = ", ".join(f"{grid['keys'][at]} {weights[at]:.0%}" for at in order if weights[at] >= 0.005)
        yield f"  {query:>14}  {most}"
    flat = evenly(grid["weights"])
    yield f"entropy in bits, a row for each layer, a column for each head; {flat:.2f} would be flat, 0 is one symbol"
    yield from (f"  {'  '.join(f'{one:5.2f}' for one in row)}" for row in grid["entropy"])
    for cost in losses:
        yield "what is lost without a head, bits per symbol"
        yield from (f"  {'  '.join(f'{one:+7.4f}' for one in row)}" for row in cost)
