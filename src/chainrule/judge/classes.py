"""Figures of classification: accuracy, macro-F1, log-loss, calibration, confusion, Matthews' correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.judge.judged import Judged, Share, Table

BINS = 10  # of the reliability diagram
LEAST = 1e-15  # a probability below this is taken as this, as scikit-learn does
MANY = 20  # labels from which on no confusion matrix is shown
MOST = 1000  # labels from which on scripts are told no confusion matrix either
UNSEEN = "(not in training)"


@dataclass(frozen=True)
class Classified(Judged):
    """Probabilities of labels and what was right: everything one can say about a classifier."""

    sure: ClassVar[tuple[str, ...]] = (
        "accuracy",
        "macro_f1",
        "log_loss",
        "calibration_error",
        "matthews",
        "f1",
    )

    probabilities: np.ndarray  # (N, labels)
    answers: np.ndarray  # (N,) from 0 on; -1: a label that was never seen in training
    labels: Sequence[str]
    remarks: tuple[str, ...] = ()  # of how the examples were read

    @property
    def examples(self) -> int:
        return len(self.answers)

    @property
    def unseen(self) -> int:
        """Examples whose label was never seen in training."""
        return int((self.answers < 0).sum())

    def resampled(self, rows: np.ndarray) -> Self:
        return replace(self, probabilities=self.probabilities[rows], answers=self.answers[rows])

    @cached_property
    def predicted(self) -> np.ndarray:
        """(N,) the most probable label."""
        found: np.ndarray = self.probabilities.argmax(1)
        return found

    @property
    def accuracy(self) -> float:
        """Share of right answers."""
        return float((self.predicted == self.answers).mean()) if len(self.answers) else float("nan")

    @property
    def log_loss(self) -> float:
        """Cross-entropy in nats; a label that was never seen has probability 0, taken as the least there is."""
        if not len(self.answers):
            return float("nan")
        own = np.where(self.answers >= 0, self.probabilities[np.arange(len(self.answers)), self.answers], 0.0)
        return float(-np.log(np.maximum(own, LEAST)).mean())

    @cached_property
    def confusion(self) -> np.ndarray:
        """(labels, labels) how often each label (row) was called each label (column); unseen labels are left out."""
        size = len(self.labels)
        known = self.answers >= 0
        cells = self.answers[known] * size + self.predicted[known]
        return np.bincount(cells, minlength=size * size).reshape(size, size)

    @property
    def strays(self) -> np.ndarray:
        """(labels,) what examples were called whose own label was never seen: all of that is wrong."""
        return self._counted(self.predicted[self.answers < 0])

    @cached_property
    def counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(labels,) each: how often it was right, was predicted, and should have been."""
        right = self.predicted[self.predicted == self.answers]
        return tuple(map(self._counted, (right, self.predicted, self.answers[self.answers >= 0])))  # type: ignore[return-value]

    def _counted(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, minlength=len(self.labels))

    @cached_property
    def rates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(labels,) each: precision, recall and F1."""
        right, called, support = self.counts
        return _ratio(right, called), _ratio(right, support), _ratio(2 * right, called + support)

    @property
    def per_class(self) -> list[dict[str, Any]]:
        """Precision, recall, F1 and number of examples of every label."""
        cells = zip(self.labels, *(one.tolist() for one in (*self.rates, self.counts[2])), strict=True)
        return [
            dict(zip(("label", "precision", "recall", "f1", "support"), row, strict=True)) for row in cells
        ]

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the labels that occur or were predicted, as scikit-learn counts; unseen ones are one more."""
        _, called, support = self.counts
        found = self.rates[2][called + support > 0]
        return float(found.sum() / (len(found) + bool(self.unseen))) if self.examples else float("nan")

    @property
    def matthews(self) -> float:
        """Matthews' correlation coefficient, for any number of labels; all unseen ones are one more."""
        right, called, support = (one.astype(np.float64) for one in self.counts)
        total = float(self.examples)
        spread = (total**2 - called @ called) * (total**2 - support @ support - float(self.unseen) ** 2)
        return float((right.sum() * total - called @ support) / np.sqrt(spread)) if spread > 0 else 0.0

    @property
    def reliability(self) -> list[dict[str, float]]:
        """Of every tenth of confidence: mean confidence, accuracy, and how many examples fall into it."""
        sure = self.probabilities.max(1) if len(self.answers) else np.empty(0)
        bins = np.minimum((sure * BINS).astype(int), BINS - 1)
        right = self.predicted == self.answers
        chosen = [bins == one for one in range(BINS) if (bins == one).any()]
        return [
            {
                "confidence": float(sure[one].mean()),
                "accuracy": float(right[one].mean()),
                "count": int(one.sum()),
            }
            for one in chosen
        ]

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: how far confidence and accuracy lie apart, weighed by examples."""
        gaps = [abs(one["confidence"] - one["accuracy"]) * one["count"] for one in self.reliability]
        return sum(gaps) / max(1, len(self.answers))

    def figures(self) -> dict[str, float]:
        """The figures of one number each."""
        return {
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "log_loss": self.log_loss,
            "calibration_error": self.calibration_error,
            "matthews": self.matthews,
        } | ({"f1": float(self.rates[2][-1])} if self.positive is not None else {})

    @property
    def positive(self) -> str | None:
        """Of two labels the last one, whose F1 is a figure by itself: 1 of 0 and 1."""
        return self.labels[-1] if len(self.labels) == 2 else None

    def details(self) -> dict[str, Any]:
        return {
            "unseen_labels": self.unseen,
            "labels": list(self.labels),
            "positive": self.positive,
            "per_class": self.per_class,
            "confusion": self.confusion.tolist() if len(self.labels) <= MOST else [],
            "unseen_confusion": self.strays.tolist(),
            "reliability": self.reliability,
        }

    def tables(self) -> list[Table]:
        classes = [
            [one["label"], *(Share(one[name]) for name in ("precision", "recall", "f1")), one["support"]]
            for one in self.per_class
        ]
        found = [Table(["label", "precision", "recall", "f1", "examples"], classes)]
        if len(self.labels) <= MANY:
            rows = [[label, *row] for label, row in zip(self.labels, self.confusion.tolist(), strict=True)]
            rows += [[UNSEEN, *self.strays.tolist()]] if self.unseen else []
            found.append(Table(["", *self.labels], rows, "right label (row), predicted label (column)"))
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        who = "1 example has" if self.unseen == 1 else f"{self.unseen:,} examples have"
        told = f"{who} a label that was not seen in training, which counts as wrong"
        return (*((told,) if self.unseen else ()), *self.remarks)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """0 where there is nothing below."""
    found: np.ndarray = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return found


def best_temperature(logits: np.ndarray, answers: np.ndarray) -> float:
    """What to divide logits (N, labels) by to make the answers (N,) most probable; 1 if there is nothing to fit.

    As many wrong answers are added as there are labels less one, spread over all examples (Platt 1999): few examples,
    all of them right, are no reason to be sure for ever.
    """
    known = answers >= 0
    logits, answers = logits[known].astype(np.float64), answers[known]
    count, labels = len(answers), logits.shape[1]
    if not count or labels < 2:
        return 1.0
    right = (count + 1.0) / (count + labels)  # the share of the right answer; the others share the rest
    own, others = logits[np.arange(count), answers], logits.sum(1)
    wanted = right * own + (1.0 - right) * (others - own) / (labels - 1)  # (N,)

    def loss(log_temperature: float) -> float:
        heat = np.exp(log_temperature)
        scaled = logits / heat
        top = scaled.max(1)
        total = np.log(np.exp(scaled - top[:, None]).sum(1)) + top
        return float((total - wanted / heat).mean())

    return float(np.exp(least(loss, np.log(0.01), np.log(1000.0))))


def least(function: Any, low: float, high: float, steps: int = 60) -> float:
    """Where a function with one valley is lowest, by golden sections."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(steps):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if function(left) < function(right):
            high = right
        else:
            low = left
    return (low + high) / 2.0
