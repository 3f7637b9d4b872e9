"""The two figures of the page: bits by training time, and bits by how much was read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from chainrule.draw.markup import (
    NOTHING,
    Html,
    bits,
    count,
    duration,
    joined,
    mapping,
    number,
    rows,
    shown,
    tag,
    text,
)
from chainrule.draw.plots import DECADES, SIZES, Box, Frame, amount, brief, crest, labels, path, plottable

COLOURS = 10  # classes k0 … k9 of the style sheet
TIMES = [0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 180.0, 600.0, 1800.0, 3600.0, 36000.0, 360000.0, *DECADES[19:]]
MINUTES = [
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1800.0,
    3600.0,
    7200.0,
    18000.0,
]
SOON = 0.01  # what took less time stands here: a logarithmic axis has no zero


@dataclass(frozen=True)
class Dot:
    """One model: when it was ready, how good it was, and the way there."""

    name: str
    colour: str
    seconds: float
    low: float
    bits: float
    high: float
    progress: Sequence[tuple[float, ...]]  # (seconds, bits)

    @classmethod
    def of(cls, model: Mapping[str, Any], at: int) -> Dot | None:
        seconds, low, middle, high = (plottable(model.get(key)) for key in ("seconds", "low", "bits", "high"))
        if seconds is None or middle is None:
            return None
        if low is None or high is None:
            low = high = middle
        progress = [row for row in rows(model.get("progress"), 2) if None not in map(plottable, row)]
        return cls(text(model.get("name")), colour(at), seconds, low, middle, high, progress)


def colour(at: int) -> str:
    """The class that colours the model at a place of the leaderboard."""
    return f"k{at % COLOURS}"


def quality(models: Sequence[Mapping[str, Any]], unit: str) -> Html:
    """Training time against bits, one dot a model with its interval; empty when no model has both."""
    found = (Dot.of(model, at) for at, model in enumerate(models))
    dots = [dot for dot in found if dot is not None]
    return joined(*(_quality(dots, unit, shape) for shape in SIZES)) if dots else NOTHING


def _quality(dots: Sequence[Dot], unit: str, shape: str) -> Html:
    most = crest([dot.bits for dot in dots])
    ends = [value for dot in dots if dot.bits <= most for value in (dot.low, dot.bits, dot.high)]
    frame = Frame.over(shape, [_later(dot.seconds) for dot in dots], ends)
    ticks = frame.across.ticks(5 if shape == "narrow" else 8, TIMES, MINUTES)
    marks = [(*_place(frame, dot), _label(frame, dot), f"label {dot.colour}") for dot in dots]
    return frame.drawn(
        shape,
        f"Training time against {unit}",
        frame.axes("training time", f"{unit} (lower is better)", ticks, _clock),
        frame.clipped(*(_progress(frame, dot) for dot in dots)),
        *(_dot(frame, dot) for dot in dots),
        *labels(marks, frame.area, [box for dot in dots for box in _boxes(frame, dot)]),
    )


def _later(seconds: float) -> float:
    return max(seconds, SOON)


def _clock(seconds: float) -> str:
    """Round times along an axis: `10 s`, `2 min`, `1 h`."""
    for unit, factor in (("h", 3600), ("min", 60)):
        if seconds >= factor:
            return f"{seconds / factor:g} {unit}"
    return f"{seconds:g} s"


def _place(frame: Frame, dot: Dot) -> tuple[float, float]:
    """Where a dot stands; one that is far worse than most is held at the upper edge."""
    x, y = frame.at(_later(dot.seconds), dot.bits)
    return x, max(y, frame.area.top + 8)


def _label(frame: Frame, dot: Dot) -> str:
    name = brief(dot.name, 22)
    return name if frame.up.inside(dot.bits) else f"{name} ({shown(dot.bits, '{:.4g}'.format)})"


def _boxes(frame: Frame, dot: Dot) -> tuple[Box, Box]:
    """What a dot and its whisker occupy."""
    x, y = _place(frame, dot)
    return Box.around(x, y, 6.0), Box(x - 4, frame.up.place(dot.high), x + 4, frame.up.place(dot.low))


def _progress(frame: Frame, dot: Dot) -> Html:
    places = [frame.at(_later(seconds), value) for seconds, value in dot.progress]
    return path(places, f"progress {dot.colour}") if len(places) > 1 else NOTHING


def _dot(frame: Frame, dot: Dot) -> Html:
    said = tag("title", f"{dot.name}: {shown(dot.bits, bits)} after {shown(dot.seconds, duration)}")
    mark = _whisker(frame, dot) if frame.up.inside(dot.bits) else _arrow(*_place(frame, dot))
    return tag("g", said, mark, class_=dot.colour)


def _whisker(frame: Frame, dot: Dot) -> Html:
    x, y = _place(frame, dot)
    low, high = frame.up.place(dot.low), frame.up.place(dot.high)
    line = path([(x - 4, high), (x + 4, high), (x, high), (x, low), (x - 4, low), (x + 4, low)], "whisker")
    return joined(line, tag("circle", cx=x, cy=y, r=4.5))


def _arrow(x: float, y: float) -> Html:
    return path([(x - 5, y + 4), (x, y - 5), (x + 5, y + 4)], "arrow")


@dataclass(frozen=True)
class Curve:
    """Bits by symbols read: what was measured, and the line and band through it."""

    name: str
    colour: str
    points: Sequence[tuple[float, ...]]  # (symbols, bits)
    band: Sequence[tuple[float, ...]]  # (symbols, low, middle, high)

    @classmethod
    def of(cls, given: Mapping[str, Any], at: int) -> Curve:
        points = sorted(row for row in rows(given.get("points"), 2) if _drawable(row))
        band = sorted(row for row in rows(given.get("band"), 4) if _drawable(row))
        return cls(
            text(given.get("name")), colour(at), points, band or list(_fitted(given.get("fit"), points))
        )

    @property
    def line(self) -> list[tuple[float, float]]:
        """The fitted line, or from point to point where there is none."""
        return [(row[0], row[2]) for row in self.band] or [(row[0], row[1]) for row in self.points]

    def height(self, symbols: float) -> float | None:
        """How high the line is between two of its points."""
        for (left, before), (right, after) in pairwise(self.line):
            if left <= symbols <= right and left < right:
                return before + (after - before) * math.log(symbols / left) / math.log(right / left)
        return None


def _drawable(row: tuple[float, ...]) -> bool:
    return amount(row[0]) is not None and None not in map(plottable, row[1:])


def _fitted(fit: object, points: Sequence[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
    """A power law between the first and the last measured point, where no band is given."""
    floor, scale, power = (number(mapping(fit).get(name)) for name in ("floor", "scale", "power"))
    if floor is None or scale is None or power is None or not points:
        return
    first, last = math.log(points[0][0]), math.log(points[-1][0])
    for step in range(33):
        read = first + (last - first) * step / 32
        value = floor + scale * math.exp(min(-power * read, 300.0))
        if plottable(value) is not None:
            yield math.exp(read), value, value, value


def learning(
    curves: Sequence[Curve],
    crossings: Sequence[Mapping[str, Any]],
    here: object,
    unit: str,
    what: str = "symbols",
) -> Html:
    """Symbols read, or other training data, against bits, with bands, crossings, and how much there is; or nothing."""
    kept = [curve for curve in curves if curve.line]
    if not kept:
        return NOTHING
    return joined(*(_learning(kept, crossings, here, (unit, what), shape) for shape in SIZES))


def _learning(
    curves: Sequence[Curve],
    crossings: Sequence[Mapping[str, Any]],
    here: object,
    said: tuple[str, str],
    shape: str,
) -> Html:
    unit, what = said
    across = [row[0] for curve in curves for row in (*curve.points, *curve.band)]
    up = [row[1] for curve in curves for row in (*curve.points, *curve.line)]
    frame = Frame.over(shape, across, up)
    ends = [(*frame.at(*curve.line[-1]), brief(curve.name, 22), f"label {curve.colour}") for curve in curves]
    return frame.drawn(
        shape,
        f"Training {what} against {unit}",
        frame.axes(f"training {what}", f"{unit} (lower is better)", frame.across.ticks(7), _thousands),
        frame.clipped(*(_range(frame, one) for one in crossings), *(_band(frame, curve) for curve in curves)),
        _here(frame, here),
        frame.clipped(*(_curve(frame, curve) for curve in curves)),
        *(_crossing(frame, one, curves) for one in crossings),
        *labels(ends, frame.area, [box for curve in curves for box in _along(frame, curve)]),
    )


def _along(frame: Frame, curve: Curve) -> Iterator[Box]:
    """What a curve occupies: its points, and small steps of its line."""
    yield from (Box.around(*frame.at(*row), 4.0) for row in curve.points)
    places = [frame.at(*row) for row in curve.line]
    for (left, before), (right, after) in pairwise(places):
        steps = min(100, 1 + int(math.dist((left, before), (right, after)) / 6))
        for step in range(steps + 1):
            share = step / steps
            yield Box.around(left + share * (right - left), before + share * (after - before), 2.0)


def _thousands(value: float) -> str:
    """Round numbers of symbols along an axis: `20 k`, `1 M`."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g}"


