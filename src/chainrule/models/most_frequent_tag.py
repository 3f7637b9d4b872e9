"""The family `most-frequent-tag`: of every word the tag it had most often. What every tagger must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.models.readers import CountingReader, Examples, ReaderConfig
from chainrule.models.registry import register
from chainrule.progress import Progress, no_progress
from chainrule.symbols import FIRST, UNK

RARE = 1  # an unknown word is most like those that were seen so often
WEIGHT = 0.5  # how many times a word is thought to have been seen as an unknown one


@register("most-frequent-tag")
class MostFrequentTag(CountingReader):
    """log p(tag | word), whatever stands beside it; of unknown words that of words seen once."""

    task: ClassVar[str] = "tag"
    tasks: ClassVar[tuple[str, ...]] = ("tag",)

    def __init__(self, config: ReaderConfig, logs: np.ndarray) -> None:
        self.config, self.logs, self.width = config, logs, logs.shape[1]  # (V, tags)

    @classmethod
    def learn(
        cls, config: Any, given: Examples, progress: Progress = no_progress, valid: Examples | None = None
    ) -> Self:
        known = given.answers >= 0
        words = np.where(given.ids < config.vocab_size, given.ids, UNK)[known]
        counts = np.zeros((config.vocab_size, config.answers))
        np.add.at(counts, (words, given.answers[known]), 1)
        rare = counts[counts.sum(1) <= RARE].sum(0) + counts.sum(0) / max(1.0, counts.sum())
        unknown = (rare + WEIGHT / config.answers) / (rare.sum() + WEIGHT)
        counts += WEIGHT * unknown
        return cls(config, np.log(counts / counts.sum(1, keepdims=True)).astype(np.float32))

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        rng = np.random.default_rng(seed)
        given = Examples(rng.integers(FIRST, 9, 40), rng.integers(0, 3, 40))
        return cls.learn(replace(ReaderConfig(vocab_size=9), answers=3), given)

    def evidence(self, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.logs[np.where(ids < len(self.logs), ids, UNK)]
        return found

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"logs": self.logs}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        return cls(config, np.array(arrays["logs"]))
