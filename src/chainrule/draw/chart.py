"""Pictures that stand alone: lines and bands over an even axis, as SVG with its own colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chainrule.draw.markup import Html, joined, tag
from chainrule.draw.plots import Box, Frame, Point, Scale, path

WIDTH, HEIGHT = 860.0, 300.0
STYLE = """
svg.chart { font: 13px system-ui, sans-serif; background: #fff; max-width: 100%; height: auto }
svg.chart text { fill: #444 } svg.chart .title { fill: #111; font-weight: 600 }
svg.chart .end { text-anchor: end } svg.chart .middle { text-anchor: middle }
svg.chart .grid { stroke: #e4e4e4 } svg.chart polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round }
svg.chart polyline.first { stroke: #333 } svg.chart polyline.second { stroke: #0b62c4; stroke-width: 2.2 }
svg.chart polyline.third { stroke: #c2410c; stroke-width: 2.2 } svg.chart .band { fill: #0b62c4; fill-opacity: .18 }
svg.chart text.first { fill: #333 } svg.chart text.second { fill: #0b62c4 } svg.chart text.third { fill: #c2410c }
"""


@dataclass(frozen=True)
class Line:
    """Points in order, and what they are called."""

    name: str
    points: Sequence[Point]
    kind: str = "first"  # first, second, third: its colour


@dataclass(frozen=True)
class Band:
    """What lies between two lines."""

    points: Sequence[tuple[float, float, float]]  # x, lower end, upper end


def chart(
    title: str,
    across: str,
    up: str,
    lines: Sequence[Line],
    bands: Sequence[Band] = (),
    form: Callable[[float], str] = lambda value: f"{value:g}",
) -> Html:
    """Lines and bands in one frame; `form` writes the values along the lower edge."""
    area = Box(64.0, 46.0, WIDTH - 14.0, HEIGHT - 40.0)
    wide = [x for line in lines for x, _ in line.points] + [x for band in bands for x, *_ in band.points]
    high = [y for line in lines for _, y in line.points]
    high += [y for band in bands for _, *ends in band.points for y in ends]
    frame = Frame(
        WIDTH,
        HEIGHT,
        area,
        Scale.over(wide, area.left, area.right),
        Scale.over(high, area.bottom, area.top),
    )
    drawn = joined(*(_band(frame, band) for band in bands), *(_line(frame, line) for line in lines))
    axes = frame.axes(across, "", frame.across.ticks(8), form)
    names = joined(
        tag("text", title, x=8.0, y=18.0, class_="title"),
        tag("text", up, x=8.0, y=36.0),
        *_legend([line for line in lines if line.name], area.right),
    )
    view = f"0 0 {WIDTH:g} {HEIGHT:g}"
    style = tag("style", Html(STYLE))
    return tag(
        "svg",
        style,
        axes,
        drawn,
        names,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=view,
        width=WIDTH,
        height=HEIGHT,
        class_="chart",
        role="img",
        aria_label=title,
    )


def _line(frame: Frame, line: Line) -> Html:
    return path([frame.at(x, y) for x, y in line.points], line.kind)


def _band(frame: Frame, band: Band) -> Html:
    upper = [frame.at(x, high) for x, _, high in band.points]
    lower = [frame.at(x, low) for x, low, _ in reversed(band.points)]
    return tag("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in [*upper, *lower]), class_="band")


def _legend(lines: Sequence[Line], right: float) -> list[Html]:
    """Names in the colours of their lines, at the upper right."""
    parts, x = [], right
    for line in reversed(lines):
        parts.append(tag("text", line.name, x=x, y=18.0, class_=f"{line.kind} end"))
        x -= 8.0 * len(line.name) + 18.0
    return parts
