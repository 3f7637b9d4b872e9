"""What is trained: a body and, for tasks that need one, a head; and how fast each of their parts may learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from torch import Tensor, nn

from chainrule.data.batches import Batch, Batches
from chainrule.data.corpus import Part
from chainrule.heads.base import Head
from chainrule.models.base import Body
from chainrule.models.neural import Neural
from chainrule.models.state import State
from chainrule.tasks.base import Task, stepped
from chainrule.train.features import Features


class Network(nn.Module):
    """A body and a head for one task; called with a batch, it gives the loss and the memory after it."""

    def __init__(self, task: Task, body: Neural, head: Head | None = None) -> None:
        super().__init__()
        self.task, self.body, self.head = task, body, head
        self.features: Features | None = None  # what a frozen body says, once it has been asked

    @property
    def reader(self) -> Body:
        """What reads: the body, or what is known of it."""
        return self.features or self.body

    def forward(self, batch: Batch, state: State | None) -> tuple[Tensor, State]:
        return stepped(self.task, self.reader, self.head, batch, state)


@dataclass(frozen=True)
class Valid:
    """The validation part, and what a task asks of it batch by batch."""

    part: Part
    batches: Batches

    @property
    def size(self) -> int:
        """Symbols that may be read."""
        return len(self.part.main.ids)


@dataclass(frozen=True)
class Rates:
    """Parameter groups: by pattern of their names, factors of the learning rate, and from when on they learn.

    0 freezes; a pattern that comes later wins; what no pattern matches learns at the full rate, from the beginning.
    """

    scales: Mapping[str, float] = field(
        default_factory=dict
    )  # such as {"body.*": 0.1, "body.embedding.*": 0.0}

    since: Mapping[str, float] = field(default_factory=dict)  # shares of the run (gradual unfreezing)

    def scale(self, name: str) -> float:
        """For one parameter, such as `body.layers.0.cell.bias`."""
        return _last(self.scales, name, 1.0)

    def scales_of(self, network: nn.Module) -> dict[Tensor, float]:
        """By what the learning rate of a parameter is multiplied, where it is not 1."""
        named = network.named_parameters()
        return {value: scale for name, value in named if (scale := self.scale(name)) != 1.0}

    def freeze(self, network: nn.Module) -> None:
        """Parameters that never move need no gradient."""
        for name, value in network.named_parameters():
            value.requires_grad_(self.scale(name) > 0.0)

    def thaw(self, network: nn.Module, progress: float) -> None:
        """Nor do those that do not move yet, when so much of the run lies behind."""
        if self.since:
            for name, value in network.named_parameters():
                moves = self.scale(name) > 0.0 and progress >= _last(self.since, name, 0.0)
                value.requires_grad_(moves)


def _last(values: Mapping[str, float], name: str, usual: float) -> float:
    """What the last pattern that matches a name says."""
    found = [value for pattern, value in values.items() if fnmatchcase(name, pattern)]
    return found[-1] if found else usual
