"""Classification: the label of a sequence."""

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
from chainrule.errors import ConfigError
from chainrule.judge.classes import Classified, best_temperature
from chainrule.judge.judged import Judged, Share, Table, one_line
from chainrule.models.base import Body
from chainrule.models.mix import best_weights
from chainrule.models.state import State
from chainrule.symbols import FIRST, PAD, UNK
from chainrule.tasks.base import register
from chainrule.tasks.ensemble import probable
from chainrule.tasks.sequence import SequenceTask, Wanted
from chainrule.tasks.supervised import Answer

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head


WEIGHTS = "weights"  # of the examples of a batch


@dataclass(frozen=True)
class Label(Answer):
    """The label of a sequence."""

    probabilities: Mapping[str, float]  # of the most probable labels, best first

    @property
    def label(self) -> str:
        """The most probable one."""
        return next(iter(self.probabilities))

    def to_dict(self) -> dict[str, Any]:
        return {"label": self.label, "probabilities": dict(self.probabilities)}

    def line(self) -> str:
        return f"{one_line(self.label)}\t{self.probabilities[self.label]:.4f}"

    def table(self) -> Table:
        return Table(
            ["label", "probability"], [[label, Share(one)] for label, one in self.probabilities.items()]
        )


def all_labels(codecs: Mapping[str, Codec]) -> int:
    """One for each label."""
    return codecs[LABEL].size - FIRST


@register("classify")
@dataclass(frozen=True, kw_only=True)
class Classify(SequenceTask):
    """p(label | the whole sequence), judged by accuracy, macro-F1 and log-loss."""

    shown: ClassVar[tuple[str, ...]] = ("accuracy", "macro_f1", "log_loss", "calibration_error")
    blank: ClassVar[Mapping[str, Any]] = {"label": None, "probabilities": {}}
    figure: ClassVar[str] = "accuracy"
    maximise: ClassVar[bool] = True

    answers_count = staticmethod(all_labels)

    class_weights: str = option(
        "none",
        "how much examples of each label weigh in training; balanced: all labels the same, n / (k * count)",
        choices=("none", "balanced"),
    )
    sigmoid: bool = option(
        False, "of two labels: one output unit with a sigmoid instead of a softmax over two"
    )

    def answers_column(self) -> Role:
        return Role(LABEL, codec="labels")

    def one_unit(self, answers: int) -> bool:
        if self.sigmoid and answers != 2:
            raise ConfigError(f"--sigmoid is for two labels, and there are {answers:,}. Leave it out.")
        return self.sigmoid

    def wanted(self, part: Part, codecs: Mapping[str, Codec]) -> Wanted:
        return Wanted(targets(part), {WEIGHTS: self.weights(part, codecs).astype(np.float32)})

    def weights(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """(examples,) how much each weighs, 1 on average."""
        answers = answers_of(part)
        if self.class_weights == "none":
            return np.ones(len(answers))
        found: np.ndarray = balanced(answers, all_labels(codecs))[answers]
        return found

    def known_answers(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        return answers_of(part)

    def chances(self, logits: np.ndarray, temperature: float) -> np.ndarray:
        return probabilities(logits, temperature)

    def as_logits(self, opinion: np.ndarray) -> np.ndarray:
        return probable(opinion)

    def trust(
        self, opinions: Sequence[np.ndarray], part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[float, ...]:
        answers = answers_of(part)
        known = np.flatnonzero(answers >= 0)
        return best_weights([probable(one[known, answers[known]]) for one in opinions])

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        import torch.nn.functional as F

        logits, state = self.logits(body, head, batch, state)
        known = batch.targets != PAD
        nats = F.cross_entropy(
            logits[known],
            batch.targets[known] - FIRST,
            reduction="none",
            label_smoothing=self.label_smoothing,
        )  # (known,)
        return (nats * batch.extra[WEIGHTS][known]).sum(), state

    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        logits, answers = self.asked(body, head, part, codecs), answers_of(part)
        chances = probabilities(logits, head.config.temperature)
        return Classified(chances, answers, names(codecs), self.remarks(body, part))

    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        if part is None:
            return head
        return head.calibrated(best_temperature(self.asked(body, head, part, codecs), answers_of(part)))

    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Label]:
        logits, labels = self.asked(body, head, part, codecs), names(codecs)
        chances = probabilities(logits, head.config.temperature)
        order = np.argsort(-chances, axis=1, kind="stable")[:, :top]
        return [
            Label({labels[one]: float(row[one]) for one in best})
            for row, best in zip(chances, order.tolist(), strict=True)
        ]


def balanced(answers: np.ndarray, count: int) -> np.ndarray:
    """(labels,) weights that make all labels count the same, as in scikit-learn: n / (k * count)."""
    known = answers[answers >= 0]
    counts = np.bincount(known, minlength=count)
    seen = max(1, int(np.count_nonzero(counts)))
    found: np.ndarray = len(known) / (seen * np.maximum(1, counts))
    return found


def names(codecs: Mapping[str, Codec]) -> list[str]:
    """All labels, in the order of probabilities."""
    codec = codecs[LABEL]
    return codec.tokens(range(FIRST, codec.size))


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
