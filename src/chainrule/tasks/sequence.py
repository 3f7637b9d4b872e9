"""Tasks with one answer for a whole sequence: what classification, regression and several labels have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.labelled import LabelledBatches
from chainrule.data.roles import Role
from chainrule.data.rows import LABEL, TEXT
from chainrule.errors import ModelError
from chainrule.models.base import Body
from chainrule.models.readers import CountingReader, Examples, Spelling
from chainrule.models.state import State
from chainrule.symbols import PAD
from chainrule.tasks.base import BatchSize, mean_loss
from chainrule.tasks.supervised import Supervised

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

ROWS = 256  # texts read side by side
AGAIN = "Copy or save the model again."
WINDOWS = "they are read in overlapping windows, and the mean of their logits counts"
POOLINGS = ("mean", "max", "last", "first", "ends", "attention")


@dataclass(frozen=True)
class Wanted:
    """The right answers of examples, as batches carry them."""

    targets: np.ndarray  # (examples,) int64, PAD where nothing is asked
    extra: Mapping[str, np.ndarray]  # what does not fit in an id, by name, a row for each example


@dataclass(frozen=True, kw_only=True)
class SequenceTask(Supervised):
    """The vectors of a sequence are pooled into one, and a linear layer answers."""

    answers_codec: ClassVar[str]  # reads the column of right answers

    pooling: str | None = option(
        None, "how a sequence becomes one vector; not given: as suits the model", choices=POOLINGS
    )
    head_dropout: float = option(0.5, "dropout of the pooled vector while training", low=0.0, high=0.99)
    dense: int = option(0, "units of a ReLU layer between pooling and output; 0: none", low=0, high=65_536)

    @final
    def roles(self) -> Sequence[Role]:
        return (Role(TEXT), Role(LABEL, codec=self.answers_codec))

    @abstractmethod
    def wanted(self, part: Part, codecs: Mapping[str, Codec]) -> Wanted:
        """The right answers of a part that has them."""

    @abstractmethod
    def weights(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """(examples,) how much each weighs in training."""

    @abstractmethod
    def known_answers(self, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """The same, as `Examples.answers` of a reader made by counting."""

    @abstractmethod
    def one_unit(self, answers: int) -> bool:
        """Whether the first of two answers needs no unit of its own, being as probable as the other is not."""

    @final
    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        from chainrule.heads.base import HeadConfig
        from chainrule.heads.direct import Direct
        from chainrule.heads.pooled import Pooled, PooledConfig

        answers = self.answers_count(codecs)
        if isinstance(body, CountingReader):
            return Direct(HeadConfig(width=body.width, answers=answers))
        config = PooledConfig(
            pooling=self.pooling or body.pooling,
            dropout=self.head_dropout,
            dense=self.dense,
            sigmoid=self.one_unit(answers),
            width=body.width,
            answers=answers,
        )
        return Pooled.seeded(config, seed)

    @final
    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        wanted = self.wanted(part, codecs)
        return LabelledBatches(part[TEXT], wanted.targets, size.rows, body.context, size.seed, wanted.extra)

    @final
    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    @final
    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        kinds = codecs[TEXT].letter_kinds()
        spelling = Spelling(*kinds) if kinds else None
        answers, weights = self.known_answers(part, codecs), self.weights(part, codecs)
        return Examples(part[TEXT].ids, answers, spelling, weights)

    @final
    def read_part(self, body: Body, head: Head, part: Part) -> np.ndarray:
        """Logits (N, answers) of all examples, before any temperature."""
        nothing = np.full(part.examples, PAD)
        return self.read(body, head, LabelledBatches(part[TEXT], nothing, ROWS, body.context))

    @final
    def read(self, body: Body, head: Head, texts: LabelledBatches) -> np.ndarray:
        """Logits (N, answers) of all texts, before any temperature; of a long one the mean over its windows."""
        found = np.zeros((len(texts.starts), head.config.answers), np.float32)
        windows = texts.windows
        order = np.argsort(windows.sizes, kind="stable")
        for at in range(0, len(order), ROWS):
            some = order[at : at + ROWS]
            rows = windows.rows[some]
            given = texts.take(rows, windows.offsets[some]).tensors(body.device)
            with body.inference(given.tokens.numel()):
                head.eval()
                logits, _ = self.logits(body, head, given, body.start(len(rows)))  # (B, answers)
            np.add.at(found, rows, _checked(logits, len(rows), head.config.answers))
        found /= np.bincount(windows.rows, minlength=len(found))[:, None]
        return found

    @final
    def logits(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        """Of every answer (B, answers), after reading tokens (B, T)."""
        assert head is not None
        hidden, state = body.read(batch.tokens, state)  # (B, T, D)
        return head(hidden, batch.tokens != PAD), state


def _checked(logits: Tensor, rows: int, answers: int) -> np.ndarray:
    """Logits (B, answers) of which the best of each row is a number."""
    found: np.ndarray = logits.float().cpu().numpy()
    if found.shape != (rows, answers):
        raise ModelError(f"Answers of shape {found.shape} came, and {(rows, answers)} was expected. {AGAIN}")
    if answers and not np.isfinite(found.max(1)).all():
        raise ModelError(f"The answer of this model to a text is no number. {AGAIN}")
    return found


def remarks(body: Body, part: Part) -> tuple[str, ...]:
    """What must be said of how texts were read."""
    cut = int((part[TEXT].lengths + 2 > body.context).sum()) if body.context else 0
    told = f"{cut:,} texts are longer than --context {body.context}: {WINDOWS}"
    return (told,) if cut else ()
