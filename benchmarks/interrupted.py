"""Verbs that write, interrupted: kill -9 at every file operation, a full and a broken disk at every write, signals.

After each of them what was there before is still there or completely replaced, nothing half-written has a name, and the
verb can be done again. What a kill leaves is what was on the disk before the operation: a verb is run once, and each
state that its folder was in is checked, and continued from, once; every so often a process is killed indeed, and has
to leave the same. A disk that is full or broken is an error in the process itself. Comparisons have several processes,
which are killed one by one, too.
"""

from __future__ import annotations

import os
import pickle
import re
import shutil
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import shim
from commands import PATIENCE, SIGNALS, Ended, beside_it, executed, here
from faults import Done, Lost, Section, Wrong
from formats import TEXT
from verbs import BESIDE, QUICK, VERBS, Verb

EXPECTED = "expected.pickle"  # among the examples: what undisturbed verbs give
GOLDEN = (
    0.6180339887498949  # its multiples, without the whole part, are spread evenly, however many there are
)
KILLED = 40  # of so many kills that are known from what a run left, one is tried
CLOCKS = 64  # bytes by which a file may differ in which seconds are written
HOUR = 3600.0  # seconds after which what a killed process has left is old


def _fits(found: object, wanted: object) -> bool:
    """The wanted result, or as much of it as could be had, with the reasons why the rest could not."""
    if not isinstance(found, dict) or not isinstance(wanted, dict):
        return found == wanted
    return wanted.keys() <= found.keys() and all(
        isinstance(one, str) or one == wanted.get(name) for name, one in found.items()
    )


def _some(found: object, wanted: object) -> bool:
    """Some of the wanted results, and nothing else."""
    if found is None:
        return True
    assert isinstance(found, dict) and isinstance(wanted, dict)
    return all(wanted.get(name) == one for name, one in found.items())


def state(verb: Verb, place: Path) -> object:
    """What is at the place of the result; what is there but cannot be read is lost."""
    path = place / verb.out
    if not path.exists():
        return None
    return _state(verb.name, path, shim.fingerprint(path))


@cache
def _state(name: str, path: Path, content: str) -> object:
    try:
        return VERBS[name].reads(path)
    except Exception as error:
        raise Lost(f"{name}: {path.name} is there and cannot be read: {error}") from error


def done(verb: Verb, examples: Path, place: Path, fault: str = "", at: int = 0) -> Ended:
    """The command, in this process where that is enough."""
    words = verb.line(examples, place)
    return executed(words, fault, at) if verb.forks else here(words, shim.Points(fault, at))


def expected(name: str, examples: Path) -> tuple[object, Ended]:
    """What a verb gives that nothing disturbs, how many file operations it has, and how long it takes."""
    return all_expected(examples)[name]


@cache
def all_expected(examples: Path) -> dict[str, tuple[object, Ended]]:
    """The same of all verbs, as `count` has written it down."""
    found: dict[str, tuple[object, Ended]] = pickle.loads((examples / EXPECTED).read_bytes())
    return found


def undisturbed(verb: Verb, examples: Path) -> tuple[object, Ended]:
    """The second time that a verb is done, as everything is imported and compiled then."""
    for _ in range(2):
        with beside_it(examples) as folder:
            verb.prepare(examples, folder)
            ended = done(verb, examples, folder)
            if ended.outcome != "success":
                raise RuntimeError(f"{verb.name}: {ended.told}")
            found = state(verb, folder)
    return found, ended


def checked(verb: Verb, examples: Path, place: Path, ended: Ended | None, before: object) -> str:
    """The outcome of a disturbed verb, if nothing was lost and nothing is wrong; None: it was killed."""
    wanted, found = expected(verb.name, examples)[0], state(verb, place)
    whole = _some(found, wanted) if verb.one_by_one else _fits(found, wanted)
    if found != before and not whole:
        raise Lost(f"{verb.name}: neither the old nor the new result, {found!r:.80}")
    if (place / "beside.txt").read_text() != BESIDE or (examples / "data" / "text.txt").read_text() != TEXT:
        raise Lost(f"{verb.name}: a file of the user has changed")
    if ended is None or ended.code == -signal.SIGKILL:
        return "success"
    outcome = ended.outcome
    if outcome == "success" and not _fits(found, wanted):
        raise Wrong(f"{verb.name}: it says that it is done, and is not")
    left = partial(place)
    if left and ended.code >= 0:
        raise Wrong(f"{verb.name}: {left[0]} was left, {ended.told.strip()[-200:]}")
    return outcome


