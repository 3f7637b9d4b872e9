"""Figures of regression: absolute and squared error, Pearson's and Spearman's correlation, R2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.judge.judged import Judged, Table


@dataclass(frozen=True)
class Measured(Judged):
    """Predicted numbers beside the right ones."""

    sure: ClassVar[tuple[str, ...]] = ("mae", "rmse", "pearson", "spearman", "r2")

    predicted: np.ndarray  # (N,)
    answers: np.ndarray  # (N,)
    remarks: tuple[str, ...] = ()  # of how the examples were read

    @property
    def examples(self) -> int:
        return len(self.answers)

    def resampled(self, rows: np.ndarray) -> Self:
        return replace(self, predicted=self.predicted[rows], answers=self.answers[rows])

    def figures(self) -> dict[str, float]:
        """MAE and RMSE in the unit of the numbers; correlations are 0 where one side does not vary."""
        if not len(self.answers):
            return dict.fromkeys(self.sure, float("nan"))
        errors = self.predicted - self.answers
        spread = float(((self.answers - self.answers.mean()) ** 2).sum())
        return {
            "mae": float(np.abs(errors).mean()),
            "rmse": float(np.sqrt((errors**2).mean())),
            "pearson": pearson(self.predicted, self.answers),
            "spearman": pearson(ranks(self.predicted), ranks(self.answers)),
            "r2": 1.0 - float((errors**2).sum()) / spread if spread > 0 else 0.0,
        }

    def details(self) -> dict[str, Any]:
        return {"mean": float(self.answers.mean()), "predicted_mean": float(self.predicted.mean())}

    def tables(self) -> list[Table]:
        return []

    @property
    def notes(self) -> tuple[str, ...]:
        return self.remarks


def pearson(left: np.ndarray, right: np.ndarray) -> float:
    """Pearson's correlation; 0 where one side does not vary."""
    a, b = left - left.mean(), right - right.mean()
    spread = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / spread) if spread > 0 else 0.0


def ranks(values: np.ndarray) -> np.ndarray:
    """(N,) from 1 on; equal values share the mean of their ranks."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found: np.ndarray = (ends - (counts - 1) / 2.0)[index]
    return found
