"""The view `training`: losses of a model while it learnt, and of its run, where that was kept."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import WIDE, height, lines
from chainrule.views.scene import INK, Part, Scene, Words
from chainrule.views.text import named
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

METRICS = "metrics.jsonl"
NONE = "A {family} has no loss curve: it was not trained by gradient, or elsewhere."


@register("training")
@dataclass(frozen=True, kw_only=True)
class Training(Kind):
    """Training and validation loss against the step, and whatever else a run has written down."""

    run: str | None = option(None, "the folder of the run, MODEL.run, for all it has written down")

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models = []
        for name, bundle in zip(named(bundles), bundles, strict=True):
            rows: list[Any] = _run(Path(self.run)) if self.run else bundle.history
            if not rows:
                raise ModelError(NONE.format(family=bundle.body.family))
            names = list(dict.fromkeys(key for row in rows for key in row if key != "step"))
            steps = np.array([_number(row["step"]) for row in rows])
            curves = {key: np.array([_number(row.get(key)) for row in rows]) for key in names}
            models.append({"name": name, "steps": steps, "curves": curves})
        return View("training", {"models": models}, {"title": "training", "text": text})

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            curves = {name: _even(model["steps"], values) for name, values in model["curves"].items()}
            parts += lines(curves, 16, y + 30, ("share of the run, %", "loss, nats"))
            y += 40 + height(len(curves))
        return Scene(WIDE + 60, y, parts, view.title)

    @staticmethod
    def words(view: View) -> str:
        rows = []
        for model in view["models"]:
            names = list(model["curves"])
            rows += [model["name"], f"  {'step':>8}  {'  '.join(f'{name:>10}' for name in names)}"]
            for at, step in enumerate(model["steps"].tolist()):
                values = (model["curves"][name][at] for name in names)
                rows.append(
                    f"  {step:8.0f}  {'  '.join('         –' if math.isnan(one) else f'{one:10.4f}' for one in values)}"
                )
        return "\n".join(rows)


def _run(folder: Path) -> list[dict[str, Any]]:
    """What a run has written down, whole lines only."""
    try:
        found = (folder / METRICS).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in found if line.endswith("}")]
        if not all(isinstance(row, dict) and math.isfinite(_number(row.get("step"))) for row in rows):
            raise ValueError("a step was expected in each line")
        return rows
    except (OSError, ValueError, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"{folder} is no folder of a run ({error}). It is called like the model: MODEL.run"
        ) from error


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _even(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at even shares of the run: between two steps that were judged, on the line between them."""
    known = np.isfinite(values)
    places = np.linspace(0, steps[-1], 101)
    return np.interp(places, steps[known], values[known], left=math.nan) if known.any() else places * math.nan
