"""Multi-label classification: all labels of a sequence, each with a sigmoid and a threshold of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import LABEL
from chainrule.errors import ConfigError, ModelError
from chainrule.judge.judged import Judged, Share, Table, one_line
from chainrule.judge.label_sets import HALF, LabelSetsJudged, best_temperature, best_thresholds
from chainrule.models.base import Body
from chainrule.models.mix import best_weights
from chainrule.models.state import State
from chainrule.symbols import EOS, FIRST, PAD, UNK
from chainrule.tasks.base import register
from chainrule.tasks.classify import all_labels, names
from chainrule.tasks.ensemble import probable
from chainrule.tasks.sequence import SequenceTask, Wanted
from chainrule.tasks.supervised import Answer

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

SETS = "sets"  # the labels of a batch, as ids, PAD behind them


@dataclass(frozen=True)
class LabelSet(Answer):
    """The labels of a sequence."""

    probabilities: Mapping[str, float]  # of the most probable labels, best first
    labels: tuple[str, ...]  # those above their thresholds, best first
    chances: tuple[float, ...]  # of these

    def to_dict(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "probabilities": dict(self.probabilities)}

    def line(self) -> str:
        return f"{one_line(', '.join(self.labels))}\t{', '.join(f'{one:.4f}' for one in self.chances)}"

    def table(self) -> Table:
        rows = [
            [label, Share(one), "yes" if label in self.labels else ""]
            for label, one in self.probabilities.items()
        ]
        return Table(["label", "probability", "given"], rows)


@register("multi-label")
@dataclass(frozen=True, kw_only=True)
class MultiLabel(SequenceTask):
    """p(label | the whole sequence) for every label by itself, judged by micro- and macro-F1."""

    shown: ClassVar[tuple[str, ...]] = ("micro_f1", "macro_f1", "subset_accuracy", "hamming_loss")
    blank: ClassVar[Mapping[str, Any]] = {"labels": None, "probabilities": {}}
    figure: ClassVar[str] = "micro_f1"
    maximise: ClassVar[bool] = True

    answers_count = staticmethod(all_labels)

    separator: str = option(
        ",", "what separates the labels of a cell; an empty cell has none, and lists need no separator"
    )

    def answers_column(self) -> Role:
        if not self.separator.strip(" "):
            raise ConfigError(
                "--separator is empty: give what stands between two labels of a cell, such as ;"
            )
        return Role(LABEL, codec="label-sets", settings={"separator": self.separator}, empty=True)

    def one_unit(self, answers: int) -> bool:
        return False

    def wanted(self, part: Part, codecs: Mapping[str, Codec]) -> Wanted:
        known = sets_of(part)
        return Wanted(np.full(len(known), FIRST, np.int64), {SETS: np.where(known == UNK, PAD, known)})

    def weights(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        return np.ones(part.examples)

    def known_answers(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        found: np.ndarray = np.maximum(sets_of(part) - FIRST, -1)
        return found

    def chances(self, logits: np.ndarray, temperature: float) -> np.ndarray:
        return sigmoid(logits.astype(np.float64) / temperature)

    def as_logits(self, opinion: np.ndarray) -> np.ndarray:
        found: np.ndarray = probable(opinion) - probable(1.0 - opinion)
        return found

    def trust(
        self, opinions: Sequence[np.ndarray], part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[float, ...]:
        right = marks(sets_of(part), opinions[0].shape[1])
        return best_weights([probable(np.where(right, one, 1.0 - one).ravel()) for one in opinions])

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        import torch
        import torch.nn.functional as F

        logits, state = self.logits(body, head, batch, state)  # (B, labels)
        sets = batch.extra[SETS]  # (B, K)
        marked = torch.zeros(len(logits), logits.shape[1] + FIRST, device=logits.device)
        wanted = marked.scatter(1, sets, 1.0)[:, FIRST:]
        soft = wanted * (1 - self.label_smoothing) + self.label_smoothing / 2
        return F.binary_cross_entropy_with_logits(logits, soft, reduction="sum"), state

    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        chances, sets, labels = self._chances(body, head, part, codecs), sets_of(part), names(codecs)
        unseen = (sets == UNK).sum(1)
        given = chances >= thresholds(head, len(labels))
        return LabelSetsJudged(given, marks(sets, len(labels)), unseen, labels, self.remarks(body, part))

    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        if part is None:
            return head
        logits = self.asked(body, head, part, codecs).astype(np.float64)
        right = marks(sets_of(part), logits.shape[1])
        heat = best_temperature(logits, right)
        return head.calibrated(heat, thresholds=best_thresholds(sigmoid(logits / heat), right))

    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[LabelSet]:
        chances, labels = self._chances(body, head, part, codecs), names(codecs)
        given = chances >= thresholds(head, len(labels))
        order = np.argsort(-chances, axis=1, kind="stable")
        return [
            LabelSet(
                {labels[at]: float(row[at]) for at in best[:top]},
                tuple(labels[at] for at in best if own[at]),
                tuple(float(row[at]) for at in best if own[at]),
            )
            for row, own, best in zip(chances, given, order.tolist(), strict=True)
        ]

    def _chances(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """Probabilities (N, labels)."""
        return self.chances(self.asked(body, head, part, codecs), head.config.temperature)


def thresholds(head: Head, count: int) -> np.ndarray:
    """(labels,) from which probability on each is given."""
    found = np.array(head.config.thresholds) if head.config.thresholds else np.full(count, HALF)
    if found.shape != (count,):
        raise ModelError(f"{len(found)} thresholds came for {count} labels. Copy or save the model again.")
    return found


def sets_of(part: Part) -> np.ndarray:
    """(examples, K) the ids of the labels of each, PAD behind them; UNK: one that was never seen in training."""
    labels = part[LABEL]
    most = int(labels.lengths.max(initial=1))
    places = labels.starts[:, None] + 1 + np.arange(max(1, most))[None]  # (examples, K)
    real = np.arange(max(1, most))[None] < labels.lengths[:, None]
    ids = labels.ids[np.minimum(places, len(labels.ids) - 1)].astype(np.int64)
    found: np.ndarray = np.where(real & (ids != EOS), ids, PAD)
    return found


def marks(sets: np.ndarray, count: int) -> np.ndarray:
    """(examples, labels) bool, which labels each has."""
    found = np.zeros((len(sets), count + FIRST), np.bool_)
    found[np.arange(len(sets))[:, None], sets] = True
    return found[:, FIRST:]


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    found: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return found
