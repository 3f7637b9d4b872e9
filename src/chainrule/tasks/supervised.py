"""Tasks whose answers can be right or wrong: one answer for an example, by a head; `predict` and `evaluate` use them.

A task says what an answer is (`Answer`), how it is judged (`Judged`), and how a head becomes as sure as it should be.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from chainrule.codecs.base import Codec
from chainrule.data.corpus import Part
from chainrule.data.rows import LABEL
from chainrule.judge.judged import Judged, Table
from chainrule.models.base import Body
from chainrule.tasks.base import Figures, Task

if TYPE_CHECKING:
    from chainrule.heads.base import Head


class Answer(ABC):
    """What a model answers to one example: a frozen value of its task."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """For scripts; a blank example has the same keys, see `Supervised.blank`."""

    @abstractmethod
    def line(self) -> str:
        """One line for people, cells separated by tabs."""

    @abstractmethod
    def table(self) -> Table:
        """All of it, for a person who asked about one example."""


@dataclass(frozen=True, kw_only=True)
class Teaching(Task):
    """A task for bodies that learn by themselves."""

    @abstractmethod
    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Any:
        """What such a body learns from."""


@dataclass(frozen=True, kw_only=True)
class Supervised(Teaching):
    """A task whose answers are known for the training data."""

    answers_role: ClassVar[str] = LABEL  # the column of right answers; the other roles are what is read
    made: ClassVar[tuple[str, ...]] = ()  # roles that are made of the main one when data are read
    suits: ClassVar[Mapping[str, Any]] = {}  # settings of a model where a user gives none
    blank: ClassVar[Mapping[str, Any]]  # what scripts are told of an example with nothing to read
    default_model: ClassVar[str | None] = "bag"  # the family, if none is named

    @final
    def inputs(self) -> list[str]:
        """The roles that are read, the main one first."""
        return [role.name for role in self.roles() if role.name != self.answers_role]

    @abstractmethod
    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Answer]:
        """One answer for each example of a part that has the roles `inputs`; `top`: only so many of its choices."""

    @abstractmethod
    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        """The answers to all examples beside the right ones."""

    @abstractmethod
    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        """A head that is as sure as it should be (temperature, thresholds), fitted on this part of the data."""

    @final
    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        assert head is not None
        found = self.judged(body, head, part, codecs)
        return Figures(found.figures(), found.notes)
