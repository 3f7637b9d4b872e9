"""Tasks (training objectives): which columns are read, what is asked of hidden vectors, how answers are judged.

    class Next(Task): ...           # a frozen value; its settings are flags like any others

The trainer knows tasks, bodies and heads, and nothing of symbols; so a new task is one file that calls
`@register("name")`: data, training, checkpoints, validation, saving and the command line come with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

from chainrule.codecs.base import Codec
from chainrule.config import Config, option
from chainrule.data.batches import Batch, Batches, TensorBatch
from chainrule.data.rows import main_of
from chainrule.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.data.corpus import Part
    from chainrule.data.roles import Role
    from chainrule.heads.base import Head
    from chainrule.models.base import Body
    from chainrule.models.state import State

BUILT_IN: dict[str, tuple[str, str]] = {
    "next": ("chainrule.tasks.next", "language modelling: predict the next symbol"),
    "classify": ("chainrule.tasks.classify", "classification: the label of a sequence"),
    "multi-label": ("chainrule.tasks.multi_label", "classification: all labels of a sequence, or none"),
    "tag": (
        "chainrule.tasks.tag",
        "sequence labelling: a tag for every word (parts of speech, entities, roles)",
    ),
    "next-frame": (
        "chainrule.tasks.next_frame",
        "forecasting frames: the next vector of real numbers of a sequence",
    ),
    "span": (
        "chainrule.tasks.span",
        "extractive question answering (SQuAD): the part of a passage that answers a question",
    ),
    "both-ways": (
        "chainrule.tasks.both_ways",
        "bidirectional language modelling (biLM): predict the next and the previous symbol",
    ),
    "vectors": ("chainrule.tasks.vectors", "word vectors: words that stand in the same contexts are alike"),
    "regress": ("chainrule.tasks.regress", "regression: a number for a sequence"),
    "translate": (
        "chainrule.tasks.translate",
        "translation: a sequence for a sequence, by an encoder-decoder",
    ),
    "masked": ("chainrule.tasks.masked", "masked language modelling (MLM): predict masked symbols"),
}


@dataclass(frozen=True)
class Figures:
    """How well a task is done on one part of the data."""

    values: Mapping[str, float]  # by name, as people and scripts are told
    notes: tuple[str, ...] = field(default=())  # what must be said beside them


@dataclass(frozen=True)
class BatchSize:
    """How much is read in one step."""

    rows: int
    length: int  # symbols of a row
    seed: int = 0


def all_ids(part: Part) -> int:
    """How many a part has."""
    return len(part.main.ids)


def no_answers(codecs: Mapping[str, Codec]) -> int:
    """There is no head, or its body need not know."""
    return 0


def source_sizes(codecs: Sequence[Codec], target: Codec) -> dict[str, Any]:
    """What a body is told of its sources, by setting: `SourceConfig` and, of other than symbols, `AnySourceConfig`."""
    marks = [one.fingerprint() for one in codecs]
    sizes = []
    for place, one in enumerate(codecs):
        first = marks.index(marks[place])
        own = 0 if marks[place] == target.fingerprint() else one.size
        sizes.append(one.features or (own if first == place or not own else -first - 1))
    if len(codecs) == 1 and not codecs[0].features:
        return {"source_size": sizes[0]}  # 0: one vocabulary for both
    kinds, strides = (tuple(getattr(one, name) for one in codecs) for name in ("source_kind", "stride"))
    return {"source_kinds": kinds, "source_sizes": tuple(sizes), "source_strides": strides}


@dataclass(frozen=True, kw_only=True)
class Task(Config, ABC):
    """What a body is trained for; its settings are kept with the model."""

    name: ClassVar[str] = ""
    predicts: ClassVar[str | None] = None  # the role whose symbols are asked for; None: a head answers
    source: ClassVar[str | None] = None  # the role an encoder reads, if there is one
    answers_numbers: ClassVar[bool] = False  # a number is asked for, no label and no symbol
    judging = staticmethod(
        all_ids
    )  # how many ids `judge` reads, as many as `validate` would in the same time
    answers_count = staticmethod(no_answers)  # how many numbers a head answers with, by the codecs
    default_model: ClassVar[str | None] = None  # the family, if none is named; None: an n-gram
    shown: ClassVar[tuple[str, ...]] = ()  # the figures that are printed; none named: all of them
    figure: ClassVar[str] = "log_loss"  # the one of them that models are compared by
    maximise: ClassVar[bool] = False  # whether more of it is better
    most: ClassVar[float] = 1.0  # which it then is at most
    divides: ClassVar[bool] = True  # parts of the data are held out to judge on, where none are given
    label_smoothing: float = option(
        0.0, "label smoothing: share of each target spread over all", low=0, high=0.9
    )

    @abstractmethod
    def roles(self) -> Sequence[Role]:
        """The columns of the data it reads."""

    @final
    @property
    def loss_unit(self) -> str:
        """What its loss is counted in."""
        return "nats per symbol" if self.predicts else "nats per target"

    @final
    def body_role(self, roles: Iterable[str]) -> str:
        """The role whose ids a body reads: the one it predicts or, where a head answers, the main one."""
        return self.predicts or main_of(roles)

    @final
    def source_roles(self) -> tuple[str, ...]:
        """The roles an encoder reads, in order."""
        return tuple(one.name for one in self.roles() if one.name != self.predicts) if self.source else ()

    @final
    def sizes(self, codecs: Mapping[str, Codec]) -> dict[str, Any]:
        """Those of the vocabularies a body is made for, by setting."""
        main = codecs[self.body_role(codecs)]
        found: dict[str, Any] = {"vocab_size": main.size}
        if self.source:
            found |= source_sizes([codecs[role] for role in self.source_roles()], main)
        told = {"answers": self.answers_count(codecs), "features": main.features}
        return found | {name: number for name, number in told.items() if number}

    @abstractmethod
    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        """A fresh head for this body; None where a language model's own softmax answers."""

    @abstractmethod
    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        """What one part of the data gives to learn from."""

    @abstractmethod
    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        """The training loss: the sum over the targets of a batch, in nats; and the new memory."""

    @abstractmethod
    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        """What early stopping minimises, on about `most` symbols of the validation part; `batches` are made of it."""

    @abstractmethod
    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        """The figures of a finished model."""


def mean_loss(task: Task, body: Body, head: Head | None, batches: Batches, most: int) -> float:
    """The loss per target over the first batches of an epoch, about `most` symbols, as for `Task.validate`."""
    nats, count, seen = 0.0, 0, 0
    with body.inference():
        for number in range(len(batches)):
            batch = batches.batch(0, number)
            loss, _ = stepped(task, body, head, batch, None)
            nats, count, seen = nats + float(loss), count + batch.count, seen + batch.tokens.size
            if seen >= most:
                break
    return nats / max(1, count)


def stepped(
    task: Task, body: Body, head: Head | None, batch: Batch, state: State | None
) -> tuple[Tensor, State]:
    """The loss of one batch and the memory after it: the one place where a batch meets a network.

    A source is encoded for every batch, also where rows continue, so that its gradient reaches the encoder.
    """
    given = batch.tensors(body.device)
    if state is None or not batch.continues:
        state = body.start(len(batch), given.source)
    elif given.source is not None:
        state = state.resourced(body.start(len(batch), given.source))
    return task.loss(body, head, given, state)


TASKS = Registry[Task]("task", BUILT_IN)
register, task, tasks = TASKS.register, TASKS.find, TASKS.names


def described(one: Task) -> dict[str, Any]:
    """A task as plain values."""
    return {"name": one.name, "settings": one.values()}
