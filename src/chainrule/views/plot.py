"""Lines over an axis, in a scene."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from chainrule.views.scene import INK, KINDS, LINE, QUIET, Colour, Part, Stroke, Words, cut

WIDE, HIGH, LEFT, BELOW = 620.0, 260.0, 64.0, 36.0
LABELS = 5  # of an axis
BEFORE = ", before training"  # what is added to the name of a model that has not learnt yet


def lines(
    curves: Mapping[str, Sequence[float] | np.ndarray], x: float, y: float, axes: tuple[str, str]
) -> list[Part]:
    """Curves over 0, 1, 2 …, what is not finite left out, with axes and a legend below: `WIDE` by about `HIGH`.

    One that is called like another and `, before training` has its colour, and is dashed.
    """
    finite = [
        one for values in curves.values() for one in np.asarray(values, float).tolist() if math.isfinite(one)
    ]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    high = high if high > low else low + 1.0
    steps = max((len(values) for values in curves.values()), default=1)

    def place(step: float, value: float) -> tuple[float, float]:
        across = (WIDE - LEFT) * step / max(1, steps - 1)
        return x + LEFT + across, y + HIGH - (value - low) / (high - low) * HIGH

    parts: list[Part] = [Words(x, y - 10, axes[1], QUIET, 11)]
    for mark in range(LABELS + 1):
        value = low + (high - low) * mark / LABELS
        _, height = place(0, value)
        parts += [Stroke([(x + LEFT, height), (x + WIDE, height)], LINE, 1.0)]
        parts += [Words(x + LEFT - 6, height + 4, f"{value:.3g}", QUIET, 11, "end")]
    parts += [
        Words(place(step, low)[0], y + HIGH + 16, str(step), QUIET, 11, "middle") for step in _marks(steps)
    ]
    parts += [Words(x + WIDE, y + HIGH + 32, axes[0], QUIET, 11, "end")]
    looks = _looks(list(curves))
    for at, (name, values) in enumerate(curves.items()):
        points = [
            place(step, one) for step, one in enumerate(np.asarray(values, float)) if math.isfinite(one)
        ]
        (colour, dashed), below = looks[name], y + HIGH + BELOW + 16 + 18 * at
        sample = [(x, below - 4), (x + 20, below - 4)]
        parts += [Stroke(points, colour, 2.0, dashed), Stroke(sample, colour, 3.0, dashed)]
        parts += [Words(x + 28, below, cut(name, 70), INK, 12)]
    return parts


def _looks(names: Sequence[str]) -> dict[str, tuple[Colour, bool]]:
    """The colour of every curve, and whether it is dashed."""
    plain = list(dict.fromkeys(name.replace(BEFORE, "") for name in names))
    colours = {name: KINDS[at % len(KINDS)] for at, name in enumerate(plain)}
    return {name: (colours[name.replace(BEFORE, "")], BEFORE in name) for name in names}


def height(curves: int) -> float:
    """How high `lines` with so many curves are."""
    return HIGH + BELOW + 24 + 18 * curves


def _marks(steps: int) -> list[int]:
    return sorted({round((steps - 1) * mark / LABELS) for mark in range(LABELS + 1)})
