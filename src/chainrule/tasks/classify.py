"""Classification: the label of a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.labelled import LabelledBatches
from chainrule.data.roles import Role
from chainrule.data.rows import LABEL, TEXT
from chainrule.judge.classes import Classified
from chainrule.models.base import Body
from chainrule.models.readers import CountingReader, Examples, Spelling
from chainrule.models.state import State
from chainrule.symbols import FIRST, PAD, UNK
from chainrule.tasks.base import BatchSize, Figures, mean_loss, register
from chainrule.tasks.supervised import Supervised

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

ROWS = 256  # texts read side by side
POOLINGS = ("mean", "max", "last", "first", "attention")


@register("classify")
@dataclass(frozen=True, kw_only=True)
class Classify(Supervised):
    """p(label | the whole sequence), judged by accuracy, macro-F1 and log-loss."""

    labels: ClassVar[str | None] = LABEL
    shown: ClassVar[tuple[str, ...]] = ("accuracy", "macro_f1", "log_loss", "calibration_error")
    figure: ClassVar[str] = "accuracy"
    maximise: ClassVar[bool] = True

    pooling: str | None = option(
        None, "how a sequence becomes one vector; not given: as suits the model", choices=POOLINGS
    )
    head_dropout: float = option(0.5, "dropout of the pooled vector while training", low=0.0, high=0.99)
    dense: int = option(0, "units of a ReLU layer between pooling and output; 0: none", low=0, high=65_536)

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT), Role(LABEL, codec="labels"))

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        from chainrule.heads.base import HeadConfig
        from chainrule.heads.direct import Direct
        from chainrule.heads.pooled import Pooled, PooledConfig

        answers = codecs[LABEL].size - FIRST
        if isinstance(body, CountingReader):
            return Direct(HeadConfig(width=body.width, answers=answers))
        pooling = self.pooling or body.pooling
        config = PooledConfig(
            pooling=pooling, dropout=self.head_dropout, dense=self.dense, width=body.width, answers=answers
        )
        return Pooled.seeded(config, seed)

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return LabelledBatches(part[TEXT], targets(part), size.rows, body.context, size.seed)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        import torch.nn.functional as F

        logits, state = self._logits(body, head, batch.tokens, state)
        known = batch.targets != PAD
        return F.cross_entropy(
            logits[known],
            batch.targets[known] - FIRST,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        ), state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: Head | None, part: Part) -> Figures:
        assert head is not None
        logits, answers = self.answered(body, head, part)
        names = [str(label) for label in range(logits.shape[1])]
        found = Classified(probabilities(logits, head.config.temperature), answers, names)
        unseen = int((answers < 0).sum())
        notes = (
            [f"{unseen:,} examples have a label that was not seen in training: they count as wrong"]
            if unseen
            else []
        )
        cut = int((part[TEXT].lengths + 2 > body.context).sum()) if body.context else 0
        if cut:
            notes.append(
                f"{cut:,} texts are longer than --context {body.context}: only their beginning is read"
            )
        return Figures(found.figures(), tuple(notes))

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        kinds = codecs[TEXT].letter_kinds()
        return Examples(part[TEXT].ids, answers_of(part), Spelling(*kinds) if kinds else None)

    def answered(self, body: Body, head: Head, part: Part) -> tuple[np.ndarray, np.ndarray]:
        return self.read(
            body, head, LabelledBatches(part[TEXT], targets(part), ROWS, body.context)
        ), answers_of(part)

    def read(self, body: Body, head: Head, texts: LabelledBatches) -> np.ndarray:
        """Logits (N, labels) of all texts, before any temperature."""
        found = np.zeros((len(texts.starts), head.config.answers), np.float32)
        order = np.argsort(texts.sizes, kind="stable")
        for at in range(0, len(order), ROWS):
            rows = order[at : at + ROWS]
            given = texts.take(rows).tensors(body.device)
            with body.inference(given.tokens.numel()):
                head.eval()
                found[rows] = (
                    self._logits(body, head, given.tokens, body.start(len(rows)))[0].float().cpu().numpy()
                )
        return found

    def _logits(self, body: Body, head: Head | None, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Of every label (B, labels), after reading tokens (B, T)."""
        assert head is not None
        hidden, state = body.read(tokens, state)  # (B, T, D)
        return head(hidden, tokens != PAD), state


def targets(part: Part) -> np.ndarray:
    """(examples,) the ids of the labels, PAD where a label is unknown."""
    labels = part[LABEL]
    ids = labels.ids[labels.starts + 1].astype(np.int64)
    return np.where(ids == UNK, PAD, ids)


def answers_of(part: Part) -> np.ndarray:
    """(examples,) the labels from 0 on, -1 where one is unknown."""
    found: np.ndarray = np.maximum(targets(part) - FIRST, -1)
    return found


def probabilities(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Softmax (N, labels) of logits at a temperature."""
    scaled = logits.astype(np.float64) / temperature
    raised = np.exp(scaled - scaled.max(1, keepdims=True, initial=-np.inf))
    found: np.ndarray = raised / raised.sum(1, keepdims=True)
    return found
