"""Extractive question answering: the part of a passage that answers a question, or that there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from chainrule.codecs.base import Codec
from chainrule.config import option
from chainrule.data.batches import Batches, TensorBatch
from chainrule.data.corpus import Part
from chainrule.data.passages import NULL, Aligned, PassageBatches, Reading, reading
from chainrule.data.roles import Role
from chainrule.data.squad import ANSWER, PASSAGE, QUESTION
from chainrule.judge.judged import Cell, Judged, Share, Table
from chainrule.judge.spans import Spans, best_threshold, compared
from chainrule.models.base import Body
from chainrule.models.state import State
from chainrule.tasks.base import BatchSize, mean_loss, register
from chainrule.tasks.supervised import Answer, Supervised

if TYPE_CHECKING:
    from torch import Tensor

    from chainrule.heads.base import Head

MOST = 1024  # symbols of a window, also for bodies that could hold more
TOGETHER = 1 << 14  # symbols read side by side
CHOICES = 20  # spans that are kept of each example, as the official scripts do
SHOWN = 5  # of them, to a person who asked about one
HEATS = np.exp(np.linspace(np.log(0.05), np.log(20.0), 121))  # temperatures that are tried
LEAST = 1e-15
WORDLESS = 1e6


@dataclass(frozen=True)
class Choice:
    """A part of the passage, or none: an empty text."""

    text: str
    start: int | None  # the character of the passage it begins with
    probability: float


@dataclass(frozen=True)
class Found(Answer):
    """The answer to a question, and others that were near, the best first."""

    choices: tuple[Choice, ...]
    more: bool = False  # scripts asked for others, too

    @property
    def answer(self) -> str:
        """The text of the best; empty where there is no answer."""
        return self.choices[0].text

    @property
    def probability(self) -> float:
        """Of the best."""
        return self.choices[0].probability

    def to_dict(self) -> dict[str, Any]:
        best = {"answer": self.answer, "start": self.choices[0].start, "probability": self.probability}
        others = [
            {"answer": one.text, "start": one.start, "probability": one.probability} for one in self.choices
        ]
        return best | ({"choices": others} if self.more else {})

    def line(self) -> str:
        return f"{' '.join(self.answer.split())}\t{self.probability:.4f}"

    def table(self) -> Table:
        rows: list[list[Cell]] = [
            [one.text or "(no answer)", Share(one.probability)] for one in self.choices[:SHOWN]
        ]
        return Table(["answer", "probability"], rows)


@dataclass(frozen=True)
class Scored:
    """What a model says of one question: the best spans of its passage, and what no answer scores."""

    spans: np.ndarray  # (K, 2) first and last word, best first
    scores: np.ndarray  # (K,)
    nothing: float

    @property
    def margin(self) -> float:
        """How much more no answer scores than the best one; of a passage without words very much."""
        return self.nothing - float(self.scores[0]) if len(self.scores) else WORDLESS

    def chances(self, temperature: float, threshold: float) -> np.ndarray:
        """Probabilities (K + 1,) of the spans and, last, of no answer."""
        scaled = np.append(self.scores, self.nothing - threshold).astype(np.float64) / temperature
        raised = np.exp(scaled - scaled.max())
        found: np.ndarray = raised / raised.sum()
        return found


@register("span")
@dataclass(frozen=True, kw_only=True)
class Span(Supervised):
    """p(begin, end | question, passage), judged by exact match and F1."""

    answers_role: ClassVar[str] = ANSWER
    shown: ClassVar[tuple[str, ...]] = ("exact_match", "f1")
    blank: ClassVar[Mapping[str, Any]] = {"answer": None, "start": None, "probability": None}
    figure: ClassVar[str] = "f1"
    maximise: ClassVar[bool] = True
    default_model: ClassVar[str | None] = "lstm"

    head_units: int = option(128, "units of the layers of the head", low=1, high=1 << 16)
    head_dropout: float = option(
        0.2, "dropout of hidden vectors under the head while training", low=0.0, high=0.99
    )
    longest: int = option(30, "words of an answer, at most", low=1, high=100_000)

    def roles(self) -> Sequence[Role]:
        return (Role(QUESTION), Role(PASSAGE, codec="bytes"), Role(ANSWER, codec="bytes"))

    def head(self, body: Body, codecs: Mapping[str, Codec], seed: int) -> Head:
        from chainrule.heads.span import SpanConfig, SpanHead

        config = SpanConfig(width=body.width, answers=2, units=self.head_units, dropout=self.head_dropout)
        return SpanHead.seeded(config, seed)

    def batches(self, body: Body, part: Part, codecs: Mapping[str, Codec], size: BatchSize) -> Batches:
        return PassageBatches(Aligned(part, codecs[QUESTION]), size.rows, held(body), size.seed)

    def loss(self, body: Body, head: Head | None, batch: TensorBatch, state: State) -> tuple[Tensor, State]:
        logits, state = self._logits(body, head, batch, state)  # (B, 1 + T, 2)
        logs = logits.log_softmax(1)
        wanted = (batch.targets - NULL)[:, None]  # (B, 1, 2)
        loss = -logs.gather(1, wanted).sum()
        if not self.label_smoothing:
            return loss, state
        allowed = logs > 0.5 * _never(logs)
        even = -(logs * allowed).sum(1) / allowed.sum(1)  # (B, 2)
        return (1 - self.label_smoothing) * loss + self.label_smoothing * even.sum(), state

    def validate(self, body: Body, head: Head | None, part: Part, batches: Batches, most: int) -> float:
        return mean_loss(self, body, head, batches, most)

    def judged(self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec]) -> Judged:
        aligned = Aligned(part, codecs[QUESTION])
        found = self._found(body, head, aligned, 1)
        right = [[text for text, _ in one] for one in aligned.answers]
        return Spans.of([one.answer for one in found], right, *_remarks(body, aligned))

    def calibrated(self, body: Body, head: Head, part: Part | None, codecs: Mapping[str, Codec]) -> Head:
        from chainrule.heads.span import NEVER

        if part is None:
            return head
        aligned = Aligned(part, codecs[QUESTION])
        scored = list(self.read(body, head, aligned))
        right = [[text for text, _ in one] for one in aligned.answers]
        texts = [
            aligned.passages[row].between(*one.spans[0]) if len(one.spans) else ""
            for row, one in enumerate(scored)
        ]
        worth = np.array([compared(*one) for one in zip(texts, right, strict=True)])  # (N, 2)
        empty = np.array([not one for one in right], np.float64)
        margins = np.array([one.margin for one in scored])
        threshold = best_threshold(margins, worth[:, 1], empty) if empty.any() else NEVER
        exact = np.where(margins > threshold, empty, worth[:, 0])
        return head.calibrated(temperature=_temperature(scored, exact, threshold), threshold=threshold)

    def answers(
        self, body: Body, head: Head, part: Part, codecs: Mapping[str, Codec], top: int | None = None
    ) -> Sequence[Found]:
        return self._found(body, head, Aligned(part, codecs[QUESTION]), top)

    def examples(self, part: Part, codecs: Mapping[str, Codec]) -> Aligned:
        return Aligned(part, codecs[QUESTION])

    def _found(self, body: Body, head: Head, aligned: Aligned, top: int | None) -> list[Found]:
        return [
            self._choices(aligned, row, one, head.config, top)
            for row, one in enumerate(self.read(body, head, aligned))
        ]

    def _choices(self, aligned: Aligned, row: int, one: Scored, config: Any, top: int | None) -> Found:
        chances, passage = one.chances(config.temperature, config.threshold), aligned.passages[row]
        spans = [
            Choice(passage.between(first, last), int(passage.starts[first]), chance)
            for (first, last), chance in zip(one.spans.tolist(), chances.tolist(), strict=False)
        ]
        every = [*spans, Choice("", None, float(chances[-1]))]
        best = sorted(every, key=lambda choice: -choice.probability)  # in their order where equal
        return Found(tuple(best[: top or CHOICES + 1]), top is not None)

    def read(self, body: Body, head: Head, aligned: Aligned) -> Iterator[Scored]:
        """What is said of every example, in order."""
        waiting: list[tuple[tuple[int, int], np.ndarray, np.ndarray, float]] = []
        for some in self._together(aligned, held(body)):
            for (row, window), found in zip(some, self._read(body, head, aligned, some), strict=True):
                waiting.append((window, *found))
                if window[1] == len(aligned.passages[row].starts):
                    yield _scored(waiting, self.longest)
                    waiting = []

    def _together(self, aligned: Aligned, context: int) -> Iterator[list[tuple[int, tuple[int, int]]]]:
        """The windows of all examples, in order, as many at a time as are well read side by side."""
        some: list[tuple[int, tuple[int, int]]] = []
        longest = 0
        for row in range(len(aligned)):
            for window in aligned.windows(row, context):
                size = len(aligned.tokens(row, window, context))
                if some and max(longest, size) * (len(some) + 1) > TOGETHER:
                    yield some
                    some, longest = [], 0
                some, longest = [*some, (row, window)], max(longest, size)
        if some:
            yield some

    def _read(
        self, body: Body, head: Head, aligned: Aligned, some: Sequence[tuple[int, tuple[int, int]]]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Of some windows: logits of their words as the beginning and as the end, and of no answer."""
        rows, windows = [row for row, _ in some], [window for _, window in some]
        read = reading(aligned, rows, windows, held(body))
        logits = self._numbers(body, head, read)  # (B, 1 + T, 2)
        for row, opens, closes in zip(logits, read.opens, read.closes, strict=True):
            yield row[1:, 0][opens], row[1:, 1][closes], float(row[0].sum())

    def _numbers(self, body: Body, head: Head, read: Reading) -> np.ndarray:
        from chainrule.data.batches import Batch

        batch = Batch(read.tokens, read.tokens, extra=read.extra).tensors(body.device)
        with body.inference(read.tokens.size):
            head.eval()
            logits, _ = self._logits(body, head, batch, body.start(len(read.tokens)))
        found: np.ndarray = logits.float().cpu().numpy()
        return found

    def _logits(
        self, body: Body, head: Head | None, batch: TensorBatch, state: State
    ) -> tuple[Tensor, State]:
        """(B, 1 + T, 2) of beginning and end, first for no answer; the least there is where neither may be."""
        import torch

        assert head is not None
        hidden, state = body.read(batch.tokens, state)  # (B, T, D)
        logits = head(hidden, batch.extra["passage"], batch.extra["same"].to(hidden.dtype))
        allowed = torch.stack([batch.extra["opens"], batch.extra["closes"]], 2)  # (B, T, 2)
        allowed = torch.cat([torch.ones_like(allowed[:, :1]), allowed], 1)
        return logits.masked_fill(~allowed, _never(logits)), state


