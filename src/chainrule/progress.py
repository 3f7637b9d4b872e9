"""How far a long job is: one line on stderr, only when it lasts, none when asked.

    with progress("counting", total) as step:
        for block in blocks:
            step(len(block))

Whatever takes a `Progress` may be given `progress` or `no_progress`; inside `with quiet():` nothing is shown. Programs
that watch a command set CHAINRULE_PROGRESS=json and read lines of JSON instead.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

DELAY = 2.0  # shorter jobs show nothing
EVERY = 5.0  # between two plain lines when stderr is no terminal
OFTEN, SHARE = 0.5, 0.005  # between two lines of JSON: so many seconds at least, so much of the time so far

_quiet = False


@dataclass(frozen=True)
class Limit:
    """A job that ends by the clock: its pace need not be asked when."""

    ends: float  # as `time.monotonic` tells
    seconds: float  # in all, those before this process included


class Step(Protocol):
    """Says that some more are done; a job that learns its size, or has more to tell, sets the rest."""

    total: int | None
    words: str  # more to tell, such as a loss
    nats: float | None  # the loss itself: of the validation part, as soon as there is one
    loss: float | None  # the training loss, smoothed
    skipped: int  # of the total, what was done before this process
    limit: Limit | None  # until when it may continue, where time decides

    def __call__(self, count: int) -> None: ...


class Progress(Protocol):
    """What a job needs to tell how far it is."""

    def __call__(
        self, title: str, total: int | None = None, unit: str = ""
    ) -> AbstractContextManager[Step]: ...


@contextmanager
def no_progress(title: str, total: int | None = None, unit: str = "") -> Iterator[Step]:
    """Say nothing."""
    yield Meter(title, total, unit)


@contextmanager
def quiet(wanted: bool = True) -> Iterator[None]:
    """A stretch in which no progress is shown."""
    global _quiet
    before, _quiet = _quiet, wanted or _quiet
    try:
        yield
    finally:
        _quiet = before


@contextmanager
def progress(title: str, total: int | None = None, unit: str = "") -> Iterator[Step]:
    """Show title, share done, speed and time left while the block runs; `step(n)` says n more are done."""
    meter = Meter(title, total, unit)
    if _quiet:
        yield meter
        return
    finished = threading.Event()
    show = _events if for_programs() else _bar if sys.stderr.isatty() else _lines
    watcher = threading.Thread(target=show, args=(meter, finished), daemon=True)
    watcher.start()
    try:
        yield meter
        finished.set()
        watcher.join()
        if meter.elapsed >= DELAY and not for_programs():
            print(meter.summary(), file=sys.stderr)
    finally:
        finished.set()
        watcher.join()


@dataclass
class Meter:
    """Counts, and says in words how far it is."""

    title: str
    total: int | None = None
    unit: str = ""
    clock: Callable[[], float] = time.monotonic
    done: int = 0
    words: str = ""
    nats: float | None = None
    loss: float | None = None
    skipped: int = 0
    limit: Limit | None = None
    began: float = field(init=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def __call__(self, count: int) -> None:
        """`count` more are done; any thread may say so."""
        with self.lock:
            self.done += int(count)

    @property
    def elapsed(self) -> float:
        return self.clock() - self.began

    @property
    def speed(self) -> float:
        return self.done / max(self.elapsed, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds still to go, as far as one can tell."""
        if self.limit:
            return max(0.0, self.limit.ends - self.clock())
        if not self.total or not self.done:
            return None
        return max(0.0, self.total - self.skipped - self.done) / self.speed

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1, as far as one can tell."""
        if self.limit and self.left is not None:
            return max(0.0, 1.0 - self.left / self.limit.seconds)
        return min(1.0, (self.skipped + self.done) / self.total) if self.total else None

    def line(self) -> str:
        """`counting: 42 %, 1.2M symbols/s, 0:07 left`."""
        parts = [] if self.share is None else [f"{self.share:.0%}".replace("%", " %")]
        if self.done:
            parts.append(f"{short(self.speed)}{' ' * bool(self.unit)}{self.unit}/s")
        parts += [self.words] if self.words else []
        parts.append(f"{clock(self.elapsed)} so far" if self.left is None else f"{clock(self.left)} left")
        return f"{self.title}: {', '.join(parts)}"

    def summary(self) -> str:
        """`counting: done in 0:12, 1.2M symbols/s`."""
        speed = f", {short(self.speed)}{' ' * bool(self.unit)}{self.unit}/s" if self.done else ""
        return f"{self.title}: done in {clock(self.elapsed)}{speed}"

    def event(self) -> dict[str, Any]:
        """The same for programs."""
        told = {"progress": self.title, "share": self.share, "left": self.left, "elapsed": self.elapsed}
        told |= {"speed": self.speed, "unit": self.unit, "loss": self.loss, "nats": self.nats}
        return {name: _plain(value) for name, value in told.items()} | {"words": self.words}


def _plain(value: Any) -> Any:
    """A number in few digits; None for one that JSON does not have."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None


def for_programs() -> bool:
    """Whether a program watches, and lines of JSON are wanted."""
    return os.environ.get("CHAINRULE_PROGRESS") == "json"


def tell(event: Any) -> None:
    """A line of JSON for a program that watches."""
    print(json.dumps(event), file=sys.stderr, flush=True)


def short(number: float) -> str:
    """A number in few characters: `950`, `1.2k`, `31M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.{1 if number < 10 * size else 0}f}{unit}"
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def clock(seconds: float) -> str:
    """A duration as a clock shows it: `0:07`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _events(meter: Meter, finished: threading.Event) -> None:
    """Lines of JSON: often at first, in a long job seldom, and the last one when it has ended."""
    while not finished.wait(max(OFTEN, SHARE * meter.elapsed)):
        tell(meter.event())
    tell(meter.event())


def _lines(meter: Meter, finished: threading.Event) -> None:
    """Plain lines every few seconds, for logs."""
    wait = DELAY
    while not finished.wait(wait):
        print(meter.line(), file=sys.stderr, flush=True)
        wait = EVERY


def _bar(meter: Meter, finished: threading.Event) -> None:
    """A line that renews itself, with a bar, for terminals."""
    if finished.wait(DELAY):
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    bars = Bars(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
    with bars:
        task = bars.add_task(meter.line(), total=1.0)
        while not finished.wait(0.2):
            bars.update(task, description=meter.line(), completed=meter.share)