def _here(frame: Frame, given: object) -> Html:
    """How much data there are, as a line from top to bottom."""
    symbols = amount(given)
    if symbols is None or not frame.across.inside(symbols):
        return NOTHING
    x, area = frame.across.place(symbols), frame.area
    side = "end" if x > area.right - 40 else "middle"
    name = tag("text", "your data", x=x, y=area.top - 4, class_=f"tick {side}")
    return joined(path([(x, area.top), (x, area.bottom)], "here"), name)


def _band(frame: Frame, curve: Curve) -> Html:
    upper = [frame.at(row[0], row[3]) for row in curve.band]
    lower = [frame.at(row[0], row[1]) for row in reversed(curve.band)]
    return path([*upper, *lower], f"band {curve.colour}") if len(upper) > 1 else NOTHING


def _curve(frame: Frame, curve: Curve) -> Html:
    line = path([frame.at(*point) for point in curve.line], f"curve {curve.colour}")
    dots = (frame.at(*row) for row in curve.points)
    return joined(line, *(tag("circle", cx=x, cy=y, r=3.5, class_=f"point {curve.colour}") for x, y in dots))


def _range(frame: Frame, crossing: Mapping[str, Any]) -> Html:
    """The interval in which two curves cross."""
    low, high = amount(crossing.get("low")), amount(crossing.get("high"))
    if low is None or high is None:
        return NOTHING
    left, right, area = frame.across.place(low), frame.across.place(high), frame.area
    wide, tall = max(right - left, 1.0), area.bottom - area.top
    return tag("rect", x=left, y=area.top, width=wide, height=tall, class_="crossing")


def _crossing(frame: Frame, crossing: Mapping[str, Any], curves: Sequence[Curve]) -> Html:
    """A ring where two curves cross, and a line through it."""
    symbols = amount(crossing.get("symbols"))
    if symbols is None or not frame.across.inside(symbols):
        return NOTHING
    x, area = frame.across.place(symbols), frame.area
    names = [text(crossing.get("first")), text(crossing.get("second"))]
    heights = [curve.height(symbols) for curve in curves if curve.name in names]
    known = [frame.up.place(height) for height in heights if height is not None]
    ring = tag("circle", cx=x, cy=sum(known) / len(known), r=8, class_="ring") if known else NOTHING
    said = tag("title", f"{' and '.join(names)} cross at {shown(symbols, count)} symbols")
    return tag("g", said, path([(x, area.top), (x, area.bottom)], "cut"), ring)
