"""What a run is told and what is chosen for it, kept beside its checkpoints: to go on, nothing has to be said again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from chainrule.config import flag
from chainrule.data.dataset import Prepared
from chainrule.errors import BundleError, ConfigError
from chainrule.files import new_file
from chainrule.models.neural import Neural, NeuralConfig, training_speed
from chainrule.models.sizing import EPOCHS, MOST, Task
from chainrule.nn.softmax import coarse_pays
from chainrule.train.config import TrainConfig

FILE = "settings.json"


@dataclass(frozen=True)
class Settings:
    """Of the model, of the training, and a sentence about those that were chosen."""

    model: Any
    train: TrainConfig
    chosen: str = ""


def settle(
    kind: type[Neural], model: Any, train: TrainConfig, prepared: Prepared, given: Collection[str]
) -> Settings:
    """All settings: those `given`, and for the others what suits the data and the time."""
    if train.seconds is None and train.epochs is None and train.tokens is None:
        train = replace(train, tokens=round(min(EPOCHS * prepared.train.symbols, MOST)))
    coarse = isinstance(model, NeuralConfig) and (coarse_pays() if model.coarse is None else model.coarse)
    if isinstance(model, NeuralConfig):
        model = replace(model, coarse=coarse)
    symbols = prepared.train.symbols
    asked = train.tokens or (train.epochs or EPOCHS) * symbols
    task = Task(model.alphabet, symbols, train.seconds, asked, training_speed(coarse))
    held = {name: getattr(model, name) for name in given if hasattr(model, name)}
    if train.label_smoothing:
        held["samples"] = model.samples
    suggested = kind.suggest(model, task, held)
    left = {*given, "optimizer"} if train.shard else given  # no process has a whole matrix
    chosen = {name: value for name, value in suggested.items() if name not in left}
    model, train = _updated(model, chosen), _updated(train, chosen)
    listed = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in chosen.items())
    return Settings(model, train, f"chosen for the data and the time: {listed}" if listed else "")


def _updated(config: Any, chosen: Mapping[str, Any]) -> Any:
    names = {setting.name for setting in fields(config)}
    return replace(config, **{name: value for name, value in chosen.items() if name in names})


def save(folder: Path, settings: Settings) -> None:
    """Keep them for a run that may be stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "model": settings.model.values(),
        "train": settings.train.values(),
        "chosen": settings.chosen,
    }
    with new_file(folder / FILE) as file:
        file.write(json.dumps(values, indent=2).encode() + b"\n")


def load(folder: Path, settings: Settings, given: Collection[str]) -> Settings:
    """The settings a stopped run was started with; those `given` again must be the same."""
    path = folder / FILE
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        model = type(settings.model).from_values(written["model"])
        train = TrainConfig.from_values(written["train"])
        found = Settings(model, train, str(written["chosen"]))
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise BundleError(f"{path} is damaged ({error}). Remove {folder} to start anew.") from error
    if (model.alphabet, tuple(model.silent)) != (settings.model.alphabet, tuple(settings.model.silent)):
        raise ConfigError(
            f"{folder} was started on other data or with another codec. Give the same ones to go on."
        )
    before, now = ({**one.model.values(), **one.train.values()} for one in (found, settings))
    for name in given:
        if before.get(name) != now.get(name):
            raise ConfigError(
                f"The stopped run has {flag(name)} {before[name]}; it cannot go on with {now[name]}. "
                f"Leave the flag out, or remove {folder} to start anew."
            )
    return found