def _never(logits: Tensor) -> float:
    """A logit that no exponential function sees."""
    import torch

    return float(torch.finfo(logits.dtype).min) / 4


def _scored(windows: Sequence[tuple[tuple[int, int], np.ndarray, np.ndarray, float]], longest: int) -> Scored:
    """The best spans over the windows of one passage; there is no answer only if no window has one."""
    found: dict[tuple[int, int], float] = {}
    for (first, _), begin, end, _ in (one for one in windows if len(one[1])):
        sums = _sums(begin, end, longest)  # (words, longest)
        best = np.argsort(-sums, axis=None, kind="stable")[:CHOICES]
        for at in best[np.isfinite(sums.ravel()[best])].tolist():
            start, length = divmod(at, sums.shape[1])
            span = (first + start, first + start + length)
            found[span] = max(found.get(span, -np.inf), float(sums[start, length]))
    ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))[:CHOICES]
    spans = np.array([one for one, _ in ranked], np.int64).reshape(-1, 2)
    scores = np.array([score for _, score in ranked], np.float64)
    return Scored(spans, scores, min(one[3] for one in windows))


def _sums(begin: np.ndarray, end: np.ndarray, longest: int) -> np.ndarray:
    """begin[i] + end[i + length] (words, longest); -inf behind the last word."""
    longest = min(longest, len(end))
    behind = np.concatenate([end, np.full(longest - 1, -np.inf, end.dtype)])
    found: np.ndarray = begin[:, None] + np.lib.stride_tricks.sliding_window_view(behind, longest)
    return found


