"""The layers of a body from the bottom up: how fast each of them is tuned, and from when on (Howard and Ruder 2018).

Discriminative rates: the lower a layer, the more general is what it knows, and the slower it moves. Gradual
unfreezing: the head learns alone at first, then with the top layer, and the tables of symbols join last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

THAWED = 0.3  # of the run lie behind when the lowest layer begins to learn
LAYER = re.compile(r"(?:^|\.)(?:layers|blocks|projections)\.(\d+)\.")  # what families call their layers
TABLES = ("embedding.", "positions.", "segments.")
MIX = "mix."  # the weights of layers, which belong to the task


def depths(body: Any) -> dict[str, int]:
    """How many layers lie above each parameter; what is not in a layer belongs to the lowest or the highest.

    What a family makes before its layers is read before them, tables of symbols and positions in any case.
    """
    names = [name for name, _ in body.named_parameters()]
    layers = {name: int(found[1]) for name in names if (found := LAYER.search(name))}
    highest = max(layers.values(), default=-1)
    first = next((place for place, name in enumerate(names) if name in layers), len(names))
    below = {name for place, name in enumerate(names) if place < first or name.startswith(TABLES)}
    levels = {name: layers.get(name, -1 if name in below else highest) for name in names}
    return {name: highest - level for name, level in levels.items()}


def scales(body: Any, rate: float, decay: float = 1.0) -> dict[str, float]:
    """Factors of the learning rate: `rate` for the highest layer, `decay` times that of the one above for others."""
    own = {name: depth for name, depth in depths(body).items() if not name.startswith(MIX)}
    return {f"body.{name}": rate * decay**depth for name, depth in own.items()}


def thawing(body: Any) -> Mapping[str, float]:
    """From what share of the run on each parameter learns, the highest layer first."""
    found = {name: depth for name, depth in depths(body).items() if not name.startswith(MIX)}
    parts = 1 + max(found.values(), default=0)
    return {f"body.{name}": THAWED * (1 + depth) / parts for name, depth in found.items()}
