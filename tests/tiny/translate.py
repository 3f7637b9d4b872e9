"""Translation: a whole task of two columns in one file, whose answers are symbols of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batch, Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.symbols import EOS, PAD
from chainrule.tasks.base import BatchSize, Figures, Task, mean_loss, register
from chainrule.tasks.next import language_model_loss
from tiny.label import padded

SOURCE, TARGET = "source", "target"


@dataclass(frozen=True)
class Pairs:
    """Whole sequences with their sources, in another order every epoch."""

    part: Part
    rows: int
    blind: bool
    seed: int = 0

    def __len__(self) -> int:
        return -(-self.part.examples // self.rows)

    def batch(self, epoch: int, number: int) -> Batch:
        order = np.random.default_rng([self.seed, epoch]).permutation(self.part.examples)
        some = self.part.select(order[number * self.rows : (number + 1) * self.rows])
        ids = padded(some[TARGET], None)  # (B, T + 1)
        tokens = np.where(ids == EOS, PAD, ids)[:, :-1]
        return Batch(tokens, ids[:, 1:], None if self.blind else padded(some[SOURCE], None))


@register("tiny-translate")
@dataclass(frozen=True, kw_only=True)
class Translate(Task):
    """p(target | source), symbol by symbol."""

    predicts: ClassVar[str | None] = TARGET
    source: ClassVar[str | None] = SOURCE
    blind: bool = option(False, "guess without looking at the source")

    def roles(self) -> Sequence[Role]:
        return Role(SOURCE), Role(TARGET)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> None:
        return None

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return Pairs(part, size.rows, self.blind, size.seed)

    def loss(self, body: Body, head: None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        return language_model_loss(body, batch, state, self.label_smoothing)[1:]

    def validate(self, body: Body, head: None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        everything = Pairs(part, part.examples, self.blind)
        return Figures({"log_loss": mean_loss(self, body, head, everything, len(part[TARGET].ids))})
