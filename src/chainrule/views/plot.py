"""Lines over an axis, in a scene."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from chainrule.views.scene import INK, KINDS, LINE, QUIET, Colour, Part, Stroke, Words, cut

WIDE, HIGH, LEFT, BELOW = 620.0, 260.0, 64.0, 36.0
LABELS = 5  # of an axis, about
BEFORE = ", before training"  # what is added to the name of a model that has not learnt yet


def ticks(low: float, high: float, whole: bool = False) -> list[float]:
    """Round numbers between two others: multiples of 1, 2 or 5 times a power of ten; of whole ones no parts."""
    if not high > low:
        return [low]
    rough = (high - low) / LABELS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1.0, 2.0, 5.0, 10.0) if one * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [at * step for at in range(first, last + 1)]


def lines(
    curves: Mapping[str, Sequence[float] | np.ndarray],
    x: float,
    y: float,
    axes: tuple[str, str],
    span: tuple[float, float] | None = None,
) -> list[Part]:
    """Curves of evenly spread values, what is not finite left out, with axes and a legend: `WIDE` by about `HIGH`.

    `span` is where the first value stands and where the last one does: 0, 1, 2 … if not given. A curve that is called
    like another and `, before training` has its colour, and is dashed.
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
    for value in ticks(low, high):
        _, height = place(0, value)
        parts += [Stroke([(x + LEFT, height), (x + WIDE, height)], LINE, 1.0)]
        parts += [Words(x + LEFT - 6, height + 4, f"{value:.4g}", QUIET, 11, "end")]
    begin, end = span or (0.0, steps - 1.0)
    for mark in ticks(begin, end, whole=True):
        across, _ = place((mark - begin) / max(1e-12, end - begin) * (steps - 1), low)
        parts += [Words(across, y + HIGH + 16, f"{mark:,.0f}", QUIET, 11, "middle")]
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
