"""What hostile input, damage, kills and full disks do to the program. Prints a Markdown table; all counts but the first
three should be 0.

    python benchmarks/faults.py [--seconds 1800] [--seed 1] [--only SECTION,...] [--first CASE] [--slice] [--verbose]
                                [--examples FOLDER]

Every case is drawn from the seed, the section and its number, so that it can be repeated: `--only SECTION --case 17`.
Each section has a number of cases that it wants to try and a share of the seconds; it ends with either of them. Cases
run in a process of their own section, which is started again where a case crashes it or hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

os.environ["CHAINRULE_THREADS"] = "1"  # processes are forked, and threads are not
sys.path.insert(0, str(Path(__file__).parent))

QUICK = (
    "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
)  # a place in memory: millions of files are written
LONG = 60.0  # seconds of computing after which a case hangs; most take less than one
PATIENCE = 600.0  # seconds after which one that waits hangs, whatever else keeps the machine busy
COLUMNS = ("refused", "success", "traceback", "hang", "lost", "wrong")
TITLES = ("tried", "clean refusal", "success", "traceback", "hang", "lost", "silently wrong")
BAD = COLUMNS[2:]
SLICE = (
    *("data files", "settings files", "ARPA files", "tensor files", "models signed again", "damaged models"),
    *("damaged caches", "kill -9 at a file operation", "full disk at a write", "I/O error at a write"),
)


class Wrong(Exception):
    """An answer that is not right, without a word about it."""


class Lost(Exception):
    """What was there before is gone."""


class Done(Exception):
    """A section has no more cases."""


class Hang(BaseException):
    """A case took too long."""


@dataclass(frozen=True)
class Section:
    """Cases of one kind: `case` is given a folder of examples, one for itself, and random numbers."""

    name: str
    wanted: int  # cases
    share: float  # of the seconds
    case: Callable[[Path, Path, Random], str | None]  # the outcome, if it is neither an error nor success
    long: float = LONG


@dataclass
class Tally:
    """What came of the cases of a section."""

    section: Section
    found: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    verbose: bool = False  # what is bad is told at once

    def add(self, number: int, outcome: str, note: str) -> None:
        """One case more."""
        self.found[outcome] += 1
        if outcome in BAD:
            self.notes.append(f"{self.section.name} --case {number}: {outcome}: {note}")
            if self.verbose:
                print(self.notes[-1], self.row(), sep="\n", file=sys.stderr, flush=True)

    def row(self) -> str:
        """A line of the table."""
        counts = [sum(self.found.values()), *(self.found[name] for name in COLUMNS)]
        return f"| {self.section.name} | {' | '.join(f'{count:,}' for count in counts)} |"


def outcome(section: Section, examples: Path, place: Path, random: Random) -> tuple[str, str]:
    """What comes of a case, and what there is to say about it."""
    from chainrule.errors import ChainruleError

    place.mkdir()
    signal.setitimer(signal.ITIMER_PROF, section.long)
    try:
        return section.case(examples, place, random) or "success", ""
    except (ChainruleError, MemoryError) as error:
        return "refused", str(error)
    except Done:
        return "done", ""
    except Hang:
        return "hang", _where(sys.exc_info()[2])
    except Wrong as error:
        return "wrong", str(error)
    except Lost as error:
        return "lost", str(error)
    except BaseException as error:
        return "traceback", f"{type(error).__name__}: {str(error)[:600]} at {_where(error.__traceback__)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(place, ignore_errors=True)


def _where(trace: Any) -> str:
    places = []
    while trace is not None:
        places.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return " < ".join(places[:-5:-1])


def _alarm(number: int, frame: object) -> None:
    raise Hang


def _work(
    section: Section, examples: Path, seed: int, numbers: Iterable[int], until: float, out: int
) -> None:
    """The cases of a section, in a process of its own; the outcome of each is a line."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    signal.signal(signal.SIGPROF, _alarm)
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1), os.dup2(quiet, 2), os.dup2(quiet, 0)
    with tempfile.TemporaryDirectory(dir=examples.parent, ignore_cleanup_errors=True) as folder:
        for number in numbers:
            if time.monotonic() > until:
                break
            random = Random(f"{seed}/{section.name}/{number}")
            found = outcome(section, examples, Path(folder) / str(number), random)
            if found[0] == "done":
                break
            os.write(out, (json.dumps([number, *found]) + "\n").encode())


def _begin(section: Section, examples: Path, seed: int, first: int, until: float) -> tuple[int, int]:
    """The process of a section from a case on, and where it tells of them."""
    inside, out = os.pipe()
    child = os.fork()
    if child:
        os.close(out)
        return child, inside
    code = 1
    try:
        os.setpgid(0, 0)
        _work(section, examples, seed, range(first, section.wanted), until, out)
        code = 0
    finally:
        os._exit(code)