def partial(place: Path) -> list[str]:
    """What somebody has left who did not come to an end."""
    return [one.name for one in place.iterdir() if one.name.endswith((".partial", ".old"))]


def repeatable(verb: Verb, examples: Path, place: Path) -> None:
    """The verb can be done again, gives what it should, and what a killed process has left is gone."""
    left = [one for one in place.iterdir() if one.name.endswith(".partial")]
    for one in left:
        old = one.stat().st_mtime - HOUR
        os.utime(one, (old, old))
    told = ""
    for flag in verb.again or ("",):
        words = verb.line(examples, place, *filter(None, [flag]))
        ended = executed(words) if verb.forks else here(words, shim.Points("", 0))
        if ended.outcome == "success":
            if state(verb, place) != expected(verb.name, examples)[0]:
                raise Wrong(f"{verb.name} {flag} afterwards gives something else")
            if any(one.exists() for one in left):
                raise Wrong(f"{verb.name} {flag} afterwards leaves {partial(place)}")
            return
        told = ended.told.strip()
    raise Lost(f"{verb.name}: it cannot be done again: {told[-300:]}")


def count(examples: Path, few: bool) -> None:
    """Do every verb, and write down what comes of it."""
    found = {name: undisturbed(VERBS[name], examples) for name in (QUICK if few else VERBS)}
    (examples / EXPECTED).write_bytes(pickle.dumps(found))


@cache
def plan(fault: str, examples: Path, forks: bool) -> list[tuple[str, int]]:
    """Every file operation of every verb, in an order of which every beginning is spread evenly over all of them."""
    counts = {name: one.counts["kill" not in fault] for name, (_, one) in all_expected(examples).items()}
    names = [name for name in counts if VERBS[name].forks == forks]
    return spread([(name, at) for name in names for at in range(1, 1 + counts[name])])


