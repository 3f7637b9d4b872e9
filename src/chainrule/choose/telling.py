"""What a process of a comparison says: lines of JSON for whoever started it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from chainrule.progress import Limit, Meter

EVERY = 0.5  # seconds between two lines


def say(line: Mapping[str, Any]) -> None:
    """One line for whoever started this process."""
    print(json.dumps(line), flush=True)


class Telling:
    """A step that says how far it is, not too often."""

    nats: float | None = None
    loss: float | None = None
    skipped: int = 0
    limit: Limit | None = None

    def __init__(self, name: str, meter: Meter, bits: float | None) -> None:
        self.name, self.meter, self.bits, self.said = name, meter, bits, 0.0
        self.total, self.words = meter.total, ""

    def __call__(self, count: int) -> None:
        self.meter.total, self.meter.skipped, self.meter.limit = self.total, self.skipped, self.limit
        self.meter(count)
        if time.monotonic() - self.said < EVERY:
            return
        self.said = time.monotonic()
        bits = None if self.nats is None or self.bits is None else self.bits * self.nats
        say({"name": self.name, "share": self.meter.share, "bits": bits, "left": self.meter.left})
