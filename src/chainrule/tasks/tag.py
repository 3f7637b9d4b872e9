"""Tagging (sequence labelling): a tag for every word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from chainrule.chunks import legal
from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.roles import Role
from chainrule.data.rows import LABEL, TEXT
from chainrule.data.tagged import WORDS
from chainrule.data.words import PLACES, TagBatches, WordPlaces
from chainrule.judge.classes import best_temperature, least
from chainrule.judge.judged import Cell, Judged, Share, Table
from chainrule.judge.tags import Answers, Tagged
from chainrule.models.base import Body
from chainrule.models.ensemble import Ensemble
from chainrule.models.mix import best_weights
from chainrule.models.readers import CountingReader, Examples
from chainrule.models.state import State
from chainrule.symbols import FIRST, PAD, UNK
from chainrule.tasks.base import BatchSize, mean_loss, register
from chainrule.tasks.classify import all_labels, names
from chainrule.tasks.ensemble import Averaged, probable
from chainrule.tasks.supervised import Answer

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.tag import TagHead

SYMBOLS = 1 << 13  # read side by side
LEAST = 1e-15
COLD, HOT = np.log(0.1), np.log(10.0)  # between these a temperature is looked for


@dataclass(frozen=True)
class Tags(Answer):
    """The tags of a sentence: one for every word."""

    tokens: Sequence[str]
    tags: Sequence[str]
    chances: Sequence[float]  # of each of them
    choices: Sequence[Mapping[str, float]] | None = None  # of every word the most probable tags, if asked for

    def to_dict(self) -> dict[str, Any]:
        found = {"tokens": list(self.tokens), "tags": list(self.tags), "probabilities": list(self.chances)}
        return found | ({} if self.choices is None else {"choices": [dict(one) for one in self.choices]})

    def line(self) -> str:
        return " ".join(f"{word}/{tag}" for word, tag in zip(self.tokens, self.tags, strict=True))

    def table(self) -> Table:
        rows: list[list[Cell]] = [
            [word, tag, Share(chance)]
            for word, tag, chance in zip(self.tokens, self.tags, self.chances, strict=True)
        ]
        return Table(["word", "tag", "probability"], rows)


@register("tag")
@dataclass(frozen=True, kw_only=True)
class Tag(Averaged):
    """p(tag of word i | the whole sentence), word by word or as a chain, judged by accuracy and F1 of chunks."""

    made: ClassVar[tuple[str, ...]] = (WORDS,)
    shown: ClassVar[tuple[str, ...]] = ("accuracy", "f1", "log_loss", "unknown_accuracy")
    blank: ClassVar[Mapping[str, Any]] = {"tokens": [], "tags": [], "probabilities": []}
    figure: ClassVar[str] = "f1"
    maximise: ClassVar[bool] = True
    default_model: ClassVar[str] = "lstm"
    suits: ClassVar[Mapping[str, Any]] = {"letters": "cnn"}

    answers_count = staticmethod(all_labels)

    crf: bool = option(False, "conditional random field (CRF): learn which tag follows which")
    head_dropout: float = option(
        0.3, "dropout of hidden vectors under the head while training", low=0.0, high=0.99
    )
    head_layers: int = option(
        0,
        "bidirectional LSTM layers between the body and the tags, as above a frozen ELMo; 0: none",
        low=0,
        high=64,
    )
    head_units: int = option(128, "units of such a layer, in each direction", low=1, high=1 << 16)

    def roles(self) -> Sequence[Role]:
        return (Role(TEXT, otherwise="words"), Role(WORDS, codec="bytes"), Role(LABEL, codec="tags"))

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> TagHead:
        from chainrule.heads.tag import TagConfig, TagHead

        counted = isinstance(body, CountingReader)
        config = TagConfig(
            width=body.width,
            answers=all_labels(codecs),
            crf=self.crf and not counted,
            dropout=self.head_dropout,
            layers=0 if counted else self.head_layers,
            layer_units=self.head_units,
            direct=counted,
        )
        return TagHead.seeded(config, seed).ruled(legal(names(codecs)))

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return TagBatches(WordPlaces(part, codecs[TEXT]), size.rows, body.context, size.seed)

    def loss(self, body: Body, head: Any, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        logits, state = self.logits(body, head, batch, state)
        real = (batch.extra[PLACES] > 0) & (batch.targets != PAD).any(1, keepdim=True)
        return head.loss(logits, batch.targets - FIRST, real, self.label_smoothing), state

    def logits(self, body: Body, head: Any, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        """Of every tag of the words of a batch (B, W, tags)."""
        import torch

        hidden, state = body.read(batch.tokens, state)  # (B, T, D)
        places = batch.extra[PLACES]  # (B, W)
        rows = torch.arange(len(places), device=places.device)[:, None]
        return head(hidden[rows, places], places > 0), state

    def validate(self, body: Body, head: Any, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judged(self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        words = WordPlaces(part, codecs[TEXT])
        logits, right = self.asked(body, head, part, codecs, words), np.maximum(words.tags - FIRST, -1)
        chances = head.probabilities(logits, words.starts, head.config.temperature)
        own = np.where(right >= 0, chances[np.arange(len(right)), right], 0.0)
        known = (words.ids != UNK) & (words.ids < body.config.vocab_size)
        predicted = head.decoded(logits, words.starts)
        answers = Answers(predicted, right, words.starts, known, own, names(codecs))
        return Tagged.of(answers, *remarks(body, words))

    def calibrated(self, body: Body, head: Any, part: Part | None, codecs: Mapping[str, Codec]) -> TagHead:
        if part is None:
            return head  # type: ignore[no-any-return]
        words = WordPlaces(part, codecs[TEXT])
        logits, right = self.asked(body, head, part, codecs, words), np.maximum(words.tags - FIRST, -1)
        if not head.chained:
            return head.calibrated(best_temperature(logits, right))  # type: ignore[no-any-return]
        known = np.flatnonzero(right >= 0)
        if not len(known):
            return head  # type: ignore[no-any-return]

        def loss(heat: float) -> float:
            chances = head.probabilities(logits, words.starts, float(np.exp(heat)))
            return _surprise(chances[known], right[known])

        return head.calibrated(float(np.exp(least(loss, COLD, HOT, 20))))  # type: ignore[no-any-return]

    def answers(
        self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Tags]:
        words, tags = WordPlaces(part, codecs[TEXT]), names(codecs)
        logits = self.asked(body, head, part, codecs, words)
        chances = head.probabilities(logits, words.starts, head.config.temperature)
        found = head.decoded(logits, words.starts)
        sure = chances[np.arange(len(found)), found].tolist()
        named, choices = [tags[one] for one in found.tolist()], _choices(chances, tags, top)
        bounds = zip(words.starts[:-1].tolist(), words.starts[1:].tolist(), strict=True)
        return [
            Tags(tokens, named[begin:end], sure[begin:end], choices and choices[begin:end])
            for tokens, (begin, end) in zip(words.sentences, bounds, strict=True)
        ]

    def opinion(self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec]) -> np.ndarray:
        words = WordPlaces(part, codecs[TEXT])
        found: np.ndarray = head.probabilities(
            self.read(body, head, words), words.starts, head.config.temperature
        )
        return found

    def as_logits(self, opinion: np.ndarray) -> np.ndarray:
        return probable(opinion)

    def trust(
        self, opinions: Sequence[np.ndarray], part: Part, codecs: Mapping[str, Codec]
    ) -> tuple[float, ...]:
        right = np.maximum(WordPlaces(part, codecs[TEXT]).tags - FIRST, -1)
        known = np.flatnonzero(right >= 0)
        return best_weights([probable(one[known, right[known]]) for one in opinions])

    def ensemble_head(self, parts: Sequence[Mapping[str, Any]], codecs: Mapping[str, Codec]) -> TagHead:
        from chainrule.heads.ensemble import EnsembleTagConfig, EnsembleTagHead

        config = EnsembleTagConfig(answers=all_labels(codecs), direct=True, averaged=True, parts=tuple(parts))
        return EnsembleTagHead(config).ruled(legal(names(codecs)))

    def asked(
        self, body: Body, head: Any, part: Part, codecs: Mapping[str, Codec], words: WordPlaces
    ) -> np.ndarray:
        """Logits (words, tags) of all words of a part, before any temperature, by one model or by several."""
        if isinstance(body, Ensemble):
            return self.averaged(body, head, part, codecs)
        return self.read(body, head, words)

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Examples:
        words = WordPlaces(part, codecs[TEXT])
        return Examples(words.ids, np.maximum(words.tags - FIRST, -1))

    def read(self, body: Body, head: Any, words: WordPlaces) -> np.ndarray:
        """Logits (words, tags) of all words, before any temperature; the mean where windows overlap."""
        texts = TagBatches(words, 1, body.context)
        found = np.zeros((len(words.places), head.config.answers), np.float32)
        times = np.zeros(len(found), np.int64)
        for some in _together(texts.windows.sizes):
            which, _ = texts.inside(some)  # (B, W)
            given = texts.at(some).tensors(body.device)
            with body.inference(given.tokens.numel()):
                head.eval()
                logits, _ = self.logits(body, head, given, body.start(len(some)))  # (B, W, tags)
            own = which >= 0
            np.add.at(found, which[own], logits.float().cpu().numpy()[own])
            np.add.at(times, which[own], 1)
        found /= np.maximum(times, 1)[:, None]
        return found


def _together(sizes: np.ndarray) -> Iterator[np.ndarray]:
    """Windows of similar size, as many at a time as are well read side by side."""
    order = np.argsort(sizes, kind="stable")
    at = 0
    while at < len(order):
        count = max(1, SYMBOLS // int(sizes[order[at]]))
        count = max(1, SYMBOLS // int(sizes[order[min(at + count, len(order)) - 1]]))
        yield order[at : at + count]
        at += count


def _surprise(chances: np.ndarray, right: np.ndarray) -> float:
    """Nats of the right tags, some wrong ones thought of beside them (Platt 1999), as `best_temperature` does."""
    logs = np.log(np.maximum(chances, LEAST))  # (N, tags)
    count, tags = logs.shape
    share = (count + 1.0) / (count + tags)
    own = logs[np.arange(count), right]
    return -float((share * own + (1.0 - share) * (logs.sum(1) - own) / max(1, tags - 1)).mean())


def _choices(chances: np.ndarray, tags: Sequence[str], top: int | None) -> list[dict[str, float]] | None:
    """Of every word the `top` most probable tags, best first."""
    if top is None:
        return None
    best = np.argsort(-chances, axis=1, kind="stable")[:, :top]
    return [
        {tags[one]: float(row[one]) for one in own} for row, own in zip(chances, best.tolist(), strict=True)
    ]


def remarks(body: Body, words: WordPlaces) -> tuple[str, ...]:
    """What must be said of how sentences were read."""
    cut = int((words.lengths + 2 > body.context).sum()) if body.context else 0
    told = (
        f"{cut:,} sentences are longer than --context {body.context}: they are read in overlapping windows, and where "
        "these overlap the mean of their logits counts"
    )
    return (told,) if cut else ()
