"""Confusion matrix and reliability diagram as one SVG; colours are attributes, so that any page may hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chainrule.draw.markup import NOTHING, Html, joined, listed, mappings, number, tag, text
from chainrule.draw.plots import brief

SIDE = 300.0  # of both squares
TOP, LEFT, BETWEEN, BELOW = 64.0, 110.0, 120.0, 56.0
MANY = 20  # labels from which on a matrix could not be read
BLUE, RED = "#2b6cb0", "#c05a1c"
LETTERS = 14  # of a label
FONT = {"font_size": 13, "font_family": "system-ui, sans-serif", "fill": "currentColor"}


def picture(details: Mapping[str, Any]) -> Html:
    """What there is to draw of these details: `confusion` with its `labels`, `reliability`; empty if neither."""
    panels = [one for one in (_confusion(details), _reliability(details)) if one]
    if not panels:
        return NOTHING
    wide = LEFT + SIDE + BETWEEN
    moved = [
        tag("g", one, transform=f"translate({at * wide + LEFT:g} {TOP:g})") for at, one in enumerate(panels)
    ]
    width, height = wide * len(panels) - BETWEEN + LEFT + 24.0, TOP + SIDE + BELOW
    return tag(
        "svg",
        *moved,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        color="#333",
        class_="answers",
        role="img",
        aria_label="Confusion matrix and reliability diagram",
    )


def _text(said: object, x: float, y: float, anchor: str = "middle", **more: object) -> Html:
    return tag("text", said, x=x, y=y, text_anchor=anchor, **{**FONT, **more})


def _titled(title: str, below: str) -> Html:
    """A panel's title above it, what lies across below it."""
    return joined(
        _text(title, 0.0, -TOP + 20.0, "start", font_weight=600, font_size=15),
        _text(below, SIDE / 2, SIDE + 44.0),
    )


def _confusion(details: Mapping[str, Any]) -> Html:
    """Rows are right labels, columns predicted ones; a cell is as dark as its share of the row."""
    labels, rows = [text(one) for one in listed(details.get("labels"))], listed(details.get("confusion"))
    if not 1 < len(labels) <= MANY or len(rows) != len(labels):
        return NOTHING
    step = SIDE / len(labels)
    cells = [
        _cell(at, to, step, float(number(count) or 0.0), sum(number(one) or 0.0 for one in row))
        for at, row in enumerate(map(listed, rows))
        for to, count in enumerate(row[: len(labels)])
    ]
    names = [brief(label, LETTERS) for label in labels]
    return joined(
        *cells,
        *(_text(name, -8.0, (at + 0.5) * step + 4, "end") for at, name in enumerate(names)),
        *(_across(name, (at + 0.5) * step, step) for at, name in enumerate(names)),
        _titled("Confusion: right label (row), predicted (column)", "predicted label"),
    )


def _across(name: str, x: float, step: float) -> Html:
    """The name of a column; upright where columns are narrow."""
    if 8.0 * len(name) < step:
        return _text(name, x, SIDE + 20.0)
    y = SIDE + 8.0
    return _text(brief(name, 5), x + 4, y, "end", transform=f"rotate(-90 {x + 4:g} {y:g})")


def _cell(at: int, to: int, step: float, count: float, total: float) -> Html:
    share = count / total if total else 0.0
    box = tag(
        "rect",
        x=to * step + 1,
        y=at * step + 1,
        width=step - 2,
        height=step - 2,
        rx=2,
        fill=BLUE if at == to else RED,
        fill_opacity=f"{0.06 + 0.85 * share:.2f}",
    )
    said = tag("title", f"{count:,.0f} of {total:,.0f} ({share:.1%})")
    if step < 24.0:
        return tag("g", said, box)
    ink = "#fff" if share > 0.55 else "currentColor"
    middle, centre = (at + 0.5) * step + 5, (to + 0.5) * step
    small = min(15.0, step / 3.2)
    figures = [_text(f"{count:,.0f}", centre, middle, fill=ink, font_size=small)]
    if step >= 60.0:
        figures.append(_text(f"{share:.0%}", centre, middle + 17, fill=ink, font_size=11))
    return tag("g", said, box, *figures)


def _reliability(details: Mapping[str, Any]) -> Html:
    """How often answers were right that had been given with some confidence; the diagonal is what should be."""
    bins = [
        (sure, right, count)
        for one in mappings(details.get("reliability"))
        if None not in (triple := [number(one.get(key)) for key in ("confidence", "accuracy", "count")])
        for sure, right, count in [triple]
    ]
    if not bins:
        return NOTHING
    most = max(count or 0.0 for *_, count in bins)
    return joined(
        *(_grid(share / 4) for share in range(5)),
        tag(
            "line",
            x1=0,
            y1=SIDE,
            x2=SIDE,
            y2=0,
            stroke="currentColor",
            stroke_opacity="0.5",
            stroke_dasharray="5 4",
        ),
        *(_dot(float(sure or 0), float(right or 0), float(count or 0), most) for sure, right, count in bins),
        _text("share of right answers", -44.0, SIDE / 2, transform=f"rotate(-90 -44 {SIDE / 2:g})"),
        _titled("Reliability: how sure, how often right", "confidence (probability of the predicted label)"),
    )


def _grid(share: float) -> Html:
    place: Sequence[float] = (SIDE * share, SIDE * (1 - share))
    line = {"stroke": "currentColor", "stroke_opacity": "0.15"}
    return joined(
        tag("line", x1=0, x2=SIDE, y1=place[1], y2=place[1], **line),
        tag("line", x1=place[0], x2=place[0], y1=0, y2=SIDE, **line),
        _text(f"{share:.0%}", -8.0, place[1] + 4, "end", font_size=12),
        _text(f"{share:.0%}", place[0], SIDE + 18.0, font_size=12),
    )


def _dot(sure: float, right: float, count: float, most: float) -> Html:
    """As large as the examples are many, with a line to where it should be."""
    x, y, should = SIDE * sure, SIDE * (1 - right), SIDE * (1 - sure)
    radius = 3.0 + 7.0 * (count / most) ** 0.5
    said = tag("title", f"{count:,.0f} answers at {sure:.0%}: {right:.0%} right")
    off = tag("line", x1=x, x2=x, y1=y, y2=should, stroke=RED, stroke_width=2)
    return tag("g", said, off, tag("circle", cx=x, cy=y, r=radius, fill=BLUE, fill_opacity="0.85"))
