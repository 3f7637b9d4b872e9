"""The family `majority`: always the most frequent answer, of numbers the mean. What every reader must beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.errors import ModelError
from chainrule.models.readers import CountingReader, Examples, ReaderConfig, log_odds, log_priors
from chainrule.models.registry import register
from chainrule.progress import Progress, no_progress


@register("majority")
class Majority(CountingReader):
    """log p(answer), whatever is read."""

    tasks: ClassVar[tuple[str, ...]] = ("classify", "multi-label", "regress")

    def __init__(self, config: ReaderConfig, priors: np.ndarray) -> None:
        self.config, self.priors, self.width = config, priors, len(priors)

    @classmethod
    def learn(
        cls, config: Any, given: Examples, progress: Progress = no_progress, valid: Examples | None = None
    ) -> Self:
        if given.are_numbers:
            return cls(config, given.answers.mean(keepdims=True).astype(np.float32))
        known = (
            log_odds(given, config.answers) if given.are_sets else log_priors(given.answers, config.answers)
        )
        return cls(config, known.astype(np.float32))

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        answers = np.random.default_rng(seed).integers(0, 3, 9)
        return cls.learn(
            replace(ReaderConfig(vocab_size=9), answers=3), Examples(np.empty(0, np.int32), answers)
        )

    def evidence(self, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """All of it at the beginning."""
        found = np.zeros((len(ids), self.width), np.float32)
        found[starts] = self.priors
        return found

    def arrays(self) -> Mapping[str, np.ndarray]:
        return {"priors": self.priors}

    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        priors = np.array(arrays["priors"])
        if priors.ndim != 1:
            raise ModelError(
                f"There are priors of shape {priors.shape}, and one for each answer is expected."
            )
        return cls(config, priors)
