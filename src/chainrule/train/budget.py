"""A budget of time: how many steps it holds is asked again after every step, as the pace of a machine changes.

Time decides when a plan is revised and nothing else. Judging and saving come out of the same budget, by the speed they
were measured at.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from chainrule.train.schedule import PROBE, VALIDATIONS, Plan, Revision

Clock = Callable[[], float]  # seconds since a budget began

SETTLING = 20  # steps before the first plan, unless they take EARLY of the time
EARLY = 0.05
MEMORY, STEPS = 0.02, 8  # the pace is that of the last so many: share of the budget, and steps at least
OUTLIER = 8.0  # a step that took so many times as long as usual counts as that
TOLERANCE = 0.05  # of the steps to come: so much may a plan be wrong before it is revised
JUDGING = 0.06  # share of the time that validations are to take
VALIDATING, ENDING = (
    0.3,
    0.5,
)  # shares they are given at most, and what comes after training, whatever was measured
TRIED = 0.03  # share of the time that trying how fast judging is may take, before more is tried
SLACK = 1.15  # what comes after the last step cannot be cut short, so it is given more time than was measured


@dataclass(frozen=True)
class Stopwatch:
    """Seconds since it was made, or since a moment of `time.monotonic`."""

    began: float = field(default_factory=time.monotonic)

    def __call__(self) -> float:
        return time.monotonic() - self.began


@dataclass(frozen=True)
class Timing:
    """Since when a budget counts, and what must be done within it when training is over."""

    clock: Clock = field(default_factory=Stopwatch)
    judged: int = 0  # ids
    leaving: float = 0.0  # seconds, beside judging and saving
    planned: float | None = None  # seconds of all rounds, if more follow: for them sizes are chosen


@dataclass(frozen=True)
class Speed:
    """What was measured, of late."""

    began: float = 0.0  # seconds of the budget that were used before the first step
    steps: float = 0.0  # those of late, older ones counting less and less
    seconds: float = 0.0  # that they took
    all_steps: int = 0  # since this process began, and the seconds they took
    all_seconds: float = 0.0
    reading: float = 0.0  # steps that could be made while one id of many is judged
    validation: float = 0.0  # and while a validation lasts
    saving: float = 0.0  # seconds for a checkpoint

    @property
    def step(self) -> float:
        """Seconds that one takes."""
        return max(1e-9, self.seconds / self.steps if self.steps else 0.0)

    @property
    def usual(self) -> float:
        """Seconds that a step is likely to take when training is over: between the pace of late and that of all time.

        A burst of other work may be over by then, or begin.
        """
        return math.sqrt(self.step * self.all_seconds / self.all_steps) if self.all_steps else self.step

    def after_step(self, taken: float, memory: float) -> Speed:
        """With one more step; of what is `memory` seconds old a third counts."""
        taken = min(taken, OUTLIER * self.step) if self.steps else taken
        kept = math.exp(-min(taken / memory, 1.0 / STEPS))
        late = {"steps": kept * self.steps + 1.0, "seconds": kept * self.seconds + taken}
        return replace(self, **late, all_steps=self.all_steps + 1, all_seconds=self.all_seconds + taken)

    def after_judging(self, taken: float, ids: int) -> Speed:
        """With one more validation. Many ids are read side by side, so the best figure is that of judging a part."""
        steps = taken / self.step
        settled = min(steps, (self.validation + steps) / 2)  # one that took long was perhaps disturbed
        return replace(
            self,
            reading=min(self.reading or math.inf, steps / max(1, ids)),
            validation=settled if self.validation else steps,
        )


@dataclass(frozen=True)
class Budget:
    """So many seconds, all in."""

    seconds: float
    timing: Timing

    @property
    def memory(self) -> float:
        """Over how many seconds the pace is measured."""
        return MEMORY * self.seconds

    def is_due(self, step: int, now: float) -> bool:
        """Whether enough is known for the first plan."""
        return step >= SETTLING or (step > 1 and now >= EARLY * self.seconds)

    def judging(self, now: float, speed: Speed, valid: int) -> tuple[int, int]:
        """How many validations, each of how many of the `valid` ids, leave most of the time for learning.

        A validation that was measured had PROBE ids.
        """
        allowed = JUDGING * max(0.0, self.seconds - now) / speed.step  # steps
        one = max(1e-9, speed.validation)
        validations = max(1, min(VALIDATIONS, int(allowed / one)))
        return validations, min(valid, max(PROBE, int(PROBE * allowed / validations / one)))

    def is_unsure(self, taken: float, speed: Speed) -> bool:
        """Whether judging seems long after so short a try that a longer one should follow."""
        seeming = self.timing.judged * speed.reading * speed.step
        return taken < 2 * TRIED * self.seconds and seeming > TRIED * self.seconds

    def revision(self, plan: Plan, step: int, validations: int, now: float, speed: Speed) -> Revision | None:
        """What to do from `step` on, with so many `validations` to come; None where the plan is right as it is."""
        end = self._end(speed)
        judging = min((validations - 1) * speed.validation * speed.step, VALIDATING * (end - now))
        wanted = max(1, int((end - now - judging) / speed.step))
        if abs(wanted - (plan.steps - step)) <= TOLERANCE * (plan.steps - step) and plan.revisions:
            return None
        progress = min(1.0, max(0.0, (now - speed.began) / max(1e-9, end - speed.began)))
        return Revision(step, step + wanted, progress, now)

    def _end(self, speed: Speed) -> float:
        """When the last step must be over: then come a last validation, judging and saving."""
        judging = SLACK * (speed.validation + self.timing.judged * speed.reading) * speed.usual
        return self.seconds - min(ENDING * self.seconds, judging + speed.saving + self.timing.leaving)
