"""Scenes as PNG, by Pillow (extra `images`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from math import dist
from typing import Any

from chainrule.errors import ConfigError
from chainrule.views.scene import PAPER, Box, Part, Scene, Stroke

Point = tuple[float, float]
FINE = 2  # pixels for each unit of a scene
MOST = 100_000_000  # pixels of a picture
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
# What systems have, first those with one width for all letters, as in SVG; the last ones have the most writings.
FONTS = (
    *("DejaVuSansMono.ttf", "Menlo.ttc", "consola.ttf", "LiberationMono-Regular.ttf", "DejaVuSans.ttf"),
    *("NotoSans-Regular.ttf", "NotoSansCJK-Regular.ttc", "Arial Unicode.ttf", "msyh.ttc", "arial.ttf"),
)
NOWHERE = "\U0010fffe"  # no font has a picture of it, but one that stands for all that it has not


def png(scene: Scene) -> bytes:
    """The scene drawn with two pixels for each unit, fewer if it would become too large."""
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise ConfigError(
            "PNG needs Pillow: pip install 'chainrule[images]'. Or save it as .svg or .html."
        ) from error
    fine = min(FINE, (MOST / max(1.0, scene.width * scene.height)) ** 0.5)
    size = max(1, round(scene.width * fine)), max(1, round(scene.height * fine))
    image = Image.new("RGB", size, PAPER)
    drawing = ImageDraw.Draw(image)
    for part in scene.parts:
        _draw(image, drawing, part, fine)
    found = BytesIO()
    image.save(found, "PNG", optimize=True)
    return found.getvalue()


def _draw(image: Any, drawing: Any, part: Part, fine: float) -> None:
    if isinstance(part, Box):
        corner = (part.x * fine, part.y * fine)
        end = (
            max(corner[0], (part.x + part.width) * fine - 1),
            max(corner[1], (part.y + part.height) * fine - 1),
        )
        drawing.rectangle([corner, end], fill=part.fill)
    elif isinstance(part, Stroke):
        points = [(x * fine, y * fine) for x, y in part.points]
        width = max(1, round(part.width * fine))
        for piece in dashes(points, 6 * fine) if part.dashed else [points]:
            drawing.line(piece, fill=part.colour, width=width, joint="curve")
    else:
        _write(image, drawing, part, fine)


def _write(image: Any, drawing: Any, part: Any, fine: float) -> None:
    from PIL import Image, ImageDraw

    font = font_for(part.text, part.size * fine)
    place = part.x * fine, part.y * fine
    if not part.upright:
        drawing.text(place, part.text, fill=part.fill, font=font, anchor=ANCHORS[part.anchor])
        return
    right, bottom = (round(one) for one in font.getbbox(part.text)[2:])
    layer = Image.new("L", (max(1, right), max(1, bottom)), 0)
    ImageDraw.Draw(layer).text((0, 0), part.text, fill=255, font=font)
    turned = layer.rotate(90, expand=True)
    before = {"start": turned.height, "middle": turned.height // 2, "end": 0}[part.anchor]
    image.paste(part.fill, (round(place[0] - bottom), round(place[1] - before)), turned)


def font_for(text: str, size: float) -> Any:
    """The font of this system that has most letters of a text, the first of several; Pillow's own if there is none."""
    wanted = {letter for letter in text if not letter.isascii()}
    found = [font for name in (FONTS if wanted else FONTS[:1]) if (font := _font(name, size))]
    return max(found, key=lambda font: sum(_has(font, one) for one in wanted), default=_font("", size))


@cache
def _font(name: str, size: float) -> Any:
    """A font by the name of its file; None: this system has none of that name."""
    from PIL import ImageFont

    try:
        return ImageFont.truetype(name, size) if name else ImageFont.load_default(size)
    except OSError:
        return None


def _has(font: Any, letter: str) -> bool:
    """Whether a letter is not drawn as one that is missing."""
    found, missing = (font.getmask(one) for one in (letter, NOWHERE))
    return found.size != missing.size or bytes(found) != bytes(missing)


def dashes(points: Sequence[Point], length: float) -> Iterator[list[Point]]:
    """A line in pieces of this length, every second one left out."""
    drawn, left, piece = True, length, list(points[:1])
    for end in points[1:]:
        while (apart := dist(piece[-1], end)) > left:
            x, y = (one + (other - one) * left / apart for one, other in zip(piece[-1], end, strict=True))
            if drawn:
                yield [*piece, (x, y)]
            drawn, left, piece = not drawn, length, [(x, y)]
        left -= apart
        piece.append(end)
    if drawn and len(piece) > 1:
        yield piece
