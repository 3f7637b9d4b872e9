"""Settings of a run, given and chosen, kept beside its checkpoints: `--resume` needs none of them again."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from chainrule.config import flag, visible
from chainrule.data.dataset import Prepared
from chainrule.errors import BundleError, ConfigError
from chainrule.models.neural import Neural, training_speed
from chainrule.models.sizing import EPOCHS, MOST, Workload
from chainrule.nn.product import bf16_pays
from chainrule.store.files import new_file
from chainrule.tasks.base import Task, described
from chainrule.train.config import LENGTHS, TrainConfig

FILE = "settings.json"
FLOAT32 = "no --bf16: this machine has no instructions for bfloat16, so training is in float32"


@dataclass(frozen=True)
class Settings:
    """Of the model, of the training, of the task, and a sentence about those that were chosen."""

    model: Any
    train: TrainConfig
    task: Task
    chosen: str = ""

    def values(self) -> dict[str, Any]:
        """All of them by name, as they are kept."""
        return {"model": self.model.values(), "train": self.train.values(), "task": described(self.task)}

    def flat(self) -> dict[str, Any]:
        """All of them by flag."""
        return {**self.model.values(), **self.train.values(), **self.task.values()}


def settle(
    kind: type[Neural],
    model: Any,
    train: TrainConfig,
    task: Task,
    prepared: Prepared,
    given: Collection[str],
    planned: float | None = None,
) -> Settings:
    """All settings: those `given`, and for the others what suits the data and the time, or the seconds `planned`."""
    symbols = prepared.train[task.body_role(prepared.train)].symbols
    if all(getattr(train, name) is None for name in LENGTHS):
        train = replace(train, tokens=round(min(EPOCHS * symbols, MOST)))
    bf16, missing = False, ""
    if hasattr(model, "bf16"):
        bf16 = bf16_pays() and model.bf16 is not False
        missing = FLOAT32 if model.bf16 and not bf16 else ""
        model = replace(model, bf16=bf16)
    asked = train.tokens or (train.epochs or EPOCHS) * symbols
    workload = Workload(model.vocab_size, symbols, planned or train.seconds, asked, training_speed(bf16))
    held = {name: getattr(model, name) for name in given if hasattr(model, name)}
    if task.label_smoothing and hasattr(model, "sampled_softmax"):
        held["sampled_softmax"] = model.sampled_softmax
    suggested = kind.suggest(model, workload, held)
    left = {*given, "optimizer"} if train.shard else given  # no process has a whole matrix
    chosen = {name: value for name, value in suggested.items() if name not in left}
    model, train = _updated(model, chosen), _updated(train, chosen)
    listed = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in chosen.items())
    told = [f"chosen for the data and the time: {listed}"] if listed else []
    return Settings(model, train, task, "; ".join([missing, *told] if missing else told))


def _updated(config: Any, chosen: Mapping[str, Any]) -> Any:
    names = {setting.name for setting in fields(config)}
    return replace(config, **{name: value for name, value in chosen.items() if name in names})


def _hidden(config: Any) -> set[str]:
    """The settings that come from the data, not from the user."""
    return {one.name for one in fields(config)} - {one.name for one in visible(type(config))}


def save(folder: Path, settings: Settings, origin: str) -> None:
    """Keep them for a run that may be stopped, with the fingerprint of the data and codecs it learns from."""
    folder.mkdir(parents=True, exist_ok=True)
    values = settings.values() | {"chosen": settings.chosen, "origin": origin}
    with new_file(folder / FILE) as file:
        file.write(json.dumps(values, indent=2).encode() + b"\n")


def load(folder: Path, settings: Settings, given: Collection[str], origin: str) -> Settings:
    """The settings a stopped run was started with; those `given` again must be the same, but a budget may be longer."""
    path = folder / FILE
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        model = type(settings.model).from_values(written["model"])
        train = TrainConfig.from_values(written["train"])
        task = type(settings.task).from_values(written["task"]["settings"])
        if written["task"]["name"] != settings.task.name:
            raise ConfigError(f"its task is {written['task']['name']!r}")
        found, before_origin = Settings(model, train, task, str(written["chosen"])), str(written["origin"])
    except (OSError, ValueError, KeyError, TypeError, ConfigError) as error:
        raise BundleError(f"{path} is damaged ({error}). Remove {folder} to start afresh.") from error
    others = any(getattr(model, name) != getattr(settings.model, name) for name in _hidden(model))
    if others or before_origin != origin:
        raise ConfigError(
            f"{folder} was started on other data or with another codec. Give the same ones to resume."
        )
    before, now = found.flat(), settings.flat()
    renewed = found.train.budget is not None and settings.train.budget is not None
    for name in set(given) - ({"budget"} if renewed else set()):
        if before.get(name) != now.get(name):
            raise ConfigError(
                f"The stopped run has {flag(name)} {before[name]}; it cannot be resumed with {now[name]}. "
                f"Leave the flag out, or remove {folder} to start afresh."
            )
    return replace(found, train=replace(found.train, budget=settings.train.budget)) if renewed else found
