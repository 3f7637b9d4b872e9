"""Verbs that write, interrupted: kill -9 at every file operation, a full and a broken disk at every write, signals.

After each of them what was there before is still there or completely replaced, nothing half-written has a name, and the
verb can be done again.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import served
import shim
from faults import Done, Hang, Lost, Section, Wrong
from formats import TEXT
from verbs import BESIDE, QUICK, SAVE, VERBS, Verb

import chainrule as cr
from chainrule.cli import main
from chainrule.cli.failure import explain

PATIENCE = 240.0  # seconds for one command, which takes a few: other programs may keep the machine busy
COUNTS = "counts.json"  # among the examples
SAVES = 4
GOLDEN = (
    0.6180339887498949  # its multiples, without the whole part, are spread evenly, however many there are
)
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    told: str
    counts: tuple[int, int] = (0, 0)  # file operations, and those a disk can refuse

    @property
    def outcome(self) -> str:
        """Success or a clean refusal; anything else is an error of the program."""
        if "Traceback" in self.told or "chainrule: unexpected" in self.told:
            begin = max(0, self.told.find("Traceback") - 200)
            raise RuntimeError(f"{self.code}: {self.told[begin:].strip()[:900]}")
        if self.code not in (0, 1, 2, -signal.SIGKILL, *SIGNALS.values(), *(-one for one in SIGNALS)):
            raise RuntimeError(f"it ended with {self.code}: {self.told.strip()[-300:]}")
        return "success" if self.code == 0 else "refused"


def executed(words: list[str], fault: str = "", at: int = 0, send: tuple[int, float] | None = None) -> Ended:
    """A command in a process of its own, with a fault at one of its file operations, or a signal after some time."""
    with tempfile.TemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as told:
        inside, out = os.pipe()
        child = os.fork()
        if not child:
            _execute(words, fault, at, told.fileno(), out)
        os.close(out)
        if send is not None:
            time.sleep(send[1])
            os.kill(child, send[0])
        code = _waited(child)
        with os.fdopen(inside) as counts:
            found = counts.read()
        told.seek(0)
        text = told.read().decode("utf-8", "replace")
    return Ended(code, text, tuple(json.loads(found)) if found else (0, 0))


def _execute(words: list[str], fault: str, at: int, told: int, out: int) -> None:
    code = 99
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(told, 1), os.dup2(told, 2)
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w")) for number in (1, 2))
        served.install()
        points = shim.install(fault, at)
        sys.argv = ["chainrule", *words]
        code = _saved(*words[1:]) if words[0] == SAVE else main()  # with the handlers of a command
        sys.stdout.flush(), sys.stderr.flush()
        os.write(out, json.dumps([points.count, points.disk]).encode())
    finally:
        os._exit(code)


def _saved(model: str, out: str, *flags: str) -> int:
    """What `save` of Python does, told as a command tells it."""
    try:
        cr.load(model).save(out, "--force" in flags)
    except Exception as error:
        return explain(error, False, False)
    return 0


def _waited(child: int) -> int:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Hang


def command(*words: object) -> str:
    """The outcome of a command."""
    return executed([*map(str, words), "-q"]).outcome


def _fits(found: object, wanted: object) -> bool:
    """The wanted result, or as much of it as could be had, with the reasons why the rest could not."""
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return found == wanted
    return wanted.keys() <= found.keys() and all(
        isinstance(one, str) or one == wanted.get(name) for name, one in found.items()
    )


def _some(found: object, wanted: object) -> bool:
    """Some of the wanted results, and nothing else."""
    assert isinstance(found, dict) and isinstance(wanted, dict)
    return all(wanted.get(name) == one for name, one in found.items())


def state(verb: Verb, place: Path) -> object:
    """What is at the place of the result; what is there but cannot be read is lost."""
    path = place / verb.out
    if not path.exists():
        return None
    try:
        return verb.reads(path)
    except Exception as error:
        raise Lost(f"{verb.name}: {path.name} is there and cannot be read: {error}") from error


@cache
def expected(name: str, examples: Path) -> tuple[object, Ended, float]:
    """What a verb gives that nothing disturbs, how many file operations it has, and how long it takes."""
    verb = VERBS[name]
    with tempfile.TemporaryDirectory(dir=examples.parent) as folder:
        if not name.startswith("save "):
            _warm(verb, examples, Path(folder) / "warm")
        verb.prepare(examples, Path(folder))
        began = time.monotonic()
        ended = executed(verb.line(examples, Path(folder)))
        if ended.outcome != "success":
            raise RuntimeError(f"{name}: {ended.told}")
        return state(verb, Path(folder)), ended, time.monotonic() - began


def _warm(verb: Verb, examples: Path, place: Path) -> None:
    """Do it once here, so that forked processes have everything imported and compiled."""
    place.mkdir()
    verb.prepare(examples, place)
    words = verb.line(examples, place)
    main(words)


def checked(verb: Verb, examples: Path, place: Path, ended: Ended, before: object) -> str:
    """The outcome of a disturbed verb, if nothing was lost and nothing is wrong."""
    wanted, found = expected(verb.name, examples)[0], state(verb, place)
    whole = _some(found, wanted) if verb.one_by_one else _fits(found, wanted)
    if found != before and not whole:
        raise Lost(f"{verb.name}: neither the old nor the new result, {found!r:.80}")
    if (place / "beside.txt").read_text() != BESIDE or (examples / "data" / "text.txt").read_text() != TEXT:
        raise Lost(f"{verb.name}: a file of the user has changed")
    outcome = ended.outcome
    if outcome == "success" and not _fits(found, wanted):
        raise Wrong(f"{verb.name}: it says that it is done, and is not")
    left = [one.name for one in place.iterdir() if one.name.endswith((".partial", ".old"))]
    if left and ended.code >= 0:
        raise Wrong(f"{verb.name}: {left[0]} was left, {ended.told.strip()[-200:]}")
    return outcome


def repeatable(verb: Verb, examples: Path, place: Path) -> None:
    """The verb can be done again, and gives what it should."""
    told = ""
    for flag in verb.again or ("",):
        ended = executed(verb.line(examples, place, *filter(None, [flag])))
        if ended.outcome == "success":
            if state(verb, place) != expected(verb.name, examples)[0]:
                raise Wrong(f"{verb.name} {flag} afterwards gives something else")
            return
        told = ended.told.strip()
    raise Lost(f"{verb.name}: it cannot be done again: {told[-300:]}")


def count(examples: Path, few: bool) -> None:
    """Write down how many file operations every verb has."""
    names = QUICK if few else list(VERBS)
    found = {name: expected(name, examples)[1].counts for name in names}
    (examples / COUNTS).write_text(json.dumps(found))


@cache
def plan(fault: str, examples: Path, comparing: bool) -> list[tuple[str, int]]:
    """Every file operation of every verb, in an order of which every beginning is spread evenly over all of them.

    All models are saved by the same code: of each every fourth operation, of the next one those beside.
    """
    cases = []
    for number, (name, counts) in enumerate(json.loads((examples / COUNTS).read_text()).items()):
        if name.startswith("compare") == comparing:
            step = SAVES if name.startswith("save ") else VERBS[name].step
            first = 1 + number % step
            cases += [(name, at) for at in range(first, 1 + counts["kill" not in fault], step)]
    return [cases[at] for at in sorted(range(len(cases)), key=lambda at: at * GOLDEN % 1)]


def at_operation(fault: str, comparing: bool = False) -> Callable[[Path, Path, Random], str]:
    def case(examples: Path, place: Path, random: Random) -> str:
        cases = plan(fault, examples, comparing)
        if int(place.name) >= len(cases):
            raise Done
        name, at = cases[int(place.name)]
        verb = VERBS[name]
        verb.prepare(examples, place)
        before = state(verb, place)
        ended = executed(verb.line(examples, place), fault, at)
        outcome = checked(verb, examples, place, ended, before)
        if ended.code or state(verb, place) != expected(name, examples)[0]:
            repeatable(verb, examples, place)
        return "success" if ended.code == -signal.SIGKILL else outcome

    return case


def signalled(examples: Path, place: Path, random: Random) -> str:
    """A signal at a random moment."""
    verb = VERBS[random.choice(sorted(VERBS))]
    verb.prepare(examples, place)
    before, took = state(verb, place), expected(verb.name, examples)[2]
    number = random.choice([*SIGNALS, signal.SIGKILL])
    ended = executed(verb.line(examples, place), send=(number, random.random() * took * 1.1))
    outcome = checked(verb, examples, place, ended, before)
    if ended.code:
        repeatable(verb, examples, place)
    return "success" if ended.code == -signal.SIGKILL else outcome


def comparison(examples: Path, place: Path, random: Random) -> str:
    """A comparison that is killed, with all of its processes or alone, and continued."""
    verb = VERBS[random.choice([name for name in VERBS if name.startswith("compare")])]
    words = verb.line(examples, place)
    ended = executed(words, send=(random.choice([*SIGNALS, signal.SIGKILL]), random.random() * 6.0))
    if ended.outcome == "success":
        return "success"
    again = executed([*words, "--resume"])
    if again.outcome != "success" or not _fits(state(verb, place), expected(verb.name, examples)[0]):
        raise Lost(f"the comparison cannot continue: {again.told.strip()[-300:]}")
    return "success" if ended.code == -signal.SIGKILL else "refused"


SECTIONS = [
    Section("kill -9 at a file operation", 10_000, 5.0, at_operation("kill"), 3 * PATIENCE),
    Section("full disk at a write", 10_000, 3.0, at_operation("ENOSPC"), 3 * PATIENCE),
    Section("I/O error at a write", 10_000, 3.0, at_operation("EIO"), 3 * PATIENCE),
    Section(
        "comparisons: all killed at an operation", 10_000, 2.0, at_operation("kill all", True), 3 * PATIENCE
    ),
    Section("comparisons: one killed at an operation", 10_000, 2.0, at_operation("kill", True), 3 * PATIENCE),
    Section("comparisons: full disk at a write", 10_000, 1.0, at_operation("ENOSPC", True), 3 * PATIENCE),
    Section("comparisons: I/O error at a write", 10_000, 1.0, at_operation("EIO", True), 3 * PATIENCE),
    Section("signals", 300, 1.0, signalled, 3 * PATIENCE),
    Section("interrupted comparisons", 30, 1.0, comparison, 3 * PATIENCE),
]
