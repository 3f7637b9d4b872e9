"""Refit: once a model has been judged, it learns from the parts that were held out, too.

The figures stay those of the judged model, its twin: of the refitted one nothing can be measured on the same data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chainrule.data.dataset import Prepared
from chainrule.data.rows import TEXT
from chainrule.errors import BundleError
from chainrule.models.base import Body, CountingModel
from chainrule.models.readers import ArrayLearner
from chainrule.progress import Progress
from chainrule.tasks.base import Task
from chainrule.tasks.supervised import Teaching
from chainrule.train.config import LENGTHS, TrainConfig
from chainrule.train.start import Start

if TYPE_CHECKING:
    from chainrule.heads.base import Head

FOLDER = "refit"  # of the checkpoints, among those of the judged model


@dataclass(frozen=True)
class Twin:
    """A model that was trained by gradient and judged, and how it came about."""

    body: Body
    task: Task
    facts: Mapping[str, Any]  # of its training, as on the card
    start: Start | None = None


def first_half(options: Mapping[str, Any], run: str | Path | None, resume: bool) -> dict[str, Any]:
    """Options of a training that is to be refitted: half the budget, if there is one, as refitting takes as long.

    Where an earlier refit was stopped, that is told before everything is trained again.
    """
    from chainrule.train.checkpoint import FILE

    if run is not None and (Path(run) / FOLDER / FILE).exists() and not resume:
        raise BundleError(
            f"{Path(run) / FOLDER} holds a refit that was stopped. Continue it with --resume, "
            f"or remove {run} to start afresh."
        )
    seconds = TrainConfig.from_values({"budget": options.get("budget")}).seconds
    return {**options, "budget": f"{seconds / 2:.3f}s"} if seconds else dict(options)


def recount(model: CountingModel, whole: Prepared, progress: Progress) -> CountingModel:
    """A counting model of everything, with the settings that were chosen for the judged one."""
    return type(model).learn(model.config, whole.train[TEXT].ids, progress)


def reread(model: ArrayLearner, task: Task, whole: Prepared, progress: Progress) -> ArrayLearner:
    """The same for a reader, which learns from labels, too."""
    assert isinstance(task, Teaching)
    return type(model).learn(model.config, task.examples(whole.train, whole.codecs), progress)


def retrain(
    twin: Twin, whole: Prepared, progress: Progress, run: str | Path | None, resume: bool
) -> tuple[Body, Head | None]:
    """The same training on everything: as many steps, the same seed, and nothing that stops it early."""
    from chainrule.train.gradient import Run, learn

    config = TrainConfig.from_values(twin.facts["settings"])
    steps = twin.facts["training"]["steps"]
    same = replace(config, **{**dict.fromkeys(LENGTHS), "steps": steps, "patience": 0})
    given = {one.name for kind in (twin.body.config, same) for one in fields(kind)} - {*LENGTHS}
    kind: Any = type(twin.body)
    folder = None if run is None else Path(run) / FOLDER
    asked = Run(kind, twin.body.config, twin.task, same, given, folder, resume, start=twin.start)
    found = learn(asked, whole, progress)
    return found.body, found.head


def refit_facts(
    card: Mapping[str, Any], prepared: Prepared, whole: Prepared, head: Head | None = None
) -> dict[str, Any]:
    """What a card says of it, a sentence among its notes included."""
    parts, main, before = ["train", *prepared.data.held], whole.train.main, prepared.train.main.symbols
    same = (
        "the figures are"
        if head is None
        else "the figures and what was calibrated (temperature, thresholds) are"
    )
    note = (
        f"refitted on everything ({' + '.join(parts)}, {main.symbols:,} symbols); "
        f"{same} those of its twin, fitted to {before:,} of them"
    )
    facts = {"on": parts, "sequences": main.sequences, "symbols": main.symbols, "bytes": main.bytes}
    return {"notes": [*card["notes"], note], "refit": facts}
