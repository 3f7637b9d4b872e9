"""The label of a sequence: a whole task in one file, to prove that a task is an addition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batch, Batches, TensorBatch
from chainrule.data.corpus import Corpus, Part
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.heads.base import Head
from chainrule.heads.pooled import POOLINGS, Pooled, PooledConfig
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.symbols import PAD
from chainrule.tasks.base import BatchSize, Figures, Task, mean_loss, register

LABEL = "label"


@dataclass(frozen=True)
class LabelledBatches:
    """Whole sequences, each with its label, in another order every epoch."""

    part: Part
    rows: int
    longest: int | None  # symbols of a sequence that are read
    seed: int = 0

    def __len__(self) -> int:
        return -(-self.part.examples // self.rows)

    def batch(self, epoch: int, number: int) -> Batch:
        order = np.random.default_rng([self.seed, epoch]).permutation(self.part.examples)
        some = self.part.select(order[number * self.rows : (number + 1) * self.rows])
        labels = some[LABEL]
        return Batch(padded(some[TEXT], self.longest), labels.ids[labels.starts + 1].astype(np.int64))


def padded(corpus: Corpus, longest: int | None) -> np.ndarray:
    """Sequences as rows (B, T), PAD behind the shorter ones."""
    lengths = np.minimum(corpus.lengths + 2, longest or len(corpus.ids))[:, None]
    columns = np.arange(lengths.max())[None]
    places = np.where(columns < lengths, corpus.starts[:, None] + columns, 0)
    return np.where(columns < lengths, corpus.ids[places], PAD).astype(np.int64)


@register(LABEL)
@dataclass(frozen=True, kw_only=True)
class Label(Task):
    """p(label | the whole sequence), judged by accuracy and log-loss."""

    pooling: str = option("mean", "how a sequence becomes one vector", choices=tuple(POOLINGS))

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT), Role(LABEL, codec="events"))

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        config = PooledConfig(pooling=self.pooling, width=body.width, answers=codecs[LABEL].size)
        return Pooled.seeded(config, seed)

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return LabelledBatches(part, size.rows, body.context, size.seed)

    def logits(self, body: Body, head: Head | None, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Of every label (B, labels), after reading tokens (B, T)."""
        assert head is not None
        hidden, state = body.read(tokens, state)  # (B, T, D)
        return head(hidden, tokens != PAD), state

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        logits, state = self.logits(body, head, batch.tokens, state)
        smoothing = self.label_smoothing
        return F.cross_entropy(logits, batch.targets, reduction="sum", label_smoothing=smoothing), state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        everything = LabelledBatches(part, part.examples, body.context).batch(0, 0).tensors(body.device)
        with body.inference():
            logits, _ = self.logits(body, head, everything.tokens, body.start(part.examples))
        right = (logits.argmax(-1) == everything.targets).double().mean()
        return Figures(
            {"accuracy": float(right), "log_loss": float(F.cross_entropy(logits, everything.targets))}
        )
