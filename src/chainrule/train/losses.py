"""The training loss over the steps of a run, in a few evenly spaced points, however long the run will be."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST = 64  # points; when there are more, two and two become one


@dataclass
class LossPoints:
    """Means over equally many steps each; they depend on the steps alone, so a resumed run has the same."""

    every: int = 1  # steps of a point
    points: list[tuple[int, float, int]] = field(default_factory=list)  # last step, nats, symbols

    def add(self, step: int, nats: float, count: int) -> None:
        """One more step, counted from 1."""
        if self.points and (step - 1) % self.every:
            _, before, symbols = self.points.pop()
            nats, count = nats + before, count + symbols
        elif len(self.points) >= MOST:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [(last, a + b, some + more) for (_, a, some), (last, b, more) in pairs]
            self.every *= 2
        self.points.append((step, nats, count))

    def lines(self) -> list[dict[str, float]]:
        """For people and scripts: the mean loss of the steps up to each point."""
        return [{"step": step, "train": nats / max(1, count)} for step, nats, count in self.points]
