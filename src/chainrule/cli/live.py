"""How far a comparison is, as it runs: a table on terminals, lines in logs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from chainrule.cli.output import seconds, size
from chainrule.progress import for_programs, tell


@dataclass
class LiveTable:
    """The state of every model, as its process reports it."""

    budget: float = 0.0  # seconds
    unit: str = "bits"  # of the figures
    rows: dict[str, list[str]] = field(default_factory=dict)  # state, bits, time
    began: float = field(default_factory=time.monotonic)

    def see(self, event: Mapping[str, Any]) -> None:
        """One thing that happened."""
        if "rungs" in event:
            self.budget, self.unit = event["budget"], event["unit"]
            self.rows = {name: _waits(event["forecasts"].get(name)) for name in event["rungs"]}
            return
        self.rows[event["name"]] = _cells_of(event)
        self.show(event)

    def show(self, event: Mapping[str, Any]) -> None:
        """Print what changed; nothing here."""

    @property
    def passed(self) -> float:
        """Seconds so far."""
        return time.monotonic() - self.began


def _waits(forecast: Mapping[str, float] | None) -> list[str]:
    """The cost forecast of a model whose turn has not come."""
    if not forecast:
        return ["waiting", "", ""]
    return ["waiting", "", f"up to {seconds(forecast['seconds'])}, {size(round(forecast['memory_bytes']))}"]


def _cells_of(event: Mapping[str, Any]) -> list[str]:
    """State, bits and time of a model, from its last report."""
    bits, left = event.get("bits"), event.get("left")
    figure = "" if bits is None else f"{bits:.4f}"
    if event.get("done"):
        return ["done", figure, seconds(event["seconds"])]
    if event.get("decided"):
        return [event["decided"], "", ""]
    if event.get("failed"):
        why = event["failed"]
        return [why if why.startswith("not started") else f"failed: {why}", "", ""]
    if event.get("began"):
        which = f"round {event['round']} started" if event.get("round") else "started"
        return [which, "", f"{seconds(event['seconds'])} given" if event["seconds"] else ""]
    share = f"{100 * event['share']:.0f} %" if event.get("share") is not None else "…"
    return [share, figure, "" if left is None else f"{seconds(left)} left"]


class Lines(LiveTable):
    """A line for what began, ended or failed; for logs."""

    def show(self, event: Mapping[str, Any]) -> None:
        if event.keys() & {"began", "done", "failed", "decided"}:
            state, figure, taken = self.rows[event["name"]]
            cells = [state, f"{figure} {self.unit}" if figure else "", taken]
            words = ", ".join(cell for cell in cells if cell)
            print(f"{seconds(self.passed):>8}  {event['name']}: {words}", file=sys.stderr, flush=True)


class Events(LiveTable):
    """Everything as lines of JSON; for programs."""

    def see(self, event: Mapping[str, Any]) -> None:
        tell({"compare": dict(event), "passed": round(self.passed, 1)})


class Live(LiveTable):
    """A table that is redrawn in place; for terminals."""

    def __init__(self, screen: Any) -> None:
        super().__init__()
        self.screen = screen

    def show(self, event: Mapping[str, Any]) -> None:
        from rich.table import Table

        title = f"comparing: {seconds(self.passed)} of {seconds(self.budget)}"
        drawn = Table("model", "", self.unit, "time", box=None, title=title, title_justify="left")
        for name, cells in self.rows.items():
            drawn.add_row(name, *cells)
        self.screen.update(drawn, refresh=True)


@contextmanager
def watching(quiet: bool) -> Iterator[LiveTable]:
    """The live table of a terminal, lines for a log or for a program, or nothing."""
    if quiet:
        yield LiveTable()
    elif for_programs():
        yield Events()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.live import Live as Screen

        with Screen(console=Console(stderr=True), auto_refresh=False, transient=True) as screen:
            yield Live(screen)
