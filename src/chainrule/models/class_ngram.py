"""The family `class-ngram`: an n-gram for every answer, and Bayes' rule; counted in seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.config import option
from chainrule.models.base import ModelConfig
from chainrule.models.class_lm import ClassModel, member_config, some
from chainrule.models.ngram.family import Ngram, NgramConfig
from chainrule.models.readers import Examples, log_priors
from chainrule.models.registry import register
from chainrule.progress import Progress, no_progress
from chainrule.symbols import BOS, EOS, FIRST

TRIED = (1, 2, 3, 5)  # orders, if none is given


@dataclass(frozen=True, kw_only=True)
class ClassNgramConfig(NgramConfig):
    """Settings of the n-grams; all have the same."""

    answers: int = option(0, "how many answers there are", low=0, high=1 << 31, hidden=True)
    order: int = option(
        0,
        "order n of the n-grams, 1 to 9; 0: the most accurate on the validation part",
        low=0,
        high=9,
        chosen=True,
    )


@register("class-ngram")
class ClassNgram(ClassModel):
    """All n-grams have the same order."""

    member: ClassVar[str] = "ngram"
    Config: ClassVar[type[ModelConfig]] = ClassNgramConfig
    config: ClassNgramConfig  # type: ignore[assignment]

    @classmethod
    def learn(
        cls, config: Any, given: Examples, progress: Progress = no_progress, valid: Examples | None = None
    ) -> Self:
        if config.order:
            return cls._counted(config, given, progress)
        if valid is None:
            return cls._counted(replace(config, order=TRIED[-2]), given, progress)
        made = [cls._counted(replace(config, order=order), given, progress) for order in TRIED]
        best = max(made, key=lambda one: one._accuracy(valid))
        best.notes = (f"order {best.config.order}: the most accurate of {', '.join(map(str, TRIED))}",)
        return best

    @classmethod
    def _counted(cls, config: ClassNgramConfig, given: Examples, progress: Progress) -> Self:
        of = np.repeat(given.answers, np.diff(given.starts, append=len(given.ids)))  # (positions,)
        models, inner = [], member_config(config, NgramConfig)
        with progress("counting", config.answers, "answers") as step:
            for answer in range(config.answers):
                models.append(Ngram.learn(inner, some(given.ids[of == answer])))
                step(1)
        return cls(config, models, log_priors(given.answers, config.answers).astype(np.float32))

    def _accuracy(self, valid: Examples) -> float:
        sums = np.add.reduceat(self.evidence(valid.ids, valid.starts), valid.starts)  # (sequences, answers)
        return float((sums.argmax(1) == valid.answers).mean())

    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        rng = np.random.default_rng(seed)
        ids = np.array([[BOS, *rng.integers(FIRST, 9, 5), EOS] for _ in range(12)], np.int32)
        config = ClassNgramConfig(vocab_size=9, answers=3, order=2)
        return cls.learn(config, Examples(ids.ravel(), np.arange(12) % 3))
