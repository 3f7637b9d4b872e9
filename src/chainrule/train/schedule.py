"""How fast to learn, and for how long: all in symbols read, so that a run can be stopped and resumed exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from chainrule.errors import ConfigError

VALIDATIONS = 20  # in a run
PROBE = 8192  # ids that are read at least, if there are so many
JUDGING, MARGIN = 0.06, 0.95  # shares of the time
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str) -> float:
    """Seconds from `90s`, `10m`, `1.5h`, `2d`, or plain seconds."""
    plain = text.strip().lower()
    unit = plain[-1:] if plain[-1:] in UNITS else "s"
    try:
        seconds = float(plain.removesuffix(unit)) * UNITS[unit]
    except ValueError as error:
        raise ConfigError(f"A time such as 90s, 10m or 1.5h was expected, not {text!r}.") from error
    if not 0 < seconds < math.inf:
        raise ConfigError(f"A budget must be more than nothing, not {text!r}.")
    return seconds


@dataclass(frozen=True)
class Plan:
    """What a run is going to do; fixed once, kept in its checkpoints."""

    steps: int
    warm: int  # steps in which the rate rises
    every: int  # steps between two validations
    judged: int  # of the validation part so many ids are read each time
    reason: str  # a sentence for people
    final: bool = True  # a budget is planned twice

    def rate(self, step: int, peak: float) -> float:
        """The learning rate of a step: a short rise, then half a cosine down to almost nothing."""
        if step < self.warm:
            return peak * (step + 1) / self.warm
        done = (step - self.warm) / max(1, self.steps - self.warm)
        return peak * max(0.01, 0.5 * (1 + math.cos(math.pi * min(1.0, done))))


def plan_steps(steps: int, judged: int, reason: str) -> Plan:
    """A plan of so many steps."""
    steps = max(1, steps)
    return Plan(steps, min(100, max(1, steps // 10)), max(1, -(-steps // VALIDATIONS)), judged, reason)


def plan_budget(left: float, pace: float, done: int, epoch: int, reading: float, valid: int) -> Plan:
    """As many steps as fit in the seconds `left`, at `pace` seconds a step; a margin for the unforeseen.

    Of the `valid` ids, at `reading` seconds each, as many are read at each validation as leave most of the time
    for learning.
    """
    judged = min(valid, max(PROBE, int(JUDGING * left / VALIDATIONS / max(reading, 1e-9))))
    usable = max(0.0, MARGIN * left - VALIDATIONS * judged * reading)
    steps = max(done + 1, done + int(usable / max(pace, 1e-9)))
    reason = f"{steps:,} steps ({steps / max(1, epoch):.1f} epochs) fit the budget at {1 / pace:.1f} steps a second"
    return replace(plan_steps(steps, judged, reason), final=False)
