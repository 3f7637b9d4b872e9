"""Tasks with labels: one answer for a sequence, by a head that is calibrated on data its weights have not seen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.data.corpus import Part
from chainrule.judge.classes import best_temperature
from chainrule.models.base import Body
from chainrule.models.readers import Examples
from chainrule.tasks.base import Task

if TYPE_CHECKING:
    from chainrule.heads.base import Head


@dataclass(frozen=True, kw_only=True)
class Supervised(Task):
    """A task whose answers are labels."""

    @abstractmethod
    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        """What a reader made by counting learns from."""

    @abstractmethod
    def answered(self, body: Body, head: Head, part: Part) -> tuple[np.ndarray, np.ndarray]:
        """Logits (N, labels) before any temperature, and the right answers (N,), -1 for labels that are unknown."""

    @final
    def calibrated(self, body: Body, head: Head, part: Part | None) -> Head:
        """A head whose probabilities are as sure as they should be on this part of the data."""
        if part is None:
            return head
        return head.calibrated(best_temperature(*self.answered(body, head, part)))
