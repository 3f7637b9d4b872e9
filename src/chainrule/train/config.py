"""How to train by gradient: good without being asked, and every choice can be made."""

from __future__ import annotations

from dataclasses import dataclass

from chainrule.config import Config, option
from chainrule.train.schedule import duration


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """Settings of the gradient learner; those left at None are chosen from the data and the budget."""

    budget: str | None = option(
        None, "how long to train, such as 90s, 10m or 1h; the schedule fits itself to it"
    )
    epochs: float | None = option(None, "how often to go through the data, instead of a budget", low=0)
    tokens: int | None = option(None, "how many symbols to read, instead of a budget (5m)", low=1)
    rows: int | None = option(None, "how many sequences or streams are read side by side", low=1)
    accumulate: int = option(
        1, "batches that make one step: more rows than fit in memory", low=1, high=100_000
    )
    span: int | None = option(None, "over how many symbols gradients flow back", low=1)
    rate: float | None = option(None, "the highest learning rate", low=0)
    clip: float = option(
        1.0, "the largest norm of a gradient; beyond it is scaled down, keeping its direction", low=0
    )
    decay: float = option(0.01, "weight decay", low=0)
    optimizer: str = option(
        "adamw", "muon moves matrices of attention layers by orthogonal steps", choices=("adamw", "muon")
    )
    patience: int = option(8, "stop after so many validations without a better one; 0: never", low=0)
    average: bool = option(False, "use the average of the weights of the last quarter of the steps")
    label_smoothing: float = option(0.0, "share of each target spread over all symbols", low=0, high=0.9)
    tensorboard: bool = option(False, "also write the run for TensorBoard, beside its checkpoints")
    shard: bool = option(
        False, "divide weights, gradients and what the optimiser remembers among the processes of torchrun"
    )
    minutes: float = option(5.0, "between two checkpoints", low=0)
    seed: int = option(1, "of everything random")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None:
            duration(self.budget)

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else duration(self.budget)
