"""The view `layers`: what a model would predict if it ended after each of its layers (logit lens)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.nn.tap import replacing
from chainrule.views.kinds import Kind, register
from chainrule.views.reading import Read, read
from chainrule.views.scene import COOL, INK, QUIET, Box, Part, Scene, Words, breadth, cut, mixed
from chainrule.views.text import named, symbols, written
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

OUTPUTS = "*blocks.*.output"
CELL, HIGH, LABEL = 92.0, 34.0, 10
NONE = "A {family} has no layers that pass on what the output layer can read. Families that have: gpt, bert."
CAVEAT = "The output layer was trained on the last layer alone: what earlier ones hold may be there in another form."


@register("layers")
@dataclass(frozen=True, kw_only=True)
class Layers(Kind):
    """Logit lens: the vector that every layer passes on, read by the model's own output layer."""

    best: int = option(5, "how many predictions are kept at each place", low=1, high=100)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = [self._model(name, one, text) for name, one in zip(named(bundles), bundles, strict=True)]
        meta = {"title": f"predictions by layer in {cut(text, 60)!r}", "text": text, "notes": [CAVEAT]}
        return View("layers", {"models": models}, meta)

    def _model(self, name: str, bundle: Bundle, text: str) -> dict[str, Any]:
        found = read(bundle, written(text), OUTPUTS)
        taps = [tap for tap in found.heard if re.search(r"blocks\.\d+\.output$", tap)]
        if not taps:
            raise ModelError(NONE.format(family=bundle.body.family))
        chances = np.stack([probabilities(bundle, found, tap, taps[-1]) for tap in taps])  # (L, T, V)
        best = np.argsort(-chances, axis=-1, kind="stable")[..., : self.best]  # (L, T, k)
        # A model that reads to the left is asked for the symbol after each place, others for the one that stands there.
        ahead = 1 if bundle.body.reads == "left" else 0
        wanted = np.append(found.ids[ahead:], found.ids[len(found.ids) - ahead :])
        actual = chances[:, np.arange(len(wanted)), wanted]  # (L, T)
        return {
            "name": name,
            "symbols": found.symbols,
            "predictions": [[symbols(bundle, place) for place in layer] for layer in best],
            "probabilities": np.take_along_axis(chances, best, -1),
            "actual": actual,
            "ahead": ahead,
        }

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y, wide = 24.0, 0.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            parts.append(Words(16, y + 24, _where(model), QUIET, 12))
            for at, symbol in enumerate(model["symbols"]):
                parts.append(Words(120 + at * CELL, y + 24, cut(symbol, LABEL), QUIET, 12))
            layers = len(model["predictions"])
            for row in range(layers):  # the last one on top
                layer = layers - 1 - row
                parts.append(Words(16, y + 52 + row * HIGH, f"layer {layer + 1}", QUIET, 12))
                parts += _row(model, layer, y + 34 + row * HIGH)
            y += 70 + layers * HIGH
            wide = max(wide, 130 + len(model["symbols"]) * CELL)
        parts.append(Words(16, y, CAVEAT, QUIET, 12))
        return Scene(max(wide, breadth(CAVEAT, 12) + 32), y + 16, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows += [
                model["name"],
                f"{_where(model):10}{''.join(cut(one, 11).ljust(12) for one in model['symbols'])}",
            ]
            for layer in reversed(range(len(model["predictions"]))):
                best = [place[0] for place in model["predictions"][layer]]
                rows.append(f"layer {layer + 1:<4}{''.join(cut(one, 11).ljust(12) for one in best)}")
        return "\n".join([*rows, CAVEAT])


def _where(model: Mapping[str, Any]) -> str:
    """Whether the symbol behind each place is predicted, or the one that stands there."""
    return "after" if model["ahead"] else "at"


def _row(model: dict[str, Any], layer: int, y: float) -> list[Part]:
    parts: list[Part] = []
    chances = model["probabilities"][layer, :, 0].tolist()
    for at, (best, chance) in enumerate(zip(model["predictions"][layer], chances, strict=True)):
        told = f"{best[0]}: {chance:.2%}"
        parts.append(Box(118 + at * CELL, y, CELL - 4, HIGH - 6, mixed(COOL, 0.7 * chance), told))
        parts.append(Words(122 + at * CELL, y + 18, cut(best[0], LABEL), INK, 12))
    return parts


def probabilities(bundle: Bundle, found: Read, tap: str, last: str) -> np.ndarray:
    """(T, V) of the model if its highest layer passed on what this one does: whatever follows stays as it is."""
    import torch

    passed: Any = found.heard[tap][0]
    tokens = torch.from_numpy(found.ids.astype(np.int64))[None]
    early = replacing(bundle.body, last, lambda _: passed) if tap != last else nullcontext()
    with bundle.body.inference(), early:
        hidden, _ = bundle.model.read(tokens, bundle.body.start(1))
        chances: np.ndarray = bundle.model.logits(hidden)[0].softmax(-1).numpy()
    return chances