def _temperature(scored: Sequence[Scored], right: np.ndarray, threshold: float) -> float:
    """With which the probability of the answer given is nearest to how often it is right (N,), by log-loss.

    One example more of either kind is thought of (Platt 1999): few examples are no reason to be sure for ever.
    """
    good, bad = right.sum(), (1 - right).sum()
    wanted = np.where(right > 0, (good + 1) / (good + 2), 1 / (bad + 2))  # (N,) never 0 and never 1
    losses = []
    for heat in HEATS:
        sure = np.array([one.chances(heat, threshold).max() for one in scored]).clip(LEAST, 1 - 1e-12)
        losses.append(-(wanted * np.log(sure) + (1 - wanted) * np.log1p(-sure)).sum())
    return float(HEATS[int(np.argmin(losses))])


def _remarks(body: Body, aligned: Aligned) -> tuple[str, ...]:
    """What must be said of how passages were read."""
    context = held(body)
    cut = sum(len(aligned.windows(row, context)) > 1 for row in range(len(aligned)))
    told = (
        f"{cut:,} passages are longer than a window of {context:,} symbols: they are read in overlapping ones, "
        "and the best answer of all counts"
    )
    return (told,) if cut else ()


def held(body: Body) -> int:
    """How many symbols of question and passage are read at once."""
    return min(body.context or MOST, MOST)
