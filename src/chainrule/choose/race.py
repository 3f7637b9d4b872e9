"""The comparison itself: one process after another, rounds in which the better half continues, then the mix."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from chainrule.choose.forks import Event, Forks
from chainrule.choose.ladder import Rung, by_promise
from chainrule.choose.rounds import CONTINUES, FAILED, LEAST, SHORTEST, Log, Turn, left_out, schedule
from chainrule.config import to_json
from chainrule.errors import BundleError, Stopped
from chainrule.store import sealed
from chainrule.store.files import write_text
from chainrule.train.checkpoint import FILE as CHECKPOINT

FINISHING = 0.02  # share of the time for putting everything together
COUNTING = 0.05  # share that counting is expected to take, before it is known
CURVE, COUNTED_CURVE = 0.03, 0.03  # shares that learning curves may take, of what learns and of what counts
LABELS_CURVE = 0.06  # the same of what counts, where more labels could be had
HALVES = 3  # sizes of a learner's curve, each with half of the data of the next, and half of the time
SHORTEST_PART = 2.0  # seconds for the smallest of them
STARTS, USUAL_JUDGING = 1.0, 2.0  # seconds in which a process starts, and a model is judged
ADAPTING = {"neural cache": 4.0, "dynamic evaluation": 100.0}  # what trying one takes, in times of judging
TOGETHER, AVERAGING = (
    2,
    3.0,
)  # models that learn in a mix of answers; what it takes, in times of judging its parts
ADAPTED = 0.03  # share of the time that one of them may take
PATIENCE = 60.0  # seconds beyond its share after which a process is stopped
CLOCK, FOLDERS = "seconds.txt", ("jobs", "found", "models", "runs", "scores")


@dataclass
class Race:
    """Where a comparison stands; what has been found before is not done again."""

    out: Path
    rungs: Sequence[Rung]
    budget: float
    mixing: bool
    watch: Callable[[Event], object]
    unit: str = "bits"  # of the figure that decides
    answers: bool = (
        False  # heads answer: what counts labels is fitted again on everything, and answers are averaged
    )
    began: float = field(default_factory=time.monotonic)
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # what was left out, and why
    before: float = 0.0  # seconds that passed before this process
    forks: Forks = field(init=False)

    def __post_init__(self) -> None:
        self.forks = Forks(self.out)
        for folder in FOLDERS:
            (self.out / folder).mkdir(parents=True, exist_ok=True)
        if (self.out / CLOCK).exists():
            self.before = _seconds(self.out / CLOCK)

    def measure(self, name: str, work: Callable[[], Mapping[str, Any]]) -> None:
        """Something beside the models, unless it has been found before."""
        if not self.found(name):
            sealed.write_json(self.out / "found" / f"{name}.json", work())

    def run(self) -> None:
        """Everything, the simplest first."""
        with self.forks:
            self._run()

    def _run(self) -> None:
        for codec, counted in self._counted().items():
            seconds = (LABELS_CURVE if self.answers else COUNTED_CURVE) * self.budget
            self._job(f"counting {codec}", "rungs", codec, 0.0, counted, curve_seconds=seconds)
        learners = by_promise(self.rungs)
        if learners:
            self._compete(learners)
        if self.answers:
            self._average()
        elif learners:
            self._mix(learners)
        if learners:
            self._curve(learners)
        self._refit()

    def _refit(self) -> None:
        """What is made by counting labels, once more on everything: seconds that are worth a tenth of the data."""
        for codec, counted in self._counted().items() if self.answers else ():
            names = [rung.name for rung in counted if self.found(rung.name)]
            self._job(f"refitting {codec}", "refit", codec, 0.0, names=names)
        mixes = [path.stem for path in (self.out / "found").glob("* + *.json")] if self.answers else []
        if mixes:
            self._job("refitting the mix", "refit", self.rungs[0].codec, 0.0, names=mixes)

    def planned(self) -> dict[str, float]:
        """Seconds that each model would have if it won, as far as is known before anything ran."""
        learners = by_promise(self.rungs)
        usable = (1 - FINISHING - COUNTING) * self.budget
        plan = schedule([rung.name for rung in learners], usable)
        return {rung.name: plan.planned for rung in learners}

    @property
    def turns(self) -> list[Turn]:
        """Everything that happened in rounds, as far as it is on disk."""
        return Log.opened(self.out, schedule([], 0.0)).turns

    def _counted(self) -> dict[str, list[Rung]]:
        """Those that count, by codec."""
        counted = [rung for rung in self.rungs if not rung.learns]
        codecs = dict.fromkeys(rung.codec for rung in counted)
        return {codec: [rung for rung in counted if rung.codec == codec] for codec in codecs}

    def _compete(self, learners: Sequence[Rung]) -> None:
        """Rounds in which the better half continues; then the winner has what is left."""
        names = [rung.name for rung in learners]
        starting = max((self.found(rung.name) or {}).get("started", 0.0) for rung in self.rungs)
        log = Log.opened(self.out, schedule(names, self.left - self._after(), starting))
        log.save()
        for name, why in left_out(log.schedule, names).items():
            self._fails(name, why)
        going = [rung for rung in self.rungs if rung.name in log.schedule.starters]  # the simplest first
        counts = [models for models, _ in log.schedule.rounds]
        for number, (_, seconds) in enumerate(log.schedule.rounds, 1):
            for rung in going:
                self._turn(log, number, rung, seconds)
            keep = counts[number] if number < len(counts) else 1
            going = self._next_round(log, number, keep, going)
        self._win(log, learners)

    def _next_round(self, log: Log, number: int, keep: int, going: Sequence[Rung]) -> list[Rung]:
        """Decide about a round, tell it, and give those that continue."""
        told = {turn.name: turn for turn in log.decide(number, keep, self.unit)}
        for name, turn in told.items():
            if turn.decision != FAILED:
                self.watch({"name": name, "decided": turn.why, "decision": turn.decision})
        kept = [rung for rung in going if told[rung.name].decision == CONTINUES]
        return [rung for rung in kept if not told[rung.name].stopped_early] or kept

    def _win(self, log: Log, learners: Sequence[Rung]) -> None:
        """The best gets the rest; where it has stopped improving, the next one that has not."""
        last = len(log.schedule.rounds) + 1
        started = [rung for rung in learners if rung.name in log.schedule.starters]
        for _ in started:
            hopeful = [rung for rung in started if self._may_improve(log, rung, last)]
            rung = self._best(hopeful) or next(iter(hopeful), None)
            seconds = self.left - self._after()
            if rung is None or (seconds < LEAST and log.last(rung.name)):
                break
            if seconds < LEAST:
                self._fails(
                    rung.name, f"{max(0.0, seconds):.1f} s are too short to learn in; give a larger budget"
                )
                break
            self._turn(log, last, rung, seconds)
            turn = log.last(rung.name)
            if turn and turn.decision != FAILED and not turn.stopped_early:
                break
        for rung in started:  # kept for rounds that do not come any more
            (self.out / "runs" / rung.name / CHECKPOINT).unlink(missing_ok=True)
        self._test(started)
        best = self._best(started)
        if best and log.last(best.name):
            told = log.end(best.name, self.unit)
            self.watch({"name": told.name, "decided": told.why, "decision": told.decision})

    def _test(self, started: Sequence[Rung]) -> None:
        """Judge those on the test part that left before the last round."""
        left = [rung for rung in started if "bits" not in (self.found(rung.name) or {"bits": None})]
        for codec in dict.fromkeys(rung.codec for rung in left):
            names = [rung.name for rung in left if rung.codec == codec]
            self._job(f"testing {codec}", "test", codec, 0.0, names=names)

    def _may_improve(self, log: Log, rung: Rung, last: int) -> bool:
        """Whether more time may help it: it has not stopped by itself, nor failed, nor had the rest already."""
        turn = log.last(rung.name)
        if turn is None:
            return not log.schedule.rounds
        return turn.round < last and not turn.stopped_early and turn.decision != FAILED

    def _turn(self, log: Log, number: int, rung: Rung, seconds: float) -> None:
        """One model in one round, unless it has been; one that was interrupted resumes within its time."""
        if log.turn(number, rung.name):
            return
        turn, began, reason = Turn(number, rung.name, seconds, self.passed), self.passed, None
        found = self.found(rung.name)
        if not found or found["round"] != number:
            seconds = min(seconds, max(LEAST, self.left))
            last = number > len(log.schedule.rounds)
            learning = None if last else max(LEAST, seconds - log.schedule.shortest + SHORTEST)
            more = {"planned": log.schedule.planned, "round": number, "learning": learning}
            reason = self._job(f"{rung.name}.{number}", "round", rung.codec, seconds, [rung], **more)
            found = self.found(rung.name)
        if reason or not found or found["round"] != number:
            log.add(replace(turn, seconds=self.passed - began, decision=FAILED, why=f"failed: {reason}"))
            return
        told = {name: found[name] for name in ("figure", "loss", "epochs", "stopped_early")}
        log.add(replace(turn, seconds=self.passed - began, trained=found["seconds"], **told))

    def _fails(self, name: str, reason: str) -> None:
        self.failed[name] = reason
        self.watch({"name": name, "failed": reason})

    def _after(self) -> float:
        """Seconds for what comes after the winner: the mix, and its learning curve where there is time for one."""
        learners = by_promise(self.rungs)
        best = self._best(learners)
        judging = self._judging(best)
        tested = sum(1 for rung in learners if "bits" not in (self.found(rung.name) or {})) - 1
        adapting = sum(ADAPTING[one] * judging for one in self._ways(judging))
        mixing = (2 * STARTS + (self._averaging() if self.answers else adapting)) if self.mixing else 0.0
        return max(0, tested) * judging / 2 + mixing + self._curve_seconds() + self._refit_seconds()

    def _refit_seconds(self) -> float:
        """What fitting again takes that counts labels."""
        counted = [rung for rungs in self._counted().values() for rung in rungs] if self.answers else []
        return float(sum((self.found(rung.name) or {}).get("seconds", 0.0) for rung in counted))

    def _judging(self, best: Rung | None) -> float:
        """Seconds in which the best model reads both held-out parts."""
        return float(self.found(best.name)["judging"]) if best else USUAL_JUDGING

    def _ways(self, judging: float) -> list[str]:
        """How the best may adapt itself to what it reads, as far as that can be tried in a small part of the time."""
        return [way for way, times in ADAPTING.items() if times * judging <= ADAPTED * self.budget]

    def _curve_seconds(self) -> float:
        """What a learner's curve takes, none if its smallest part would be too short to learn from."""
        seconds = CURVE * self.budget
        return seconds if (seconds - STARTS) / 2**HALVES >= SHORTEST_PART else 0.0

    def _averaging(self) -> float:
        """Seconds in which several models answer the held-out parts, and answer again for weights and temperature."""
        return AVERAGING * sum(float(self.found(rung.name)["judging"]) for rung in self._together())

    def _together(self) -> list[Rung]:
        """Whose answers are averaged: those of the best that learn and of the best that counts, or of two that do."""
        learnt = self._ranked(by_promise(self.rungs))[:TOGETHER]
        return [
            *learnt,
            *self._ranked([rung for rung in self.rungs if not rung.learns])[: 1 if learnt else 2],
        ]

    def _average(self) -> None:
        """The mean of what the best models answer."""
        parts = self._together()
        if self.mixing and len(parts) > 1:
            name = " + ".join(rung.name for rung in parts)
            seconds, names = max(0.0, self.left - self._curve_seconds()), [rung.name for rung in parts]
            self._job(name, "mix", parts[0].codec, seconds, parts=names, adapting=None)

    def _mix(self, learners: Sequence[Rung]) -> None:
        """The best that learns with the best that counts in the same symbols; also adapting itself, if time allows."""
        first = self._best(learners)
        second = self._best(self._counted().get(first.codec, [])) if first else None
        if not (self.mixing and first and second):
            return
        parts = [first.name, second.name]
        for way in (None, *self._ways(self._judging(first))):
            seconds = self.left - self._curve_seconds()
            if way is None or seconds >= ADAPTING[way] * self._judging(first):
                name = " + ".join([first.name, *([way] if way else []), second.name])
                self._job(name, "mix", first.codec, max(0.0, seconds), parts=parts, adapting=way)

    def _curve(self, learners: Sequence[Rung]) -> None:
        """How the winner improves with more data: from its rounds, or with parts of the data in parts of the time."""
        best = self._best(learners)
        if best is None or self.found(f"curve of {best.name}"):
            return
        turns = [turn for turn in self.turns if turn.name == best.name and turn.decision != FAILED]
        if len(turns) >= HALVES and turns[-1].epochs <= 1.0 and not self.answers:
            harder = self.found(best.name)["bits"] / turns[-1].figure  # the test part, than what decided
            points = {"read": [[turn.epochs, harder * turn.figure] for turn in turns]}
            sealed.write_json(self.out / "found" / f"curve of {best.name}.json", points)
            return
        seconds = min(self._curve_seconds(), self.left)
        if not seconds or seconds < self._curve_seconds() / 2:
            self.notes.append(
                f"There was no time for a learning curve of {best.name}, which would be {CURVE:.0%} of the budget."
            )
            return
        trained = turns[-1].trained if turns else self.found(best.name)["seconds"]
        share = (seconds - STARTS) / (2 - 2.0 ** (1 - HALVES)) / trained
        fractions = [min(0.5, share) / 2**half for half in reversed(range(HALVES))]
        self._job(f"curve of {best.name}", "curve", best.codec, seconds, [best], fractions=fractions)

    def _best(self, rungs: Sequence[Rung]) -> Rung | None:
        """The best by the task's own figure on the validation part, of those that did not fail."""
        return next(iter(self._ranked(rungs)), None)

    def _ranked(self, rungs: Sequence[Rung]) -> list[Rung]:
        """Those that did not fail, the best first."""
        found = {rung.name: self.found(rung.name) for rung in rungs}
        done = [rung for rung in rungs if found[rung.name]]
        return sorted(done, key=lambda rung: found[rung.name]["loss"])

    def found(self, name: str) -> Any:
        """What a model's process left; None if it did not come so far."""
        path = self.out / "found" / f"{name}.json"
        return sealed.read_json(path) if path.exists() else None

    @property
    def left(self) -> float:
        """Seconds until everything is to be put together."""
        return (1 - FINISHING) * self.budget - self.passed

    @property
    def passed(self) -> float:
        """Seconds so far, those before it was stopped included."""
        return self.before + time.monotonic() - self.began

    def _job(
        self, name: str, kind: str, codec: str, seconds: float, rungs: Sequence[Rung] = (), **more: Any
    ) -> str | None:
        """One process, unless it has been done before; gives the reason if it failed."""
        todo = [rung for rung in rungs if kind != "rungs" or not self.found(rung.name)]
        if (kind == "rungs" and not todo) or self.found(name):
            return None
        described = {"name": name, "kind": kind, "codec": codec, "seconds": seconds, **more}
        path = self.out / "jobs" / f"{name}.json"
        job = described | {"rungs": [asdict(rung) for rung in todo], "launched": time.time()}
        write_text(path, to_json(job) + "\n")
        names = [rung.name for rung in todo] if kind in ("rungs", "round") else [name]
        self.watch({"name": names[0], "began": True, "seconds": seconds, "round": more.get("round")})
        reason = self._process(path, seconds)
        self._tick()
        for one in names:
            if reason and not self.found(one):
                self._fails(one, reason)
        return reason

    def _tick(self) -> None:
        """Time that has passed counts, also if this process is killed."""
        write_text(self.out / CLOCK, f"{self.passed:.3f}\n")

    def _process(self, path: Path, seconds: float) -> str | None:
        """Why it failed; None if it did not."""
        limit, code = (1.5 * seconds or max(0.0, self.left)) + PATIENCE, 0
        with _limited(self.forks, limit) as late:
            try:
                for event in self.forks.run(path):
                    code = event.get("ended", code)
                    if "name" in event:
                        self.watch(event)
                    self._tick()
            except KeyboardInterrupt:
                raise Stopped("stopped; continue with --resume.") from None
        if late.is_set():
            return f"it was stopped after {limit:.0f} s, far beyond its time"
        log = path.with_suffix(".log")
        told = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return _reason(code, told)


def _seconds(path: Path) -> float:
    try:
        return float(path.read_text())
    except (OSError, ValueError) as error:
        raise BundleError(f"{path} is damaged: it should say how many seconds have passed.") from error


@contextmanager
def _limited(forks: Forks, seconds: float) -> Iterator[threading.Event]:
    """Stop a job that takes far too long; the event says whether that happened."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        forks.stop(signal.SIGKILL)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


def _reason(code: int, lines: Sequence[str]) -> str | None:
    """Why a process ended as it did, from its code and what it complained of; None if nothing was wrong."""
    if code == 0:
        return None
    if code == -signal.SIGKILL:
        return "its process was killed, perhaps for lack of memory"
    if code < 0:
        return f"its process was stopped by signal {-code}"
    return lines[-1] if lines else f"its process ended with code {code}"
