"""The view `mixing`: which layers of a pre-trained model a task uses (ELMo): gamma * sum_j softmax(s)_j h_j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from chainrule.errors import ModelError
from chainrule.views.kinds import Kind, register
from chainrule.views.scene import INK, KINDS, QUIET, Box, Part, Scene, Words
from chainrule.views.text import named
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

BAR, LINE = 360.0, 26.0
WEIGHTS, GAMMA = "mix.weights", "mix.gamma"
NONE = "A {family} for the task {task!r} mixes no layers. Fit one: chainrule fit … --from ELMO"


@register("mixing")
@dataclass(frozen=True, kw_only=True)
class Mixing(Kind):
    """The share of every layer, the lowest first: [x; x], words by their letters, is layer 0."""

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = []
        for name, bundle in zip(named(bundles), bundles, strict=True):
            arrays = bundle.arrays()
            if WEIGHTS not in arrays:
                raise ModelError(NONE.format(family=bundle.body.family, task=bundle.task.name))
            raised = np.exp(arrays[WEIGHTS] - arrays[WEIGHTS].max())
            gamma = float(np.ravel(arrays[GAMMA])[0])
            models.append(
                {"name": name, "task": bundle.task.name, "shares": raised / raised.sum(), "gamma": gamma}
            )
        return View("mixing", {"models": models}, {"title": "which layers the task uses", "text": text})

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(
                Words(16, y, f"{model['name']}, {model['task']}: gamma {model['gamma']:.3f}", INK, bold=True)
            )
            for layer, share in enumerate(model["shares"].tolist()):
                below = y + 12 + layer * LINE
                parts += [Words(16, below + 14, f"layer {layer}", QUIET, 12)]
                parts += [
                    Box(90, below, BAR * share, LINE - 8, KINDS[0]),
                    Words(96 + BAR * share, below + 14, f"{share:.1%}"),
                ]
            y += 36 + len(model["shares"]) * LINE
        return Scene(BAR + 260, y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(f"{model['name']}, {model['task']}: gamma {model['gamma']:.3f}")
            rows += [f"  layer {layer}  {share:6.1%}" for layer, share in enumerate(model["shares"].tolist())]
        return "\n".join(rows)
