"""Results as pictures and tables for notebooks: forecasts, loss curves, models, scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chainrule.draw.chart import Band, Line, chart
from chainrule.draw.markup import Html, joined, tag
from chainrule.draw.picture import Picture
from chainrule.errors import ConfigError

if TYPE_CHECKING:
    from chainrule.bundle import Bundle
    from chainrule.use.evaluate import Evaluation
    from chainrule.use.forecast import Forecast, Forecasts
    from chainrule.use.next import NextSymbols
    from chainrule.use.score import ModelScore, TextScore

KNOWN = 4  # times as many steps of history as are forecast are shown
LEAST = 40
SERIES = 12  # that a page shows
DEEP = 12.0  # bits of the darkest background


def forecast_picture(found: Forecasts) -> Picture:
    """One chart, or those of the first series one below another."""
    charts = [_forecast_chart(one) for one in found.each[:SERIES]]
    if len(charts) == 1:
        return Picture("forecast", charts[0])
    more = f"The first {SERIES} of {len(found):,} series." if len(found) > SERIES else ""
    rest = [tag("p", more)] if more else []
    return Picture("forecast", joined(*(tag("div", one) for one in charts), *rest))


def _forecast_chart(found: Forecast) -> Html:
    """The end of the history, the median and the interval of numbers; a table of events."""
    name = "forecast" if found.name is None else f"forecast of {found.name}"
    if found.steps[0].events:
        rows = ([one.time or one.step, *_likely(one.events)] for one in found.steps)
        return html_table(name, rows)
    values = [_float(one) for one in found.history]
    first = max(0, len(values) - max(LEAST, KNOWN * len(found.steps)))
    known = [(float(at), values[at]) for at in range(first, len(values)) if not math.isnan(values[at])]
    ahead = [(float(len(values) + one.step - 1), one) for one in found.steps]
    middle = [*known[-1:], *((at, float(one.median or 0.0)) for at, one in ahead)]
    band = [(at, float(one.low or 0.0), float(one.high or 0.0)) for at, one in ahead]
    lines = [Line("history", known), Line("forecast", middle, "second")]
    times = [*(found.times or ()), *(one.time for one in found.steps)]

    def moment(place: float) -> str:
        if not found.times:
            return f"{place:g}"
        return str(times[int(place)] or "") if 0 <= place < len(times) else ""

    title = f"{name}: median and {found.interval:.0%} interval"
    return chart(title, "" if found.times else "step", "value", lines, [Band(band)], moment)


def _likely(events: Iterable[tuple[str, float]]) -> list[str]:
    return [f"{name} {share:.0%}" for name, share in events]


def loss_picture(bundle: Bundle) -> Picture:
    """Training and validation loss over the steps."""
    if not bundle.history:
        raise ConfigError(
            f"A {bundle.body.family} has no loss curve: it was not trained by gradient, or elsewhere."
        )
    title = f"{bundle.body.family}: loss curve"
    return Picture(title, _loss_chart(title, bundle.history))


def loss_curve(card: Mapping[str, Any]) -> list[dict[str, float | None]]:
    """Of a model's card the training loss at even steps, a mean since the one before, and all validations."""
    points = [{**line, "valid": None} for line in card.get("losses", ())]
    judged = {line["step"]: dict(line) for line in card.get("history", ())}
    for step, line in judged.items():  # its own training loss is the mean since the last validation
        line["train"] = next((one["train"] for one in points if one["step"] >= step), line["train"])
    lines = [*judged.values(), *(one for one in points if one["step"] not in judged)]
    return sorted(lines, key=lambda line: float(line["step"]))


def _loss_chart(title: str, history: Sequence[Mapping[str, Any]]) -> Html:
    curves = {"training": ("train", "first"), "validation": ("valid", "second")}
    lines = [Line(name, _points(history, key), kind) for name, (key, kind) in curves.items()]
    return chart(title, "step", "loss, nats per symbol", lines, form=lambda value: f"{value:,.0f}")


def _points(history: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    known = (one for one in history if one[key] is not None and math.isfinite(one[key]))
    return [(float(one["step"]), float(one[key])) for one in known]


def model_html(bundle: Bundle) -> str:
    """What a model is and how good it is, with its loss curve if it has one."""
    data = bundle.card.get("data", {})
    rows = [
        ["model", bundle.body.family],
        ["codec", f"{bundle.codec.name}, {bundle.codec.size:,} ids"],
        ["parameters", f"{bundle.parameters:,}"],
        *([["trained on", f"{data['name']}, {data['symbols']:,} symbols"]] if data else []),
        *(
            [f"{name} of {part}", f"{value:,.4g}"]
            for part, figures in bundle.card.get("figures", {}).items()
            for name, value in figures.items()
            if name in ("perplexity", "bits_per_symbol", "bits_per_byte") and isinstance(value, float)
        ),
    ]
    curve = _loss_chart("loss curve", bundle.history) if bundle.history else ""
    return str(joined(html_table(repr(bundle), rows), Html(curve)))


def score_html(score: ModelScore) -> str:
    """The figures of a score."""
    rows = [[name.replace("_", " "), _figure(value)] for name, value in score.figures().items()]
    return str(html_table("", rows))


def text_html(score: TextScore) -> str:
    """A scored text: the more surprising a symbol, the darker its background."""
    symbols = (
        tag(
            "span",
            one.shown or one.token,
            title=f"{one.bits:.2f} bits",
            style=f"background: rgba(194, 65, 12, {min(1.0, max(0.0, one.bits) / DEEP) * 0.8:.2f}); padding: 0 1px",
        )
        for one in score.tokens
    )
    between = " " if all(" " not in (one.shown or one.token) for one in score.tokens) else ""
    line = Html(between.join(symbols))
    return str(joined(tag("p", line, style="line-height: 1.8"), Html(score_html(score))))


def next_html(found: NextSymbols) -> str:
    """The most probable next symbols with a bar each."""
    most = max((one.probability for one in found), default=0.0) or 1.0
    rows: list[list[object]] = [
        ["(end)" if one.ends else one.token, f"{one.probability:.2%}", _bar(one.probability / most)]
        for one in found
    ]
    return str(html_table(f"after {found.prompt!r}", [*rows, ["(all others)", f"{found.rest:.2%}", ""]]))


def _bar(share: float) -> Html:
    return tag("div", style=f"background: #0b62c4; height: 0.8em; width: {200 * share:.0f}px")


def html_table(caption: str, rows: Iterable[Sequence[object]]) -> Html:
    """Rows of cells."""
    lines = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("table", *([tag("caption", caption)] if caption else []), *lines)


def evaluation_table(found: Evaluation) -> Html:
    """Figures of a model with their intervals."""
    ends = {name: " to ".join(map(_figure, one)) for name, one in found.intervals.items()}
    rows = [[name.replace("_", " "), _figure(one), ends.get(name, "")] for name, one in found.figures.items()]
    return html_table(f"{found.judged.examples:,} examples", [["", "figure", "95 % interval"], *rows])


def _figure(value: object) -> str:
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.5g}"
        if isinstance(value, float)
        else str(value)
    )


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
