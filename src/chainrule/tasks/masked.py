"""Masked language modelling (Devlin et al. 2019): predict masked symbols, judged in nats per masked symbol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Corpus, Part
from chainrule.data.masked import FOLLOWS, Masking, masked_batches
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError, ModelError
from chainrule.judge.names import own_names
from chainrule.judge.score import Score, score_ids, subsample
from chainrule.models.base import Body, LanguageModel
from chainrule.models.state import State
from chainrule.symbols import UNK
from chainrule.tasks.base import BatchSize, Figures, Task, mean_loss, register
from chainrule.tasks.next import language_model_loss

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

SAMPLE = 16_384  # ids of a part that are judged: one symbol at a time takes long


@runtime_checkable
class ReadsPairs(Protocol):
    """A body that can tell whether the second sentence of a pair follows the first."""

    def next_sentence_logits(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, 2)."""


def _ids_judged(part: Part) -> int:
    """A sequence is read once for each of its symbols."""
    return min(SAMPLE, part.main.symbols) * part.main.symbols // max(1, part.main.sequences)


@register("masked")
@dataclass(frozen=True, kw_only=True)
class Masked(Task):
    """Some symbols are masked, and each is predicted from all that are not."""

    predicts: ClassVar[str | None] = TEXT
    figure: ClassVar[str] = "pseudo_bits_per_symbol"
    shown: ClassVar[tuple[str, ...]] = (
        "pseudo_perplexity",
        "pseudo_bits_per_symbol",
        "pseudo_bits_per_byte",
        "unknown",
    )
    judging = staticmethod(_ids_judged)
    mask_prob: float = option(0.15, "share of tokens masked while training", low=0.01, high=0.9)
    whole_words: bool = option(False, "whole-word masking: mask all sub-words of a word together")
    next_sentence: bool = option(False, "also learn next-sentence prediction (NSP)")

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT),)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        if body.reads != "both":
            raise ConfigError(f"A {body.family} reads left to right and cannot be masked. Use --model bert.")
        if self.next_sentence and not isinstance(body, ReadsPairs):
            raise ConfigError(f"A {body.family} has no head for --next-sentence. Use --model bert.")
        return None

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        assert body.context is not None
        begins = codecs[TEXT].begins() if self.whole_words else None
        masking = Masking(self.mask_prob, body.config.vocab_size, begins)
        longest = body.context - (3 if self.next_sentence else 1)
        return masked_batches(
            part[TEXT], size.rows * size.length, longest, masking, self.next_sentence, size.seed
        )

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        import torch.nn.functional as F

        hidden, total, state = language_model_loss(body, batch, state, self.label_smoothing)
        if FOLLOWS in batch.extra:
            assert isinstance(body, ReadsPairs)
            told = body.next_sentence_logits(hidden)  # (B, 2)
            total = total + F.cross_entropy(told, batch.extra[FOLLOWS], reduction="sum")
        return total, state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        """Pseudo-figures: every symbol masked in turn, of a large part those of a sample."""
        if not isinstance(body, LanguageModel):
            raise ModelError(f"A {body.family} predicts no symbols.")
        score, notes = _score(body, part[TEXT])
        return Figures(own_names(score.figures(), body), notes)


def _score(body: LanguageModel, corpus: Corpus) -> tuple[Score, tuple[str, ...]]:
    if len(corpus.ids) <= SAMPLE:
        return score_ids(body, corpus.ids, corpus.bytes, corpus.unknown), ()
    some = subsample(corpus.ids, SAMPLE)
    share = len(some) / len(corpus.ids)
    literal, drawn = (int(np.count_nonzero(ids == UNK)) for ids in (corpus.ids, some))
    unknown = round(corpus.unknown * drawn / max(1, literal))  # a literal `<unk>` of the data is not unknown
    note = f"pseudo-figures are of a sample: {len(some):,} of {len(corpus.ids):,} ids"
    return score_ids(body, some, round(share * corpus.bytes), unknown), (note,)
