"""Successive halving: everybody gets a short first round, the better half continues, the winner gets the rest.

Known from Hyperband and ASHA (Li et al. 2018, 2020). Each round ends its schedule, so that figures can be compared,
and who continues does so from its checkpoint. Only the validation part decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.draw.markup import duration
from chainrule.store import sealed

SHORTEST = (
    10.0  # seconds of a round at least, once a process has started: one for judging, the rest is learning
)
STARTS, SLOWER = 1.5, 2.0  # seconds until a learner's first step; or so many times those of one that counts
LEAST = 4.0  # seconds below which a process has started before its time is over
STARTING = 0.4  # share of the time that first rounds take at most: where it is short, fewer families start
FIRST, LATER = 0.15, 0.1  # shares of the time for the first round, and for each one between it and the last
ROUNDS = "rounds.json"
NOT_STARTED = "not started"
DROPPED, CONTINUES, WON, FAILED = "dropped", "continues", "won", "failed"


@dataclass(frozen=True)
class Schedule:
    """Who starts, and how long the rounds before the last one are."""

    starters: tuple[str, ...]
    rounds: tuple[tuple[int, float], ...]  # how many models, and seconds for each of them
    seconds: float  # for everybody
    shortest: float = SHORTEST + STARTS  # of a round

    @property
    def planned(self) -> float:
        """Seconds that the winner has in all, for which sizes are chosen."""
        return self.seconds - sum((models - 1) * each for models, each in self.rounds)


def schedule(names: Sequence[str], seconds: float, starting: float = 0.0) -> Schedule:
    """Rounds for models in the order in which they are worth starting; few and long ones where there is little time.

    `starting` are the seconds that a process took to start which counts.
    """
    shortest = SHORTEST + max(STARTS, SLOWER * starting)
    if seconds < LEAST:
        return Schedule((), (), seconds, shortest)
    going = min(len(names), max(1, int(STARTING * seconds / shortest)))
    starters, rounds = tuple(names[:going]), []
    each = max(shortest, FIRST * seconds / max(1, going))
    while going > 1:
        rounds.append((going, each))
        going //= 2
        while going > 1 and LATER * seconds / going < shortest:
            going //= 2
        each = LATER * seconds / going
    return Schedule(starters, tuple(rounds), seconds, shortest)


@dataclass(frozen=True)
class Turn:
    """One model in one round."""

    round: int
    name: str
    given: float  # seconds
    began: float = 0.0  # seconds of the comparison
    seconds: float = 0.0  # that it took, with starting and judging
    trained: float = 0.0  # seconds that the model had in all, rounds before this one included
    figure: float = math.inf  # on the validation part, as people are told
    loss: float = math.inf  # the same, smaller is better
    epochs: float = 0.0  # how often the data were read, in all
    stopped_early: bool = False  # more time would not help
    decision: str = ""
    why: str = ""


def decided(turns: Sequence[Turn], keep: int, unit: str) -> list[Turn]:
    """The turns of one round with what follows from them: the best `keep` continue, all others are dropped."""
    order = sorted((turn for turn in turns if turn.decision != FAILED), key=lambda turn: turn.loss)
    best = [turn.name for turn in order[:keep]]
    return [turn if turn.decision == FAILED else _decision(turn, order, best, unit) for turn in turns]


def _decision(turn: Turn, order: Sequence[Turn], best: Sequence[str], unit: str) -> Turn:
    place, first = order.index(turn), order[0]
    told = f"after {duration(turn.trained)} at {turn.figure:.3f} {unit}"
    if turn.name in best:
        return replace(turn, decision=CONTINUES, why=f"continues {told}: place {place + 1} of {len(order)}")
    ahead = f"{first.name} had {first.figure:.3f} after {duration(first.trained)}"
    half = "only the best continues" if len(best) == 1 else f"only the best {len(best)} continue"
    return replace(turn, decision=DROPPED, why=f"{_told(turn, unit)}{ahead}, and {half}")


def _told(turn: Turn, unit: str) -> str:
    return f"dropped after {duration(turn.trained)} at {turn.figure:.3f} {unit}: "


def won(turn: Turn, unit: str) -> Turn:
    """The last turn of the winner."""
    told = f"wins with {turn.figure:.3f} {unit} after {duration(turn.trained)}"
    early = "; it had stopped improving before its time was over" if turn.stopped_early else ""
    return replace(turn, decision=WON, why=told + early)


def left_out(schedule: Schedule, names: Sequence[str]) -> dict[str, str]:
    """Why some do not start, by name."""
    left = duration(max(0.0, schedule.seconds))
    enough = f"{left} are enough for {', '.join(schedule.starters)} only, as a"
    less = f"{left} are left, and a" if not schedule.starters else enough
    why = (
        f"{NOT_STARTED}: {less} first round takes {schedule.shortest:.0f} s; give a larger budget"
        f"{', or name it with --models' if schedule.starters else ''}"
    )
    return {name: why for name in names if name not in schedule.starters}


@dataclass
class Log:
    """All turns, kept on disk after each of them; those that failed are tried again when a comparison continues."""

    out: Path
    schedule: Schedule
    turns: list[Turn]

    @classmethod
    def opened(cls, out: Path, fresh: Schedule) -> Log:
        """What an interrupted comparison wrote, or a new one."""
        if not (out / ROUNDS).exists():
            return cls(out, fresh, [])
        kept: Mapping[str, Any] = sealed.read_json(out / ROUNDS)
        plan = kept["schedule"]
        rounds = tuple((int(models), float(each)) for models, each in plan["rounds"])
        turns = [Turn(**one) for one in kept["turns"]]
        found = Schedule(tuple(plan["starters"]), rounds, float(plan["seconds"]), float(plan["shortest"]))
        return cls(out, found, [turn for turn in turns if turn.decision != FAILED])

    def turn(self, number: int, name: str) -> Turn | None:
        """A model's turn in a round, if it has been."""
        return next((one for one in self.turns if (one.round, one.name) == (number, name)), None)

    def add(self, turn: Turn) -> None:
        """One more."""
        self.turns.append(turn)
        self.save()

    def decide(self, number: int, keep: int, unit: str) -> list[Turn]:
        """Decide about a round; gives its turns."""
        told = decided([one for one in self.turns if one.round == number], keep, unit)
        self.replace(told)
        return told

    def end(self, winner: str, unit: str) -> Turn:
        """The last turn of the winner; another that had the rest of the time in vain is dropped."""
        told = [turn for turn in self.turns if not turn.decision and turn.name != winner]
        best = won(next(one for one in reversed(self.turns) if one.name == winner), unit)
        vain = f"{winner} is better with {best.figure:.3f}"
        self.replace([best, *(replace(one, decision=DROPPED, why=_told(one, unit) + vain) for one in told)])
        return best

    def replace(self, told: Sequence[Turn]) -> None:
        """Turns with what was decided."""
        known = {(one.round, one.name): one for one in told}
        self.turns = [known.get((one.round, one.name), one) for one in self.turns]
        self.save()

    def last(self, name: str) -> Turn | None:
        """The last turn a model had."""
        return next((one for one in reversed(self.turns) if one.name == name), None)

    def save(self) -> None:
        """Keep everything."""
        values = {"schedule": asdict(self.schedule), "turns": [asdict(one) for one in self.turns]}
        sealed.write_json(self.out / ROUNDS, values, indent=2)
