"""Figures of multi-label classification, as scikit-learn has them: F1, subset accuracy, Hamming loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.judge.judged import Judged, Share, Table

HALF = 0.5  # the threshold where nothing is known
FEW = 5  # examples that have a label and that have not, at least: else its threshold is that of all labels


@dataclass(frozen=True)
class LabelSetsJudged(Judged):
    """Which labels were given to examples, and which were right."""

    sure: ClassVar[tuple[str, ...]] = ("micro_f1", "macro_f1", "subset_accuracy", "hamming_loss")

    given: np.ndarray  # (N, labels) bool
    right: np.ndarray  # (N, labels) bool
    unseen: np.ndarray  # (N,) how many right labels were never seen in training
    labels: Sequence[str]
    remarks: tuple[str, ...] = ()  # of how the examples were read

    @property
    def examples(self) -> int:
        return len(self.right)

    def resampled(self, rows: np.ndarray) -> Self:
        return replace(self, given=self.given[rows], right=self.right[rows], unseen=self.unseen[rows])

    def figures(self) -> dict[str, float]:
        """A label that was never seen in training counts as missed, but not in the Hamming loss and macro-F1."""
        if not self.examples:
            return dict.fromkeys(self.sure, float("nan"))
        both, wrong = self.given & self.right, self.given != self.right
        missed = wrong.sum() + self.unseen.sum()
        all_right = ~wrong.any(1) & (self.unseen == 0)
        return {
            "micro_f1": float(2 * both.sum() / max(1, 2 * both.sum() + missed)),
            "macro_f1": float(self.f1.mean()) if len(self.labels) else 0.0,
            "subset_accuracy": float(all_right.mean()),
            "hamming_loss": float(wrong.mean()) if len(self.labels) else 0.0,
        }

    @property
    def f1(self) -> np.ndarray:
        """(labels,) of each; 0 where it was neither given nor right."""
        both = (self.given & self.right).sum(0)
        return 2 * both / np.maximum(1, self.given.sum(0) + self.right.sum(0))  # type: ignore[no-any-return]

    @property
    def per_label(self) -> list[dict[str, Any]]:
        """Precision, recall, F1 and number of examples of every label."""
        both, given, right = (self.given & self.right).sum(0), self.given.sum(0), self.right.sum(0)
        rows = zip(
            self.labels, both / np.maximum(1, given), both / np.maximum(1, right), self.f1, right, strict=True
        )
        return [
            {"label": label, "precision": float(p), "recall": float(r), "f1": float(f), "support": int(n)}
            for label, p, r, f, n in rows
        ]

    def details(self) -> dict[str, Any]:
        per = {
            "labels_per_example": float((self.right.sum(1) + self.unseen).mean()) if self.examples else 0.0
        }
        return {"unseen_labels": int(self.unseen.sum()), **per, "per_label": self.per_label}

    def tables(self) -> list[Table]:
        rows = [
            [one["label"], *(Share(one[name]) for name in ("precision", "recall", "f1")), one["support"]]
            for one in self.per_label
        ]
        return [Table(["label", "precision", "recall", "f1", "examples"], rows)]

    @property
    def notes(self) -> tuple[str, ...]:
        count = int(self.unseen.sum())
        told = f"{count:,} labels were not seen in training: they count as missed"
        return (*((told,) if count else ()), *self.remarks)


def best_temperature(logits: np.ndarray, right: np.ndarray) -> float:
    """What to divide logits (N, labels) by to make the right labels most probable; one example more of either kind."""
    if not right.size:
        return 1.0
    share = (right.sum() + 1.0) / (right.sum() + 2.0), 1.0 / ((~right).sum() + 2.0)
    wanted = np.where(right, *share)
    heats = np.exp(np.linspace(np.log(0.01), np.log(100.0), 121))
    losses = [float((np.logaddexp(0.0, logits / heat) - wanted * logits / heat).mean()) for heat in heats]
    return float(heats[int(np.argmin(losses))])


def best_thresholds(chances: np.ndarray, right: np.ndarray) -> tuple[float, ...]:
    """Of every label from which probability on to give it, for the best F1 on these examples (N, labels)."""
    every = best_threshold(chances.ravel(), right.ravel())
    return tuple(
        best_threshold(own, known) if min(known.sum(), (~known).sum()) >= FEW else every
        for own, known in zip(chances.T, right.T, strict=True)
    )


def best_threshold(chances: np.ndarray, right: np.ndarray) -> float:
    """The probability from which on to say yes, for the best F1 on examples (n,): HALF, if it is as good as others."""
    if not right.any():
        return HALF
    order = np.argsort(-chances, kind="stable")
    ranked, hits = chances[order], np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(hits) + 1) + right.sum())
    last = np.append(ranked[1:] < ranked[:-1], True)  # equal probabilities are given together
    best = int(np.argmax(np.where(last, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return HALF if below < HALF <= ranked[best] else float((ranked[best] + below) / 2)
