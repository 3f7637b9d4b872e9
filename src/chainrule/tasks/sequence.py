"""Tasks with one answer for a whole sequence: what classification, regression and several labels have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.labelled import FRAME, LabelledBatches, WindowedBatches
from chainrule.data.pairs import SECOND, TOGETHER, PairBatches, joined
from chainrule.data.roles import Role
from chainrule.data.rows import PAIR, TEXT
from chainrule.errors import ConfigError, ModelError
from chainrule.models.base import Body
from chainrule.models.ensemble import Ensemble
from chainrule.models.readers import CountingReader, Examples, Spelling
from chainrule.models.state import State
from chainrule.symbols import FIRST, PAD
from chainrule.tasks.base import BatchSize, mean_loss
from chainrule.tasks.ensemble import Averaged

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

ROWS, NUMBERS = 256, 1 << 26  # texts read side by side, and numbers of their hidden vectors, at most
AGAIN = "Copy or save the model again."
WINDOWS = "they are read in overlapping windows, and the mean of their logits counts"
POOLINGS = ("mean", "max", "last", "first", "cls", "ends", "concat", "attention")
JOINS = ("features", "attention", "sequence")
UNITS = 128  # of cross-attention, at most


@dataclass(frozen=True)
class Wanted:
    """The right answers of examples, as batches carry them."""

    targets: np.ndarray  # (examples,) int64, PAD where nothing is asked
    extra: Mapping[str, np.ndarray]  # what does not fit in an id, by name, a row for each example


@dataclass(frozen=True, kw_only=True)
class SequenceTask(Averaged):
    """The vectors of a sequence are pooled into one, and a linear layer answers."""

    pooling: str | None = option(
        None, "how a sequence becomes one vector; not given: as suits the model", choices=POOLINGS
    )
    head_dropout: float = option(0.5, "dropout of the pooled vector while training", low=0.0, high=0.99)
    head_layers: int = option(
        0,
        "bidirectional LSTM layers between the body and pooling, as above a frozen ELMo; 0: none",
        low=0,
        high=64,
    )
    head_units: int = option(128, "units of such a layer, in each direction", low=1, high=1 << 16)
    dense: int = option(0, "units of a ReLU layer between pooling and output; 0: none", low=0, high=65_536)

    pair: str | None = option(
        None, "the column of a second text, where two texts have one answer (premise and hypothesis)"
    )
    join: str | None = option(
        None,
        "how two texts are joined; features: u, v, |u - v|, u * v of both, read one by one; attention: the same after "
        "cross-attention; sequence: read as one, [CLS] a [SEP] b [SEP]. Not given: sequence for bert, else attention",
        choices=JOINS,
    )

    @final
    def roles(self) -> Sequence[Role]:
        second = (Role(PAIR, self.pair, like=TEXT),) if self.pair else ()
        return (Role(TEXT), *second, self.answers_column())

    @abstractmethod
    def answers_column(self) -> Role:
        """Where the right answers stand."""

    @final
    def check_family(self, kind: type[Body]) -> None:
        """Refuse a family that cannot do it, with what to do."""
        if self.join and not self.pair:
            raise ConfigError("--join says how two texts are joined: add --pair COLUMN, the second text.")
        if self.pair and kind.pairs is None:
            raise ConfigError(
                f"A {kind.family} reads one text and cannot compare two. Leave out --pair, or take --model bag or one "
                "that learns by gradient (cnn, lstm, bert)."
            )
        if self.join not in (None, "sequence") and kind.learner != "gradient":
            raise ConfigError(
                f"A {kind.family} reads two texts as one sequence: --join {self.join} is for models that learn by "
                "gradient (cnn, lstm, bert). Leave it out."
            )

    @final
    def joined(self, body: Body) -> str:
        """How this body is given two texts."""
        return self.join or ("sequence" if body.pairs == "together" else "attention")

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

    @abstractmethod
    def chances(self, logits: np.ndarray, temperature: float) -> np.ndarray:
        """What logits (N, answers) mean: probabilities, or the numbers themselves."""

    @final
    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        from chainrule.heads.base import HeadConfig
        from chainrule.heads.direct import Direct
        from chainrule.heads.paired import Paired, PairedConfig
        from chainrule.heads.pooled import Pooled, PooledConfig

        answers = self.answers_count(codecs)
        if isinstance(body, CountingReader):
            return Direct(HeadConfig(width=body.width, answers=answers))
        told: dict[str, Any] = {
            "pooling": self.pooling or body.pooling,
            "dropout": self.head_dropout,
            "layers": self.head_layers,
            "layer_units": self.head_units,
            "dense": self.dense,
            "sigmoid": self.one_unit(answers),
            "width": body.width,
            "answers": answers,
        }
        if not self.pair or self.joined(body) == "sequence":
            return Pooled.seeded(PooledConfig(**told), seed)
        if self.joined(body) == "attention":  # every place may have found something
            told |= {"pooling": self.pooling or "max", "units": min(UNITS, body.width)}
        return Paired.seeded(PairedConfig(**told, attention=self.joined(body) == "attention"), seed)

    @final
    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return self._batches(body, part, self.wanted(part, codecs), size.rows, size.seed)

    @final
    def _batches(self, body: Body, part: Part, wanted: Wanted, rows: int, seed: int = 0) -> WindowedBatches:
        """The texts of a part, or its pairs of texts, and what is asked of them."""
        given = (wanted.targets, rows, body.context, seed, wanted.extra)
        if not self.pair:
            return LabelledBatches(part[TEXT], *given)
        return PairBatches((part[TEXT], part[PAIR]), self.joined(body) == "sequence", *given)

    @final
    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    @final
    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        kinds = codecs[TEXT].letter_kinds()
        spelling = Spelling(*kinds) if kinds else None
        answers, weights = self.known_answers(part, codecs), self.weights(part, codecs)
        read = joined(part[TEXT], part[PAIR]) if self.pair else part[TEXT]
        return Examples(read.ids, answers, spelling, weights)

    @final
    def opinion(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        return self.chances(self.read_part(body, head, part), head.config.temperature)

    @final
    def ensemble_head(self, parts: Sequence[Mapping[str, Any]], codecs: Mapping[str, Codec]) -> Head:
        from chainrule.heads.ensemble import EnsembleConfig, EnsembleHead

        return EnsembleHead(EnsembleConfig(answers=self.answers_count(codecs), parts=tuple(parts)))

    @final
    def asked(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        """Logits (N, answers) of all examples, before any temperature, by one model or by several."""
        if isinstance(body, Ensemble):
            return self.averaged(body, head, part, codecs)
        return self.read_part(body, head, part)

    @final
    def read_part(self, body: Body, head: Head, part: Part) -> np.ndarray:
        """Logits (N, answers) of all examples, before any temperature; of a long one the mean over its windows."""
        texts = self._batches(body, part, Wanted(np.full(part.examples, PAD), {}), ROWS)
        found = np.zeros((part.examples, head.config.answers), np.float32)
        order = np.argsort(texts.window_sizes, kind="stable")
        for some in _together(order, texts.window_sizes, body.width):
            given = texts.at(some).tensors(body.device)
            with body.inference(given.tokens.numel()):
                head.eval()
                logits, _ = self.logits(body, head, given, body.start(len(some)))  # (B, answers)
            np.add.at(found, texts.of[some], _checked(logits, len(some), head.config.answers))
        found /= np.bincount(texts.of, minlength=len(found))[:, None]
        return found

    @final
    def logits(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        """Of every answer (B, answers), after reading tokens (B, T) and, of pairs, those of the second text."""
        assert head is not None
        if SECOND in batch.extra:
            return _compared(body, head, batch.tokens, batch.extra[SECOND]), state
        hidden, state = body.read(batch.tokens, state)  # (B, T, D)
        return head(hidden, batch.tokens != PAD), state

    @final
    def remarks(self, body: Body, part: Part) -> tuple[str, ...]:
        """What must be said of how texts were read."""
        sizes, what = part[TEXT].lengths + FRAME, "texts are"
        if self.pair and self.joined(body) == "sequence":
            sizes, what = sizes + part[PAIR].lengths + TOGETHER - FRAME, "pairs of texts are"
        elif self.pair:
            sizes, what = np.maximum(sizes, part[PAIR].lengths + FRAME), "pairs have a text that is"
        cut = int((sizes > body.context).sum()) if body.context else 0
        told = f"{cut:,} {what} longer than --context {body.context}: {WINDOWS}"
        return (told,) if cut else ()


def _together(order: np.ndarray, sizes: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """Texts, from short to long, as many at a time as are read side by side."""
    at = 0
    while at < len(order):
        longest = int(sizes[order[min(at + ROWS, len(order)) - 1]])
        count = max(1, min(ROWS, NUMBERS // max(1, longest * width)))
        yield order[at : at + count]
        at += count


def _checked(logits: Tensor, rows: int, answers: int) -> np.ndarray:
    """Logits (B, answers) of which the best of each row is a number."""
    found: np.ndarray = logits.float().cpu().numpy()
    if found.shape != (rows, answers):
        raise ModelError(f"Answers of shape {found.shape} came, and {(rows, answers)} was expected. {AGAIN}")
    if answers and not np.isfinite(found.max(1)).all():
        raise ModelError(f"The answer of this model to a text is no number. {AGAIN}")
    return found


def _compared(body: Body, head: Head, first: Tensor, second: Tensor) -> Tensor:
    """Logits (B, answers) of texts (B, T) and (B, S), all read by the same body."""
    import torch
    import torch.nn.functional as F

    longest = max(first.shape[1], second.shape[1])
    tokens = torch.cat([F.pad(one, (0, longest - one.shape[1]), value=PAD) for one in (first, second)])
    hidden, _ = body.read(tokens, body.start(len(tokens)))  # (2B, T, D)
    alike = tokens[:, :, None] == tokens.roll(len(first), 0)[:, None]  # (2B, T, T)
    same = (alike & (tokens >= FIRST)[:, :, None]).any(2)
    logits: Tensor = head(hidden, tokens != PAD, same.to(hidden.dtype))
    return logits
