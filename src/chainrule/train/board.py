"""A run as TensorBoard shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chainrule.errors import ConfigError

EVERY = 10  # steps between two points of the training loss


class TensorBoardWriter:
    """Writes event files beside the checkpoints; a resumed run removes the steps that it will do again."""

    def __init__(self, folder: Path, step: int) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise ConfigError(
                "--tensorboard needs a package: pip install 'chainrule[tensorboard]'. "
                "metrics.jsonl in the run's folder holds the same figures without it."
            ) from error
        self.writer = SummaryWriter(str(folder), purge_step=step or None)
        self.step = step

    def __call__(self, values: Mapping[str, Any]) -> None:
        """What the trainer reports: the loss of a step, or a validation."""
        self.step = values.get("step", self.step)
        if "valid" in values:
            for name in ("train", "valid"):
                self.writer.add_scalar(f"nats/{name}", values[name], self.step)
            self.writer.flush()
        elif "loss" in values and self.step % EVERY == 0:
            self.writer.add_scalar("nats/step", values["loss"], self.step)

    def close(self) -> None:
        """Everything is on disk."""
        self.writer.close()