def run(
    section: Section, examples: Path, seed: int, seconds: float, first: int = 0, verbose: bool = False
) -> Tally:
    """Try the cases of a section, from one on, within this time."""
    tally, number, until = Tally(section, verbose=verbose), first, time.monotonic() + seconds
    while number < section.wanted and time.monotonic() < until:
        child, told = _begin(section, examples, seed, number, until)
        number, stuck = _listen(tally, told, number)
        if stuck:
            os.killpg(child, signal.SIGKILL)
        os.close(told)
        _, status = os.waitpid(child, 0)
        if stuck:
            tally.add(number, "hang", "it cannot be interrupted")
        elif status:
            tally.add(number, "traceback", f"the process ended with {os.waitstatus_to_exitcode(status)}")
        else:
            break
        number += 1
    return tally


def _listen(tally: Tally, told: int, number: int) -> tuple[int, bool]:
    """Outcomes as they come; the number of the next case, and whether it hangs."""
    held = b""
    while True:
        ready, _, _ = select.select([told], [], [], max(PATIENCE, 3 * tally.section.long))
        if not ready:
            return number, True
        part = os.read(told, 1 << 16)
        if not part:
            return number, False
        *lines, held = (held + part).split(b"\n")
        for line in lines:
            at, outcome, note = json.loads(line)
            tally.add(at, outcome, note)
            number = at + 1


def sections() -> list[Section]:
    """All of them; what they need is imported once, before processes are forked."""
    import beside
    import damage
    import hostile
    import interrupted
    import typed

    return [*hostile.SECTIONS, *beside.SECTIONS, *typed.SECTIONS, *damage.SECTIONS, *interrupted.SECTIONS]


def prepared(folder: Path, few: bool = False, kept: Path | None = None) -> Path:
    """Examples to damage, made by a process of its own, which says nothing; those that are `kept` are made once."""
    import interrupted
    import workshop

    examples = folder / "examples" if kept is None else kept.absolute()
    if (examples / interrupted.EXPECTED).exists():
        return examples
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if not (examples / "data").exists():
                workshop.make(examples, few)
            interrupted.count(examples, few)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("The examples could not be made.")
    return examples


def campaign(
    seconds: float,
    seed: int,
    only: set[str],
    verbose: bool = False,
    few: bool = False,
    first: int = 0,
    kept: Path | None = None,
) -> list[Tally]:
    """Every section in turn; time that one does not need is for the others."""
    chosen = [one for one in sections() if not only or one.name in only]
    with tempfile.TemporaryDirectory(dir=QUICK, prefix="faults-", ignore_cleanup_errors=True) as folder:
        os.environ["CHAINRULE_CACHE"] = str(Path(folder) / "cache")
        examples, tallies = prepared(Path(folder), few, kept), []
        began = time.monotonic()
        for at, section in enumerate(chosen):
            left = max(1.0, seconds - (time.monotonic() - began))
            share = section.share / sum(one.share for one in chosen[at:])
            started = time.monotonic()
            tallies.append(run(section, examples, seed, left * share, first, verbose))
            if verbose:
                print(tallies[-1].row(), f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return tallies


def repeated(name: str, number: int, seed: int, kept: Path | None) -> None:
    """One case again, with its traceback."""
    section = next(one for one in sections() if one.name == name)
    with tempfile.TemporaryDirectory(dir=QUICK, prefix="faults-") as folder:
        os.environ["CHAINRULE_CACHE"] = str(Path(folder) / "cache")
        examples, place = prepared(Path(folder), kept=kept), Path(folder) / str(number)
        place.mkdir()
        print(section.case(examples, place, Random(f"{seed}/{name}/{number}")) or "success")


def table(tallies: list[Tally]) -> str:
    """Markdown, with a line for all of them."""
    every = Section("all", 0, 0, lambda *_: None)
    whole = Tally(every, sum((one.found for one in tallies), Counter()))
    head = [f"| | {' | '.join(TITLES)} |", "|---|" + "---:|" * len(TITLES)]
    return "\n".join([*head, *(one.row() for one in tallies), whole.row()])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--first", type=int, default=0, help="begin with this case")
    parser.add_argument("--examples", type=Path, help="make the examples there, or take those that are there")
    parser.add_argument("--slice", action="store_true", help="a few examples and the quick sections")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    if given.case is not None:
        repeated(given.only, given.case, given.seed, given.examples)
        return 0
    only = set(SLICE if given.slice else filter(None, given.only.split(",")))
    tallies = campaign(
        given.seconds, given.seed, only, given.verbose, given.slice, given.first, given.examples
    )
    print(table(tallies))
    notes = [note for one in tallies for note in one.notes]
    print(*notes[:40], sep="\n", file=sys.stderr)
    return int(bool(notes))


if __name__ == "__main__":
    sys.modules["faults"] = sys.modules["__main__"]  # what the sections import
    sys.exit(main())
