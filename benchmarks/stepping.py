"""A trainer that is asked for single steps, for benchmarks of training."""

from __future__ import annotations

from chainrule.data.batches import Batches
from chainrule.models.neural import Neural
from chainrule.tasks.next import Next
from chainrule.train.config import TrainConfig
from chainrule.train.network import Network
from chainrule.train.trainer import Trainer


def stepping(body: Neural, batches: Batches) -> Trainer:
    """Ready for its first step, in a plan of ten epochs."""
    trainer = Trainer(Network(Next(), body), batches, None, TrainConfig(epochs=10))
    trainer._begin()
    trainer.network.train()
    return trainer
