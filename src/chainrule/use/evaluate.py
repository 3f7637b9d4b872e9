"""`evaluate`: how good a classifier is on labelled data, each figure with a bootstrap interval."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.data.dataset import read_part
from chainrule.data.roles import Role
from chainrule.judge.classes import Classified
from chainrule.tasks.classify import probabilities
from chainrule.use.predict import classifier, labels_of

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.data.columns import Data

RESAMPLES, MOST = 1000, 20_000_000  # at most so many numbers are drawn


@dataclass(frozen=True)
class Evaluation:
    """Figures of a classifier, each with an interval."""

    classified: Classified = field(repr=False)
    seconds: float = field(compare=False)

    @cached_property
    def figures(self) -> dict[str, float]:
        """Accuracy, macro-F1, log-loss, calibration, Matthews' correlation."""
        return self.classified.figures()

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % of such test sets have accuracy, macro-F1 and log-loss between these values."""
        count = len(self.classified.answers)
        random = np.random.default_rng(1)
        times = max(100, min(RESAMPLES, MOST // max(1, count * len(self.classified.labels))))
        drawn = [self._again(random.integers(0, count, count)) for _ in range(times)] if count > 1 else []
        names = ("accuracy", "macro_f1", "log_loss")
        ends = {
            name: np.quantile([getattr(one, name) for one in drawn], (0.025, 0.975))
            for name in names
            if drawn
        }
        return {name: (float(low), float(high)) for name, (low, high) in ends.items()}

    def _again(self, rows: np.ndarray) -> Classified:
        one = self.classified
        return replace(one, probabilities=one.probabilities[rows], answers=one.answers[rows])

    def to_dict(self) -> dict[str, Any]:
        """For scripts."""
        one = self.classified
        return {
            "task": "classify",
            "examples": len(one.answers),
            "unseen_labels": int((one.answers < 0).sum()),
            **self.figures,
            "intervals": {name: list(ends) for name, ends in self.intervals.items()},
            "labels": list(one.labels),
            "per_class": one.per_class,
            "confusion": one.confusion.tolist(),
            "reliability": one.reliability,
            "seconds": self.seconds,
        }


def evaluate(bundle: Bundle, source: Data, label: str | None = None, **reading: Any) -> Evaluation:
    """Judge on labelled data, read as the model's own were; `label` is their column, `reading` what else differs."""
    began = time.perf_counter()
    task, head = classifier(bundle)
    columns = dict(bundle.card.get("columns", {}))
    given = {"label": label} if label else {}
    roles = [Role(role.name, columns.get(role.name)) for role in task.roles()]
    usual = {
        name: value
        for name, value in bundle.card.get("reading", {}).items()
        if name in ("format", "encoding")
    }
    part = read_part(source, bundle.codecs, roles=roles, options={**usual, **reading, **given})
    logits, answers = task.answered(bundle.body, head, part)
    found = Classified(probabilities(logits, head.config.temperature), answers, labels_of(bundle))
    return Evaluation(found, time.perf_counter() - began)
