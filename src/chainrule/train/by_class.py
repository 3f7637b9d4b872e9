"""A language model for every label (`class-lstm`, `class-gpt`), each trained on the texts of its label, as by `fit`.

The sizes and rates chosen for the label with most texts hold for all, so that their probabilities can be compared; each
has a share of the budget as large as its share of the texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chainrule.config import share, visible
from chainrule.data.corpus import Corpus, Part
from chainrule.data.dataset import Prepared
from chainrule.data.rows import TEXT
from chainrule.errors import ConfigError
from chainrule.models.class_lm import ClassNetwork, some
from chainrule.models.readers import log_priors
from chainrule.models.registry import family
from chainrule.tasks.base import Task
from chainrule.tasks.base import task as task_named
from chainrule.tasks.sequence import SequenceTask
from chainrule.train.budget import Timing
from chainrule.train.card import Outcome
from chainrule.train.config import LENGTHS, TrainConfig
from chainrule.train.fit import Place, learn


@dataclass(frozen=True)
class ByClass:
    """Texts and the answer to each of them, from 0 on."""

    prepared: Prepared
    train: np.ndarray  # (examples,)
    valid: np.ndarray | None

    @classmethod
    def of(cls, prepared: Prepared, task: SequenceTask) -> ByClass:
        codecs, valid = prepared.codecs, prepared.valid
        held = None if valid is None else task.known_answers(valid, codecs)
        return cls(prepared, task.known_answers(prepared.train, codecs), held)

    def one(self, answer: int) -> Prepared:
        """The texts of one answer, without labels."""
        prepared, valid = self.prepared, self.prepared.valid
        if valid is not None and self.valid is not None:
            valid = _texts(valid, self.valid == answer) if (self.valid == answer).any() else None
        train = _texts(prepared.train, self.train == answer)
        return replace(prepared, codecs={TEXT: prepared.codecs[TEXT]}, train=train, valid=valid, test=None)


def _texts(part: Part, which: np.ndarray) -> Part:
    found = part[TEXT].select(np.flatnonzero(which))
    return Part({TEXT: found if found.sequences else Corpus(some(found.ids), 1, 1)})


def learn_by_class(
    kind: type[ClassNetwork],
    task: Task,
    prepared: Prepared,
    options: Mapping[str, Any],
    place: Place,
) -> Outcome:
    """A model of all labels; facts are those of the label with most texts."""
    assert isinstance(task, SequenceTask)
    if options.get("stateful"):
        raise ConfigError("--stateful would carry the state from one text to the next. Leave it out.")
    if options.get("refit"):
        raise ConfigError(f"A {kind.family} is not fitted again on everything: leave out --refit.")
    given, count = ByClass.of(prepared, task), task.answers_count(prepared.codecs)
    sizes = np.bincount(given.train[given.train >= 0], minlength=count)
    found: dict[int, Outcome] = {}
    for answer in np.argsort(-sizes, kind="stable").tolist():
        part = 1 / max(1, sizes.sum() / max(1, sizes[answer]))
        told = _shared(options, found) | _budget(options, part)
        run = None if place.run is None else Path(place.run) / f"{answer}"
        timing = Timing(judged=place.timing.judged)
        own = task_named(family(kind.member).task)()
        found[answer] = learn(
            kind.member, own, given.one(answer), told, run, place.resume, place.progress, timing
        )
    first, models = next(iter(found.values())), [found[answer].body for answer in range(count)]
    body = kind.of(models, log_priors(given.train, count))  # type: ignore[arg-type]
    notes = (f"one {kind.member} for each of {count:,} labels", *first.notes)
    return Outcome(body, task.head(body, prepared.codecs, 0), notes, first.facts)


def _shared(options: Mapping[str, Any], found: Mapping[int, Outcome]) -> dict[str, Any]:
    """Settings for the next model: those of the first hold for all, but how long each learns."""
    if not found:
        return dict(options)
    first = next(iter(found.values()))
    config: Any = type(first.body.config)
    sizes = {one.name: getattr(first.body.config, one.name) for one in visible(config)}
    training = share(first.facts["settings"], TrainConfig)
    rates = {name: value for name, value in training.items() if name not in LENGTHS}
    return {**options, **sizes, **rates}


def _budget(options: Mapping[str, Any], part: float) -> dict[str, Any]:
    """What is asked for in all, divided."""
    config = TrainConfig.from_values({name: options.get(name) for name in LENGTHS})
    if config.seconds:
        return {"budget": f"{max(1.0, part * config.seconds):.3f}s"}
    whole = {name: getattr(config, name) for name in ("tokens", "steps") if getattr(config, name)}
    return {name: max(1, round(part * value)) for name, value in whole.items()}
