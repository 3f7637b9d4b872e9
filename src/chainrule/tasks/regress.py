"""Regression: a number for a sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.codecs.values import Values
from chainrule.data.batches import TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import LABEL
from chainrule.errors import ModelError
from chainrule.judge.judged import Judged, Table
from chainrule.judge.numbers import Measured
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.symbols import FIRST
from chainrule.tasks.base import register
from chainrule.tasks.sequence import SequenceTask, Wanted
from chainrule.tasks.supervised import Answer

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

SWEEPS, ENOUGH = 200, 1e-9  # most rounds of the search for weights, and what change ends it
VALUES = "values"  # the standardised numbers of a batch


@dataclass(frozen=True)
class Number(Answer):
    """The number of a sequence."""

    value: float

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value}

    def line(self) -> str:
        return f"{self.value:.6g}"

    def table(self) -> Table:
        return Table(["value"], [[self.value]])


def one_number(codecs: Mapping[str, Codec]) -> int:
    """A number is one."""
    return 1


@register("regress")
@dataclass(frozen=True, kw_only=True)
class Regress(SequenceTask):
    """E(number | the whole sequence): least squares on standardised numbers, judged by errors and correlations.

    The loss is half the squared error in deviations of the training data: the nats of a normal distribution, but for
    a constant. Mean and deviation are kept with the codec of the numbers.
    """

    answers_numbers: ClassVar[bool] = True
    shown: ClassVar[tuple[str, ...]] = ("mae", "rmse", "pearson", "spearman", "r2")
    blank: ClassVar[Mapping[str, Any]] = {"value": None}
    figure: ClassVar[str] = "rmse"

    answers_count = staticmethod(one_number)

    def answers_column(self) -> Role:
        return Role(LABEL, codec="values")

    def one_unit(self, answers: int) -> bool:
        return False

    def wanted(self, part: Part, codecs: Mapping[str, Codec]) -> Wanted:
        values = self.known_answers(part, codecs).astype(np.float32)
        return Wanted(np.full(part.examples, FIRST, np.int64), {VALUES: values})

    def weights(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        return np.ones(part.examples)

    def known_answers(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        codec = numbers_codec(codecs)
        found: np.ndarray = (codec.numbers(part[LABEL].ids) - codec.spread.mean) / codec.spread.scale
        return found

    def chances(self, logits: np.ndarray, temperature: float) -> np.ndarray:
        return logits.astype(np.float64)

    def as_logits(self, opinion: np.ndarray) -> np.ndarray:
        return opinion

    def trust(
        self, opinions: Sequence[np.ndarray], part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[float, ...]:
        return least_squares([one[:, 0] for one in opinions], self.known_answers(part, codecs))

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        logits, state = self.logits(body, head, batch, state)
        return 0.5 * (logits[:, 0] - batch.extra[VALUES]).square().sum(), state

    def predicted(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """(examples,) in the unit of the data."""
        spread = numbers_codec(codecs).spread
        found: np.ndarray = self.asked(body, head, part, codecs)[:, 0].astype(np.float64)
        return spread.mean + spread.scale * found

    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        answers = numbers_codec(codecs).numbers(part[LABEL].ids)
        return Measured(self.predicted(body, head, part, codecs), answers, self.remarks(body, part))

    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        return head

    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Number]:
        return [Number(one) for one in self.predicted(body, head, part, codecs).tolist()]


def least_squares(values: Sequence[np.ndarray], answers: np.ndarray) -> tuple[float, ...]:
    """Weights, none below 0, that sum to 1, of the mean of several values (N,) that is nearest to the answers (N,).

    Two models at a time share what weight they have as well as they can, until nothing changes.
    """
    table, weights = np.stack(values), np.full(len(values), 1 / len(values))  # (models, N), (models,)
    for _ in range(SWEEPS):
        before = weights.copy()
        for one, other in combinations(range(len(weights)), 2):
            apart = table[one] - table[other]
            size = float(apart @ apart)
            step = float(apart @ (answers - weights @ table)) / size if size > 0 else 0.0
            moved = min(max(step, -weights[one]), weights[other])
            weights[one], weights[other] = weights[one] + moved, weights[other] - moved
        if np.abs(weights - before).max() < ENOUGH:
            break
    return tuple((weights / weights.sum()).tolist())


def numbers_codec(codecs: Mapping[str, Codec]) -> Values:
    """The one that reads the numbers to be predicted."""
    found = codecs.get(LABEL)
    if not isinstance(found, Values):
        raise ModelError("This model has no codec for the numbers it predicts. Copy or save the model again.")
    return found
