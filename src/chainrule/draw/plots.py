"""Plots as SVG: scales, ticks, axes, labels that keep clear of each other; colours are left to the style sheet."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from chainrule.draw.markup import NOTHING, Html, joined, number, tag

LINE = 15.0  # height of a line of text
# One drawing for desks, one for tablets and paper, one for phones: letters keep their size.
SIZES = {"wide": (1060.0, 430.0), "medium": (700.0, 400.0), "narrow": (360.0, 380.0)}
DECADES = [10.0**power for power in range(-12, 16)]
THIRDS = [step * decade for decade in DECADES for step in (1, 2, 5)]

Point = tuple[float, float]


@dataclass(frozen=True)
class Scale:
    """From values to places along an axis."""

    low: float
    high: float
    begin: float = 0.0
    end: float = 1.0
    curved: bool = False  # logarithmic

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float, curved: bool = False) -> Scale:
        """Room for all values and a little more at both ends; one value alone stands in the middle."""
        bent = [math.log10(value) if curved else value for value in values]
        low, high = min(bent), max(bent)
        least = 0.5 if curved else 1e-6 * max(1.0, abs(low), abs(high))
        wanting = max(0.0, least - (high - low)) / 2
        spare = 0.06 * (high - low) + wanting
        return cls(low - spare, high + spare, begin, end, curved)

    def place(self, value: float) -> float:
        bent = math.log10(value) if self.curved else value
        return self.begin + (bent - self.low) / (self.high - self.low) * (self.end - self.begin)

    def inside(self, value: float) -> bool:
        bent = math.log10(value) if self.curved else value
        return self.low <= bent <= self.high

    def ticks(
        self, most: int, bf16: Sequence[float] = DECADES, fine: Sequence[float] = THIRDS
    ) -> list[float]:
        """Round values within the scale, not more than asked for."""
        if not self.curved:
            return self._even(most)
        found = [value for value in bf16 if self.inside(value)]
        if len(found) < 3:
            found = [value for value in fine if self.inside(value)]
        return self._apart(found, abs(self.end - self.begin) / (1.5 * most))

    def _apart(self, values: Sequence[float], least: float) -> list[float]:
        """Those values that keep a distance from the one before."""
        kept: list[float] = []
        for value in values:
            if not kept or abs(self.place(value) - self.place(kept[-1])) >= least:
                kept.append(value)
        return kept

    def _even(self, most: int) -> list[float]:
        least = (self.high - self.low) / most
        decade = 10.0 ** math.floor(math.log10(least))
        step = next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= least * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [at * step for at in range(first, last + 1)]


@dataclass(frozen=True)
class Box:
    """A rectangle that something occupies."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, x: float, y: float, reach: float) -> Box:
        return cls(x - reach, y - reach, x + reach, y + reach)

    def meets(self, other: Box) -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)

    def within(self, other: Box) -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


@dataclass(frozen=True)
class Frame:
    """A plot's area, its scales, and what is written along them."""

    width: float
    height: float
    area: Box
    across: Scale
    up: Scale

    @classmethod
    def over(cls, shape: str, across: Sequence[float], up: Sequence[float]) -> Frame:
        width, height = SIZES[shape]
        area = Box(46.0, 26.0, width - 8.0, height - 44.0)
        return cls(
            width,
            height,
            area,
            Scale.over(across, area.left, area.right, curved=True),
            Scale.over(up, area.bottom, area.top),
        )

    def at(self, across: float, up: float) -> Point:
        return self.across.place(across), self.up.place(up)

    def axes(self, across: str, up: str, ticks: Sequence[float], form: Callable[[float], str]) -> Html:
        area = self.area
        return joined(
            *(self._level(value) for value in self.up.ticks(6)),
            *(self._upright(value, form) for value in ticks),
            tag("text", up, x=0.0, y=12.0, class_="axis"),
            tag("text", across, x=area.right, y=self.height - 6, class_="axis end"),
        )

    def _level(self, value: float) -> Html:
        y, area = self.up.place(value), self.area
        line = tag("line", x1=area.left, x2=area.right, y1=y, y2=y, class_="grid")
        return joined(line, tag("text", f"{value:.4g}", x=area.left - 8, y=y + 4, class_="tick end"))

    def _upright(self, value: float, form: Callable[[float], str]) -> Html:
        x, area = self.across.place(value), self.area
        line = tag("line", x1=x, x2=x, y1=area.top, y2=area.bottom, class_="grid")
        return joined(line, tag("text", form(value), x=x, y=area.bottom + 18, class_="tick middle"))

    def clipped(self, *inside: Html) -> Html:
        """What may run out of the area and is cut off there."""
        left, top = self.area.left, self.area.top
        wide, high = self.area.right - left, self.area.bottom - top
        view = f"{left:g} {top:g} {wide:g} {high:g}"
        return tag("svg", *inside, x=left, y=top, width=wide, height=high, viewBox=view)

    def drawn(self, shape: str, title: str, *inside: Html) -> Html:
        view = f"0 0 {self.width:g} {self.height:g}"
        return tag("svg", *inside, viewBox=view, class_=f"plot {shape}", role="img", aria_label=title)


