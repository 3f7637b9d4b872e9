"""Translation: a sequence for a sequence, p(target | source), symbol by symbol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batch, Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.dataset import Prepared
from chainrule.data.encoder_inputs import EncoderInputs
from chainrule.data.paired import PairedBatches
from chainrule.data.roles import Role
from chainrule.data.rows import TARGET
from chainrule.errors import ConfigError, DataError
from chainrule.judge.score import Score, measure
from chainrule.models.base import Body, LanguageModel
from chainrule.models.readers import Parallel
from chainrule.models.state import State
from chainrule.symbols import BOS, EOS, PAD
from chainrule.tasks.base import BatchSize, Figures, Task, mean_loss, register
from chainrule.tasks.next import language_model_loss
from chainrule.tasks.supervised import Teaching

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

SOURCE = "source"
TOGETHER = 4096  # symbols scored side by side
SHOWN, LETTERS = 5, 30  # pairs that a filter names, and by how much of their targets


@register("translate")
@dataclass(frozen=True, kw_only=True)
class Translate(Teaching):
    """p(target | source), with teacher forcing; judged by perplexity, and by BLEU in `evaluate`."""

    predicts: ClassVar[str | None] = TARGET
    source: ClassVar[str | None] = SOURCE
    shown: ClassVar[tuple[str, ...]] = ("perplexity", "bits_per_symbol", "chrf", "unknown")
    default_model: ClassVar[str | None] = "transformer"
    figure: ClassVar[str] = "bleu"
    maximise: ClassVar[bool] = True
    most: ClassVar[float] = 100.0

    sources: tuple[str, ...] = option(
        (), "several columns to write from, each --sources NAME; --source question,image says the same"
    )
    shared_vocab: bool = option(
        True, "one vocabulary and one table of embeddings for both sides, where symbols are parts of words"
    )
    label_smoothing: float = option(
        0.1, "label smoothing: share of each target spread over all", low=0, high=0.9
    )
    length_ratio: float | None = option(
        None,
        "length-ratio filter: leave out of training the pairs one side of which has more than so many times as many "
        "symbols as the other, such as 3; not given: none",
        low=1.0,
        high=1e6,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.sources:
            if name == TARGET or not name.isidentifier() or self.sources.count(name) > 1:
                raise ConfigError(
                    f"--source {','.join(self.sources)}: {name!r} cannot be the name of one of several sources. Give "
                    f"each column a name of its own, of letters, digits and _, and not {TARGET!r}."
                )

    def roles(self) -> Sequence[Role]:
        first, *others = self.sources or (SOURCE,)
        target = Role(TARGET, shares=first if self.shared_vocab else None)
        return Role(first), *(Role(name, shares=first, alike=True) for name in others), target

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head | None:
        return None

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Parallel:
        """For families that learn from whole pairs of texts."""
        sources = EncoderInputs.of(part, TARGET).corpora
        if len(sources) > 1 or sources[0].vectors is not None or sources[0].bare:
            raise ConfigError(
                "This family reads one source, a text. Take a transformer or seq2seq for others."
            )
        sides = (sources[0], part[TARGET])
        words = [one.ids[(one.ids != BOS) & (one.ids != EOS)].astype(np.int64) for one in sides]
        ends = [np.concatenate([[0], np.cumsum(one.lengths)]) for one in sides]
        return Parallel(words[0], ends[0], words[1], ends[1])

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return PairedBatches(EncoderInputs.of(part, TARGET), part[TARGET], size.rows * size.length, size.seed)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        smoothing = self.label_smoothing if getattr(body, "training", False) else 0.0
        return language_model_loss(body, batch, state, smoothing)[1:]

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judge(self, body: Body, head: Head | None, part: Part, codecs: Mapping[str, Codec]) -> Figures:
        assert isinstance(body, LanguageModel)
        return Figures(scored(body, part).figures())


def cleaned(task: Task, prepared: Prepared) -> Prepared:
    """Without the pairs of the training part that the length-ratio filter leaves out, which is told."""
    ratio = task.length_ratio if isinstance(task, Translate) else None
    if ratio is None:
        return prepared
    part = prepared.train
    one, other = EncoderInputs.of(part, TARGET).lengths, part[TARGET].lengths
    kept = np.maximum(one, other) <= ratio * np.minimum(one, other)
    if not kept.any():
        raise DataError(
            f"--length-ratio {ratio:g} would leave out all {len(kept):,} pairs. Take a higher one: their sources and "
            f"targets have {np.median(one):.0f} and {np.median(other):.0f} symbols each."
        )
    left = np.flatnonzero(~kept)
    if not len(left):
        return prepared
    named = (f"{_beginning(prepared, row)} ({one[row]:,} and {other[row]:,} symbols)" for row in left[:SHOWN])
    note = (
        f"{len(left):,} of {len(kept):,} pairs to learn from were left out, one side longer than {ratio:g} times the "
        f"other: {', '.join(named)}{', …' if len(left) > SHOWN else ''}"
    )
    return replace(prepared, train=part.select(np.flatnonzero(kept)), remarks=(note,))


def _beginning(prepared: Prepared, row: int) -> str:
    """How the target of a pair to learn from begins, by which it is found in the data."""
    corpus = prepared.train[TARGET]
    start = corpus.starts[row] + 1
    text = prepared.codecs[TARGET].decode(corpus.ids[start : start + corpus.lengths[row]])
    return repr(text if len(text) <= LETTERS else f"{text[:LETTERS]}…")


def scored(model: LanguageModel, part: Part) -> Score:
    """How probable the targets of a part are, given their sources."""
    corpus = part[TARGET]
    batches = PairedBatches(EncoderInputs.of(part, TARGET), corpus, TOGETHER)
    total = Score(bytes=corpus.bytes, unknown=corpus.unknown)
    for number in range(len(batches)):
        batch = batches.batch(0, number)
        real = batch.targets != PAD
        total += measure(batch.targets[real], scores(model, batch)[real])
    return total


def scores(model: LanguageModel, batch: Batch) -> np.ndarray:
    """Natural log-probability (B, T) of each target, 0 where there is none."""
    given = batch.tensors(model.device)
    with model.inference(batch.tokens.size):
        found, _ = model.score(given.tokens, given.targets, model.start(len(batch), given.source))
    return found.float().cpu().numpy()
