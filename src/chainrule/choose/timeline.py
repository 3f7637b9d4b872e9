"""The rounds on the page: who ran when and for how long, as bars over the whole time, and every decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chainrule.choose.rounds import CONTINUES, DROPPED, FAILED, WON
from chainrule.choose.tables import key, table
from chainrule.draw import markup
from chainrule.draw.markup import NOTHING, Html, mappings, number, shown, tag, text

WIDTH, HEIGHT = 240.0, 12.0  # pixels of a bar
KINDS = {CONTINUES: "going", DROPPED: "gone", WON: "won", FAILED: "gone"}

Turn = Mapping[str, Any]


def rounds(results: Mapping[str, Any]) -> Html:
    """A row for every model in every round; empty where nothing competed."""
    turns = mappings(results.get("rounds"))
    ends = [number(turn.get("began")) or 0.0 for turn in turns]
    ends = [
        began + max(0.0, number(turn.get("seconds")) or 0.0) for began, turn in zip(ends, turns, strict=True)
    ]
    most = max([number(results.get("seconds")) or 0.0, *ends, 1e-9])
    figures = markup.listed(results.get("figures"))  # the first decides
    unit = text(figures[0]).replace("_", " ") if figures else text(results.get("unit")) or "bits"
    head = ["model", "round", "time", "when", f"validation, {unit}", "decision"]
    return table("Rounds", head, [_row(turn, most) for turn in turns])


def _row(turn: Turn, most: float) -> Html:
    name = text(turn.get("name"))
    return tag(
        "tr",
        tag("th", tag("span", tag("b", name)), scope="row"),
        _figure(turn.get("round"), markup.count),
        _figure(turn.get("seconds"), markup.duration),
        tag("td", _bar(turn, most), class_="figure"),
        _figure(turn.get("figure"), markup.bits),
        tag("td", text(turn.get("why")) or "–", class_="said"),
    )


def _figure(value: object, form: Any) -> Html:
    return tag("td", shown(value, form), class_="figure", data_value=key(value))


def _bar(turn: Turn, most: float) -> Html:
    """Where in the whole time a turn lies."""
    began, seconds = (max(0.0, number(turn.get(name)) or 0.0) for name in ("began", "seconds"))
    if not seconds or began > most:
        return NOTHING
    left, wide = WIDTH * began / most, max(1.5, WIDTH * min(seconds, most - began) / most)
    kind = KINDS.get(text(turn.get("decision")), "gone")
    rail = tag("line", x1=0, x2=WIDTH, y1=HEIGHT / 2, y2=HEIGHT / 2, class_="rail")
    block = tag("rect", x=left, y=1, width=wide, height=HEIGHT - 2, rx=2, class_=kind)
    view = f"0 0 {WIDTH:g} {HEIGHT:g}"
    return tag(
        "svg", rail, block, viewBox=view, width=WIDTH, height=HEIGHT, class_="bar turn", aria_hidden="true"
    )
