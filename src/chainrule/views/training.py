"""The view `training`: losses of a model while it learnt, and of its run, where that was kept."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.config import option
from chainrule.errors import ChainruleError, ConfigError, ModelError
from chainrule.store import tensors
from chainrule.train.figures import kept
from chainrule.use.next import next_symbols
from chainrule.views.kinds import Kind, register
from chainrule.views.plot import WIDE, height, lines
from chainrule.views.scene import INK, Part, Scene, Words
from chainrule.views.text import named, visible
from chainrule.views.view import View

if TYPE_CHECKING:
    from chainrule.bundle import Bundle

METRICS, LOSSES, BODY = "metrics.jsonl", ("train", "valid"), "body."
NONE = "A {family} has no loss curve: it was not trained by gradient, or elsewhere."


@register("training")
@dataclass(frozen=True, kw_only=True)
class Training(Kind):
    """Losses, learning rate and gradient norms against the step; of a run that kept models, what each would say."""

    run: str | None = option(None, "the folder of the run, MODEL.run, for all it has written down")
    length: int = option(60, "of a sample, where TEXT is given or nothing, in symbols", low=1, high=10_000)
    best: int = option(
        5, "how many next symbols after TEXT, for each model that the run kept", low=1, high=1_000
    )
    seed: int = option(1, "of the samples", low=0, high=1 << 31)

    def look(self, bundles: tuple[Bundle, ...], text: str) -> View:
        models: list[dict[str, Any]] = []
        for name, bundle in zip(named(bundles), bundles, strict=True):
            rows: list[Any] = _run(Path(self.run)) if self.run and not models else bundle.history
            if not rows:
                raise ModelError(NONE.format(family=bundle.body.family))
            names = list(dict.fromkeys(key for row in rows for key in row if key != "step"))
            steps = np.array([_number(row["step"]) for row in rows])
            curves = {key: np.array([_number(row.get(key)) for row in rows]) for key in names}
            on_the_way = self._kept(bundle, text) if self.run and not models else []
            models.append({"name": name, "steps": steps, "curves": curves, "kept": on_the_way})
        return View("training", {"models": models}, {"title": "training", "text": text})

    def _kept(self, bundle: Bundle, text: str) -> list[dict[str, Any]]:
        """What each model that the run kept (fit --keep 20) would say, the same random numbers for all."""
        found = []
        for step, path in kept(Path(str(self.run))).items() if bundle.head is None else ():
            one = replace(bundle, body=at(bundle.body, path))
            told = {"step": step, "sample": one.generate(text, length=self.length, seed=self.seed)}
            follows = list(next_symbols(one, text, self.best))
            chances = np.array([symbol.probability for symbol in follows])
            found.append(
                {**told, "symbols": [visible(symbol.token) for symbol in follows], "probabilities": chances}
            )
        return found

    @staticmethod
    def scene(view: View) -> Scene:
        parts: list[Part] = []
        y = 24.0
        for model in view["models"]:
            parts.append(Words(16, y, model["name"], INK, bold=True))
            curves = {name: _even(model["steps"], values) for name, values in model["curves"].items()}
            for axis, shown in _scales(curves).items():
                parts += lines(shown, 16, y + 30, ("step", axis), (0.0, float(model["steps"][-1])))
                y += 40 + height(len(shown))
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
            rows += [f"step {one['step']}: {one['sample']}" for one in model["kept"]]
        return "\n".join(rows)


def at(body: Any, path: Path) -> Any:
    """The body with the weights of a file that a run has kept."""
    import torch

    found = deepcopy(body)
    try:
        arrays = {name: torch.from_numpy(np.array(array)) for name, array in tensors.read(path).items()}
        found.load_state_dict(
            {name.removeprefix(BODY): one for name, one in arrays.items() if name.startswith(BODY)}
        )
    except (OSError, RuntimeError, ChainruleError) as error:
        raise ConfigError(
            f"{path} holds no weights of this {body.family}: another run, or damaged ({error})."
        ) from error
    return found


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


def _scales(curves: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """Curves that have a scale in common: losses, shares of layers, and everything else by itself."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in curves.items():
        axis = "loss, nats" if name in LOSSES else "share of a layer" if name.startswith("layer ") else name
        found.setdefault(axis, {})[name] = values
    return found


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _even(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at even shares of the run: between two steps that were judged, on the line between them."""
    known = np.isfinite(values)
    places = np.linspace(0, steps[-1], 101)
    return np.interp(places, steps[known], values[known], left=math.nan) if known.any() else places * math.nan