def spread(cases: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return [cases[at] for at in sorted(range(len(cases)), key=lambda at: at * GOLDEN % 1)]


@cache
def seen(examples: Path, folder: Path, forks: bool) -> list[tuple[str, int]]:
    """The same of kills, as a run of each verb shows them."""
    names = [name for name in all_expected(examples) if VERBS[name].forks == forks]
    return spread([(name, at) for name in names for at in runs(name, examples, folder)[1]])


def fresh(verb: Verb, examples: Path, place: Path) -> Path:
    """A folder with the name that all cases of a section share, with what is there before."""
    now = place.parent / "now"
    shutil.rmtree(now, ignore_errors=True)
    now.mkdir()
    verb.prepare(examples, now)
    return now


@cache
def runs(name: str, examples: Path, folder: Path) -> tuple[shim.Watched, dict[int, str]]:
    """A run of a verb, the second one, and the states that its folder was in."""
    verb, copies = VERBS[name], folder / f"states of {name}"
    copies.mkdir()
    now = fresh(verb, examples, folder / "none")
    if not verb.forks:  # what is compiled the first time is written, too
        here(verb.line(examples, now), shim.Points("", 0))
        now = fresh(verb, examples, folder / "none")
    watched = shim.Watched(now, copies)
    points, words = shim.Points("", 0, watched), verb.line(examples, now)
    ended = executed(words, points=points) if verb.forks else here(words, points)
    if ended.outcome != "success":
        raise RuntimeError(f"{name}: {ended.told}")
    return watched, watched.states()


known: dict[tuple[str, str], str] = {}  # outcomes, by verb and state


def again(verb: Verb, examples: Path, place: Path) -> None:
    """Do a verb again in a folder, if that was not tried in just this state of it."""
    at = verb.name, shim.fingerprint(place)
    if at not in known:
        repeatable(verb, examples, place)
        known[at] = "repeated"


def killed(all_of_them: bool) -> Callable[[Path, Path, Random], str]:
    """Kills that are known from one run: of a process, or of all processes of a comparison."""

    def case(examples: Path, place: Path, random: Random) -> str:
        cases = seen(examples, place.parent, all_of_them)
        if int(place.name) >= len(cases):
            raise Done
        name, at = cases[int(place.name)]
        verb, (watched, states) = VERBS[name], runs(name, examples, place.parent)
        left = states[at]
        if (name, left) not in known:
            now = fresh(verb, examples, place)
            before = state(verb, now)
            shutil.rmtree(now)
            shutil.copytree(watched.copies / left, now, symlinks=True)
            checked(verb, examples, now, None, before)
            repeatable(verb, examples, now)
            known[name, left] = "success"
        return "success"

    return case


def really_killed(examples: Path, place: Path, random: Random) -> str:
    """Some of the same kills, of a process: it leaves a state of the run, each of which is continued from above.

    Not always the one before the same operation: what is written by the clock may come one operation earlier.
    """
    cases = seen(examples, place.parent, False)
    if int(place.name) * KILLED >= len(cases):
        raise Done
    name, at = cases[int(place.name) * KILLED]
    verb = VERBS[name]
    watched, states = runs(name, examples, place.parent)
    now = fresh(verb, examples, place)
    before = state(verb, now)
    ended = executed(verb.line(examples, now), "kill", at)
    if ended.code != -signal.SIGKILL:  # it had fewer operations
        return checked(verb, examples, now, ended, before)
    told = _sizes(now)
    if not any(_alike(told, _sizes(watched.copies / one)) for one in dict.fromkeys(states.values())):
        raise RuntimeError(f"{name}: killed at {at} it leaves {told}, which is no state of the run")
    return "success"


def _alike(one: dict[str, int], other: dict[str, int]) -> bool:
    """The same files, as large but for clocks."""
    return one.keys() == other.keys() and all(abs(one[name] - other[name]) <= CLOCKS for name in one)


def _sizes(place: Path) -> dict[str, int]:
    """Of all files in a folder, their names without what is drawn by chance."""
    names = {path: re.sub(r"\.[0-9a-f]{8}\.", ".", str(path.relative_to(place))) for path in place.rglob("*")}
    return {name: path.stat().st_size if path.is_file() else 0 for path, name in names.items()}


def at_operation(fault: str, forks: bool = False) -> Callable[[Path, Path, Random], str]:
    """A disk that is full or broken, or a process of a comparison that is killed."""

    def case(examples: Path, place: Path, random: Random) -> str:
        cases = plan(fault, examples, forks)
        if int(place.name) >= len(cases):
            raise Done
        name, at = cases[int(place.name)]
        verb = VERBS[name]
        wanted = expected(name, examples)[0]
        now = fresh(verb, examples, place)
        before = state(verb, now)
        ended = done(verb, examples, now, fault, at)
        outcome = checked(verb, examples, now, ended, before)
        if ended.code or state(verb, now) != wanted:
            again(verb, examples, now)
        return outcome

    return case


def signalled(examples: Path, place: Path, random: Random) -> str:
    """Every signal to every verb, at random moments."""
    numbers = [*SIGNALS, signal.SIGKILL]
    names = sorted(all_expected(examples))
    verb = VERBS[names[int(place.name) % len(names)]]
    number = numbers[int(place.name) // len(names) % len(numbers)]
    took = expected(verb.name, examples)[1].seconds
    now = fresh(verb, examples, place)
    before = state(verb, now)
    ended = executed(verb.line(examples, now), send=(number, random.random() * took * 1.1))
    outcome = checked(verb, examples, now, ended, before)
    if ended.code:
        again(verb, examples, now)
    return outcome


def comparison(examples: Path, place: Path, random: Random) -> str:
    """A comparison that is killed, with all of its processes or alone, and continued."""
    verb = VERBS[random.choice([name for name, one in VERBS.items() if one.forks])]
    words = verb.line(examples, place)
    ended = executed(words, send=(random.choice([*SIGNALS, signal.SIGKILL]), random.random() * 6.0))
    if ended.outcome == "success":
        return "success"
    more = executed([*words, "--resume"])
    if more.outcome != "success" or not _fits(state(verb, place), expected(verb.name, examples)[0]):
        raise Lost(f"the comparison cannot continue: {more.told.strip()[-300:]}")
    return "success" if ended.code == -signal.SIGKILL else "refused"


SECTIONS = [
    Section("kill -9 at a file operation", 20_000, 3.0, killed(False), 3 * PATIENCE),
    Section("processes killed indeed", 20_000, 1.0, really_killed, 3 * PATIENCE),
    Section("full disk at a write", 20_000, 4.0, at_operation("ENOSPC"), 3 * PATIENCE),
    Section("I/O error at a write", 20_000, 4.0, at_operation("EIO"), 3 * PATIENCE),
    Section("comparisons: all killed at an operation", 20_000, 2.0, killed(True), 3 * PATIENCE),
    Section("comparisons: one killed at an operation", 20_000, 3.0, at_operation("kill", True), 3 * PATIENCE),
    Section("comparisons: full disk at a write", 20_000, 2.0, at_operation("ENOSPC", True), 3 * PATIENCE),
    Section("comparisons: I/O error at a write", 20_000, 2.0, at_operation("EIO", True), 3 * PATIENCE),
    Section("signals", 4 * len(VERBS), 1.0, signalled, 3 * PATIENCE),
    Section("interrupted comparisons", 30, 1.0, comparison, 3 * PATIENCE),
]
