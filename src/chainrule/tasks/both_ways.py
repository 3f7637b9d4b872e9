"""Bidirectional language modelling: predict the next symbol and the previous one, by two models side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.data.batches import LONGEST, Batch, Batches, Buckets, TensorBatch
from chainrule.data.corpus import Corpus, Part
from chainrule.data.roles import Role
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError
from chainrule.judge.score import Score
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.symbols import PAD
from chainrule.tasks.base import BatchSize, Figures, Task, mean_loss, register

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

ROWS, LENGTH = 64, 64  # judged side by side; a sequence of more than LONGEST times so many symbols is cut


@runtime_checkable
class TwoDirections(Protocol):
    """A body that is two language models, one for each direction."""

    def both_ways_loss(self, tokens: Tensor, smoothing: float = 0.0) -> Tensor:
        """Of whole rows (B, T)."""

    def both_ways_logs(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T - 1) each."""


@register("both-ways")
@dataclass(frozen=True, kw_only=True)
class BothWays(Task):
    """p(x_t | x_<t) and p(x_t | x_>t) for every symbol; both are true probabilities of sentences, judged apart."""

    predicts: ClassVar[str | None] = TEXT
    figure: ClassVar[str] = "forward_bits_per_symbol"
    shown: ClassVar[tuple[str, ...]] = (
        "forward_perplexity",
        "backward_perplexity",
        "forward_bits_per_symbol",
        "backward_bits_per_symbol",
        "unknown",
    )

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT),)

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        if not isinstance(body, TwoDirections):
            raise ConfigError(f"A {body.family} is no model of both directions. Use --model elmo.")
        return None

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return WholeRows(part[TEXT], size.rows * size.length, LONGEST * size.length, size.seed)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        """The sum of both directions, halved: nats per symbol as other models have them."""
        assert isinstance(body, TwoDirections)
        return body.both_ways_loss(batch.tokens, self.label_smoothing) / 2.0, state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        found = direction_scores(body, part[TEXT])
        named = {
            f"{name}_{figure}": getattr(score, figure)
            for figure in ("perplexity", "bits_per_symbol", "bits_per_byte")
            for name, score in found.items()
        }
        return Figures({**named, "symbols": part[TEXT].symbols, "unknown": part[TEXT].unknown})


def direction_scores(body: Body, corpus: Corpus) -> dict[str, Score]:
    """How probable all sequences are to the forward and to the backward model, each reading one side only."""
    assert isinstance(body, TwoDirections)
    rows = WholeRows(corpus, ROWS * LENGTH, LONGEST * LENGTH)
    totals = dict.fromkeys(("forward", "backward"), Score(bytes=corpus.bytes, unknown=corpus.unknown))
    for number in range(len(rows)):
        batch = rows.batch(0, number).tensors(body.device)
        with body.inference(batch.tokens.numel()):
            logs = body.both_ways_logs(batch.tokens)
        for name, one in zip(totals, logs, strict=True):
            found = float(one.double().sum()) / math.log(2.0)
            totals[name] += Score(log2prob=found, symbols=int((batch.targets != PAD).sum()))
    return totals


class WholeRows:
    """Sequences `BOS … EOS` of similar length side by side; the targets are what the forward direction predicts."""

    def __init__(self, corpus: Corpus, symbols: int, longest: int, seed: int = 0) -> None:
        self.buckets = Buckets(corpus, symbols, longest, seed)

    def __len__(self) -> int:
        return len(self.buckets)

    def batch(self, epoch: int, number: int) -> Batch:
        plain = self.buckets.batch(epoch, number)
        ends, rows = np.count_nonzero(plain.tokens != PAD, 1), np.arange(len(plain))
        tokens = np.concatenate([plain.tokens, np.full((len(plain), 1), PAD)], 1)
        tokens[rows, ends] = plain.targets[rows, ends - 1]
        return Batch(tokens, plain.targets)
