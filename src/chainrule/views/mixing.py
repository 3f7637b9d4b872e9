"""The view `mixing`: which layers of a pre-trained model a task uses (ELMo): gamma * sum_j softmax(s)_j h_j."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from chainrule.errors import ModelError
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import WIDE, height, lines
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
    """Shares of the layers, the lowest first ([x; x], words by letters, is layer 0), now and over training."""

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = []
        for name, bundle in zip(named(bundles), bundles, strict=True):
            arrays = bundle.arrays()
            if WEIGHTS not in arrays:
                raise ModelError(NONE.format(family=bundle.body.family, task=bundle.task.name))
            raised = np.exp(arrays[WEIGHTS] - arrays[WEIGHTS].max())
            gamma = float(np.ravel(arrays[GAMMA])[0])
            steps, over = over_training(bundle)
            told = {"name": name, "task": bundle.task.name, "shares": raised / raised.sum(), "gamma": gamma}
            models.append({**told, "steps": steps, "over": over})
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
            if len(model["steps"]) > 1:
                curves = {f"layer {layer}": values for layer, values in enumerate(model["over"].T)}
                parts += lines(curves, 16, y + 30, ("validations", "share over training"))
                y += 40 + height(len(curves))
        return Scene(max(BAR + 260, WIDE + 60), y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            rows.append(f"{model['name']}, {model['task']}: gamma {model['gamma']:.3f}")
            rows += [f"  layer {layer}  {share:6.1%}" for layer, share in enumerate(model["shares"].tolist())]
        return "\n".join(rows)


def over_training(bundle: Bundle) -> tuple[np.ndarray, np.ndarray]:
    """The steps (N,) of validations while the task was learnt, and the share (N, layers) of every layer there."""
    judged = [row for row in bundle.card.get("history", ()) if "layer 0" in row]
    names = [name for name in (judged[0] if judged else {}) if name.startswith("layer ")]
    shares = np.array([[row.get(name) for name in names] for row in judged], float)
    return np.array([int(row["step"]) for row in judged], int), shares.reshape(len(judged), len(names))
