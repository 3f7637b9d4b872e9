"""Families `class-…`: a language model for every answer, and Bayes' rule: argmax p(c) p(x | c).

Language identification, authorship, spam: whatever can be told by how it is written. `class-` stands before the name of
any family of language models; all models of one have the same settings and read the same symbols.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import make_dataclass
from functools import cache
from typing import Any, ClassVar, Literal, Self, final

import numpy as np

from chainrule.config import option
from chainrule.errors import ConfigError, ModelError, suggest
from chainrule.models.base import LanguageModel, ModelConfig
from chainrule.models.readers import CountingReader, Examples
from chainrule.models.registry import CLASS, families, family
from chainrule.progress import Progress, no_progress
from chainrule.symbols import BOS, EOS

ANSWERS = option(0, "how many answers there are", low=0, high=1 << 31, hidden=True)


class ClassModel(CountingReader):
    """log p(c) + log p(x_1 | c) + log p(x_2 | x_1, c) + …"""

    member: ClassVar[str]  # the family of its language models
    pairs: ClassVar[Literal["apart", "together"] | None] = None

    def __init__(
        self,
        config: Any,
        models: Sequence[LanguageModel],
        priors: np.ndarray,
        notes: tuple[str, ...] = (),
    ) -> None:
        if priors.shape != (config.answers,):
            raise ModelError(f"There are priors of shape {priors.shape} for {config.answers} answers.")
        self.config, self.models, self.priors = config, list(models), priors
        self.width, self.notes = len(self.models), notes

    @final
    @classmethod
    def of(cls, models: Sequence[LanguageModel], priors: np.ndarray, notes: tuple[str, ...] = ()) -> Self:
        """One of trained language models with equal settings."""
        values = {**models[0].config.values(), "answers": len(models)}
        return cls(cls.Config.from_values(values), models, priors.astype(np.float32), notes)

    @final
    def evidence(self, ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
        says = np.stack([model.score_ids(ids) for model in self.models], 1).astype(np.float32)
        says[starts] = self.priors
        return says

    @final
    def arrays(self) -> Mapping[str, np.ndarray]:
        own = {
            f"{at}/{name}": one
            for at, model in enumerate(self.models)
            for name, one in model.arrays().items()
        }
        return own | {"priors": self.priors}

    @final
    @classmethod
    def from_arrays(cls, config: Any, arrays: Mapping[str, np.ndarray]) -> Self:
        kind: Any = family(cls.member)
        parts: list[dict[str, np.ndarray]] = [{} for _ in range(config.answers)]
        for name, array in arrays.items():
            at, _, own = name.partition("/")
            if own:
                parts[int(at)][own] = array
        models = [kind.from_arrays(member_config(config, kind.Config), part) for part in parts]
        return cls(config, models, np.array(arrays["priors"]))


def member_config(config: Any, kind: type[ModelConfig]) -> Any:
    """What each of the language models is told."""
    own = {name: value for name, value in config.values().items() if name != "answers"}
    return kind.from_values({**own, "softmax": True} if "softmax" in own else own)


def some(ids: np.ndarray) -> np.ndarray:
    """An answer without a single text has the model of an empty one."""
    return ids if len(ids) else np.array([BOS, EOS], np.int32)


class ClassNetwork(ClassModel):
    """Its models learn by gradient, in the trainer, one after another (`train.by_class`)."""

    learner = "gradient"

    @final
    @classmethod
    def learn(
        cls, config: Any, given: Examples, progress: Progress = no_progress, valid: Examples | None = None
    ) -> Self:
        raise ConfigError(f"A {cls.family} is not fitted again on everything: leave out --refit.")

    @final
    @classmethod
    def tiny(cls, seed: int = 0) -> Self:
        kind: Any = family(cls.member)
        return cls.of([kind.tiny(seed + at) for at in range(3)], np.log(np.array([0.5, 0.3, 0.2])))


@cache
def class_family(name: str) -> type[ClassNetwork]:
    """The family `class-lstm`, of networks `lstm`; the others likewise."""
    member = name.removeprefix(CLASS)
    kind = family(member) if member in families() else None
    if kind is None or kind.learner != "gradient" or not issubclass(kind, LanguageModel):
        able = [one for one in families() if family(one).learner == "gradient"]
        able = [f"{CLASS}{one}" for one in able if issubclass(family(one), LanguageModel)]
        raise ConfigError(
            f"There is no model family {name!r}: {CLASS} stands before a family of language models that learn. "
            f"{suggest(name, able)}"
        )
    config = make_dataclass(
        f"Class{kind.Config.__name__}",
        [("answers", int, ANSWERS)],
        bases=(kind.Config,),
        namespace={"word_letters": 0},  # unknown words are unknown to all of them
        frozen=True,
        kw_only=True,
    )
    about = {"family": name, "member": member, "Config": config, "codec": kind.codec, "__module__": __name__}
    return type(f"Class{kind.__name__}", (ClassNetwork,), about)
