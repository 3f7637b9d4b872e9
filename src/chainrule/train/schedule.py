"""Learning-rate schedule: the rate is a function of how much of the run is done.

Between two revisions of a plan that is a function of the step, so a run can be stopped and resumed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from chainrule.errors import ConfigError

VALIDATIONS = 20  # in a run
PROBE = 8192  # ids that are read at least, if there are so many
WARM, WARM_SHARE = 100, 0.1  # steps in which the rate rises, and the largest share of a run that may be
FINAL = 0.01  # of the peak, what is left of the rate in the last step
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str | float) -> float:
    """Seconds from `90s`, `10m`, `1.5h`, `2d`, or plain seconds."""
    plain = str(text).strip().lower()
    unit = plain[-1:] if plain[-1:] in UNITS else "s"
    try:
        seconds = float(plain.removesuffix(unit)) * UNITS[unit]
    except ValueError as error:
        raise ConfigError(f"A time such as 90s, 10m or 1.5h was expected, not {text!r}.") from error
    if not 0 < seconds < math.inf:
        raise ConfigError(f"A budget must be more than nothing, not {text!r}.")
    return seconds


@dataclass(frozen=True)
class Revision:
    """From a step on, so many steps in all."""

    step: int  # the first one it holds for
    steps: int  # in all, at least one more
    progress: float = 0.0  # share of the run that lies behind
    seconds: float = 0.0  # of the budget used by then
    threads: int = 0  # of its steps; 0: as many as before

    def progress_at(self, step: int) -> float:
        """The share that lies behind in a step; 1 in the last one."""
        after = self.steps - 1 - self.step
        done = (step - self.step) / after if after > 0 else 1.0
        return self.progress + (1.0 - self.progress) * min(1.0, done)


@dataclass(frozen=True)
class Plan:
    """What a run is going to do, with all its revisions; kept in its checkpoints."""

    revisions: tuple[Revision, ...] = ()  # none until the speed of a run within a budget is known
    validations: int = VALIDATIONS
    judged: int = PROBE  # of the validation part so many ids are read each time

    @classmethod
    def of(cls, steps: int, judged: int = PROBE) -> Self:
        """So many steps, and no budget."""
        return cls((Revision(0, max(1, steps)),), judged=judged)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """From a checkpoint."""
        return cls(**{**values, "revisions": tuple(Revision(**one) for one in values["revisions"])})

    def revised(self, revision: Revision) -> Self:
        """The same with one more."""
        return replace(self, revisions=(*self.revisions, revision))

    def from_here(self, step: int, seconds: float) -> Revision:
        """The same once more, from a step on."""
        last = self.revisions[-1]
        return Revision(step, last.steps, last.progress_at(step), seconds)

    @property
    def steps(self) -> float:
        """In all, as far as is known."""
        return self.revisions[-1].steps if self.revisions else math.inf

    def progress(self, step: int) -> float:
        """The share of the run that lies behind in a step, from 0 to 1 in the last one."""
        return self.revisions[-1].progress_at(step) if self.revisions else 0.0

    def rate(self, step: int, peak: float) -> float:
        """The learning rate of a step: a short rise, then half a cosine down to almost nothing."""
        progress = self.progress(step)
        rise = min(1.0, max((step + 1) / WARM, progress / WARM_SHARE))
        return peak * max(FINAL, rise * 0.5 * (1.0 + math.cos(math.pi * progress)))
