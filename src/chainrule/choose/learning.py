"""How the models of a comparison learn: by themselves, or first from the texts alone, then frozen under a head."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.bundle import Bundle
from chainrule.choose.ladder import Rung
from chainrule.config import share
from chainrule.data.dataset import Prepared
from chainrule.models.registry import family
from chainrule.progress import Progress
from chainrule.tasks.base import Task
from chainrule.tasks.base import task as task_class
from chainrule.tasks.supervised import Supervised
from chainrule.train.budget import Stopwatch, Timing
from chainrule.train.card import Outcome
from chainrule.train.checkpoint import seconds_before
from chainrule.train.fit import ask, learn
from chainrule.train.schedule import duration
from chainrule.train.transfer import HEAD_OPTIONS, Origin

TEXTS, HEADS = "texts", "head"  # the runs of a model that learns twice
READING = 0.6  # share of its time that such a model learns from the texts alone
SHORTEST = 1.0  # seconds


class FirstLook:
    """Seconds since somebody first looked at this clock: a trainer does when it is ready."""

    began: float | None = None

    def __call__(self) -> float:
        self.began = time.monotonic() if self.began is None else self.began
        return time.monotonic() - self.began


def lasted(run: Path) -> float:
    """How long the model of a run has learnt, so far."""
    return seconds_before(run / TEXTS) / READING or seconds_before(run)


@dataclass(frozen=True)
class Lesson:
    """What a model is to learn, and within what."""

    rung: Rung
    task: str | None
    settings: Mapping[str, Any]  # of the task
    options: Mapping[str, Any]  # of the training
    seed: int
    teller: Progress
    run: Path | None = None  # where it can be continued
    timing: Timing | None = None

    @property
    def asked(self) -> Task:
        """The task, with its settings."""
        return ask(self.rung.family, self.task, self.settings)

    def able(self, prepared: Prepared) -> Prepared:
        """The data with the letters of all words, where the model reads them."""
        kind: Any = family(self.rung.family).Config
        letters = kind.from_values(share(self._suited(), kind)).word_letters
        return prepared.spelled_out() if letters and not prepared.words else prepared

    def _suited(self) -> dict[str, Any]:
        """Settings that suit the task, and those asked for."""
        task = self.asked
        return {**(task.suits if isinstance(task, Supervised) else {}), **self.rung.options}

    def learnt(self, prepared: Prepared, columns: Mapping[str, str]) -> Bundle:
        """The model, as sure of its answers as it should be."""
        task, prepared = self.asked, self.able(prepared)
        found = self._twice(task, prepared) if self.rung.first else self._once(task, prepared)
        card = {**found.facts, "notes": list(found.notes)}
        card |= {"threads": card["training"]["threads"]} if "training" in card else {}
        card |= {"reading": prepared.data.source.config.values(), "columns": dict(columns)}
        head = found.head
        if isinstance(task, Supervised) and head is not None:
            head = task.calibrated(found.body, head, prepared.valid, prepared.codecs)
        return Bundle(prepared.codecs, found.body, task, head, card)

    def _once(self, task: Task, prepared: Prepared) -> Outcome:
        told = {**self._suited(), **self.options, "seed": self.seed}
        where = (self.run, self.run is not None, self.teller, self.timing)
        return learn(self.rung.family, task, prepared, told, *where)

    def _twice(self, task: Task, prepared: Prepared) -> Outcome:
        """A language model of the texts, continued round by round; then a fresh head on its frozen vectors."""
        clock, first = (self.timing or Timing()).clock, task_class(str(self.rung.first))()
        run, seconds = self.run and self.run / TEXTS, duration(self.options["budget"])
        before, began = seconds_before(run) if run else 0.0, clock()
        told = {**self._suited(), **self.options, "seed": self.seed}
        planned = READING * (self.timing.planned if self.timing and self.timing.planned else seconds)
        timing = Timing(FirstLook(), planned=planned)
        reading = f"{before + READING * (seconds - self._spent(before)):.2f}s"
        texts = learn(
            self.rung.family,
            first,
            prepared,
            {**told, "budget": reading},
            run,
            run is not None,
            self.teller,
            timing,
        )
        origin = Origin(self.rung.name, Bundle(prepared.codecs, texts.body, first))
        start = origin.start("frozen", {})
        if self.run:  # another body: what an earlier head has learnt is of no use
            shutil.rmtree(self.run / HEADS, ignore_errors=True)
        left = max(SHORTEST, seconds - self._spent(before) - clock())
        given = {**HEAD_OPTIONS, **told, "budget": f"{left:.2f}s"}
        timing = replace(self.timing or Timing(), clock=Stopwatch(), planned=None)
        found = learn(
            self.rung.family,
            task,
            prepared,
            given,
            self.run and self.run / HEADS,
            False,
            self.teller,
            timing,
            start,
        )
        return replace(
            found, facts=_together(texts.facts, found.facts, self._spent(before) + clock() - began)
        )

    def _spent(self, before: float) -> float:
        """Of a budget that counts all rounds, the seconds of those before this one."""
        return before / READING if before else 0.0


def _together(texts: Mapping[str, Any], head: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Facts of both trainings: those of the head, in the time of both; more time helps until both have stopped."""
    one, other = texts["training"], head["training"]
    told = {**other, "seconds": seconds, "stopped_early": one["stopped_early"] and other["stopped_early"]}
    return {**head, "training": {**told, "epochs": one["epochs"]}}
