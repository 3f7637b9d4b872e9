"""A trainer for a body of one's own, as `fit` would make it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chainrule.data.batches import Batches
from chainrule.data.corpus import Corpus, Part
from chainrule.data.rows import TEXT
from chainrule.models.neural import Neural
from chainrule.tasks.base import Task
from chainrule.tasks.next import Next
from chainrule.train.config import TrainConfig
from chainrule.train.network import Network, Valid
from chainrule.train.trainer import Trainer


def trainer(
    body: Neural,
    batches: Batches,
    valid: Corpus | None,
    config: TrainConfig,
    folder: Path | None = None,
    *,
    task: Task | None = None,
    valid_batches: Batches | None = None,
    kind: type[Trainer] = Trainer,
    **more: Any,
) -> Trainer:
    """One run; `valid_batches` are those of the validation part where the task wants any."""
    held = None if valid is None else Valid(Part({TEXT: valid}), valid_batches or batches)
    return kind(Network(task or Next(), body), batches, held, config, folder, **more)
