"""The tables of the page: columns of figures, one row a model, with what failed and why at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.choose import markup
from chainrule.choose.figures import colour
from chainrule.choose.markup import NOTHING, Html, joined, mapping, mappings, number, shown, tag, text
from chainrule.choose.plots import Scale, bar, crest, plottable

BAR = 84.0  # pixels an interval may take

Model = Mapping[str, Any]


def models(results: Mapping[str, Any]) -> list[Model]:
    """All models, those that failed last, otherwise as given."""
    return sorted(mappings(results.get("models")), key=failed)


def failed(model: Model) -> bool:
    """Whether a model has a reason instead of figures."""
    return bool(model.get("failed"))


def finished(results: Mapping[str, Any]) -> list[Model]:
    """The models that did not fail, at the places that give them their colours."""
    return [model for model in models(results) if not failed(model)]


def title(model: Model) -> str:
    """What people call a model."""
    return text(model.get("title") or model.get("name")) or "unnamed"


def interval(low: object, high: object) -> str:
    """`1.800 … 1.860`, or nothing where an end is missing."""
    if number(low) is None or number(high) is None:
        return ""
    return f"{shown(low, markup.bits)} … {shown(high, markup.bits)}"


def of(*path: str) -> Callable[[Model], object]:
    """What stands under a name, or under a name within a name."""

    def value(model: Model) -> object:
        for name in path[:-1]:
            model = mapping(model.get(name))
        return model.get(path[-1])

    return value


def ratio(key: str) -> Callable[[Model], object]:
    """How many times more than foreseen it was."""

    def value(model: Model) -> float | None:
        happened, foreseen = number(model.get(key)), number(of("forecast", key)(model))
        if happened is None or foreseen is None or happened < 0 or foreseen < 1e-9:
            return None
        return happened / foreseen

    return value


@dataclass(frozen=True)
class Column:
    """A column of figures: what it is called, what stands in it and how it is written."""

    title: str
    value: Callable[[Model], object]
    form: Callable[[float], str]

    def cell(self, model: Model) -> Html:
        value = self.value(model)
        return tag("td", shown(value, self.form), class_="figure", data_value=key(value))


def key(value: object) -> str | None:
    """What a cell is sorted by; what is not a number comes last."""
    if isinstance(value, float) and value == value:
        return repr(value)
    finite = number(value)
    return None if finite is None else repr(finite)


def table(name: str, head: Sequence[str], lines: Sequence[Html], sortable: bool = False) -> Html:
    """A table that scrolls by itself where it is too wide; empty without rows."""
    if not lines:
        return NOTHING
    heads = [tag("th", one, scope="col", class_="figure" if at else None) for at, one in enumerate(head)]
    inside = joined(tag("thead", tag("tr", *heads)), tag("tbody", *lines))
    whole = tag("table", inside, class_="sortable" if sortable else None)
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=name)


def _head(model: Model, at: int) -> Html:
    """The name of a model at the head of its row, with its colour of the plots."""
    called, name = title(model), text(model.get("name"))
    dot = NOTHING if failed(model) else tag("i", class_=f"dot {colour(at)}")
    both = [tag("b", called), tag("small", name)] if name and name != called else [tag("small", called)]
    return tag("th", dot, tag("span", *both), scope="row", data_value=called)


def _rows(results: Mapping[str, Any], columns: Sequence[Column], needed: str) -> list[Html]:
    """A row for every finished model that has what is needed."""
    return [
        tag("tr", _head(model, at), *(column.cell(model) for column in columns))
        for at, model in enumerate(finished(results))
        if mapping(model.get(needed))
    ]


COSTS = (
    Column("perplexity", of("perplexity"), markup.figure),
    Column("training", of("seconds"), markup.duration),
    Column("memory", of("memory_bytes"), markup.size),
    Column("parameters", of("parameters"), markup.count),
    Column("on disk", of("file_bytes"), markup.size),
    Column("scores / s", of("score_per_second"), markup.count),
    Column("writes / s", of("write_per_second"), markup.count),
)


def leaderboard(results: Mapping[str, Any], unit: str) -> Html:
    """Every model with its figures; those that failed say why."""
    scale = _scale(finished(results))
    lines = [_line(model, at, scale) for at, model in enumerate(models(results))]
    head = ["model", unit, "behind the best", *(column.title for column in COSTS)]
    return table("Leaderboard", head, lines, sortable=True)


def _scale(given: Sequence[Model]) -> Scale | None:
    """One scale for all bars, not stretched by a model that is far worse than most."""
    known = [(height, model) for model in given if (height := plottable(model.get("bits"))) is not None]
    if not known:
        return None
    most = crest([height for height, _ in known])
    near = [model for height, model in known if height <= most]
    ends = [plottable(model.get(end)) for model in near for end in ("low", "bits", "high")]
    return Scale.over([end for end in ends if end is not None], 4.0, BAR)


def _line(model: Model, at: int, scale: Scale | None) -> Html:
    if failed(model):
        said = tag("span", f"failed: {text(model['failed'])}")
        why = tag("td", said, colspan=len(COSTS) + 2)
        return tag("tr", _head(model, at), why, class_="failed")
    figures = (column.cell(model) for column in COSTS)
    return tag("tr", _head(model, at), _score(model, scale), _behind(model, at), *figures)


def _score(model: Model, scale: Scale | None) -> Html:
    """Bits with their interval as a bar and in figures."""
    value, low, high = model.get("bits"), model.get("low"), model.get("high")
    small = bar(low, value, high, scale) if scale else NOTHING
    inside = tag("span", shown(value, markup.bits), small, class_="with-bar")
    return tag("td", inside, _small(interval(low, high)), class_="figure", data_value=key(value))


def _small(said: str) -> Html:
    return tag("small", said) if said else NOTHING


def _behind(model: Model, at: int) -> Html:
    """How far a model is behind the best one, and whether that is more than chance."""
    behind = mapping(model.get("behind"))
    if not behind:
        best = at == 0
        return tag("td", "best" if best else "–", class_="figure quiet", data_value="0.0" if best else None)
    value, said = behind.get("bits"), shown(behind.get("bits"), markup.signed)
    sure = f"≈ {said}" if behind.get("real") is False else said
    between = _small(interval(behind.get("low"), behind.get("high")))
    return tag("td", sure, between, class_="figure", data_value=key(value))


VALUES = (
    Column("mean error", of("values", "mae"), markup.figure),
    Column("last value again", of("values", "naive_mae"), markup.figure),
    Column("last season again", of("values", "seasonal_mae"), markup.figure),
    Column("season", of("values", "season"), markup.count),
    Column("inside the interval", of("values", "coverage"), markup.percent),
)
FORECASTS = (
    Column("time foreseen", of("forecast", "seconds"), markup.duration),
    Column("happened", of("seconds"), markup.duration),
    Column("ratio", ratio("seconds"), markup.times),
    Column("memory foreseen", of("forecast", "memory_bytes"), markup.size),
    Column("happened", of("memory_bytes"), markup.size),
    Column("ratio", ratio("memory_bytes"), markup.times),
)
PARTS = (
    Column("sequences", of("sequences"), markup.count),
    Column("symbols", of("symbols"), markup.count),
    Column("size", of("bytes"), markup.size),
)


def values(results: Mapping[str, Any]) -> Html:
    """Forecasts of numbers against two rivals that learn nothing."""
    head = ["model", *(column.title for column in VALUES)]
    return table("Next values", head, _rows(results, VALUES, "values"), sortable=True)


def forecasts(results: Mapping[str, Any]) -> Html:
    """What was foreseen of time and memory, and what happened."""
    head = ["model", *(column.title for column in FORECASTS)]
    return table("Foreseen and happened", head, _rows(results, FORECASTS, "forecast"))


def parts(given: Mapping[str, Any]) -> Html:
    """How much is in each part of the data."""
    lines = [
        tag("tr", tag("th", name, scope="row"), *(column.cell(mapping(part)) for column in PARTS))
        for name, part in given.items()
    ]
    return table("Parts", ["part", *(column.title for column in PARTS)], lines)