def plottable(value: object, least: float = -1e9, most: float = 1e9) -> float | None:
    """The value if a plot can show it without losing all others, otherwise None."""
    finite = number(value)
    return finite if finite is not None and least <= finite <= most else None


def amount(value: object) -> float | None:
    """The value if it is more than nothing and has a place on a logarithmic axis."""
    return plottable(value, 1e-9, 1e15)


def path(points: Sequence[Point], kind: str) -> Html:
    """A line through points."""
    return tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)


def brief(name: str, most: int) -> str:
    """A name short enough for a label."""
    return name if len(name) <= most else name[: most - 1] + "…"


def breadth(name: str) -> float:
    """How wide a label may get in any system font; wide letters of East Asia count twice."""
    return 8.0 * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name) + 2


def labels(marks: Sequence[tuple[float, float, str, str]], area: Box, taken: Sequence[Box]) -> Iterator[Html]:
    """A label near every mark (x, y, text, class), clear of all others; one without room is left out."""
    occupied = list(taken)
    for x, y, name, kind in marks:
        free = (box for box in _around(x, y, breadth(name)) if box.within(area))
        box = next((box for box in free if not any(box.meets(other) for other in occupied)), None)
        if box is not None:
            occupied.append(box)
            yield joined(_leader(x, y, box), _written(x, name, box, kind))


def _written(x: float, name: str, box: Box, kind: str) -> Html:
    """Text set from the side that is nearest to its mark, for fonts are narrower than the room kept for them."""
    if box.right <= x:
        return tag("text", name, x=box.right, y=box.bottom - 4, class_=f"{kind} end")
    if box.left >= x:
        return tag("text", name, x=box.left, y=box.bottom - 4, class_=kind)
    return tag("text", name, x=(box.left + box.right) / 2, y=box.bottom - 4, class_=f"{kind} middle")


def _around(x: float, y: float, wide: float) -> Iterator[Box]:
    """Places for a label, the nearest first: right, left, above, below, then further away."""
    for far in (9.0, 16.0, 26.0, 38.0, 52.0, 68.0, 86.0, 106.0, 130.0, 160.0, 200.0, 250.0):
        for left, middle in (
            (x + far, y),
            (x - far - wide, y),
            (x - wide / 2, y - far - LINE / 2),
            (x - wide / 2, y + far + LINE / 2),
            (x + far, y - far),
            (x + far, y + far),
            (x - far - wide, y - far),
            (x - far - wide, y + far),
        ):
            yield Box(left, middle - LINE / 2, left + wide, middle + LINE / 2)


def _leader(x: float, y: float, box: Box) -> Html:
    """A thin line to a label that had to stand further away."""
    near = min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)
    return path([(x, y), near], "leader") if math.dist((x, y), near) > 20 else NOTHING


def crest(heights: Sequence[float]) -> float:
    """Up to where a scale should reach: one that is far worse than most would press all others together."""
    best = min(heights)
    return best + max(4 * (median(heights) - best), 0.15 * abs(best))


def bar(low: object, middle: object, high: object, scale: Scale) -> Html:
    """An interval as a small bar, for a cell of a table; an arrow where it lies beyond the scale."""
    left, value, right = (plottable(one) for one in (low, middle, high))
    if value is None:
        return NOTHING
    parts = [tag("line", x1=scale.begin, x2=scale.end, y1=7, y2=7, class_="rail")]
    if not scale.inside(value):
        parts.append(path([(scale.end - 4, 3), (scale.end, 7), (scale.end - 4, 11)], "beyond"))
    else:
        parts += [_span(left, right, scale)] if left is not None and right is not None else []
        parts.append(tag("rect", x=scale.place(value) - 1, y=1, width=2, height=12, class_="value"))
    wide = scale.end + scale.begin
    view = f"0 0 {wide:g} 14"
    return tag("svg", *parts, viewBox=view, width=wide, height=14, class_="bar", aria_hidden="true")


def _span(low: float, high: float, scale: Scale) -> Html:
    begin, end = (min(max(scale.place(one), scale.begin), scale.end) for one in (low, high))
    return tag("rect", x=begin, y=3.5, width=max(end - begin, 1.0), height=7, rx=1.5, class_="span")
