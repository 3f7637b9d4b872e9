"""A scene: boxes, lines and words at their places, from which SVG and PNG are made alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from chainrule.draw.markup import Html, joined, tag

Colour = tuple[int, int, int]
INK, QUIET, LINE, PAPER = (32, 36, 42), (93, 101, 111), (227, 227, 222), (255, 255, 255)
HEAT, COOL = (214, 82, 32), (43, 108, 176)
KINDS = ((31, 95, 168), (184, 80, 26), (22, 128, 93), (138, 61, 143), (148, 98, 0), (178, 51, 79))  # of lines
LETTER = 0.6  # width of a letter of a fixed font, in its size
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def mixed(colour: Colour, share: float, ground: Colour = PAPER) -> Colour:
    """A colour laid over the ground: 0 is the ground, 1 the colour."""
    share = min(1.0, max(0.0, share))
    red, green, blue = (round(low + (high - low) * share) for low, high in zip(ground, colour, strict=True))
    return red, green, blue


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    fill: Colour
    told: str = ""  # what is said of it where it is pointed at


@dataclass(frozen=True)
class Words:
    """A line of text; `x` is where it begins, its middle or its end, `y` its base."""

    x: float
    y: float
    text: str
    fill: Colour = INK
    size: float = 13.0
    anchor: str = "start"  # start, middle, end
    bold: bool = False
    upright: bool = False  # turned by a quarter, to be read upwards


@dataclass(frozen=True)
class Stroke:
    """A line from point to point."""

    points: Sequence[tuple[float, float]]
    colour: Colour = INK
    width: float = 1.5
    dashed: bool = False


Part = Box | Words | Stroke


@dataclass(frozen=True)
class Scene:
    """Everything there is to draw."""

    width: float
    height: float
    parts: Sequence[Part] = field(default_factory=tuple)
    title: str = ""


def breadth(text: str, size: float = 13.0) -> float:
    """How wide a text is."""
    return len(text) * size * LETTER


def cut(text: str, most: int) -> str:
    """A text of at most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def paragraphs(
    parts: list[Part], texts: Sequence[str], y: float, wide: float = 900.0, size: float = 12.0
) -> float:
    """Texts below each other, broken where they are wider than the picture; where the next one would stand."""
    for text in texts:
        for line in wrap(text, max(20, int((wide - 32) / (size * LETTER)))):
            parts.append(Words(16, y, line, QUIET, size))
            y += 1.5 * size
    return y


def svg(scene: Scene) -> Html:
    """As an SVG document, readable on paper and on screen."""
    ground = tag("rect", width=scene.width, height=scene.height, fill=_hex(PAPER))
    inside = [tag("title", scene.title), ground, *(_element(part) for part in scene.parts)]
    return tag(
        "svg",
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {scene.width:g} {scene.height:g}",
        width=scene.width,
        height=scene.height,
        font_family=FONT,
        role="img",
    )


def _element(part: Part) -> Html:
    if isinstance(part, Box):
        told = [tag("title", part.told)] if part.told else []
        return tag(
            "rect", *told, x=part.x, y=part.y, width=part.width, height=part.height, fill=_hex(part.fill)
        )
    if isinstance(part, Stroke):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in part.points)
        dashes = "6 4" if part.dashed else None
        looks = {"stroke": _hex(part.colour), "stroke_width": part.width, "stroke_dasharray": dashes}
        return tag("polyline", points=points, fill="none", **looks)
    return _words(part)


def _words(part: Words) -> Html:
    turned = f"rotate(-90 {part.x:.1f} {part.y:.1f})" if part.upright else None
    return tag(
        "text",
        joined(part.text),
        x=part.x,
        y=part.y,
        fill=_hex(part.fill),
        font_size=part.size,
        text_anchor=None if part.anchor == "start" else part.anchor,
        font_weight="bold" if part.bold else None,
        transform=turned,
        style="white-space: pre",
    )


def _hex(colour: Colour) -> str:
    return "#" + "".join(f"{one:02x}" for one in colour)
