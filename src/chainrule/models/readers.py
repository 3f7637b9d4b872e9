"""Readers made by counting: what every symbol says for every answer. Their hidden vectors are that, (B, T, answers).

The sum over a text is its score for each answer, so a head has nothing to learn, and one sees which symbol said what.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, final

import numpy as np

from chainrule.config import option
from chainrule.errors import ModelError
from chainrule.models.base import ArrayBody, CostForecast, ModelConfig
from chainrule.models.state import State, Unremembered
from chainrule.progress import Progress, no_progress
from chainrule.symbols import BOS, EOS, PAD

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class ReaderConfig(ModelConfig):
    """What every reader is told: how many answers there are."""

    answers: int = option(0, "how many answers there are", low=0, high=1 << 31, hidden=True)


@dataclass(frozen=True)
class Spelling:
    """What symbols are to a reader of words, by id: a model knows ids only."""

    kinds: np.ndarray  # (V,) int8, SPACE, LETTER or WORD
    folded: np.ndarray  # (V,) int32, the id of the same letter in lower case


SPACE, LETTER, WORD = range(3)  # separates words; is a part of one; is one by itself


def plain_spelling(vocab_size: int) -> Spelling:
    """Every symbol is a word."""
    kinds = np.full(vocab_size, WORD, np.int8)
    kinds[[PAD, BOS, EOS]] = SPACE
    return Spelling(kinds, np.arange(vocab_size, dtype=np.int32))


@dataclass(frozen=True)
class Examples:
    """Sequences and their answers."""

    ids: np.ndarray  # (positions,) flat sequences `BOS … EOS`; words alone where each is asked for
    # (sequences,) or (words,) from 0 on, -1 where it is none that is known; floats where numbers are asked for;
    # (sequences, K) where there may be several, -1 behind them
    answers: np.ndarray
    spelling: Spelling | None = None
    weights: np.ndarray | None = None  # (sequences,) how much each weighs; None: all the same

    @property
    def starts(self) -> np.ndarray:
        """(sequences,) where each sequence begins."""
        return np.flatnonzero(self.ids == BOS)

    @property
    def are_sets(self) -> bool:
        """Whether a sequence may have several answers, or none."""
        return self.answers.ndim == 2

    def having(self, answer: int) -> np.ndarray:
        """(sequences,) which of them have this answer."""
        found: np.ndarray = self.answers == answer
        return np.asarray(found.any(1)) if self.are_sets else found

    @property
    def are_numbers(self) -> bool:
        """Whether a number is asked for, standardised, not one of several answers."""
        return self.answers.dtype.kind == "f"


@dataclass(frozen=True)
class Parallel:
    """Pairs of sequences without BOS and EOS, one after another."""

    source: np.ndarray  # (words,)
    source_ends: np.ndarray  # (1 + pairs,) 0, then where each sequence ends
    target: np.ndarray  # (words,)
    target_ends: np.ndarray  # (1 + pairs,)

    @classmethod
    def of(cls, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Parallel:
        """From sequences one by one."""
        sides = [
            part
            for side in (sources, targets)
            for part in (np.concatenate([*side, np.empty(0, np.int64)]), np.cumsum([0, *map(len, side)]))
        ]
        return cls(*sides)

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.source_ends) - 1

    def pair(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """One of them."""
        first, second = self.source_ends[at : at + 2], self.target_ends[at : at + 2]
        return self.source[first[0] : first[1]], self.target[second[0] : second[1]]

    def first(self, links: int) -> Parallel:
        """As many of the first pairs as have about so many links between their words, at least one."""
        each = (np.diff(self.source_ends) + 1) * np.diff(self.target_ends)
        count = max(1, int(np.searchsorted(np.cumsum(each), links, "right")))
        ends = self.source_ends[: count + 1], self.target_ends[: count + 1]
        return Parallel(self.source[: ends[0][-1]], ends[0], self.target[: ends[1][-1]], ends[1])


class ArrayLearner(ArrayBody):
    """A body that learns by itself from what its task gives it, not in the trainer."""

    learner: ClassVar[Literal["count", "gradient"] | None] = "count"
    notes: tuple[str, ...] = ()  # what there is to say about how it was made

    @classmethod
    @abstractmethod
    def learn(cls, config: Any, given: Any, progress: Progress = no_progress, valid: Any = None) -> Self:
        """From the examples of a task; what is left open is chosen on the examples `valid`."""


class CountingReader(ArrayLearner):
    """A reader made by counting, without gradients."""

    task: ClassVar[str] = "classify"
    tasks: ClassVar[tuple[str, ...]] = ("classify",)  # what it can be made for
    reads: Literal["left", "both"] = "both"
    pairs: ClassVar[Literal["apart", "together"] | None] = "together"
    Config: ClassVar[type[ModelConfig]] = ReaderConfig
    config: ReaderConfig

    @abstractmethod
    def evidence(self, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """What each symbol of flat sequences says for each answer (positions, answers); sequences begin at `starts`."""

    @final
    def start(self, batch: int, source: Any = None) -> Unremembered:
        import torch

        if source is not None:
            raise ModelError(f"The family {self.family!r} reads no source. Leave it out.")
        return Unremembered(torch.empty(batch, 0))

    @final
    def read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Evidence (B, T, answers); 0 where there is padding."""
        import torch

        ids = tokens.numpy()
        real = ids != PAD
        found = np.zeros((*ids.shape, self.width), np.float32)
        lengths = real.sum(1)
        starts = (np.cumsum(lengths) - lengths)[lengths > 0]
        if len(starts):
            found[real] = self.evidence(ids[real].astype(np.int32), starts)
        return torch.from_numpy(found), state

    @final
    @classmethod
    def cost_forecasts(
        cls, sample: np.ndarray, vocab_size: int, symbols: int, seconds: float | None = None
    ) -> Mapping[str, CostForecast]:
        """About what a bag of n-grams takes; the others take less."""
        return {cls.family: CostForecast(200_000_000 + 60 * symbols, 1.0 + 2e-6 * symbols)}


def log_odds(given: Examples, count: int) -> np.ndarray:
    """(answers,) log-odds that a sequence has an answer, where it may have several; none of them is certain."""
    having = np.bincount(given.answers[given.answers >= 0], minlength=count) + 1.0
    found: np.ndarray = np.log(having) - np.log(len(given.answers) + 2.0 - having)
    return found


def log_priors(answers: np.ndarray, count: int) -> np.ndarray:
    """(answers,) log-probabilities of the answers by how often they were given, none of them impossible."""
    counts = np.bincount(answers[answers >= 0], minlength=count) + 1.0
    found: np.ndarray = np.log(counts / counts.sum())
    return found
