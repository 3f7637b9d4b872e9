"""Figures of forecasts of the next frame: nats, and errors beside those of who says that nothing will change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from chainrule.judge.judged import Judged, Table


@dataclass(frozen=True)
class NextFrames(Judged):
    """What was counted in every sequence, of numbers that are known; errors are told in deviations of a column.

    They are those of numbers that were known in the frame before, too: the first frame comes from nowhere.
    """

    sure: ClassVar[tuple[str, ...]] = ("nats_per_frame", "rmse", "mae", "naive_rmse")

    nats: np.ndarray  # (N,) -log p of all frames, in standardised numbers
    frames: np.ndarray  # (N,) how many there are
    squares: np.ndarray  # (N, F) squared errors
    errors: np.ndarray  # (N, F) absolute ones
    naive: np.ndarray  # (N, F) squared errors of the frame before
    counts: np.ndarray  # (N, F) how many numbers these are
    scale: np.ndarray  # (F,) the deviation of every column, in its own unit
    remarks: tuple[str, ...] = ()

    @property
    def examples(self) -> int:
        return len(self.frames)

    def resampled(self, rows: np.ndarray) -> Self:
        names = ("nats", "frames", "squares", "errors", "naive", "counts")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def figures(self) -> dict[str, float]:
        numbers = max(1, self.counts.sum())
        return {
            "nats_per_frame": float(self.nats.sum() / max(1, self.frames.sum())),
            "rmse": float(np.sqrt(self.squares.sum() / numbers)),
            "mae": float(self.errors.sum() / numbers),
            "naive_rmse": float(np.sqrt(self.naive.sum() / numbers)),
        }

    @property
    def per_column(self) -> list[dict[str, float]]:
        """The same errors of every column, in its own unit."""
        counts = np.maximum(1, self.counts.sum(0))
        rmse, naive = (np.sqrt(one.sum(0) / counts) for one in (self.squares, self.naive))
        found = zip(rmse, self.errors.sum(0) / counts, naive, self.scale, strict=True)
        return [
            {"rmse": float(one * unit), "mae": float(two * unit), "naive_rmse": float(last * unit)}
            for one, two, last, unit in found
        ]

    def details(self) -> dict[str, Any]:
        return {"frames": int(self.frames.sum()), "per_column": self.per_column}

    def tables(self) -> list[Table]:
        rows: list[Sequence[Any]] = [
            [number, *(float(f"{one[name]:.4g}") for name in ("rmse", "mae", "naive_rmse"))]
            for number, one in enumerate(self.per_column, 1)
        ]
        return [Table(["column", "rmse", "mae", "naive rmse"], rows, "in the unit of each column")]

    @property
    def notes(self) -> tuple[str, ...]:
        return self.remarks
