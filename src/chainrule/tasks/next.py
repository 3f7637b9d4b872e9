"""Language modelling: predict the next symbol, judged in bits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from chainrule.codecs.base import Codec
from chainrule.data.batches import Batches, TensorBatch, next_batches
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.judge.score import score_ids, subsample
from chainrule.models.base import Body, LanguageModel
from chainrule.models.state import State
from chainrule.tasks.base import BatchSize, Figures, Task, register

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head
    from chainrule.models.neural import NeuralLanguageModel


@register("next")
@dataclass(frozen=True, kw_only=True)
class Next(Task):
    """p(x_t | x_<t) for every symbol, with teacher forcing and truncated back-propagation through time."""

    predicts: ClassVar[str | None] = TEXT
    shown: ClassVar[tuple[str, ...]] = ("perplexity", "bits_per_symbol", "bits_per_byte", "unknown")

    figure: ClassVar[str] = "bits_per_symbol"

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT),)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        return None

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return next_batches(part[TEXT], size.rows, size.length, body.stateful, size.seed, body.context)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        return language_model_loss(body, batch, state, self.label_smoothing)[1:]

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        assert isinstance(body, LanguageModel)
        return score_ids(body, subsample(part[TEXT].ids, most)).bits_per_symbol * math.log(2.0)

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        assert isinstance(body, LanguageModel)
        corpus = part[TEXT]
        return Figures(score_ids(body, corpus.ids, corpus.bytes, corpus.unknown).figures())


def language_model_loss(
    body: Body, batch: TensorBatch, state: State, smoothing: float
) -> tuple[Tensor, Tensor, State]:
    """Hidden vectors (B, T, D), cross-entropy summed over the targets, and the new memory."""
    model: NeuralLanguageModel = body  # type: ignore[assignment]
    hidden, state = model.read(batch.tokens, state)
    return hidden, model.cross_entropy(hidden, batch.targets, smoothing), state
